"""What is changed in transformers while foreign code runs: Trainer is cut short, models come without weights,
generation is one pass."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from mpslint.core.finding import ReadError
from mpslint.core.knowledge import configuration_of, platform_data
from mpslint.verify.child.clock import Clock
from mpslint.verify.child.conductor import MOST_SIZED
from mpslint.verify.child.replaced import replaces
from mpslint.verify.child.torch_patches import Report, Shortened, length_of
from mpslint.verify.platform import is_at_least, versions

LONGEST_GENERATION = 4096
NO_CONFIGURATION = (
    "the configuration of {0!r} isn't on this machine, and verify does not use the network: download it once "
    "(`hf download {0} config.json`), or name a folder with its config.json"
)
TABLE: Mapping[str, Any] = platform_data("shortened")
HUB = tuple(TABLE["hub"])


def shorten_trainer(module: ModuleType, clock: Clock, shortened: Shortened, evaluation_batches: int) -> None:
    """Cut transformers.Trainer short: few steps, few evaluation batches, no saving, no services."""
    trainer = module.Trainer

    @replaces(trainer, "__init__")
    def short_init(init: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        bound = inspect.signature(init).bind(self, *args, **kwargs)
        given = bound.arguments
        clock.cuts_epochs = False
        if given.get("args") is not None:
            clock.planned = planned_steps(given["args"], given.get("train_dataset"), shortened.times)
            if clock.conductor is not None:
                planned = clock.planned or clock.conductor.horizon
                clock.conductor.horizon, clock.conductor.steps = min(clock.conductor.horizon, planned), min(clock.conductor.steps, planned)
            evaluates = cap(given["args"], clock.steps, shortened, is_conducted=clock.conductor is not None)
            if clock.conductor is not None:
                given["callbacks"] = [*(given.get("callbacks") or ()), conducted(clock, evaluates=evaluates)]
            size = evaluation_batches * given["args"].per_device_eval_batch_size
            clock.whole = -(-length_of(given.get("eval_dataset")) // given["args"].per_device_eval_batch_size)
            given["eval_dataset"] = cut(given.get("eval_dataset"), size, shortened)
        if given.get("callbacks"):
            kinds = ((one, one if isinstance(one, type) else type(one)) for one in given["callbacks"])
            given["callbacks"] = [one for one, kind in kinds if "EarlyStopping" not in kind.__name__]
        init(*bound.args, **bound.kwargs)

    for name in ("save_model", "_save_checkpoint", "push_to_hub", "create_model_card", "save_state", "_save_optimizer_and_scheduler"):
        if hasattr(trainer, name):
            setattr(trainer, name, _nothing(shortened, f"Trainer.{name} did nothing"))

    @replaces(trainer, "evaluation_loop")
    def watched(loop: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        clock.is_evaluating = True
        try:
            return loop(self, *args, **kwargs)
        finally:
            clock.is_evaluating = False
            if clock.done:
                clock.evaluated(clock.whole)


def conducted(clock: Clock, *, evaluates: bool) -> Any:
    """Return what tells a Trainer after each step whether to evaluate, and whether to stop."""
    callbacks: Any = importlib.import_module("transformers.trainer_callback")

    class Conducted(callbacks.TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            control.should_evaluate = evaluates and clock.conductor is not None and clock.taken in clock.conductor.turns
            control.should_training_stop = control.should_training_stop or clock.taken >= clock.most

    return Conducted()


def _nothing(shortened: Shortened, said: str) -> Callable[..., None]:
    def nothing(*args: Any, **kwargs: Any) -> None:
        shortened.note(said)

    return nothing


def planned_steps(args: Any, dataset: Any, times: float = 1.0) -> int:
    """Return the optimizer steps that the code means to do, its data being so many `times` as large; 0 when it is not known."""
    if args.max_steps > 0:
        return int(args.max_steps)
    each = args.per_device_train_batch_size * args.gradient_accumulation_steps
    return int(-(-length_of(dataset) * times // each) * args.num_train_epochs)


def cap(args: Any, steps: int, shortened: Shortened, *, is_conducted: bool = False) -> bool:
    """Change training arguments so that the run is short and leaves nothing behind; return whether it evaluates.

    Where the run `is_conducted`, no number of steps says when.
    """
    wanted = min(steps, args.max_steps) if args.max_steps > 0 else steps
    if args.max_steps != wanted:
        shortened.note(f"max_steps {args.max_steps} → {wanted}")
        args.max_steps = wanted
    args.max_steps += MOST_SIZED if is_conducted else 0
    for name, value in TABLE["trainer"].items():
        before = getattr(args, name, value)
        if before != value:
            if name not in TABLE["unsaid"]:
                shortened.note(f"{name} {before} → {value}")
            setattr(args, name, value)
    saves, evaluates = (getattr(args, name, None) or "no" for name in ("save_strategy", "eval_strategy"))
    if getattr(saves, "value", saves) != "no":
        args.save_strategy = type(saves)("no")
        shortened.note(f"save_strategy {getattr(saves, 'value', saves)} → no")
    if is_evaluated := getattr(evaluates, "value", evaluates) != "no":
        args.eval_strategy, args.eval_steps = type(evaluates)("steps"), 2 * wanted if is_conducted else max(1, wanted // 2)
        shortened.note("evaluation twice" if is_conducted else f"evaluation every {args.eval_steps} steps")
    return is_evaluated


def cut(dataset: Any, size: int, shortened: Shortened) -> Any:
    """Return the first samples of a data set, or of each of several."""
    if isinstance(dataset, dict) and dataset and not hasattr(dataset, "column_names"):
        return {name: cut(part, size, shortened) for name, part in dataset.items()}
    if (whole := length_of(dataset)) <= size:
        return dataset
    shortened.note(f"evaluation samples {whole} → {size}")
    return dataset.select(range(size)) if hasattr(dataset, "select") else torch.utils.data.Subset(dataset, range(size))


def models_without_weights(module: ModuleType, shortened: Shortened, *, is_emulated: bool) -> None:
    """Have from_pretrained build a model from its configuration alone: always when emulated,
    else where its weights are not at hand. Nothing is saved: emulated weights have no values."""
    model_class: Any = module.PreTrainedModel
    original = model_class.from_pretrained.__func__

    def from_configuration(cls: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_emulated:
            try:
                return original(cls, name, *args, **kwargs)
            except OSError:
                pass
        config, attention = kwargs.pop("config", None), kwargs.pop("attn_implementation", None)
        dtype = kwargs.pop("dtype", None) or kwargs.pop("torch_dtype", None)
        if config is None or isinstance(config, str):
            named = {key: value for key, value in kwargs.items() if key not in (*HUB, "device_map", "low_cpu_mem_usage")}
            config, _ = cls.config_class.from_pretrained(name, return_unused_kwargs=True, **named)
        shortened.note(f"{cls.__name__}.from_pretrained({str(name)!r}) built the model from its configuration, with random weights")
        if not is_emulated and reduce_depth(config):
            shortened.note(f"{cls.__name__} has two layers on the CPU")
        if attention is not None:
            config._attn_implementation = attention
        with torch.device("meta" if is_emulated else "cpu"):
            model = cls(config)
        loads_published = is_at_least(versions()["transformers"], platform_data("assumptions")["loads_published_dtype"])
        if dtype == "auto" or (dtype is None and loads_published):
            dtype = config.dtype
        if isinstance(dtype, str):
            dtype = getattr(torch, dtype, None)
        if isinstance(dtype, torch.dtype):
            model = model.to(dtype)
        # Libraries look up a tokenizer by the name that the model was loaded by.
        model.config.name_or_path = model.name_or_path = str(name)
        return model.eval()

    def saved_nothing(self: Any, *args: Any, **kwargs: Any) -> None:
        shortened.note(f"{type(self).__name__}.save_pretrained wrote nothing")

    model_class.from_pretrained = classmethod(from_configuration)
    model_class.save_pretrained = saved_nothing


def reduce_depth(config: Any) -> bool:
    """Give a configuration at most two layers of each kind; return whether it had more. Widths stay, because code may rely on them."""
    changed = False
    for name in TABLE["depths"]:
        if isinstance(getattr(config, name, None), int) and getattr(config, name) > 2:
            setattr(config, name, 2)
            changed = True
    return changed


def one_process(module: ModuleType) -> None:
    """Leave out what several processes would need: padding across them reads shapes back from the device."""
    accelerator: Any = module.Accelerator
    accelerator.pad_across_processes = lambda self, tensor, *args, **kwargs: tensor


def known_configurations(module: ModuleType) -> None:
    """Have configurations that are not at hand come from mpslint's own table; one line says how to provide any other."""
    config_class: Any = getattr(module, "PreTrainedConfig", None) or module.PretrainedConfig
    original = config_class.get_config_dict.__func__

    def get(cls: Any, name: Any, **kwargs: Any) -> Any:
        try:
            return original(cls, name, **kwargs)
        except OSError:
            left = {key: value for key, value in kwargs.items() if key not in HUB}
            values = configuration_of(str(name))
            if values is None:
                raise ReadError(NO_CONFIGURATION.format(name)) from None
            return {"architectures": published_classes(values.get("model_type", "")), **values}, left

    known: Any = get
    config_class.get_config_dict = classmethod(known)


def published_classes(kind: str) -> list[str] | None:
    """Return the class that checkpoints of a kind of model are published with; TRL builds a reference model by it."""
    module: Any = importlib.import_module("transformers.models.auto.modeling_auto")
    tables = (getattr(module, f"MODEL_FOR_{task}_MAPPING_NAMES", {}) for task in TABLE["published_for"])
    found = next((table[kind] for table in tables if kind in table), None)
    return found if found is None else [found if isinstance(found, str) else found[0]]


def one_pass_generation(module: ModuleType, clock: Clock, shortened: Shortened, report: Report) -> None:
    """Have generate() do one forward pass over its full length: emulated values never say that a text has ended."""
    mixin: Any = module.GenerationMixin

    def generate(self: Any, inputs: Any = None, generation_config: Any = None, **kwargs: Any) -> Any:
        shortened.note("generate() was one forward pass over its full length")
        given = next((one for one in (inputs, kwargs.get("input_ids"), kwargs.get("input_features")) if one is not None), None)
        batch = given.shape[0] if given is not None else 1
        prompt = given.shape[1] if given is not None and given.dim() == 2 else 1
        limit = generation_limit(self, generation_config, kwargs, prompt)
        if limit > LONGEST_GENERATION:
            said = f"generate() may make {limit} tokens for each sample: the cache and the shapes grow with every token"
            report("generation", "error", said)
        with torch.no_grad():
            return _full_length(self, given, kwargs, batch, min(limit, 2 * LONGEST_GENERATION))

    mixin.generate = generate


def generation_limit(model: Any, generation_config: Any, kwargs: dict[str, Any], prompt: int) -> int:
    """Return how long the sequences of a generate() call may become."""
    own = generation_config or getattr(model, "generation_config", None)
    new = kwargs.get("max_new_tokens") or getattr(own, "max_new_tokens", None)
    whole = kwargs.get("max_length") or getattr(own, "max_length", None) or 20
    if model.config.is_encoder_decoder:
        return int(new or whole)
    return prompt + int(new) if new else int(whole)


def _full_length(model: Any, given: Any, kwargs: dict[str, Any], batch: int, limit: int) -> Any:
    """Return ids of the full length, the forward pass for them done."""
    device = given.device if given is not None else next(model.parameters()).device
    beams = kwargs.get("num_beams") or 1
    ids = torch.ones((batch, limit), dtype=torch.long, device=device)
    wide = ids.repeat(beams, 1)
    if model.config.is_encoder_decoder:
        named = {"input_ids": given} if given.dim() == 2 else {"input_features": given}
        if kwargs.get("attention_mask") is not None and given.dim() == 2:
            named["attention_mask"] = kwargs["attention_mask"]
        repeated = {key: value.repeat_interleave(beams, 0) if beams > 1 else value for key, value in named.items()}
        model(**repeated, decoder_input_ids=wide)
    else:
        model(input_ids=wide)
    return ids

"""A training run as a script: what a plan says, written out as a loop that the same runner executes as it executes a file's own code.

Nothing of the user's is in it but numbers and names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.core.knowledge import platform_data
from mpslint.verify.platform import precision_outcome
from mpslint.verify.spec import Evaluation, RunSpec, Shape, VerifiedMac, samples, shape_of

HALF = {"fp16": "torch.float16", "bf16": "torch.bfloat16"}
MOST_EVALUATED = 400
"""Batches of an evaluation."""


def in_force(spec: RunSpec, machine: VerifiedMac) -> RunSpec:
    """Return a run in the precision that it has on a machine: float32 where what the code asks for raises there, or is ignored."""
    asked = [(spec.precision_by, spec.precision), *([("grad_scaler", "any")] if spec.precision == "fp16" else [])]
    works = spec.precision == "no" or all(precision_outcome(by, what, machine).does == "works" for by, what in asked)
    return spec if works else replace(spec, precision="no")


def script_of(spec: RunSpec, steps: Iterable[Sequence[Shape]]) -> str:
    """Return the script of a run whose steps have batches of some shapes. Raises ReadError for an optimizer that isn't known."""
    entry: Mapping[str, Any] = platform_data("models/tasks")[spec.task]
    lines = ["import contextlib", "", "import accelerate", "import torch", "import transformers", ""]
    lines += [*_model(spec, entry["class"]), f"optimizer = {_optimizer(spec)}"]
    lines += ['scaler = torch.amp.GradScaler("mps")'] if spec.precision == "fp16" else []
    shapes = [shape for step in steps for shape in step]
    text = "\n".join(lines) + "\n" + _filled("data", tensors=", ".join(_tensors(entry["batch"])), shapes=shapes)
    text += _loop(spec) + (_evaluation(spec, spec.evaluation) if spec.evaluation is not None else "")
    evaluates = ["    evaluate()"] if spec.evaluation is not None else []
    return "\n".join([text, "for _ in range(4):", "    train()", *evaluates, ""])


def _filled(part: str, **filled: object) -> str:
    """Return a part of the script with what the plan says filled in, and a free line before it."""
    return "\n" + str(platform_data("generated")[part]).format_map(filled)


def _model(spec: RunSpec, cls: str) -> Iterator[str]:
    """Yield the lines that make the model."""
    config = dict(spec.config) if spec.config is not None else None
    if config is None:
        yield f"config = transformers.AutoConfig.from_pretrained({spec.model!r})"
    elif "config_class" in config:
        yield f"config = transformers.{config.pop('config_class')}(**{config!r})"
    else:
        yield f"config = transformers.AutoConfig.for_model({config.pop('model_type')!r}, **{config!r})"
    if spec.dropout is not None:
        yield "for name, value in list(vars(config).items()):"
        yield '    if isinstance(value, float) and ("dropout" in name or name.endswith("_pdrop") or name == "layerdrop"):'
        yield f"        setattr(config, name, {spec.dropout!r})"
    options = ', attn_implementation="eager"' if spec.attention == "eager" else ""
    options += ", dtype=config.dtype or torch.float32" if spec.weights_dtype == "auto" else f", dtype=torch.{spec.weights_dtype}"
    name = spec.model if spec.config is None else "run"
    yield f"model = transformers.{cls}.from_pretrained({name!r}, config=config{options})"
    if spec.lora_rank:
        targets = repr(list(spec.lora_targets)) if spec.lora_targets and spec.lora_targets != ("all-linear",) else None
        chosen = targets or (repr("all-linear") if spec.lora_targets else None)
        yield "import peft"
        options = f"r={spec.lora_rank}, lora_dropout={spec.dropout or 0.0}, target_modules={chosen}"
        yield f"model = peft.get_peft_model(model, peft.LoraConfig({options}))"
    if spec.gradient_checkpointing:
        yield "model.gradient_checkpointing_enable()"
        if spec.lora_rank:
            yield "model.enable_input_require_grads()"
    yield 'model = model.train().to("mps")'
    if spec.precision in HALF and spec.precision_by == "trainer":
        yield "model.forward = accelerate.utils.convert_outputs_to_fp32(model.forward)"
    yield "trained = [parameter for parameter in model.parameters() if parameter.requires_grad]"


def _optimizer(spec: RunSpec) -> str:
    """Return the expression that makes the optimizer. Raises ReadError for one that isn't known."""
    name, rate = spec.optimizer, f"lr={spec.learning_rate!r}"
    if "8bit" in name or "4bit" in name or name.startswith("paged"):
        raise ReadError(f"the optimizer {name} does not run on MPS, so its memory cannot be worked out")
    kind = next((made for start, made in platform_data("generated")["optimizers"].items() if name.startswith(start)), None)
    if kind is None:
        raise ReadError(f"the optimizer {name!r} is not known to verify")
    more = [word for part, word in platform_data("generated")["options"].items() if part in name]
    return str(kind.format(", ".join(["trained", rate, *more])))


def _tensors(layout: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the tensors of a batch, by name."""
    table = platform_data("generated")
    sizes = table["sizes"]
    for name, dims in layout.items():
        kind = "" if name in table["real"] else ", dtype=torch.long"
        yield f'"{name}": torch.ones({", ".join(sizes.get(dim, dim) for dim in dims)}{kind})'


def _autocast(spec: RunSpec) -> str:
    half = HALF.get(spec.precision)
    return f'torch.autocast("mps", dtype={half})' if half else "contextlib.nullcontext()"


def _loop(spec: RunSpec) -> str:
    """Return the lines that train."""
    is_scaled = spec.precision == "fp16"
    clip = [f"torch.nn.utils.clip_grad_norm_(trained, {spec.max_grad_norm!r})"] if spec.max_grad_norm else []
    clip = ["scaler.unscale_(optimizer)", *clip] if is_scaled and clip else clip
    does = ["scaler.step(optimizer)", "scaler.update()"] if is_scaled else ["optimizer.step()"]
    every = spec.empty_cache_steps
    empty = [f"if number // {spec.accumulation} % {every} == 0:", "    torch.mps.empty_cache()"] if every else []
    return _filled(
        "loop",
        autocast=_autocast(spec),
        divided=f" / {spec.accumulation}" if spec.accumulation > 1 else "",
        backward="scaler.scale(loss).backward()" if is_scaled else "loss.backward()",
        accumulation=spec.accumulation,
        step="\n".join(" " * 12 + line for line in [*clip, *does, "optimizer.zero_grad()", *empty]),
    )


def _evaluation(spec: RunSpec, evaluation: Evaluation) -> str:
    """Return the lines that evaluate; what a Trainer keeps of each batch for its metrics is kept."""
    size = evaluation.batch
    drawn = samples(spec, min(evaluation.samples, MOST_EVALUATED * size), spec.seed + 1000)
    groups = [drawn[start : start + size] for start in range(0, len(drawn), size)]
    if evaluation.generates:
        inputs = "{name: tensor for name, tensor in batch.items() if name != 'labels'}"
        forward = [f"model.generate(**{inputs}, max_new_tokens={max(1, evaluation.generation_limit)}, num_beams={evaluation.beams})"]
    else:
        forward = [f"with {_autocast(spec)}:", "    outputs = model(**batch)"]
    if evaluation.keeps_logits and not evaluation.generates:
        named = 'name not in ("loss", "past_key_values")'
        forward += [f"kept += [tensor for name, tensor in outputs.items() if torch.is_tensor(tensor) and {named}]"]
        if evaluation.accumulation_steps:
            forward += [f"if number % {evaluation.accumulation_steps} == 0:", "    kept = [tensor.cpu() for tensor in kept]"]
    return _filled("evaluation", shapes=[shape_of(spec, group) for group in groups], forward=("\n" + " " * 12).join(forward))

"""A training run as a script: what a plan says, written out as a loop that the same runner executes as it executes a file's own code.

Nothing of the user's is in it but numbers and names. Trainers of TRL have no such script: their losses are their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.core.knowledge import platform_data
from mpslint.verify.spec import Lengths, RunSpec

HALF = {"fp16": "torch.float16", "bf16": "torch.bfloat16"}
REAL = ("pixel_values", "input_features", "input_values")
DRAWN = """
def draw(limit, median, sigma, draw=random.Random({seed})):
    return limit if median <= 0 else max(1, min(limit, round(median * draw.lognormvariate(0.0, sigma))))


def padded(lengths):
    return -(-max(lengths) // {multiple}) * {multiple}


def collate(rows):
    B, S, T = len(rows), padded([row[0] for row in rows]), max(row[1] for row in rows)
    return {{{batch}}}


rows = [(draw({source}), draw({target})) for _ in range({count})]
loader = torch.utils.data.DataLoader(rows, batch_size={size}, shuffle=True, drop_last={drop_last}, collate_fn=collate)
"""
LOOP = """
def train():
    for number, batch in enumerate(itertools.chain.from_iterable(itertools.repeat(loader)), start=1):
        batch = {{name: tensor.to("mps") for name, tensor in batch.items()}}
        with {autocast}:
            loss = model(**batch).loss{divided}
        loss.backward()
        del loss, batch
        if number % {accumulation} == 0:
{step}
        if number == {batches}:
            return


train()
"""
STEPS = 200
ROWS = 4000


def script_of(spec: RunSpec) -> str:
    """Return the script of a run. Raises ReadError for one that no such loop describes."""
    entry: Mapping[str, Any] = platform_data("models/tasks")[spec.task]
    if any("P" in dims for dims in entry["batch"].values()) or entry.get("completes"):
        raise ReadError(f"a run of {spec.task} has a loss of its own, which no generated script has")
    lines = ["import contextlib", "import itertools", "import random", "", "import torch", "import transformers", ""]
    lines += [*_model(spec, entry["class"]), f"optimizer = {_optimizer(spec)}"]
    return "\n".join(lines) + "\n" + _data(spec, entry["batch"]) + _loop(spec)


def _model(spec: RunSpec, cls: str) -> Iterator[str]:
    """Yield the lines that make the model."""
    config = dict(spec.config) if spec.config is not None else None
    if config is None:
        yield f"config = transformers.AutoConfig.from_pretrained({spec.model!r})"
    elif "config_class" in config:
        yield f"config = transformers.{config.pop('config_class')}(**{config!r})"
    else:
        yield f"config = transformers.AutoConfig.for_model({config.pop('model_type')!r}, **{config!r})"
    yield "config.use_cache = False"
    if spec.dropout is not None:
        yield "for name, value in list(vars(config).items()):"
        yield '    if isinstance(value, float) and ("dropout" in name or name.endswith("_pdrop") or name == "layerdrop"):'
        yield f"        setattr(config, name, {spec.dropout!r})"
    dtype = "" if spec.weights_dtype in ("auto", "float32") else f", dtype=torch.{spec.weights_dtype}"
    yield f"model = transformers.{cls}.from_pretrained({spec.model!r}, config=config, attn_implementation={spec.attention!r}{dtype})"
    for part in spec.frozen:
        yield from _frozen(f"model.{part.part}" if part.part else "model", part)
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
    yield "trained = [parameter for parameter in model.parameters() if parameter.requires_grad]"


def _frozen(part: str, frozen: Any) -> Iterator[str]:
    """Yield the lines that freeze a part of the model, or train it."""
    if frozen.method:
        yield f"{part}.{frozen.method}()"
        return
    test = "name.startswith" if frozen.begins else "name.__contains__"
    picked = f"any(map({test}, {list(frozen.names)!r}))" if frozen.names else "True"
    yield f"for name, parameter in {part}.named_parameters():"
    yield f"    if {picked} is not {frozen.others}:"
    yield f"        parameter.requires_grad_({frozen.is_trained})"


def _optimizer(spec: RunSpec) -> str:
    """Return the expression that makes the optimizer. Raises ReadError for one that isn't known."""
    name, rate = spec.optimizer, f"lr={spec.learning_rate!r}"
    if "8bit" in name or "4bit" in name or name.startswith("paged"):
        raise ReadError(f"the optimizer {name} does not run on MPS, so its memory cannot be worked out")
    kind = next((made for start, made in platform_data("generated")["optimizers"].items() if name.startswith(start)), None)
    if kind is None:
        raise ReadError(f"the optimizer {name!r} is not known to verify")
    more = [word for part, word in platform_data("generated")["options"].items() if part in name]
    return f"{kind.format(', '.join(['trained', rate, *more]))}"


def _data(spec: RunSpec, layout: Mapping[str, list[str]]) -> str:
    """Return the lines that draw the samples and gather them into batches."""

    def drawn(lengths: Lengths) -> str:
        return f"{lengths.limit}, {0 if lengths.is_fixed else lengths.median}, {lengths.sigma}"

    sizes = {
        "I": 'getattr(config, "image_size", 224)',
        "C": 'getattr(config, "num_channels", 3)',
        "M": 'getattr(config, "num_mel_bins", 80)',
    }
    tensors = (
        f'"{name}": torch.ones({", ".join(sizes.get(dim, dim) for dim in dims)}' + ("" if name in REAL else ", dtype=torch.long") + ")"
        for name, dims in layout.items()
    )
    source = Lengths(spec.source.limit) if spec.padding == "max_length" else spec.source
    return DRAWN.format(
        seed=spec.seed,
        multiple=spec.pad_to_multiple_of or 1,
        batch=", ".join(tensors),
        source=drawn(source),
        target=drawn(spec.target or Lengths(1)),
        count=max(ROWS, spec.effective_batch),
        size=spec.train_batch,
        drop_last=spec.drop_last,
    )


def _loop(spec: RunSpec) -> str:
    """Return the lines that train."""
    clip = [f"torch.nn.utils.clip_grad_norm_(trained, {spec.max_grad_norm!r})"] if spec.max_grad_norm else []
    every = spec.empty_cache_steps
    empty = [f"if number // {spec.accumulation} % {every} == 0:", "    torch.mps.empty_cache()"] if every else []
    step = "\n".join(" " * 12 + line for line in [*clip, "optimizer.step()", "optimizer.zero_grad()", *empty])
    half = HALF.get(spec.precision)
    return LOOP.format(
        autocast=f'torch.autocast("mps", dtype={half})' if half else "contextlib.nullcontext()",
        divided=f" / {spec.accumulation}" if spec.accumulation > 1 else "",
        accumulation=spec.accumulation,
        step=step,
        batches=STEPS * spec.accumulation,
    )

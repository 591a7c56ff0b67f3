"""A training plan as the run that verify does: what the code says as it says it, and what it leaves open named as assumed."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.facts.values import Call, Items, Known, alternatives_of, is_weak
from mpslint.settings.batches import stacking_call
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.verify.spec import AskedBy, Evaluation, Lengths, Padding, Precision, RunSpec, Shapes, Task, WeightsType, has_targets


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run to verify, and what had to be assumed of it, one line each."""

    spec: RunSpec
    assumptions: tuple[str, ...] = ()


def spec_of(run: TrainingRun, name: str) -> PlannedRun:
    """Return the run that a plan means, under the name that reports give it. Raises ReadError with the one thing that is missing or that no
    emulation knows."""
    source = PlanSource(run.plan, run.evidence)
    _refuse(source)
    assumptions = platform_data("assumptions")
    model, config = _model(source)
    task = _task(source)
    padding, multiple = _padding(source)
    lengths, target = _lengths(source, task)
    precision, asked_by = _precision(source)
    rate = source.known("optimizer.learning_rate", (int, float))
    rank, targets = _lora(source, int(assumptions["lora_rank"]))
    spec = RunSpec(
        model=model,
        task=task,
        source=lengths,
        config=config,
        name=name,
        target=target,
        shapes=_shapes(source, task, padding),
        train_batch=source.count("batch.train", int(assumptions["batch"])),
        accumulation=source.count("batch.accumulation", 1),
        padding=padding,
        pad_to_multiple_of=multiple,
        group_by_length=source.known("batch.sampling") == "group_by_length",
        drop_last=source.known("batch.drop_last") is True,
        precision=precision,
        precision_by=asked_by,
        weights_dtype=_weights(source),
        optimizer=_optimizer(source),
        learning_rate=float(assumptions["learning_rate"] if rate is None else rate),
        max_grad_norm=_clipped(source),
        gradient_checkpointing=source.known("memory.checkpointing") is True,
        dropout=_dropout(source),
        lora_rank=rank,
        lora_targets=targets,
        evaluation=_evaluation(source, target, assumptions),
        empty_cache_steps=source.known("memory.empty_cache_steps", int),
        steps=_steps(source, int(assumptions["steps"])),
        high_watermark=source.known("environment.high_watermark", (int, float)),
        has_fallback=str(source.known("environment.fallback")) == "1",
        attention="eager" if source.known("model.attention") == "eager" else "sdpa",
        seed=int(source.known("training.seed", int) or 0),
    )
    if source.plan.kind == "loop" and source.evidence.devices == {"cpu"}:
        raise ReadError("the model is put on the CPU, on a Mac too, so nothing of the run is on MPS")
    if source.plan.kind == "loop" and not source.evidence.devices:
        source.assume("no device is read in the code: the model is taken to be on MPS")
    return PlannedRun(spec, tuple(source.assumed))


def _steps(source: PlanSource, assumed: int) -> int:
    """Return how many optimizer steps the run takes."""
    steps = source.known("training.steps", int)
    if steps and steps > 0:
        return int(steps)
    source.assume(f"how many optimizer steps the run takes is not known before its data is: {assumed}")
    return assumed


def _refuse(source: PlanSource) -> None:
    """Raise ReadError for a run that the emulator does not know."""
    for call in source.calls("trainer", "lightning_trainer", "model"):
        for entry in platform_data("unplanned"):
            name = next((name for name in call.names for glob in entry["names"] if fnmatch.fnmatchcase(name, glob)), None)
            read = VersionRange.parse(entry["versions"]) if "versions" in entry else None
            if name is not None and not (read is not None and read.matches(source.evidence.target.versions)):
                made = next((part for part in name.split(".") if part[:1].isupper()), name)
                raise NeedsCodeError(f"{made} {entry['why']}, which is not read off a plan")
    facts = source.evidence.facts
    names = [*(write.name for write in facts.attributes), *(call.method for call in facts.calls)]
    frozen = next((name for name in names for glob in platform_data("generated")["freezes"] if fnmatch.fnmatchcase(name, glob)), None)
    if frozen is not None and not source.calls("lora"):
        raise NeedsCodeError(f"the code chooses which weights are trained ({frozen}), which is not read off a plan")
    bits = source.known("model.bits", int)
    if bits in (4, 8):
        raise ReadError(f"the weights are quantised to {bits} bits by bitsandbytes, which trains nothing on MPS")
    if source.known("device.cpu_only") is True:
        raise ReadError("the run asks for the CPU, so nothing of it is on MPS")


def _model(source: PlanSource) -> tuple[str, Mapping[str, Any] | None]:
    """Return the name of the model, and its configuration where the code writes one itself."""
    name = source.known("model.name", str) or _given_name(source)
    if name:
        return beside(as_written(name, source.evidence), source.evidence), None
    for call in source.calls("model_config"):
        cls = next((part for name in call.names for part in name.split(".") if part.endswith("Config")), "")
        if cls and cls != "AutoConfig":
            values = {key: argument.value.value for key, argument in call.keywords.items() if isinstance(argument.value, Known)}
            for key in call.keywords.keys() - values.keys():
                source.assume(f"{cls}'s {key} is not known: its default")
            return cls.removesuffix("Config"), {"config_class": cls, **values}
    tokenizer = source.known("tokenizer.name", str)
    if tokenizer and source.known("model.head"):
        source.assume(f"which model is trained is not known: {tokenizer}, as its tokenizer")
        return beside(as_written(tokenizer, source.evidence), source.evidence), None
    raise NeedsCodeError("which model is trained cannot be read off the code")


def _given_name(source: PlanSource) -> str:
    """Return the name that a trainer is given in place of a model."""
    for call in source.calls("trainer"):
        given = call.keywords.get("model") or (call.arguments[0] if call.arguments else None)
        if given is not None and isinstance(given.value, Known) and isinstance(given.value.value, str):
            return given.value.value
    return ""


def _task(source: PlanSource) -> Task:
    """Return what is trained, by the class of the model or of the trainer."""
    tasks: Mapping[str, Mapping[str, Any]] = platform_data("models/tasks")
    names = [name for call in source.calls("model", "trainer") for name in call.names]
    for task, entry in tasks.items():
        if any(fnmatch.fnmatchcase(name, glob) for name in names for glob in entry.get("made_by", ())):
            return task  # type: ignore[return-value]
    head = source.known("model.head", str)
    for task, entry in tasks.items():
        if head in entry.get("heads", ()):
            return task  # type: ignore[return-value]
    what = f"a model for {head.replace('_', ' ')}" if head else "what the model puts out"
    raise NeedsCodeError(f"{what} is not read off a plan")


def _padding(source: PlanSource) -> tuple[Padding, int | None]:
    """Return how batches are padded, and to a multiple of what."""
    multiple = source.known("padding.multiple_of", int)
    multiple = multiple if multiple and multiple > 1 else None
    if source.known("padding.shapes") == "fixed" or source.known("padding.strategy") == "max_length":
        return "max_length", multiple
    if source.plan.kind == "loop" and "collator" not in source.plan.calls:
        source.assume("how batches are padded is not known: to their longest sequence")
    return "longest", multiple


def _lengths(source: PlanSource, task: Task) -> tuple[Lengths, Lengths | None]:
    """Return how long inputs are, and targets where the task has some of their own."""
    assumptions = platform_data("assumptions")
    target = _drawn(source, "target", source.known("length.target", int), assumptions["target"]) if has_targets(task) else None
    fixed = assumptions["fixed"].get(task)
    if fixed is not None:
        return Lengths(int(fixed)), target
    limit = source.known("length.bound", int)
    if limit is None and (limit := source.known("length.limit", int)) is not None:
        source.assume(f"no length is written: the {limit} tokens that the model takes")
    if source.known("padding.packing") not in (None, "no"):
        return Lengths(int(limit or assumptions["source"]["limit"])), target
    if stacking_call(source.plan) is None:
        return _drawn(source, "input", limit, assumptions["source"]), target
    found = int(limit or assumptions["source"]["limit"])
    if limit is None:
        source.assume(f"the length of the samples, which are stacked, is not known: {found} tokens")
    return Lengths(found), replace(target, median=0.0) if target is not None else None


def _shapes(source: PlanSource, task: Task, padding: Padding) -> Shapes:
    """Return what the shapes of the run's batches rest on."""
    if task in platform_data("assumptions")["fixed"] or source.known("padding.packing") not in (None, "no"):
        return "known"
    if padding == "max_length":
        return "known" if source.known("length.bound", int) is not None else "assumed"
    pads = "collator" in source.plan.calls or source.known("padding.tokenizer") is True
    return "drawn" if pads else "assumed"


def _drawn(source: PlanSource, what: str, limit: int | None, assumption: Mapping[str, Any]) -> Lengths:
    """Return lengths drawn from the stated distribution, cut at what the code says."""
    if limit is None:
        source.assume(f"the longest {what} is not known: {assumption['limit']} tokens")
    found = int(limit or assumption["limit"])
    median = max(1.0, round(assumption["share"] * found))
    sigma = assumption["sigma"]
    drawn = f"lengths of the {what} are drawn: log-normal, median {median:.0f}, sigma {sigma}, cut at {found} tokens"
    source.assume(drawn)
    return Lengths(found, median, sigma)


def _precision(source: PlanSource) -> tuple[Precision, AskedBy]:
    """Return the mixed precision that the code asks for, and whether a Trainer or an autocast of its own does."""
    asked = source.known("precision.mixed", str)
    half: Precision = "fp16" if asked == "fp16" else "bf16" if asked == "bf16" else "no"
    if asked == "fp8":
        source.assume("fp8 does not exist on MPS: float32")
    if source.plan.kind != "loop":
        return half, "autocast" if source.calls("lightning_trainer") else "trainer"
    device = source.known("precision.autocast", str)
    if device == "mps" and source.known("precision.autocast_enabled") is not False:
        return half if half != "no" else "fp16", "autocast"
    if device is not None:
        source.assume(f'autocast("{device}") casts nothing that is on MPS: float32')
    return "no", "autocast"


def _weights(source: PlanSource) -> WeightsType:
    found = source.known("precision.weights", str)
    loads = VersionRange.parse(f"transformers >= {platform_data('assumptions')['loads_published_dtype']}")
    if found == "auto" or (found is None and loads.matches(source.evidence.target.versions)):
        return "auto"
    return found if found in ("float16", "bfloat16") else "float32"


def _optimizer(source: PlanSource) -> str:
    """Return the optimizer by the name that Trainer gives it, or by its class in lower case."""
    name = source.known("optimizer.name", str)
    if name is None:
        source.assume("the optimizer is not known: AdamW")
        return "adamw_torch"
    name = name.lower()
    if name in ("adamw", "adam") and source.known("optimizer.fused") is True:
        return f"{name}_fused"
    return f"{name}_foreach" if name in ("adamw", "adam") and source.known("optimizer.foreach") is True else name


def _clipped(source: PlanSource) -> float:
    """Return the norm that gradients are clipped to: a Trainer's own default, or where a loop calls for it."""
    if source.plan.kind != "loop" and not source.calls("lightning_trainer"):
        return 1.0
    return 1.0 if any(call.name.endswith("clip_grad_norm_") for call in source.evidence.facts.calls) else 0.0


def _dropout(source: PlanSource) -> float | None:
    """Return the dropout that the code writes; None leaves the model's own."""
    written = [setting for setting in source.plan.settings.get("model.dropout", ()) if setting.is_written and setting.is_known]
    if source.known("model.dropout_disabled") is True:
        return 0.0
    rates = [float(setting.constant) for setting in written if isinstance(setting.constant, (int, float))]
    return max(rates) if rates else None


def _lora(source: PlanSource, default: int) -> tuple[int, tuple[str, ...]]:
    """Return the rank of LoRA adapters, 0 where there are none, and the modules that they are put on, as the code names them."""
    calls = source.calls("lora")
    if not calls:
        return 0, ()
    rank, given = (calls[-1].keywords.get(name) for name in ("r", "target_modules"))
    known = rank.value.value if rank is not None and isinstance(rank.value, Known) and isinstance(rank.value.value, int) else None
    if rank is not None and known is None:
        source.assume(f"the rank of the adapters is not known: {default}")
    values = () if given is None else given.value.values() if isinstance(given.value, Items) else (given.value,)
    names = [value.value for value in values if isinstance(value, Known) and isinstance(value.value, str)]
    if given is not None and not names:
        source.assume("which modules get adapters is not known: peft's default ones")
    return default if known is None else known, tuple(names)


def _evaluation(source: PlanSource, target: Lengths | None, assumptions: Mapping[str, Any]) -> Evaluation | None:
    """Return what is evaluated between steps; None where nothing is."""
    plan = source.plan
    if plan.kind == "loop" or source.known("evaluation.strategy") in (None, "no"):
        return None
    samples = int(assumptions["evaluation_samples"])
    source.assume(f"the size of the evaluation set is not known: {samples} samples, evaluated once")
    generates = source.known("evaluation.generates") is True
    limit = source.known("length.generation", int)
    if generates and limit is None:
        limit = target.limit if target is not None else int(assumptions["generation_length"])
        source.assume(f"how many tokens are generated is not written: {limit}")
    reduces = source.known("evaluation.reduces_logits") is True or source.known("evaluation.batch_metrics") is True
    keeps = source.known("evaluation.metrics") is True and not reduces and source.known("evaluation.loss_only") is not True
    return Evaluation(
        source.count("batch.eval", int(assumptions["batch"])),
        samples,
        keeps_logits=keeps,
        accumulation_steps=source.known("evaluation.accumulation_steps", int),
        generates=generates,
        generation_limit=int(limit or 0),
        beams=int(source.known("evaluation.beams", int) or 1),
    )


def as_written(name: str, evidence: Evidence) -> str:
    """Return a name as the code has it: settings hold names in lower case, folders and the Hugging Face cache don't."""
    for call in evidence.facts.calls:
        for argument in (*call.arguments, *call.keywords.values()):
            for one in alternatives_of(argument.value):
                if isinstance(one, Known) and isinstance(one.value, str) and one.value.lower() == name:
                    return one.value
    return name


def beside(path: str, evidence: Evidence) -> str:
    """Return a path of this machine in full, from here or from beside the file that names it; any other text as it is."""
    places = (Path(path), Path(evidence.document.path).parent / path) if path else ()
    return next((str(place.resolve()) for place in places if place.exists()), path)


class NeedsCodeError(ReadError):
    """A run that no plan describes, though its own code may be run."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; let its own code run: mpslint verify FILE")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRun:
    """One training run of a file."""

    plan: TrainingPlan
    evidence: Evidence

    @property
    def title(self) -> str:
        """What it is and where it stands: `Seq2SeqTrainer (trainer) at cell 15, line 1`."""
        document, span = self.evidence.document, self.plan.span
        place = document.place(span.start) if span is not None else None
        if place is not None and document.parts:
            place = replace(place, path=place.path or document.path)
        return f"{self.plan.title} ({self.plan.kind})" + (f" at {place.shown}" if place is not None else "")


@dataclass(frozen=True, slots=True)
class PlanSource(TrainingRun):
    """A run whose plan is read, and what was assumed so far."""

    assumed: list[str] = field(default_factory=list)

    def known(self, name: str, kind: type | tuple[type, ...] = object) -> Any:
        """Return the constant of a setting, None where it is not known or of another kind; a default of the command line is named."""
        setting = self.plan.get(name)
        if setting is None or not setting.is_known or not isinstance(setting.constant, kind) or setting.constant is None:
            return None
        if is_weak(setting.value) and setting.is_written:
            self.assume(f"{setting.spelling} is {setting.constant}, a default that the command line may change")
        return setting.constant

    def count(self, name: str, assumed: int) -> int:
        """Return a whole number that the plan says, else what is assumed."""
        found = self.known(name, int)
        if found is not None and found > 0:
            return int(found)
        if self.plan.get(name) is not None or self.plan.kind == "loop":
            self.assume(f"{name} is not known: {assumed}")
        return assumed

    def assume(self, line: str) -> None:
        """Note an assumption, once."""
        if line not in self.assumed:
            self.assumed.append(line)

    def calls(self, *roles: str) -> list[Call]:
        """Return the run's calls of some roles."""
        return [call for role in roles for call in self.plan.calls.get(role, ())]

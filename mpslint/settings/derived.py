"""What follows from a run's settings together: the dropout in force, the longest sequence, whether the shapes of its batches vary."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from mpslint.core.knowledge import configuration_of, parameters_of, platform_data
from mpslint.facts.values import UNKNOWN, Call, Class, Instance, Known, Value, alternatives_of
from mpslint.settings.batches import loads_itself, stacking_call
from mpslint.settings.families import ModelFamily, bits_of, family_named, family_of_class, head_of
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.roles import roles_that
from mpslint.settings.setting import Setting, inferred

MOST_SHAPES = 64
"""Batches of no more different lengths than these count as bounded."""
COARSE = 32
"""Padding to a multiple of this, or of more, bounds the lengths whatever the longest is."""
FIXED, BOUNDED, VARYING = "fixed", "bounded", "varying"
NOT_PACKED = "no"
ELSEWHERE = ("config", "shell")
"""Where a length is written that a program of somebody else's cuts to."""
HALF = ("float16", "bfloat16")


def _derived(plan: TrainingPlan) -> Iterator[Setting]:
    family = family_of(plan)
    bound = _bound(plan, family)
    for found in (_head(plan), _limit(plan, family), _dropout(plan, family), bound, _reached(plan, bound)):
        if found is not None:
            yield found
    yield from _sizes(plan)
    yield from _padding_limits(plan, family)
    shapes = list(_shapes(plan, bound))
    yield from shapes
    if any(setting.constant == VARYING for setting in shapes if setting.is_known):
        yield from _embedding(plan)


def _sizes(plan: TrainingPlan) -> Iterator[Setting]:
    """Yield how many million parameters each model has, and the bits of one whose checkpoint is quantised, where its name says so."""
    for name in plan.settings.get("model.name", ()):
        millions = parameters_of(str(name.constant)) if name.is_known else None
        if millions is not None:
            yield dataclasses.replace(name, name="model.parameters", value=Known(millions))
        is_unsaid = name.role == "model" and name.is_known and not plan.settings.get("model.bits")
        if is_unsaid and (bits := bits_of(str(name.constant))) is not None:
            yield dataclasses.replace(name, name="model.bits", value=Known(bits))


def _embedding(plan: TrainingPlan) -> Iterator[Setting]:
    """Yield how big the gradient of the embedding is, where the checkpoint is known and its embedding is trained."""
    name = plan.get("model.name")
    if name is None or not name.is_known or "lora" in plan.calls or plan.constant("model.bits"):
        return
    values = configuration_of(str(name.constant))
    if values is None:
        return
    table = platform_data("retained")["operators"]["embedding_dense_backward"]
    rows, width = (next((values[key] for key in table[part] if key in values), 0) for part in ("rows", "width"))
    dtype = plan.constant("precision.weights")
    dtype = values.get("dtype", "float32") if dtype == "auto" else dtype
    each = 2 if dtype in HALF else 4
    size = rows * width * each
    if size:
        facts = {"rows": rows, "width": width, "bytes": each, "mib": round(size / 2**20), "gib": round(100 * size / 2**30, 1)}
        for key, value in facts.items():
            yield inferred(f"embedding.{key}", value, name.call, str(name.constant))


def family_of(plan: TrainingPlan) -> ModelFamily | None:
    """Return the family of a run's model, by the name of its checkpoint, by the class that makes it, or by its tokenizer's name."""
    made_by = (family_of_class(name) for call in plan.calls.get("model", ()) for name in call.names)
    model, tokenizer = (plan.constant(name) for name in ("model.name", "tokenizer.name"))
    own, of_tokenizer = (family_named(name) if isinstance(name, str) else None for name in (model, tokenizer))
    return own or next(filter(None, made_by), None) or of_tokenizer


def _head(plan: TrainingPlan) -> Setting | None:
    """Return what the model puts out, by its class; None for a model inside a class of the program, which puts out something of its own."""
    trainer = plan.trainer
    if trainer is not None and (trainer.arguments or "model" in trainer.keywords):
        given = trainer.keywords.get("model") or trainer.arguments[0]
        if any(map(_is_own, alternatives_of(given.value))):
            return None
    for call in reversed(plan.calls.get("model", ())):
        head = head_of(_class_names(call))
        if head is not None:
            return inferred("model.head", head, call, call.name)
    return None


def _class_names(call: Call) -> list[str]:
    """Return the names of the class of a model: that of the program's own, which says what it puts out, then those of a library."""
    own = call.receiver if isinstance(call.receiver, Class) else call.result.cls if call.result is not None else None
    return [f"{own.node.name}.{own.node.name}", *call.names] if own is not None else list(call.names)


def _is_own(value: Value) -> bool:
    """Return whether a model is an object of a class of the program that is no model of a library, with adapters or without."""
    if not isinstance(value, Instance):
        return False
    if value.owner is not None:
        return _is_own(value.owner)
    if value.cls is not None:
        return not any(name.startswith("transformers.") for name in value.cls.outside_bases())
    adapted = value.call is not None and value.name.startswith("peft.") and bool(value.call.arguments)
    return adapted and value.call is not None and any(_is_own(one) for one in alternatives_of(value.call.arguments[0].value))


def _limit(plan: TrainingPlan, family: ModelFamily | None) -> Setting | None:
    """Return the tokens that the model takes, or was trained on: those that its configuration is given, else those of its family."""
    for made in (*plan.calls.get("model_config", ()), *plan.calls.get("model", ())):
        for name in platform_data("model_families")["positions"]:
            if name in made.keywords:
                value = made.keywords[name].value
                is_number = isinstance(value, Known) and isinstance(value.value, int)
                return dataclasses.replace(inferred("length.limit", None, made, name), value=value) if is_number else None
    if family is None or family.length is None:
        return None
    call = next(iter(plan.calls.get("model", ())), None)
    return inferred("length.limit", family.length, call, family.name)


def _dropout(plan: TrainingPlan, family: ModelFamily | None) -> Setting | None:
    """Return the largest dropout inside the model's layers: what is written for each parameter, else the family's default."""
    rates: dict[str, Any] = dict(family.dropout) if family is not None else {}
    call = next(iter(plan.calls.get("model", ())), None)
    spellings = {name for setting in plan.settings.get("model.dropout", ()) for name in _dropout_names(setting)}
    for made in (*plan.calls.get("model", ()), *plan.calls.get("model_config", ())):
        for name in (name for name in made.keywords if name in spellings):
            value = made.keywords[name].value
            rates[name] = value.value if isinstance(value, Known) else None
    for setting in plan.settings.get("model.dropout", ()):
        if setting.call is None:
            rates[setting.spelling.rsplit(".", 1)[-1]] = setting.constant if setting.is_known else None
    numbers = {name: rate for name, rate in rates.items() if isinstance(rate, (int, float))}
    if not numbers or (len(numbers) < len(rates) and not max(numbers.values())):
        return None
    name = max(numbers, key=lambda name: numbers[name])
    return inferred("model.active_dropout", numbers[name], call, name)


def _dropout_names(setting: Setting) -> list[str]:
    if setting.pattern is None:
        return [setting.spelling.rsplit(".", 1)[-1]]
    return [name for name, _ in setting.pattern.table.spellings_of("model.dropout")]


def _bound(plan: TrainingPlan, family: ModelFamily | None) -> Setting | None:
    """Return the longest sequence that a batch can hold: the length that the text is cut or padded to, else the model's own."""
    sources = plan.settings.get("length.source", ())
    is_said = any(one.is_written and one.role in roles_that("cuts") for one in sources)  # None included, which takes the default away
    counting = [setting for setting in sources if setting.is_written or not is_said]
    cut = [s for s in counting if s.is_known and isinstance(s.constant, int) and _cuts(plan, s)]
    if cut:
        longest = max([s for s in cut if s.is_written] or cut, key=lambda setting: int(setting.constant))
        return dataclasses.replace(longest, name="length.bound")
    for setting in plan.settings.get("length.truncation", ()):
        has_length = any(other.call is setting.call for other in plan.settings.get("length.source", ()))
        if has_length or not _is_cut(plan, setting.call):
            continue
        own = plan.get("length.tokenizer")
        if own is not None:
            return dataclasses.replace(own, name="length.bound")
        if family is not None and family.length is not None:
            return dataclasses.replace(setting, name="length.bound", value=Known(family.length), origin=None)
    by_hand = max(plan.settings.get("length.cut", ()), key=lambda setting: int(setting.constant), default=None)
    return dataclasses.replace(by_hand, name="length.bound") if by_hand is not None else None


def _cuts(plan: TrainingPlan, setting: Setting) -> bool:
    """Return whether samples are cut to a length: of arguments, or of a tokenizer that truncates; of a file or flag, if written there."""
    if setting.style in ELSEWHERE:
        return setting.is_written
    return setting.role in roles_that("cuts") or _is_cut(plan, setting.call)


def _reached(plan: TrainingPlan, bound: Setting | None) -> Setting | None:
    """Return the length that batches come up to: the one that is written, or the model's own where every sample is padded to it."""
    if bound is None or (bound.entry is not None and bound.entry.setting == "length.truncation" and not _is_padded(plan)):
        return None
    return dataclasses.replace(bound, name="length.reached")


def _padding_limits(plan: TrainingPlan, family: ModelFamily | None) -> Iterator[Setting]:
    """Yield what `max_length` padding pads to where no length is given: the tokenizer's own limit, or None for none."""
    own = plan.get("length.tokenizer")
    if own is None and (family is None or (family.length is None and family.tokenizer_length is None)):
        return
    limit = own.value if own is not None else Known(family.tokenizer_length if family is not None else None)
    for setting in plan.settings.get("padding.strategy", ()):
        lengths = (*plan.settings.get("length.source", ()), *plan.settings.get("padding.length", ()))
        given = any(other.call is setting.call and not (other.is_known and other.constant is None) for other in lengths)
        is_open = setting.call is None or setting.call.is_open
        if setting.role in ("tokenizer", "collator") and setting.constants == ("max_length",) and not (given or is_open):
            yield dataclasses.replace(setting, name="padding.limit", value=limit)


def _is_padded(plan: TrainingPlan) -> bool:
    """Return whether the tokenizer pads every sample to one length."""
    return any(s.role == "tokenizer" and s.is_known and s.constant == "max_length" for s in plan.settings.get("padding.strategy", ()))


def _is_cut(plan: TrainingPlan, call: Call | None) -> bool:
    """Return whether a tokenizer's call cuts its text."""
    mine = [setting for setting in plan.settings.get("length.truncation", ()) if setting.call is call]
    return any(setting.is_known and setting.constant != "none" for setting in mine)


def _shapes(plan: TrainingPlan, bound: Setting | None) -> Iterator[Setting]:
    """Yield whether the lengths of a Trainer's batches vary, at each place that decides it."""
    if plan.constant("padding.packing") not in (None, NOT_PACKED) or plan.constant("padding.free"):
        return
    padded = _is_padded(plan)
    if (stacking := stacking_call(plan)) is not None:
        yield inferred("padding.shapes", FIXED, stacking, stacking.name)
        return
    deciding = ("collator",) if "collator" in plan.calls or plan.constant("padding.collator") else ("arguments",)
    for setting in plan.settings.get("padding.strategy", ()):
        if setting.role in deciding:
            word = FIXED if padded else _shape_of(setting, _multiple_of(plan, setting), bound)
            yield dataclasses.replace(setting, name="padding.shapes", value=Known(word) if word else UNKNOWN)
    given = plan.get("padding.collator")
    if given is not None and plan.constant("padding.collator") is False and plan.constant("padding.tokenizer") is True:
        if "collator" in plan.calls or loads_itself(given.call):
            return
        yield dataclasses.replace(given, name="padding.shapes", value=Known(FIXED if padded else VARYING))


def _multiple_of(plan: TrainingPlan, setting: Setting) -> Any:
    """Return what a collator pads to a multiple of: 1 when nothing is said, None when that is not known."""
    own = [other for other in plan.settings.get("padding.multiple_of", ()) if other.call is setting.call]
    if not own:
        return 1
    return (own[-1].constant or 1) if own[-1].is_known else None


def _shape_of(setting: Setting, multiple: Any, bound: Setting | None) -> str:
    """Return how many shapes a collator makes; '' when that is not known."""
    if not setting.is_known or not isinstance(multiple, int):
        return ""
    if setting.constant != "longest":
        return FIXED if setting.constant == "max_length" else ""
    longest = bound.constant if bound is not None and bound.is_known else None
    is_bounded = multiple >= COARSE or (multiple > 1 and isinstance(longest, int) and longest / multiple <= MOST_SHAPES)
    return BOUNDED if is_bounded else VARYING


def with_derived(plan: TrainingPlan) -> TrainingPlan:
    """Return a run with what follows from its settings."""
    merged = dict(plan.settings)
    for setting in _derived(plan):
        merged[setting.name] = (*merged.get(setting.name, ()), setting)
    return dataclasses.replace(plan, settings=merged)

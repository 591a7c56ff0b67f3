"""How many samples a run trains on at once, where no argument of a Trainer says so: what its loader says, or the program's own batches;
and whether samples are stacked: torch's own collation, and what transformers does by default, take only samples of one shape.

The latter says nothing of batches of one sample, nor of those that a sampler puts together by their lengths.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mpslint.core.knowledge import platform_data
from mpslint.facts.facts import Facts
from mpslint.facts.values import Argument, Call, Instance, Items, Known, Symbol, Value, alternatives_of, made_from
from mpslint.program.walk import called_name, walk
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting, inferred
from mpslint.settings.translate import bound_arguments

if TYPE_CHECKING:
    from mpslint.settings.plan import Matched

SHORTEST = 16
"""Rows of fewer elements than these are no text."""
OWN_ROLES = {
    "batch_shape": r"\((?:(?!\s*-)[^,()]+,(?!\s*-)[^,()]+,?\s*\)|[^()]*\()",
    "row_choice": r":[^\n]*\+[^\n]*\]",
}
"""Calls with which a program makes its batches itself, and what stands where one does: two sizes, rows cut out of a long text."""
OWN_SETTINGS = ("batch.train", "length.bound", "length.reached")
"""What such batches say."""


def of_loader(part: Matched) -> Iterator[Setting]:
    """Yield the batch of a DataLoader as that of the training."""
    for setting in part.settings:
        if setting.name == "loader.batch":
            yield dataclasses.replace(setting, name="batch.train")


def given_loaders(
    run: Matched, kind: Mapping[str, Any], facts: Facts, matched: Sequence[Matched], by_result: Mapping[int, Matched]
) -> list[Matched]:
    """Return the loaders that a Trainer is given when it starts, else those that the program's own methods make for it.

    None at all where these have batches of several sizes, as it isn't known which of them trains.
    """
    if "given_loaders" not in kind:
        return []
    method, place, *names = kind["given_loaders"]
    for call in facts.calls:
        if call.method == method and call.receiver is run.call.result:
            named = (call.keywords[str(name)] for name in names if name in call.keywords)
            arguments = (*call.arguments[int(place) : int(place) + 1], *named)
            found = [by_result[id(one.value)] for one in arguments if id(one.value) in by_result]
            if loaders := [part for part in found if part.pattern.role == "loader"]:
                return loaders
    made = [part for part in matched if part.pattern.role == "loader" and _is_in(part.call, kind["makes_loaders"])]
    sizes = {setting.constant if setting.is_known else None for part in made for setting in of_loader(part)}
    return made if len(sizes) == 1 else []


def _is_in(call: Call, methods: Sequence[str]) -> bool:
    return any(not isinstance(function, ast.Lambda) and function.name in methods for function in call.context.functions)


def of_program(facts: Facts, matched: Sequence[Matched]) -> tuple[Setting, ...]:
    """Return the batch of tokens that the program makes itself and gives to a model with attention: its rows, and their length.

    It makes two tensors of one shape, the tokens and the same shifted by one: `x.view(B, T)`, or rows that are cut from a long text.
    """
    shaping = [part for part in matched if part.pattern.role in OWN_ROLES]
    if not shaping or not _attends(facts):
        return ()
    shapes = [(call, shape) for call in facts.calls if (shape := _shape(call, facts, shaping)) is not None]
    models = [call for call in facts.calls if call.name.endswith(".__call__")]
    given = {id(made) for call in models for one in call.given for made in made_from(one)}
    for call, shape in shapes:
        twins = [other for other, same in shapes if other.node is not call.node and same == shape and _home(other) is _home(call)]
        if twins and id(call.result) in given and shape[1] >= SHORTEST:
            sizes = zip(OWN_SETTINGS, (*shape, shape[1]), strict=True)
            return tuple(inferred(name, size, call, call.method or call.name) for name, size in sizes)
    return ()


def _attends(facts: Facts) -> bool:
    """Return whether the program makes something that is named like a model with attention."""
    names = re.compile(platform_data("batches")["attends"], re.IGNORECASE)
    return any(names.search(called_name(call.node)) for call in facts.calls)


def _shape(call: Call, facts: Facts, shaping: Sequence[Matched]) -> tuple[int, int] | None:
    """Return the rows of the tensor that a call makes, and their length; None where it has other dimensions, or they aren't known."""
    role = next((part.pattern.role for part in shaping if part.call is call), "")
    if role == "batch_shape":
        sizes = [_number(one.value) for one in call.arguments]
        return (sizes[0], sizes[1]) if len(sizes) == 2 and sizes[0] > 0 and sizes[1] > 0 else None
    rows = call.node.args[0] if call.node.args else None
    if not isinstance(rows, (ast.ListComp, ast.GeneratorExp)):
        return None
    cut = {id(window.node): _number(window.length) for window in facts.windows}
    lengths = [cut[id(node)] for node in walk(rows.elt) if id(node) in cut]
    chosen = [_chosen(part.call) for part in shaping if part.pattern.role == "row_choice" and _home(part.call) is _home(call)]
    counts = [count for count in chosen if count > 0]
    return (counts[0], lengths[0]) if counts and lengths and lengths[0] > 0 else None


def _chosen(call: Call) -> int:
    """Return how many samples a random choice takes: its only size, by name or as the last argument; 0 where that isn't known."""
    size = call.keywords.get("size") or call.keywords.get("k") or (call.arguments[-1] if len(call.arguments) > 1 else None)
    if size is None:
        return 0
    if isinstance(size.value, Items):
        values = size.value.values()
        return _number(values[0]) if len(values) == 1 and not size.value.open else 0
    return _number(size.value)


def _number(value: Value) -> int:
    return value.value if isinstance(value, Known) and type(value.value) is int else 0


def _home(call: Call) -> ast.AST | None:
    """Return the function that a call stands in."""
    return call.context.functions[-1] if call.context.functions else None


def stacking_call(plan: TrainingPlan) -> Call | None:
    """Return the Trainer or loader that stacks the samples of a run's batches; None where another function makes them, or may."""
    given = plan.get("padding.collator")
    if given is not None and given.call is not None and given.pattern is not None:
        if plan.constant("batch.train") == 1:
            return None
        collator = bound_arguments(given.call, given.pattern).get("data_collator")
        if not _is_none(collator):
            return given.call if _stacks(collator) else None
        by_default = plan.constant("padding.collator") is False and plan.constant("padding.tokenizer") is False
        return given.call if by_default and not loads_itself(given.call) else None
    said = plan.settings.get("loader.batch", ())
    loaders = [(one, one.call, one.pattern) for one in said if one.call is not None and one.pattern is not None]
    for setting, call, pattern in loaders:
        bound = bound_arguments(call, pattern)
        collator = bound.get("collate_fn")
        is_single = setting.is_known and setting.constant in (1, None)
        is_plain = call.name in platform_data("batches")["stacking"]["loaders"] and not call.is_open and not is_single
        if not (is_plain and _is_none(bound.get("batch_sampler")) and (_is_none(collator) or _stacks(collator))):
            return None
    return loaders[0][1] if loaders else None


def loads_itself(call: Call | None) -> bool:
    """Return whether a Trainer of the program makes its own loaders, and so its own batches."""
    cls = call.result.cls if call is not None and call.result is not None else None
    return cls is not None and cls.lookup("get_train_dataloader") is not None


def _is_none(argument: Argument | None) -> bool:
    return argument is None or (isinstance(argument.value, Known) and argument.value.value is None)


def _stacks(collator: Argument | None) -> bool:
    """Return whether what is given as a collate function is one that stacks."""
    known = platform_data("batches")["stacking"]["functions"]
    given = alternatives_of(collator.value) if collator is not None else ()
    return bool(given) and all(isinstance(one, (Symbol, Instance)) and one.name in known for one in given)

"""Hold what a file says to the comparisons of a condition: settings, calls, arguments and plain values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from mpslint.facts.values import Argument, Bound, Call, Function, Instance, Items, Known, Mapping, Symbol, Value, alternatives_of, is_weak
from mpslint.program.reach import text_of
from mpslint.rule.crosses import carried_by
from mpslint.rule.rule import Condition
from mpslint.settings.setting import Setting
from mpslint.tensors.kinds import fits

LONGEST_VALUE = 1_000
"""Characters of a value that a pattern looks at."""


def setting_holds(setting: Setting, condition: Condition) -> bool:
    """Return whether a setting is as a condition asks; a value that is not known passes no comparison."""
    if condition.written is not None and setting.is_written is not condition.written:
        return False
    if condition.roles and setting.role not in condition.roles:
        return False
    if condition.direct is not None and (setting.span is not None and setting.origin in setting.span) is not condition.direct:
        return False
    if condition.settled is not None and _is_settled(setting) is not condition.settled:
        return False
    if condition.missing is not None:
        is_missing = setting.is_known and setting.constant is None
        return is_missing is condition.missing and (is_missing or compare_all(setting.constants, condition.comparisons))
    return bool(setting.constants) and compare_all(setting.constants, condition.comparisons)


def _is_settled(setting: Setting) -> bool:
    """Return whether the value of a setting is no default of a function that nothing in the program calls."""
    return setting.context is None or setting.context.called or not is_weak(setting.value)


def combined(condition: Condition, factors: Sequence[Setting | None]) -> float | None:
    """Return the product, or the ratio, of several settings; None when one is not a known number."""
    if condition.subject == "product":
        return _product(factors)
    first, second = _product(factors[:1]), _product(factors[1:2])
    return first / second if first is not None and second else None


def _product(factors: Sequence[Setting | None]) -> float | None:
    product: float = 1
    for factor in factors:
        if factor is None or not factor.is_known or not isinstance(factor.constant, (int, float)) or factor.constant is True:
            return None
        product *= factor.constant
    return product


def call_holds(call: Call, condition: Condition) -> bool:
    """Return whether a call has the name, the receiver, the place and the arguments that a condition asks for."""
    if condition.subject == "method":
        if call.method not in condition.names:
            return False
    elif not any(fits(name, condition.names) for name in call.names):
        return False
    is_repeated = bool(call.context.all_loops)
    if isinstance(condition.in_loop, bool) and is_repeated is not condition.in_loop:
        return False
    given: dict[str, Argument] = {**dict(zip(condition.positional, call.arguments, strict=False)), **call.keywords}
    return all(_argument_holds(given.get(name), comparisons, call.is_open) for name, comparisons in condition.arguments.items())


def _argument_holds(argument: Argument | None, comparisons: tuple[tuple[str, Any], ...], is_open: bool) -> bool:
    """Return whether an argument compares as asked. `any: true` asks for its presence, `any: false` for its absence."""
    wanted = dict(comparisons).get("any")
    if wanted is not None:
        return (argument is not None) is wanted and not (argument is None and is_open)
    if argument is None:
        return False
    asked = {op: value for op, value in comparisons if op in _OF_VALUES}
    if asked:
        return all(_OF_VALUES[op](argument.value, value) for op, value in asked.items())
    constants = []
    for value in alternatives_of(argument.value):
        if isinstance(value, Known):
            constants.append(value.value)
        elif isinstance(value, Symbol):
            constants.append(value.name)
        elif isinstance(value, Items) and (words := _words_of(value)):
            constants.append(words)
        elif isinstance(value, Mapping) and (pairs := _pairs_of(value)):
            constants.append(pairs)
        else:
            return False
    return compare_all(tuple(constants), comparisons)


def _is_made_by(value: Value, names: tuple[str, ...]) -> bool:
    """Return whether a value is what a call of one of some names returns, whatever else it may be."""
    calls = (one.call for one in alternatives_of(value) if isinstance(one, Instance))
    return any(fits(name, names) for call in calls if call is not None for name in call.names)


def _contains(value: Value, made: Condition) -> bool:
    """Return whether a value is, or holds, what such a call makes."""
    calls = (one.value.call for one in carried_by(_used_by(value)) if isinstance(one.value, Instance))
    return any(call is not None and call_holds(call, made) for call in calls)


def _used_by(value: Value) -> list[Value]:
    """Return what a method that calls no other method uses of its object, and any other value itself."""
    if not isinstance(value, Bound) or value.function is None or not isinstance(value.receiver, Instance):
        return [value]
    cls, read = value.receiver.cls, text_of(value.function.node).read
    if cls is None or any(isinstance(cls.lookup(name), Function) for name in read):
        return [value]
    return [part for name, part in value.receiver.written_slots().items() if name in read]


def _may_differ(value: Value, constants: tuple[Any, ...]) -> bool:
    """Return whether a value isn't known to be one of some constants."""
    return not all(isinstance(one, Known) and one.value in constants for one in alternatives_of(value))


def _reads(value: Value, names: tuple[str, ...]) -> bool:
    """Return whether a value is a function of the program that reads one of some attributes."""
    function = value.function if isinstance(value, Bound) else value
    return isinstance(function, Function) and not text_of(function.node).read.isdisjoint(names)


_OF_VALUES: dict[str, Callable[[Value, Any], bool]] = {
    "made_by": _is_made_by,
    "contains": _contains,
    "reads": _reads,
    "unless": _may_differ,
}
"""What an argument is asked that is no constant."""


def _words_of(items: Items) -> str:
    """Return a list of texts or of numbers as one text; '' for a list of anything else.

    Texts are put as a command is written, `["nvidia-smi", "-L"]` as `nvidia-smi -L`, numbers as those of devices are, `[0]` as `0,`.
    """
    numbers = [str(value.value) for value in items.values() if isinstance(value, Known) and type(value.value) is int]
    if numbers and len(numbers) == len(items.values()) and not items.open:
        return ",".join(numbers) + ("," if len(numbers) == 1 else "")
    texts = [value.value for value in items.values() if isinstance(value, Known) and isinstance(value.value, str)]
    return " ".join(texts) if len(texts) == len(items.values()) and not items.open else ""


def _pairs_of(mapping: Mapping) -> str:
    """Return a dict of texts as one text, `{cuda:0: cuda:1}`; '' for a dict of anything else, or with other entries that aren't known."""
    texts = {key: _texts_of(entry.value) for key, entry in mapping.slots.items()}
    if mapping.is_open or not all(isinstance(key, str) and found for key, found in texts.items()):
        return ""
    return "{" + ", ".join(f"{key}: {found}" for key, found in texts.items()) + "}" if texts else ""


def _texts_of(value: Value) -> str:
    """Return the text that a value is, whichever of its alternatives it is; '' if some are no texts."""
    found = [one.value for one in alternatives_of(value) if isinstance(one, Known) and isinstance(one.value, str)]
    return " or ".join(found) if len(found) == len(list(alternatives_of(value))) else ""


def compare_all(constants: tuple[Any, ...], comparisons: tuple[tuple[str, Any], ...]) -> bool:
    """Return whether every value that something may have passes every comparison; for `may_be`, whether one does."""
    return bool(constants) and all(
        (any if op == "may_be" else all)(_compare(constant, op, value) for constant in constants) for op, value in comparisons
    )


def _compare(constant: Any, op: str, value: Any) -> bool:
    if op in ("is", "may_be", "not"):
        asked = value if isinstance(value, tuple) else (value,)
        return any(constant == one and isinstance(constant, bool) is isinstance(one, bool) for one in asked) is not (op == "not")
    if op == "is_a":
        return type(constant) is {"whole": int, "number": float, "text": str}[value]
    if op == "matches":
        return isinstance(constant, str) and re.search(str(value), constant[:LONGEST_VALUE]) is not None
    if not isinstance(constant, (int, float)) or isinstance(constant, bool):
        return False
    if op == "outside":
        return not value[0] <= constant <= value[1]
    return bool({"at_least": constant >= value, "at_most": constant <= value, "above": constant > value, "below": constant < value}[op])

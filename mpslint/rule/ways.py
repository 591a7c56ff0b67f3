"""How surely a rule wants a place to be reached, and whether the other way past it makes the same kind of object."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mpslint.facts.values import Call, Context, Guard, any_guard
from mpslint.rule.guards import is_caught, is_certain, is_off
from mpslint.rule.one_process import of_one_process
from mpslint.rule.rule import CALLED, Rule
from mpslint.settings.evidence import Evidence
from mpslint.settings.setting import Setting


def is_reached(rule: Rule, context: Context | None) -> bool:
    """Return whether a place is reached as surely as a rule asks: `certain: called` needs only a caller, and defaults that lead there."""
    if context is None:
        return True
    if (rule.by_default or rule.certain == CALLED) and any_guard(context.guards, "is off", is_off):
        return False
    if rule.certain == CALLED:
        return context.called and not context.in_handler and not is_caught(context)
    return not rule.certain or is_certain(context, rule.raises)


def makes_another(rule: Rule, setting: Setting | None, evidence: Evidence, holds: Callable[[Setting], bool]) -> bool:
    """Return whether a program may take another way, on which it makes, for the same purpose, an object that a rule has nothing against.

    `setting` is what the rule is about at the place; `holds` says whether another object's setting of that name is as bad.
    """
    if rule.certain != CALLED or setting is None or setting.call is None:
        return False
    open_tests = {(id(guard.test), guard.taken) for guard in setting.call.context.guards if _is_open(guard)}
    if not open_tests:
        return False
    for call, own in _alike(setting, evidence):
        answers = {(id(guard.test), not guard.taken) for guard in call.context.guards}
        if not open_tests.isdisjoint(answers) and not any(map(holds, own)) and _serves_as(call, setting.call, evidence):
            return True
    return False


def _is_open(guard: Guard) -> bool:
    """Return whether nothing says which way a test goes."""
    return guard.default is None and of_one_process(guard.test) is None and not guard.is_check


def _alike(setting: Setting, evidence: Evidence) -> Iterator[tuple[Call, list[Setting]]]:
    """Yield the other calls in the role of a setting's, each with its settings of the same name."""
    for plan in evidence.plans:
        for call in plan.calls.get(setting.role, ()):
            if call is not setting.call:
                yield call, [one for one in plan.settings.get(setting.name, ()) if one.call is call]


def _serves_as(call: Call, other: Call, evidence: Evidence) -> bool:
    """Return whether what two calls make is used alike: by a method that both have called; where none is seen, it may well be."""
    called = evidence.facts.methods_called()
    first, second = (called.get(id(one.result), set()) - {""} for one in (call, other))
    return not first or not second or not first.isdisjoint(second)

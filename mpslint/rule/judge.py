"""Ask a program's evidence what a rule asks, and return the places where the answer is yes."""

from __future__ import annotations

import ast
import dataclasses
import fnmatch
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from mpslint.core.finding import Related, RuleError, Span
from mpslint.core.grouped import grouped
from mpslint.core.record import record
from mpslint.core.versions import VersionRange
from mpslint.facts.values import Call, Context, Instance, Known
from mpslint.rule.comparisons import call_holds, combined, compare_all, setting_holds
from mpslint.rule.crosses import crossings
from mpslint.rule.events import call_of, events_for
from mpslint.rule.guards import is_caught_beside, is_certain, is_guarded, is_reached, makes_another, on_every_way
from mpslint.rule.loading import check_module
from mpslint.rule.rule import Condition, Rule
from mpslint.rule.trained import is_trained_as
from mpslint.settings.arguments import exists
from mpslint.settings.evidence import Evidence, once
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import ENVIRONMENT, Setting
from mpslint.source.files import is_beside
from mpslint.tensors.kinds import fits
from mpslint.tensors.state import graph_switch

BACKWARD = ("backward", "manual_backward", "grad")
"""Methods and functions that work out gradients."""


@record(frozen=True, slots=True, eq=False)
class Peers:
    """Every place of a program where a rule's conditions hold; equal only to itself, so that what all share is found once."""

    matches: tuple[Match, ...] = ()


@record(frozen=True, slots=True, eq=False)
class Match:
    """A place where all conditions of a rule hold."""

    span: Span
    values: Mapping[str, Any] = field(default_factory=dict)
    """What messages may speak of: `{value}`, `{written}`, and whatever a check adds."""
    setting: Setting | None = None
    call: Call | None = None
    plan: TrainingPlan | None = None
    context: Context | None = None
    related: tuple[Related, ...] = ()
    node: ast.AST | None = None
    peers: Peers = Peers()
    """The places of the same rule, once they are all known."""
    home: Related | None = None
    """As a Finding has it."""


def judge(rule: Rule, evidence: Evidence) -> Iterator[Match]:
    """Yield the places where a rule's conditions hold, each place once."""
    found = _judged(rule, evidence)
    return _once_a_plan(found) if rule.once_a_plan else found


def ruled_out(rule: Rule, evidence: Evidence) -> Iterator[Span]:
    """Yield the places of which a run shows that a rule says nothing there."""
    for condition in rule.unless_in_run:
        is_place = condition.subject == "check"
        for match in candidates(condition if is_place else rule.when[0], evidence):
            if is_place or _holds(condition, match, evidence):
                yield match.span


def _once_a_plan(found: Iterator[Match]) -> Iterator[Match]:
    """Yield the first match of each plan, one that is written as an argument before any other, with the places of the others beside it."""
    for matches in grouped((id(match.plan) if match.plan is not None else id(match), match) for match in found).values():
        first, *others = sorted(matches, key=lambda match: not isinstance(match.node, ast.keyword))
        also = tuple(Related(other.span, f"{other.values.get('spelling') or 'the same'} is set here, too") for other in others)
        yield dataclasses.replace(first, related=(*first.related, *also))


def _judged(rule: Rule, evidence: Evidence) -> Iterator[Match]:
    if evidence.is_for_other_processors and not rule.everywhere:
        return
    seen: set[Span] = set()
    for match in candidates(rule.when[0], evidence):
        if rule.at_origin:
            match = _at_origin(match)
        if rule.once and seen:
            return
        if match.span not in seen and obstacle(rule, match, evidence) is None:
            seen.add(match.span)
            yield match


def obstacle(rule: Rule, match: Match, evidence: Evidence) -> Condition | str | None:
    """Return what keeps a rule from speaking of a place where its first condition holds: a condition, or words; None where nothing does."""
    if rule.unless_guarded is not None and _is_left_alone(match, rule, evidence):
        return "a test or a loop around it speaks of what the rule is about"
    if not is_reached(rule, match.context):
        return "nothing shows that a run gets there"
    first, *rest = rule.when
    if failed := next((one for one in rest if not _holds(one, match, evidence)), None):
        return failed
    if held := next((one for one in rule.unless if _holds(one, match, evidence)), None):
        return held
    is_alike = functools.partial(setting_holds, condition=first)
    is_chosen = makes_another(rule, match.setting, evidence, is_alike)
    return "another way through the program makes the same without it" if is_chosen else None


def _is_left_alone(match: Match, rule: Rule, evidence: Evidence) -> bool:
    """Return whether a test around a place speaks of what the rule is about, and doesn't lead to another such place on its other way."""
    if not is_guarded(match.context, rule):
        return False
    first, *rest = rule.when
    others = [one for one in candidates(first, evidence) if one.context is not None and one.context.guards]
    alike = [one.context for one in others if conditions_hold(rest, rule.unless, one, evidence)]
    return is_guarded(on_every_way(match.context, alike), rule)


def conditions_hold(when: Sequence[Condition], unless: Sequence[Condition], match: Match, evidence: Evidence) -> bool:
    """Return whether all conditions of `when` and none of `unless` hold for a match."""
    return all(_holds(one, match, evidence) for one in when) and not any(_holds(one, match, evidence) for one in unless)


def _at_origin(match: Match) -> Match:
    """Return the match at the expression that decided the value."""
    origin = match.setting.origin if match.setting is not None else None
    if origin is None or (match.setting is not None and not match.setting.is_written):
        return match
    return dataclasses.replace(match, span=origin, related=())


def candidates(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    """Yield the places where the first condition of a rule holds."""
    return _SUBJECTS.get(condition.subject, _nowhere)(condition, evidence)


def _settings(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    for plan in evidence.plans:
        if condition.plan and plan.kind not in condition.plan:
            continue
        for name in condition.names:
            for setting in plan.settings.get(name, ()):
                is_meant = setting_holds(setting, condition) and _is_taken(setting, evidence)
                if is_meant and (match := match_of(setting, plan, evidence)) is not None:
                    yield match


def _is_taken(setting: Setting, evidence: Evidence) -> bool:
    """Return whether the call takes the argument in the Target's versions; other rules report the arguments that were removed."""
    call, pattern = setting.call, setting.pattern
    if call is None or pattern is None or not setting.is_written:
        return True
    return exists(pattern.role, call.names, setting.spelling, evidence.target.versions)


def match_of(setting: Setting, plan: TrainingPlan, evidence: Evidence) -> Match | None:
    """Return the place of a setting: where it is written, else the name of the call whose default it is."""
    span = setting.span
    if span is None and setting.call is not None:
        span = evidence.span_of(setting.call.node.func)
    span = span or setting.place
    if span is None:
        return None
    value = setting.constant if setting.is_known else None
    written = evidence.document.text[setting.value_span.start : setting.value_span.end] if setting.value_span else ""
    related: tuple[Related, ...] = ()
    if setting.origin is not None and setting.span is not None and setting.origin not in setting.span and setting.is_written:
        line = evidence.document.text[setting.origin.start : setting.origin.end]
        related = (Related(setting.origin, f"{written or setting.spelling} is {line} here"),)
    values = {"value": value, "written": written, "spelling": setting.spelling}
    return Match(span, values, setting, setting.call, plan, setting.context, related, setting.node)


def _products(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    for plan in evidence.plans:
        if condition.plan and plan.kind not in condition.plan:
            continue
        factors = [plan.get(name) for name in condition.names]
        product = combined(condition, factors)
        if product is None or not compare_all((product,), condition.comparisons):
            continue
        place = factors[0]
        match = match_of(place, plan, evidence) if place is not None else None
        if match is not None:
            more = [match_of(factor, plan, evidence) for factor in factors[1:] if factor is not None]
            related = [Related(other.span, f"{other.values['spelling']} is {other.values['value']} here") for other in more if other]
            yield dataclasses.replace(match, values={**match.values, "product": product}, related=(*match.related, *related))


def calls(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    """Yield the calls that a condition is about."""
    for call in spoken_of(condition, evidence):
        if not call_holds(call, condition) or not _comes_before(call, condition, evidence):
            continue
        if condition.in_loop == "training" and not _is_in_each_step(call.context, evidence):
            continue
        span = evidence.span_of(call.node)
        if condition.holds and not re.search(condition.holds, evidence.document.text[span.start : span.end]):
            continue
        name, shown = call.name or call.method, ast.unparse(call.node.func)
        values = {"value": name, "written": shown, "spelling": shown}
        plan = evidence.plan_with.get(id(call), next(iter(evidence.plans), None))
        yield Match(span, values, None, call, plan, call.context, (), call.node)


def _is_in_each_step(context: Context, evidence: Evidence) -> bool:
    """Return whether a place is reached in every step of a training: its innermost loop runs `backward()`, in no loop of its own."""
    backward = (one for name in BACKWARD for one in evidence.calls_of_method.get(name, ()))
    is_sure = bool(context.loops) and not context.guards and not context.in_handler
    return is_sure and any(one.context.all_loops[-1:] == context.loops[-1:] for one in backward)


def _comes_before(call: Call, condition: Condition, evidence: Evidence) -> bool:
    """Return whether a call is of an object made in the role that a condition asks for, which calls the method that is to come `before`."""
    made = evidence.file_plans.by_result.get(id(call.receiver)) if condition.of else None
    if condition.of and (made is None or made.pattern.role != condition.of):
        return False
    if not condition.before:
        return True
    order = evidence.call_order
    later = (other for other in evidence.calls_of_method.get(condition.before, ()) if other.receiver is call.receiver)
    return not call.context.guards and any(
        not other.context.guards and other.node is not call.node and order[id(other)] >= order[id(call)] for other in later
    )


def spoken_of(condition: Condition, evidence: Evidence) -> Iterator[Call]:
    """Yield the calls whose name or method a condition may be about, in order."""
    if condition.subject == "method":
        found = [call for name in condition.names for call in evidence.calls_of_method.get(name, ())]
    else:
        names = [name for name in condition.names if name in evidence.calls_of_name]
        if any("*" in name for name in condition.names):
            names = [name for name in evidence.calls_of_name if fits(name, condition.names)]
        found = [call for name in names for call in evidence.calls_of_name[name]]
    yield from sorted({id(call): call for call in found}.values(), key=lambda call: evidence.call_order[id(call)])


def _environment(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    for write in evidence.facts.environment:
        if any(fnmatch.fnmatchcase(write.name, glob) for glob in condition.names):
            constants = (write.value.value,) if isinstance(write.value, Known) else ()
            if condition.comparisons and not compare_all(constants, condition.comparisons):
                continue
            if condition.styles and write.style not in condition.styles:
                continue
            values = {"value": constants[0] if constants else None, "written": write.name, "spelling": write.name}
            yield Match(Span(write.start, write.end), values, context=write.context)


def _handlers(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    for handler in evidence.facts.handlers:
        if any(name in condition.names for name in handler.names) and handler.node.type is not None:
            span = evidence.span_of(handler.node.type)
            values = {"value": ", ".join(handler.names), "written": ast.unparse(handler.node.type)}
            yield Match(span, values, context=handler.context, node=handler.node)


def _imports(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    for fact in evidence.facts.imports:
        package = next((name for name in condition.names if fact.name == name or fact.name.startswith(f"{name}.")), "")
        if package:
            if is_beside(package.split(".")[0], evidence.document.path):
                continue  # the program's own, which only bears the name
            values = {"value": fact.name, "written": fact.name, "package": package}
            yield Match(evidence.span_of(fact.node), values, context=fact.context, node=fact.node)


def _checks(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    for name in condition.names:
        yield from check_module(name).find(evidence, condition.options)


def _events(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    for one in crossings(evidence) if "crosses" in condition.names else ():
        match = match_of(one.workers, evidence.plans[-1], evidence) if one.of in condition.options["of"] else None
        if match is not None:
            yield dataclasses.replace(match, values={**match.values, **one.values}, related=(*match.related, *one.related))
    for span, values, event, related, node in events_for(condition, evidence):
        yield Match(span, values, None, call_of(event, evidence), None, event.context, related, node)


def _nowhere(condition: Condition, evidence: Evidence) -> Iterator[Match]:
    """Conditions about the whole file have no place of their own."""
    raise RuleError(f"{condition.subject!r} cannot come first in `when`: it has no place in the file")


_SUBJECTS: dict[str, Callable[[Condition, Evidence], Iterator[Match]]] = {
    "setting": _settings,
    "product": _products,
    "ratio": _products,
    "call": calls,
    "method": calls,
    "environment": _environment,
    "handler": _handlers,
    "import": _imports,
    "check": _checks,
    "event": _events,
    "suppression": lambda condition, evidence: iter(()),  # judged by the engine, once all other rules are
}


def _holds(condition: Condition, match: Match, evidence: Evidence) -> bool:
    """Return whether a condition other than the first holds for the run that a place belongs to."""
    subject = condition.subject
    if subject == "setting" and (condition.options.get("elsewhere") or condition.options.get("in_run")):
        key: Any = "said", id(condition)
        if key not in evidence.memo:
            by_calls = [setting for one in evidence.file_plans.matched for setting in one.settings]
            by_variables = [one for plan in evidence.plans for said in plan.settings.values() for one in said if one.dialect == ENVIRONMENT]
            said = (one for one in (*by_calls, *by_variables) if one.name in condition.names)
            evidence.memo[key] = [one for one in said if setting_holds(one, condition)]
        in_run = condition.options.get("in_run")  # where it is reached for sure
        return any(one.context and is_certain(one.context) if in_run else one.node is not match.node for one in evidence.memo[key])
    if subject == "setting":
        return any(_holds_for(name, condition, match) for name in condition.names) or _calls_instead(condition, match, evidence)
    if subject in ("product", "ratio"):
        factors = [match.plan.get(name) for name in condition.names] if match.plan is not None else []
        product = combined(condition, factors) if factors else None
        return bool(factors) and product is not None and compare_all((product,), condition.comparisons)
    if subject == "trains":
        context = match.context or (match.call.context if match.call is not None else None)
        trains = evidence.trains and not (context is not None and graph_switch(context) is False)
        return trains is (condition.names[0].lower() == "true")
    if subject == "trained":
        is_so = match.setting is not None and is_trained_as(match.setting, evidence, condition.options)
        return is_so is (condition.names[0].lower() == "true")
    if subject == "asks":
        own = evidence.document.part_at(match.span.start).span
        asked = (one.node for one in evidence.facts.choices if one.source in condition.names)
        return any(condition.options.get("in_run") or evidence.document.part_at(evidence.span_of(one).start).span == own for one in asked)
    if subject == "chooses_device":
        return evidence.has_device_chooser is (condition.names[0].lower() == "true")
    if subject == "program":
        return evidence.is_program is (condition.names[0].lower() == "true")
    if subject == "runs_on":
        before = evidence.call_order.get(id(match.call), 0) if condition.options.get("already") else None
        return any(evidence.runs_on(name) and (before is None or evidence.is_put_on(name, before)) for name in condition.names)
    if subject == "certain":
        is_sure = match.context is None or (match.context.called and not match.context.guards)  # a default is no answer
        return is_sure is (condition.names[0].lower() == "true")
    if subject == "uses":
        return _uses((evidence.whole or evidence) if condition.options.get("in_run") else evidence.around(match.span), condition.names)
    if subject == "method" and condition.options.get("receiver"):
        made = match.call.receiver.call if match.call is not None and isinstance(match.call.receiver, Instance) else None
        return made is not None and made.method in condition.names
    if subject == "chip":
        return any(evidence.target.chip.lower().startswith(name.lower()) for name in condition.names)
    if subject == "versions":
        return any(VersionRange.parse(name).matches(evidence.target.versions) for name in condition.names)
    if subject == "role":
        return match.plan is not None and any(name in match.plan.roles for name in condition.names)
    if subject == "handler" and isinstance(match.node, ast.ExceptHandler):
        return is_caught_beside(condition.names, match.node, evidence)
    if condition.options.get("here"):
        return any(one.span == match.span for one in candidates(condition, evidence))
    is_later = bool(condition.options.get("later"))
    key = "last", id(condition)  # it asks about the file, not about the place
    if key not in evidence.memo:
        starts = (one.span.start for one in candidates(condition, evidence))
        evidence.memo[key] = max(starts, default=-1) if is_later else next(starts, -1)
    return bool(evidence.memo[key] >= (match.span.end if is_later else 0))


@once
def _uses(evidence: Evidence, patterns: Sequence[str]) -> bool:
    """Return whether one of the names that a program uses fits a pattern."""
    return any(name in evidence.names_used or fnmatch.filter(evidence.names_used, name) for name in patterns)


def _calls_instead(condition: Condition, match: Match, evidence: Evidence) -> bool:
    """Return whether the program calls one of the methods that count as much as a setting."""
    made = [call.result for call in match.plan.calls.get(condition.of, ())] if match.plan is not None else []
    calls = (call for name in condition.or_calls for call in evidence.calls_of_method.get(name, ()))
    return any(call.receiver is one for call in calls for one in made if one is not None)


def _holds_for(name: str, condition: Condition, match: Match) -> bool:
    """Return whether a setting compares as asked: that of the same call, where it has one, else that of the run.

    A default of the call counts less than what is written for the run elsewhere than in a call (`model.config.max_length = 64`).
    """
    if match.plan is None:
        return bool(condition.missing)
    if condition.plan and match.plan.kind not in condition.plan:
        return False
    own = match.plan.of_call(name, match.call) if match.call is not None else ()
    counts = match.plan.get(name)
    is_overruled = counts is not None and counts.is_written and counts.call is None
    setting = own[-1] if own and (own[-1].is_written or not is_overruled) else counts
    return bool(condition.missing) if setting is None else setting_holds(setting, condition)

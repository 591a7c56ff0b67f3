"""A device that is CUDA whatever the machine: `.cuda()`, `.to("cuda")`, `device = "cuda"` and all that reads it.

A check because one constant decides for many uses, of which the first that nothing saves is told.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpslint.checks._choice_rewrites import PLAIN_PLACES
from mpslint.checks._device_name import device_name
from mpslint.core.finding import Edit, Related, Span
from mpslint.core.knowledge import platform_data
from mpslint.facts.values import (
    Argument,
    Call,
    Context,
    DictEntry,
    Function,
    Guard,
    Instance,
    Known,
    Symbol,
    Unknown,
    Value,
    any_guard,
    is_weak,
    origin_of,
)
from mpslint.facts.values import Mapping as DictValue
from mpslint.program.walk import walk
from mpslint.rule.guards import is_caught, is_of_one_process, is_skipped, on_every_way
from mpslint.rule.judge import Match, Peers
from mpslint.settings.evidence import Evidence, once
from mpslint.settings.spelling import WrittenSetting, as_on, quote_of
from mpslint.tensors.traits import is_module
from mpslint.tensors.weights import has_weights

SPEAKS_OF_CUDA = re.compile(r"cuda|gpu|nccl|triton", re.IGNORECASE)
"""Functions, classes and decorators of such a name are for machines with CUDA."""
IS_ONE_OF_MANY = re.compile(r"\b(get_rank|get_world_size|local_rank|current_device)\b")
"""A function that nothing in the file calls, and that speaks of these, is for one process of several, each with a GPU of its own."""
NAMED = "device"
"""The role of `torch.device(...)`: naming a device raises nothing, putting something there does, be it in another file."""
KEPT = "non_blocking"
"""The argument of `.cuda()` that `.to()` takes too."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each place that decides for CUDA, with its first use.

    Option `by_default` asks for defaults of the command line instead of plain constants, and for what a switch puts on CUDA that is on by
    default; `switches` is what the test of a switch speaks of. Option `own` asks for the calls of methods of this name that the program
    has itself. What takes a device, and what it raises for CUDA, by name or role, is in
    `rules/platform/cuda.yaml`.
    """
    if options.get("own"):
        yield from _own_methods(evidence)
        return
    switches = re.compile(options["switches"]) if options.get("switches") else None
    uses = _uses(evidence)
    placed = {id(origin_of(argument.value)) for _, role, argument in uses if argument is not None and role != NAMED}
    first: dict[int, tuple[Call, str, Argument]] = {}  # what a `try` catches comes before what may never be reached for it
    goes_on = all(is_caught(call.context) for call, _, _ in uses)  # a run that a fix would change
    certain = {id(call.node) for call, _, _ in uses if switches is not None and not _is_asked(call.context, switches)}
    for call, role, argument in uses:
        is_saved = is_caught(call.context) and not is_skipped(call, evidence)
        if is_saved or not is_meant_for_all(call.context, evidence):
            if argument is not None and role != NAMED and is_caught(call.context):
                first.setdefault(id(origin_of(argument.value) or argument), (call, role, argument))
            continue
        is_switched = switches is not None and _is_switched_on(call.context, switches)
        if is_switched and switches is not None and argument is None:  # what every way comes to, no option avoids
            way = on_every_way(call.context, (one.context for one, _, given in uses if given is None))
            is_switched = way is not None and _is_asked(way, switches)
            if not is_switched:
                continue
        if switches is not None and not is_switched and _is_asked(call.context, switches):
            continue
        if role == NAMED and argument is not None and (not options.get("by_default") or id(origin_of(argument.value)) in placed):
            continue
        if argument is None:
            if (is_switched and id(call.node) not in certain) or not options.get("by_default"):
                yield _method(evidence, call, _raised(call, role), is_switched or goes_on)
        elif is_weak(argument.value) is bool(options.get("by_default")) and (call.context.called or not is_weak(argument.value)):
            use, its_role, given = first.get(id(origin_of(argument.value)), (call, role, argument))
            yield replace(_constant(evidence, use, given, _raised(use, its_role), goes_on), context=call.context)


def _own_methods(evidence: Evidence) -> Iterator[Match]:
    """Yield the calls `x.cuda()` of methods that the program defines: what they do is found in them."""
    for method in evidence.naming("cuda"):
        for read in evidence.facts.uses.of(method) if isinstance(method, ast.FunctionDef) else ():
            if isinstance(call := evidence.parents.get(read), ast.Call) and isinstance(read, ast.Attribute):
                yield Match(_span_of_method(call, read.attr, evidence), node=call)


def _holds_nothing(value: Value | None) -> bool:
    """Return whether a value is certainly a module without weights and buffers, such as most losses: moving one can't raise."""
    if not isinstance(value, Instance) or not is_module(value) or has_weights(value):
        return False
    return not any(isinstance(one, Unknown) for name, one in value.slots.items() if isinstance(name, str))


def _raised(call: Call, role: str) -> str:
    """Return what a call in a role raises for CUDA."""
    raises = platform_data("cuda")["devices"]["raises"]
    return str(raises.get(call.name) or raises.get(role, raises["other"]))


@functools.lru_cache(maxsize=1)
def _uses(evidence: Evidence) -> tuple[tuple[Call, str, Argument | None], ...]:
    """Return the calls that are given CUDA, in order: (call, role, argument); no argument for the method `.cuda()`."""
    return tuple(_given_cuda(evidence, platform_data("cuda")["devices"]))


def _given_cuda(evidence: Evidence, table: Mapping[str, Any]) -> Iterator[tuple[Call, str, Argument | None]]:
    roles = {id(matched.call): matched for matched in evidence.file_plans.matched}
    for call in evidence.facts.calls:
        matched = roles.get(id(call))
        if call.name in table["without_effect"] or (
            matched is not None and matched.pattern.role == "placement" and _holds_nothing(call.receiver)
        ):
            continue
        if matched is not None and matched.pattern.sets.get("device.name") == "cuda":
            if not _follows_another(call) and _places_something(call, table["arguments"]):
                yield call, matched.pattern.role, None
            continue
        settings = matched.settings if matched is not None else ()
        found = next((s for s in settings if s.name == "device.name" and s.argument is not None and _is_cuda(s.argument)), None)
        if found is not None and matched is not None:
            if _places_something(call, table["arguments"]):
                yield call, matched.pattern.role, found.argument
        elif any(name.split(".")[0] in table["roots"] for name in call.names):
            dropped = table["dropped"].get(call.name.split(".")[0], ()) if call.name.endswith(".from_pretrained") else ()
            names = [name for name in table["arguments"] if name not in dropped]
            taken = ((name, argument) for name, argument in call.keywords.items() if name in names)
            given = (_entry_of(argument) if name in table["maps"] else argument for name, argument in taken)
            first = next((argument for argument in given if _is_cuda(argument)), None)
            if first is not None and _places_something(call, table["arguments"]):
                yield call, "other", first


def _is_switched_on(context: Context, switches: re.Pattern[str]) -> bool:
    """Return whether a place is reached because the default of an option says so, by a test that speaks of one of some words."""

    def is_other(guard: Guard) -> bool:
        return guard.default is not guard.taken and switches.search(guard.text) is not None

    return context.called and _is_asked(context, switches) and not any_guard(context.guards, ("other", switches), is_other)


def _is_asked(context: Context, switches: re.Pattern[str]) -> bool:
    """Return whether a place is below a test that speaks of one of some words; that of one process is every Mac's way."""

    def asks(guard: Guard) -> bool:
        return switches.search(guard.text) is not None and not is_of_one_process(guard)

    return any_guard(context.guards, ("asked", switches), asks)


def _places_something(call: Call, names: Sequence[str]) -> bool:
    """Return whether the device that a call is given has a use: a class of the program may keep it and read it nowhere."""
    cls = call.result.cls if call.result is not None else None
    if cls is None:
        return True
    kept = {id(node.value) for node in walk(cls.node) if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)}
    reads = [n for n in walk(cls.node) if isinstance(n, ast.Attribute) and n.attr in names and isinstance(n.ctx, ast.Load)]
    makers = [node for node in cls.node.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    given = [n for maker in makers for n in walk(maker) if isinstance(n, ast.Name) and n.id in names and id(n) not in kept]
    is_given = any(name in names and argument not in call.inherited.values() for name, argument in call.keywords.items())
    return is_given and bool(reads or given)


def _follows_another(call: Call) -> bool:
    """Return whether `.cuda(x.device)` puts something where something else already is."""
    given = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    return any(isinstance(node, ast.Attribute) and node.attr == "device" for node in given)


def _entry_of(argument: Argument) -> Argument:
    """Return the one entry of a map of devices, `{"": "cuda:0"}`, as an argument of its own; an argument of another kind as it is.

    A map of several is left alone: its entries are no choice of one device.
    """
    entries = list(argument.value.slots.values()) if isinstance(argument.value, DictValue) else []
    entry = entries[0] if len(entries) == 1 else None
    return replace(argument, value=entry.value) if isinstance(entry, DictEntry) else argument


def _is_cuda(argument: Argument) -> bool:
    value = argument.value
    return isinstance(value, Known) and isinstance(value.value, str) and value.value.split(":")[0] == "cuda"


def is_meant_for_all(context: Context, evidence: Evidence) -> bool:
    """Return whether a place is not one for machines with CUDA only."""
    idle = platform_data("cuda")["devices"]["without_effect"]
    names = [manager.name for manager in context.managers if isinstance(manager, (Symbol, Instance)) and manager.name not in idle]
    for function in context.functions if context.guards or not context.called else ():  # what certainly runs has no need of a name
        names.append(getattr(function, "name", ""))
        names += [ast.unparse(decorator) for decorator in getattr(function, "decorator_list", ()) if not _is_option(decorator)]
        parent = evidence.parents.get(function)
        names += [parent.name] if isinstance(parent, ast.ClassDef) else []
        names += [ast.unparse(target) for target in parent.targets] if isinstance(parent, ast.Assign) else []  # of a lambda
    if context.functions and not context.called and _is_one_of_many(context.functions[-1], evidence):
        return False
    return not any(SPEAKS_OF_CUDA.search(name) for name in names)


@functools.lru_cache(maxsize=64)  # asked at every place in a function
def _is_one_of_many(function: ast.AST, evidence: Evidence) -> bool:
    return IS_ONE_OF_MANY.search(evidence.text_of(function)) is not None


def _is_option(decorator: ast.expr) -> bool:
    """Return whether a decorator is an option of the command line (`@click.option("--device", default="cuda")`)."""
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith((".option", ".argument"))


def _method(evidence: Evidence, call: Call, raises: str, is_left: bool) -> Match:
    """Return the match of `x.cuda()`, at `cuda()`."""
    span = _span_of_method(call.node, call.method, evidence)
    use = f".{call.method}()"
    values = {"value": "cuda", "written": use, "use": use, "raises": raises, "left": is_left, "instead": {id(call.node): "mps"}}
    return Match(span, values, call=call, context=call.context, node=call.node)


def _span_of_method(call: ast.Call, name: str, evidence: Evidence) -> Span:
    return Span(evidence.span_of(call.func).end - len(name), evidence.span_of(call).end)


def _constant(evidence: Evidence, call: Call, argument: Argument, raises: str, is_left: bool) -> Match:
    """Return the match of a constant that says CUDA, at the constant."""
    origin = origin_of(argument.value)
    node = origin if origin is not None and hasattr(origin, "lineno") else argument.node or call.node
    span = evidence.span_of(node)
    value = argument.value.value if isinstance(argument.value, Known) else ""
    use = _shown(evidence, call, argument)
    place = evidence.span_of(argument.keyword or argument.node) if argument.node is not None else span
    related = () if place in span or span in place else (Related(place, f"{use} is given it here"),)
    instead = {id(node): "mps"} if isinstance(node, ast.Constant) else {}
    values = {"value": value, "use": use, "raises": raises, "left": is_left, "instead": instead}
    return Match(span, values, call=call, context=call.context, related=related, node=node)


def _shown(evidence: Evidence, call: Call, argument: Argument) -> str:
    """Return a call as a message shows it: what is called, and the one argument."""
    func = call.node.func
    is_bound = call.method and not isinstance(call.receiver, Symbol)  # not a class or function of a package
    name = f".{call.method}" if is_bound else ast.unparse(func)
    node = argument.keyword or argument.node
    if node is None or argument.unpacked or isinstance(node, ast.Starred):
        return f"{name}(...)"
    span = evidence.span_of(node)
    written = evidence.document.text[span.start : span.end]
    return f"{name}({written})" if len(written) <= 40 and span in evidence.span_of(call.node) else f"{name}(...)"


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that takes CUDA where there is some, else the Mac's GPU, else the CPU.

    Where several places of a program say CUDA, the choice is made once and has a name.
    """
    taker = evidence.above(match.node, (ast.Lambda, ast.FunctionDef)) if match.node is not None else None
    if match.values.get("left") or taker in _called_with_storages(evidence):
        return None  # an option means CUDA, and what else it turns on isn't known; or the run goes on without it
    text = evidence.document.text[match.span.start : match.span.end]
    parent = evidence.parents.get(match.node) if match.node is not None else None
    is_method = isinstance(match.node, ast.Call) and match.call is not None
    if is_method and match.call is not None:
        call = match.call.node
        numbers = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
        if any(keyword.arg != KEPT for keyword in call.keywords) or len(numbers) < len(call.args) or any(numbers):
            return None
        device, quote = "cuda", quote_of(evidence.text)
    else:
        if isinstance(parent, ast.Call) and len(parent.args) > 1 and ast.unparse(parent.func).rpartition(".")[2] == "device":
            return None  # an index follows: torch.device("cuda", rank)
        if not isinstance(match.node, ast.Constant) or text[:1] not in "\"'" or text[:1] != text[-1:]:
            return None
        device, quote = str(match.node.value), text[0]
    choice = as_on(evidence.target, choice_of(device, quote))
    named = device_name(match, evidence, choice)
    new = named.name if named is not None else choice
    if is_method:
        kept = match.node.keywords if isinstance(match.node, ast.Call) else []
        new = f"to({', '.join([new, *map(ast.unparse, kept)])})"
        if named is not None and (moved := _moved_before(match, new, evidence)) is not None:
            return WrittenSetting((Edit(moved, ""),), f"without {evidence.document.text[moved.start : moved.end].strip()}")
    elif named is None and not isinstance(parent, PLAIN_PLACES):
        new = f"({new})"
    shown = f".{new}" if is_method else new
    reason = "a class of this program has .cuda() and no .to()" if _without_to(evidence) else ""
    if _is_scripted(evidence, match.peers):
        reason = "torch.jit.script compiles code that moves something to CUDA, and can't choose a device in it"
    if named is not None and named.edits:
        return WrittenSetting((Edit(match.span, new), *named.edits), f"{shown}, with {named.name} = {choice}", reason=reason)
    return WrittenSetting((Edit(match.span, new),), shown, reason=reason)


@once
def _is_scripted(evidence: Evidence, peers: Peers) -> bool:
    """Return whether one of some places is in a function that TorchScript compiles: one that it decorates, or the forward of a module."""
    run = evidence.whole or evidence
    names = {one for one in run.naming("script") if isinstance(one, ast.Attribute) and ast.unparse(one.value).endswith("jit")}
    nodes = (one.node for one in peers.matches if one.node is not None) if names else ()
    functions = {evidence.above(node, (ast.FunctionDef,)) for node in nodes}
    return any(
        isinstance(one, ast.FunctionDef) and (one.name == "forward" or not names.isdisjoint(one.decorator_list)) for one in functions
    )


@once
def _without_to(evidence: Evidence) -> bool:
    """Return whether a run defines a class that has `.cuda()`, no `.to()`, and no base to have it from: what isn't known may be of it, and
    the rest isn't moved without that."""
    run = evidence.whole or evidence
    classes = (run.parents.get(one) for one in run.naming("cuda") if isinstance(one, ast.FunctionDef))
    bare = (one for one in classes if isinstance(one, ast.ClassDef) and not one.bases)
    return any("to" not in (getattr(inner, "name", "") for inner in one.body) for one in bare)


@once
def _called_with_storages(evidence: Evidence) -> frozenset[ast.AST]:
    """Return the functions that a load calls with each storage: one has `.cuda()`, but no `.to("mps")`."""
    loads = (one.call for one in evidence.file_plans.matched if one.pattern.role == "load")
    return frozenset(one.node for call in loads for one in call.given if isinstance(one, Function))


def _moved_before(match: Match, new: str, evidence: Evidence) -> Span | None:
    """Return where `.cuda()` is written after the very move that would take its place; None where nothing was moved there before."""
    func = match.node.func if isinstance(match.node, ast.Call) else None
    owner = func.value if isinstance(func, ast.Attribute) else None
    if match.node is None or not isinstance(owner, ast.Call) or not ast.unparse(owner).endswith(f".{new}"):
        return None
    return Span(evidence.span_of(owner).end, evidence.span_of(match.node).end)


def choice_of(device: str, quote: str) -> str:
    """Return the expression that picks a CUDA device where there is one, else the Mac's GPU, else the CPU."""
    return str(platform_data("cuda")["devices"]["picks"]).format(device=device, quote=quote)

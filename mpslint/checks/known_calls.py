"""Calls of which `rules/platform/` knows what they do on a Mac, by version: missing operators, CUDA, names that do not exist.

A check because it holds each call to tables of operators, by version, operand and place; these tables grow, not the rules.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from mpslint.checks._composites import composites_of
from mpslint.checks._given import Asked, arguments_of, is_given, is_method
from mpslint.checks.late_variable import is_in_force
from mpslint.core.knowledge import given_fields, platform_data, rules_folder
from mpslint.core.record import record
from mpslint.core.versions import VersionRange, format_version
from mpslint.facts.values import UNKNOWN, Call, Instance, Known, Symbol, Value, alternatives_of
from mpslint.rule.comparisons import call_holds
from mpslint.rule.judge import Match, calls
from mpslint.rule.reader import RuleReader
from mpslint.rule.rule import Condition
from mpslint.rule.trained import is_only_run
from mpslint.settings.evidence import Evidence
from mpslint.target.packages import newest_versions
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.shapes import shape_of
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.state import graph_switch
from mpslint.tensors.traits import (
    GIVEN_BACK,
    GRAPH,
    PLACE,
    devices_of,
    dtype_of,
    is_array,
    is_module,
    is_tensor,
    joined_dtype,
    joined_trait,
    trait,
)

_LEAVES = frozenset({"item", "tolist", "numpy", "float", "int", "len", "size", "shape", "bool", "str", "cpu", "device"})
RAISES = "raises"
"""The kind of what raises on a Mac wherever its operands lie."""
MISSING = "missing"
"""The kind of what raises NotImplementedError for want of an operator."""


@record(frozen=True, slots=True, eq=False)
class KnownCall:
    """One entry of a table: which calls, in which versions, and what they do there."""

    condition: Condition
    versions: VersionRange
    kind: str
    what: str
    advice: str
    who: str = ""
    """What raises, where it is not the call itself."""
    trains: bool = False
    """Only where gradients are computed."""
    inside: tuple[str, ...] = ()
    """Only in functions of these names; anywhere where there are none."""
    unless_made_by: tuple[str, ...] = ()
    unlike_earlier: str = ""
    """Not for a first argument, of the call or of all calls of the module that it makes, that a call of one of these made."""
    unless_moved: bool = False
    """Not where the program moves what the call returns."""
    untrained: bool = False
    """Only calls of a model on the Mac's GPU that the program doesn't train: of one that it does another entry speaks."""
    asks: tuple[str, ...] = ()
    """An argument and an attribute: only calls that are given the one, or may be and have the other read of what they return."""
    given: Asked = field(default_factory=dict)
    """Only where arguments are certainly so (`{grid: {strided: {is: true}}}`)."""
    told: frozenset[str] = frozenset()
    """The names of all entries of the table that say the same."""


_ASKED = ("call", "method", "arguments", "positional")
_KEYS = {*_ASKED, "op", "source", *KnownCall.__annotations__} - {"condition", "told"}


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls of a table that the program makes.

    Options: `table`, the file and its key (`cuda.calls`), `kind`, and `placed`, the modules whose functions compute on
    the device of their arguments: what is known to be computed on the CPU is left out; `with`, a variable that has to be in force;
    `on_gpu`, only calls that make what lies on the Mac's GPU in the end, moved by itself or with the module that holds it.
    """
    if "with" in options and not is_in_force(evidence, options["with"]):
        return
    for entry in load_table(options["table"]):
        if entry.kind != options["kind"] or not entry.versions.matches(evidence.target.versions):
            continue
        if entry.trains and not evidence.trains:
            continue
        earlier: dict[Any, Any] = {}
        told = set[ast.AST]()
        for match, asked in _calls(entry, evidence):
            if (
                match.call is None
                or (match.call is not asked and match.call.node in told)
                or not _is_meant(entry, match.call, asked, evidence)
            ):
                continue
            if options.get("on_gpu") and not _lies_on_gpu(match.call):
                continue
            if "placed" in options and _stays_on_cpu(match.call, options["placed"], evidence):
                continue
            if entry.trains and (not _has_backward(match.call, evidence) or is_only_run(match.call, evidence)):
                continue
            if entry.kind == MISSING and all(map(_is_answered, _uses(match.call, evidence) or [match.call])):
                continue
            if entry.untrained and not _is_run_on_mps(match.call.receiver, evidence):
                continue
            if entry.unlike_earlier and not _is_another(asked, entry, earlier):
                continue
            told.add(match.call.node)
            values = {"who": entry.who or match.values["written"], **match.values, "what": entry.what, "advice": entry.advice}
            yield replace(match, values=values, span=evidence.span_of(getattr(match.call.node, "func", match.call.node)))


def _calls(entry: KnownCall, evidence: Evidence) -> Iterator[tuple[Match, Call]]:
    """Yield the calls that an entry is about, and for each the one of which it's asked what it is given: itself, or the call of such a
    function that it makes within torch. What another entry of the kind says of a function itself isn't said of what that calls."""
    seen = set[ast.AST]()
    for match in (*calls(entry.condition, evidence), *_as_methods(entry, evidence), *_as_operators(entry, evidence)):
        if match.call is not None:
            seen.add(match.call.node)
            yield match, match.call
    for composite in composites_of(entry.condition):
        is_so = composite.versions.matches(evidence.target.versions) and (evidence.trains or not composite.trains)
        if not is_so or entry.told.intersection(composite.spoken_of):
            continue
        for match, asked in _calls(replace(entry, condition=composite.condition), evidence):
            inner = composite.inner(asked)
            if match.call is None or match.call.node in seen or not is_given(asked, composite.parameters, composite.given, composite.maker):
                continue
            if call_holds(inner, entry.condition):
                yield replace(match, values=composite.said_of(match.values, entry.who)), inner


def _is_answered(call: Call) -> bool:
    """Return whether a call stands where a handler that names NotImplementedError goes on without what MPS lacks."""
    return any("builtins.NotImplementedError" in caught for caught in call.context.handlers)


def _lies_on_gpu(call: Call) -> bool:
    """Return whether what a call makes lies on the Mac's GPU in the end, or until a library moves it back."""
    place = trait(call.result, PLACE) if call.result is not None else UNKNOWN
    return devices_of(place) == {load_kinds().gpu} or (isinstance(place, Known) and place.source == GIVEN_BACK)


def _is_meant(entry: KnownCall, call: Call, asked: Call, evidence: Evidence) -> bool:
    """Return whether a call is where the entry asks for it, and is not given what was moved to the CPU for it; `asked` is what it calls."""
    uses = _uses(call, evidence)
    says_where = entry.kind == RAISES or any("place" in asked for asked in entry.given.values())
    if not says_where and not _lies_on_gpu(call) and any(_is_on_cpu(one, evidence) for one in uses or [call]):
        return False
    is_within = any(getattr(function, "name", "") in entry.inside for function in call.context.functions)
    if entry.inside and not (is_within or _lies_on_gpu(call) or any(map(_is_on_gpu, (call, *uses)))):
        return False
    if not is_given(asked, entry.condition.positional, entry.given) or (entry.asks and not _asks_for(call, *entry.asks)):
        return False
    given = [value for use in uses or [call] if entry.unless_made_by and use.arguments for value in alternatives_of(use.arguments[0].value)]
    if given and all(isinstance(value, Instance) and value.name in entry.unless_made_by for value in given):
        return False
    return not entry.unless_moved or evidence.facts.methods_called().get(id(call.result), set()).isdisjoint(("to", "cuda"))


def _as_methods(entry: KnownCall, evidence: Evidence) -> Iterator[Match]:
    """Yield the methods of tensors on the GPU that are functions of torch which an entry is about (`x.kthvalue(2)`)."""
    if entry.condition.subject != "call":
        return
    for name in entry.condition.names:
        method = name.rpartition(".")[2]
        if method not in evidence.calls_of_method or not _is_as_method(name):
            continue
        asked = replace(entry.condition, subject="method", names=(method,), positional=entry.condition.positional[1:])
        most = len(signature.parameters) - 1 if (signature := load_signatures().get(name)) is not None else 0  # `x.flip(0, 1)` takes more
        for call in evidence.calls_of_method[method]:
            if call.receiver is None or not _is_gpu_tensor(call.receiver) or len(call.arguments) > most or not call_holds(call, asked):
                continue
            yield _match(call, name, ast.unparse(call.node.func), evidence)


def _match(call: Call, name: str, written: str, evidence: Evidence) -> Match:
    """Return the place of a call that stands for a function, with the plan of the run, whose settings a rule may ask."""
    plan = evidence.plan_with.get(id(call), next(iter(evidence.plans), None))
    values = {"value": name, "written": written}
    span = evidence.span_of(getattr(call.node, "func", call.node))
    return Match(span, values, call=call, plan=plan, context=call.context, node=call.node)


@functools.cache
def _is_as_method(name: str) -> bool:
    """Return whether tensors have a function of torch as a method, which takes the same behind the tensor.

    `torch_scatter.scatter` is another one, and so are `torch.sparse.mm` and `torch.nn.functional.unfold`.
    """
    function, method = (load_signatures().get(one) for one in (name, f"{load_kinds().tensor}.{name.rpartition('.')[2]}"))
    if function is None or method is None or len(method.parameters) > len(function.parameters):  # Tensor.lu isn't torch.linalg.lu
        return False
    return all(one == other for one, other in zip(function.parameters[1:], method.parameters[1:], strict=False))


def _as_operators(entry: KnownCall, evidence: Evidence) -> Iterator[Match]:
    """Yield the operators of Python that stand for functions of torch which an entry is about (`a @ b`), of the rounds of a loop once."""
    asked = entry.condition
    noted = (call for call in evidence.facts.operators if entry.given and call.name in asked.names and call_holds(call, asked))
    for call in {call.node: call for call in noted if is_given(call, asked.positional, entry.given)}.values():
        yield _match(call, call.name, f"`{ast.unparse(call.node)}`", evidence)


def _is_on_gpu(call: Call) -> bool:
    """Return whether a call is given a tensor that is certainly on the GPU, or is a method of one or of an object that was."""
    made = call.receiver.call if isinstance(call.receiver, Instance) else None
    return any(_is_gpu_tensor(one) for of in (call, made) if of is not None for one in of.operands)


def _is_on_cpu(call: Call, evidence: Evidence) -> bool:
    """Return whether the first tensor that a call is given is on the CPU because the program says so, and not for want of CUDA."""
    tensors = (one for one in call.operands if not (is_module(one) or is_array(one)) and trait(one, PLACE) is not UNKNOWN)
    place = trait(next(tensors, UNKNOWN), PLACE)
    if devices_of(place) != {load_kinds().default_place}:
        return False
    above = evidence.above(place.origin, (ast.IfExp, ast.If)) if isinstance(place, Known) and place.origin is not None else None
    return above is None or all(one.node is not above for one in (evidence.whole or evidence).facts.choices)


def _is_gpu_tensor(value: Value) -> bool:
    return is_tensor(value) and devices_of(joined_trait(value, PLACE)) == {load_kinds().gpu}


def _uses(call: Call, evidence: Evidence) -> list[Call]:
    """Return the calls of the module that a call makes, in any round of a loop, by its name or as an attribute (`self.lstm(x)`)."""
    made = call.result
    found = evidence.calls_of_name.get(f"{call.name}.__call__", ()) if made is not None else ()
    of = [(use, on) for use in found if isinstance(use.receiver, Instance) for on in (use.receiver, use.receiver.slots.get(use.method))]
    return [use for use, on in of if on is made or (isinstance(on, Instance) and on.call is not None and on.call.node is call.node)]


def _stays_on_cpu(call: Call, modules: Collection[str], evidence: Evidence) -> bool:
    """Return whether a call computes at the top of a program on what nothing there put on the Mac's GPU: a function of one of some
    modules, or a module of which all calls are seen.

    In a function it isn't known what its arguments are, nor where a Trainer moves what it is given, once there is one.
    """
    uses = _uses(call, evidence)
    if not uses and call.name.rpartition(".")[0] not in modules:
        return False
    return all(_is_of_cpu(use, evidence) for use in uses or [call])


def _is_of_cpu(call: Call, evidence: Evidence) -> bool:
    """Return whether a call stands at the top of a program, before there is a Trainer, and is given nothing that is on the GPU."""
    gives_there = call.result is not None and load_kinds().gpu in devices_of(joined_trait(call.result, PLACE))
    if gives_there or _is_on_gpu(call):
        return False
    given = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    order = evidence.call_order
    is_chosen = any(order[id(one)] < order[id(call)] for one in evidence.device_choosers)
    may_be_moved = is_chosen or any(plan.kind == "config" for plan in evidence.plans)
    return bool(given) and not call.context.functions and not may_be_moved


def _asks_for(call: Call, argument: str, attribute: str) -> bool:
    """Return whether a call is given an argument, and not None, or may be given it and has an attribute of what it returns read."""
    given = call.keywords.get(argument)
    if given is not None:
        return not (isinstance(given.value, Known) and given.value.value is None)
    return call.is_open and call.result is not None and attribute in call.result.slots


def _is_run_on_mps(model: Value | None, evidence: Evidence) -> bool:
    """Return whether a model is put on the Mac's GPU, by the program or by what chooses a device for it, and isn't trained there."""
    made = model.call if isinstance(model, Instance) else None
    if model is None or made is None or (evidence.trains and not is_only_run(made, evidence)):
        return False
    return load_kinds().gpu in devices_of(joined_trait(model, PLACE)) or evidence.has_device_chooser


def _has_backward(call: Call, evidence: Evidence) -> bool:
    """Return whether gradients may go back through a call: autograd is on, it's given a tensor with a graph, or what isn't known,
    and its result is not only taken off the graph."""
    graphs = [trait(one, GRAPH) for one in call.operands if not isinstance(one, Known)]
    if graphs and all(isinstance(one, Known) and not one.value for one in graphs):
        return False
    unknown = (one for one in call.context.managers if not (isinstance(one, (Instance, Symbol)) and one.name))
    if graph_switch(call.context) is False or any(unknown) or _is_only_asked(call, evidence):
        return False
    reads = evidence.facts.uses.of_made(call)
    left = (evidence.parents.get(one) for one in reads)
    return not reads or not all(isinstance(one, ast.Attribute) and one.attr in _LEAVES for one in left)


def _is_only_asked(call: Call, evidence: Evidence) -> bool:
    """Return whether a call makes a module that is only called with autograd off, and gives neither its weights nor itself to anything."""
    uses, made = _uses(call, evidence), call.result
    if not uses or any(graph_switch(use.context) is not False for use in uses):
        return False
    if not evidence.facts.methods_called().get(id(made), set()).isdisjoint(("parameters", "named_parameters", "train")):
        return False
    return not any(value is made for other in evidence.facts.calls for value in other.given)


def _until(row: Mapping[str, Any], path: Path) -> tuple[VersionRange, str, str]:
    """Return the versions in which one of the operators of an entry (`op`) is missing, what is said of it, and the advice."""
    known, asked = platform_data("operators"), row.get("op", ())
    firsts = {name: first for first, group in known["first"].items() for name in group}
    comes = bool(asked) and firsts.keys() >= set(asked)
    first = max((firsts[name] for name in asked), key=lambda text: tuple(map(int, text.split(".")))) if comes else ""
    said = platform_data(path.stem).get(row["kind"], {})
    said = said.get("later" if comes else "never", {}) if row["kind"] == "missing" else said
    ends = dict(re.findall(r"(\S+) < (\S+?)(?:,|$)", row.get("versions", "")))
    holes = {"first": first, "newest": format_version(newest_versions()["torch"][:2]), "ends": ends.get("torch", "")}
    what, advice = ((row.get(key) or said.get(key, "")).format(**holes) for key in ("what", "advice"))
    return VersionRange.parse(f"torch < {first}") if comes else VersionRange(), what, advice


@functools.lru_cache(maxsize=16)
def load_table(name: str) -> tuple[KnownCall, ...]:
    """Return the entries of a table. Raises RuleError naming the file and the key that is wrong."""
    file, _, key = name.partition(".")
    path = rules_folder() / "platform" / f"{file}.yaml"
    reader = RuleReader(path)
    found = []
    for row in platform_data(file)[key]:
        reader.only(row, _KEYS, key)
        until, what, advice = _until(row, path)
        given = {name: {one: reader.comparisons(said, key) for one, said in held.items()} for name, held in row.get("given", {}).items()}
        read: dict[str, Any] = {
            **given_fields(KnownCall, row),
            "condition": reader.condition({name: row[name] for name in _ASKED if name in row}, key),
            "versions": VersionRange(reader.versions(row).terms + until.terms),
            "what": " ".join(what.split()),
            "advice": " ".join(advice.split()),
            "inside": tuple(platform_data(file)["inside"]) if row.get("inside") else (),
            "given": given,
        }
        found.append(KnownCall(**read))
    said = [(one.kind, one.what if one.kind != MISSING else "") for one in found]
    told = {
        one: frozenset(name for other, same in zip(found, said, strict=True) if same == one for name in other.condition.names)
        for one in said
    }
    return tuple(replace(one, told=told[same]) for one, same in zip(found, said, strict=True))


def _is_another(call: Call, entry: KnownCall, earlier: dict[Any, Any]) -> bool:
    """Return whether a number is another one than that of an `earlier` call on a tensor of the same shape and dtype, else the same."""
    given, what = arguments_of(call, entry.condition.positional), call.name.rpartition(".")[2]
    tensor, number = given[entry.condition.positional[0]].value, given[entry.unlike_earlier].value
    names = load_signatures()[f"torch.{what}"].parameters[is_method(call) :]
    others = {**dict(zip(names, call.arguments, strict=False)), **call.keywords}
    said = ((name, getattr(others[name].value, "value", None)) for name in sorted(others.keys() - {entry.unlike_earlier, "input"}))
    shape = shape_of(tensor)
    key = what, shape and shape.lengths, dtype_of(joined_dtype(tensor)), *said
    return isinstance(number, Known) and earlier.setdefault(key, number.value) != number.value

"""DataLoaders that start workers, and what reaches them (the event `crosses`): on macOS each is a new process, which imports the
script anew.

It gets the rest by pickle; `rules/platform/workers.yaml` knows what that takes along, and what it refuses.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from mpslint.core.finding import Related
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import VersionRange
from mpslint.facts.values import (
    Argument,
    Bound,
    Call,
    Class,
    Context,
    Frame,
    Function,
    Instance,
    Items,
    Known,
    Value,
    alternatives_of,
    made_from,
    origin_of,
)
from mpslint.facts.values import Mapping as DictValue
from mpslint.program.any_round import SCOPES
from mpslint.program.flow import asks_for_main
from mpslint.program.hooks import loader_makers
from mpslint.program.places import inside
from mpslint.program.platform import load_platform
from mpslint.program.walk import at_once, bound_by, children, walk
from mpslint.settings.evidence import Evidence, once
from mpslint.settings.setting import Setting
from mpslint.settings.translate import bound_arguments
from mpslint.source.document import Kind
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import PLACE, devices_of, joined_trait

CELL = re.compile(r"^# ?%%", re.MULTILINE)
"""The head of a cell: such a script is run cell by cell, as a notebook is."""

Asked = tuple[Call, ast.AST, Instance]
"""A Trainer's call, the method that it calls for a loader, and the object whose method that is."""
PERHAPS = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, *SCOPES)
"""What may leave the code in it out."""
ONLY_ASKED = frozenset(["dataset", "batch_size", "num_workers", "sampler", "batch_sampler", "collate_fn", "pin_memory", "drop_last"])
"""Attributes of a loader that start nothing."""


@record(frozen=True, slots=True, eq=False)
class Carried:
    """A value that goes to the workers."""

    value: Value
    name: str = ""
    """The attribute that holds it, or in whose value it is."""
    is_run: bool = True
    """Whether workers call it, where they can: the object of a method is only taken along."""
    is_kept: bool = True
    """Whether all that it was given to is known to keep it."""
    is_only: bool = True
    """Whether nothing else may be in its place."""

    @property
    def functions(self) -> list[Function]:
        """What of the program the workers call of it."""
        value, run = self.value, platform_data("workers")["run"]
        cls = value.cls if isinstance(value, Instance) else None
        found = [cls.lookup(name) for name in run] if cls is not None else [value.function if isinstance(value, Bound) else value]
        return [one for one in found if isinstance(one, Function)] if self.is_run else []


@record(frozen=True, slots=True, eq=False)
class Crossing:
    """Something that reaches the workers of a loader and goes wrong there."""

    of: str
    """What: the `script`, a `definition` of a notebook, a `function` that has no name, a `handle`, an `object` that holds something on the
    GPU, a `move` to the GPU, a `name` of the main block."""
    workers: Setting
    """What says how many workers the loader has."""
    values: Mapping[str, str]
    related: tuple[Related, ...] = ()


Said = tuple[Mapping[str, str], tuple[Related, ...]]


@once
def crossings(evidence: Evidence) -> Sequence[Crossing]:
    """Return what goes wrong in the workers of each loader, the first of each kind."""
    return list(_crossings(evidence))


def _crossings(evidence: Evidence) -> Iterator[Crossing]:
    loaders = list(with_workers(evidence))
    asked = [(call, maker.node, one) for call in evidence.facts.calls if loaders for maker, one in loader_makers(call, load_platform())]
    on_import = _gone_through_on_import(asked, evidence) if loaders else set()
    for loader, workers, given in loaders:
        taken = list(carried_by([given[name].value for name in platform_data("workers")["taken"] if name in given]))
        functions = {id(function) for function in loader.context.functions if not loader.context.guards}
        found: dict[str, Said] = {"script": ({}, ())} if on_import & {id(loader.result), *functions} else {}
        for of, said in (*_held_by_maker(loader, taken, asked, evidence), *(met for one in taken for met in _meets(one, evidence))):
            found.setdefault(of, said)
        if "function" in found or "handle" in found:  # without what pickle refuses no worker gets far enough to miss a definition
            found.pop("definition", None)
        yield from (Crossing(of, workers, *said) for of, said in found.items())


def carried_by(values: Iterable[Value]) -> Iterator[Carried]:
    """Yield all that pickle takes along with some values."""
    table = platform_data("workers")
    waiting, seen, wholes = [Carried(value) for value in reversed(list(values))], set[int](), set[int]()
    while waiting:
        one = waiting.pop()
        alternatives = alternatives_of(one.value)
        is_only = one.is_only and len(alternatives) == 1
        for value in (value for value in alternatives if id(value) not in seen):
            seen.add(id(value))
            if id(value) not in wholes:
                yield Carried(value, one.name, one.is_run, one.is_kept, is_only)
            cls, is_run, is_kept = value.cls if isinstance(value, Instance) else None, one.is_run, one.is_kept
            parts = [(one.name, part) for part in inside(value)]
            if isinstance(value, (Items, DictValue)) and value.each is not None:
                parts.append((one.name, value.each))
            if isinstance(value, Bound) and value.function is not None and not value.function.is_a("staticmethod"):
                parts, is_run = [(one.name, value.receiver)], False
            elif cls is not None and isinstance(value, Instance):
                written = {} if _pickles_itself(cls) else value.written_slots()
                parts = [(key, part) for key, part in written.items() if isinstance(key, str)]
            elif isinstance(value, Instance) and value.owner is not None:  # what was read from it may hold what it was given, not itself
                wholes.add(id(value.owner))
                parts = [(one.name, value.owner)]
            elif isinstance(value, Instance) and value.call is not None:
                is_kept = is_kept and any(fnmatch.fnmatchcase(value.name, glob) for glob in table["keepers"])
                written = value.written_slots()  # what is set later takes the place of what was given
                first = table["hiders"].get(value.name)
                is_kept = is_kept and not (first is not None and id(value) in wholes)
                named = value.call.keywords.items()
                kept = [argument.value for key, argument in named if key not in table["dropped"] and key not in written]
                kept += [argument.value for argument in value.call.arguments[first in written :]] + list(written.values())
                parts = [(one.name, part) for part in kept]
            waiting += [Carried(part, name, is_run, is_kept, is_only) for name, part in reversed(parts)]


def _pickles_itself(cls: Class | None) -> bool:
    """Return whether objects of a class say themselves what of them is pickled."""
    return cls is not None and any(cls.lookup(method) for method in platform_data("workers")["pickle_themselves"])


def _meets(one: Carried, evidence: Evidence) -> Iterator[tuple[str, Said]]:
    """Yield what goes wrong with a value in a worker."""
    value, document = one.value, evidence.document
    definition = value if isinstance(value, Function) else value.cls if isinstance(value, Instance) else None
    started = document.started  # what it imports of its project, workers import, too
    is_own = definition is not None and (started is None or evidence.span_of(definition.node) in started.span)
    refused = list(_refused(value, evidence))
    if definition is not None and is_own and document.kind is Kind.NOTEBOOK and not refused:
        yield "definition", ({"name": definition.name if isinstance(definition, Function) else definition.node.name}, ())
    if one.is_kept:
        yield from refused
    place = joined_trait(value, PLACE)
    if one.name and devices_of(place) == {load_kinds().gpu} and (origin := origin_of(place)) is not None:
        yield "object", ({"name": one.name}, (Related(evidence.span_of(origin), "it is moved to the GPU here"),))
    for function in one.functions:
        move = _moves(evidence).get(id(function.node))
        if move is not None:
            yield "move", ({"place": ast.unparse(move.node)}, ())
        read = read_of(function, only_in_main(evidence)) if document.kind is Kind.PYTHON and one.is_only else None
        if read is not None:
            related = Related(evidence.span_of(read), f"{function.name}() reads it here")
            yield "name", ({"name": read.id, "function": function.name}, (related,))


def _refused(value: Value, evidence: Evidence) -> Iterator[tuple[str, Said]]:
    """Yield a value that pickle doesn't take: a lambda, a function or class that was defined while a function ran, an open file."""
    table = platform_data("workers")
    if isinstance(value, Function):
        is_lambda = value.name == "<lambda>"
        if is_lambda or (value.cls is None and value.frame.parent is not None):
            values = {"name": "a lambda" if is_lambda else f"{value.name}()", "raises": table["function"]}
            yield "function", (values, (Related(evidence.span_of(value.node), "it is defined here"),))
    elif isinstance(value, Instance) and value.cls is not None:
        outer = value.cls.frame
        while outer is not None and outer.is_class:
            outer = outer.parent
        if outer is not None and outer.parent is not None and not _pickles_itself(value.cls):
            values = {"name": f"{value.cls.node.name}, which a function defines", "raises": table["function"]}
            yield "function", (values, (Related(evidence.span_of(value.cls.node), "it is defined here"),))
    elif isinstance(value, Instance) and value.name in table["handles"] and value.call is not None:
        values = {"name": f"{value.name.removeprefix('builtins.')} in the dataset", "raises": table["handles"][value.name]}
        yield "handle", (values, (Related(evidence.span_of(value.call.node), "it is opened here"),))


@once
def _moves(evidence: Evidence) -> dict[int, Call]:
    """Return what puts something on the Mac's GPU in each function that takes nothing back from there, by the id of that."""
    placed = [one.call for one in evidence.file_plans.matched if one.devices == {load_kinds().gpu}]
    back = {id(function) for call in evidence.facts.calls if _takes_back(call) for function in call.context.functions}
    return {id(function): call for call in reversed(placed) for function in call.context.functions if id(function) not in back}


def _takes_back(call: Call) -> bool:
    """Return whether what a method gives lies on the CPU, where its tensor lies on the Mac's GPU."""
    places = [devices_of(joined_trait(value, PLACE)) for value in (call.receiver, call.result) if value is not None]
    return places == [{load_kinds().gpu}, {load_kinds().default_place}]


def _held_by_maker(loader: Call, taken: Sequence[Carried], asked: Sequence[Asked], evidence: Evidence) -> Iterator[tuple[str, Said]]:
    """Yield what a Trainer gave the object by whose method it asks for a loader, where workers take an object of its class along."""
    classes = [one.value.cls for one in taken if isinstance(one.value, Instance) and not _pickles_itself(one.value.cls)]
    for call, maker, source in asked:
        name = _held_by(source, call, evidence) if maker in loader.context.functions and source.cls in classes else ""
        if name:
            yield "object", ({"name": name}, (Related(evidence.span_of(call.node), "this moves the model to the GPU"),))


def _gone_through_on_import(asked: Sequence[Asked], evidence: Evidence) -> set[int]:
    """Return the ids of what a script goes through as it is imported, by itself or by a Trainer, and of the functions that make it."""
    if evidence.document.kind is not Kind.PYTHON or CELL.search(evidence.document.text):
        return set()
    loops = ((iterated, context) for _, iterated, context in evidence.facts.loops)
    values = [iterated for iterated, context in (*loops, *evidence.facts.iterated) if _runs_on_import(context)]
    trained = [call for call in evidence.facts.calls if call.name in load_platform().loader_makers and _runs_on_import(call.context)]
    made = (id(one) for value in (*values, *(one for call in trained for one in call.given)) for one in made_from(value))
    return {*made, *(id(maker) for call, maker, _ in asked if call in trained)}


def _runs_on_import(context: Context) -> bool:
    """Return whether a place is reached as the script is imported, and by no test that is undecided."""
    return context.called and not context.under_main and not context.guards and not context.in_handler


def _held_by(source: Instance, call: Call, evidence: Evidence) -> str:
    """Return what an object that a Trainer on the Mac's GPU asks for loaders holds the model by; '' where it doesn't."""
    table, matched = platform_data("workers"), evidence.file_plans.by_result.get(id(call.receiver))
    told = next((one for one in matched.settings if one.name == "device.accelerator"), None) if matched is not None else None
    if matched is None or matched.call.context.guards or told is None or not told.constants:
        return ""
    is_used = told.is_written or VersionRange.parse(table["chosen"]).matches(evidence.target.versions)
    bases = source.cls.outside_bases() if source.cls is not None else ()
    if not is_used or not all(word in table["accelerators"] for word in told.constants):
        return ""
    return next((held for base, held in table["carriers"].items() if base in bases), "")


def read_of(function: Function, names: Collection[str]) -> ast.Name | None:
    """Return where a function of the file that is started, which workers read anew under another name, reads one of some names."""
    is_in_script = function.frame.outermost.home is None
    return next((node for node in _read_in(function) if node.id in names), None) if is_in_script else None


def _read_in(function: Function) -> Iterator[ast.Name]:
    """Yield the names of others that a function reads whenever it runs."""
    node = function.node
    body = node.body if isinstance(node.body, list) else [node.body]
    own = {name for one in (node.args, *body) for inner in walk(one) for name in bound_by(inner)}
    outer = {name for frame in _above(function.frame) for name in frame.slots}
    waiting: list[ast.AST] = [one for one in reversed(body) if not isinstance(one, PERHAPS)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id not in own | outer:
            yield one
        if isinstance(one, ast.Return) and one.value is None:
            return
        waiting += reversed([inner for inner in children(one) if not isinstance(inner, PERHAPS)])


def _above(frame: Frame) -> Iterator[Frame]:
    """Yield the frames of functions around one, without the module's."""
    while frame.parent is not None:
        yield frame
        frame = frame.parent


@once
def only_in_main(evidence: Evidence) -> set[str]:
    """Return the names of a module to which only its main block, or a function by `global`, gives a value; none where that is not known."""
    statements = evidence.facts.body
    if not any(asks_for_main(statement) for statement in statements):
        return set()
    inside = {name for statement in statements if asks_for_main(statement) for node in at_once(statement) for name in bound_by(node)}
    others = [statement for statement in statements if not asks_for_main(statement)]
    outside = {name for statement in others for node in at_once(statement) for name in bound_by(node)}
    is_calling = any(isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) for statement in others)
    declared = {name for statement in others for node in walk(statement) if isinstance(node, ast.Global) for name in node.names}
    return (inside - outside - declared) | (set() if is_calling else declared - outside) - {"*"} if "*" not in outside else set()


def with_workers(evidence: Evidence) -> Iterator[tuple[Call, Setting, dict[str, Argument]]]:
    """Yield the DataLoaders that certainly start workers, with the setting that says so, and their arguments."""
    for matched in evidence.file_plans.matched:
        if matched.pattern.role != "loader" or never_read(matched.call, evidence):
            continue
        arguments = bound_arguments(matched.call, matched.pattern)
        workers = next((setting for setting in matched.settings if setting.name == "loader.workers"), None)
        if workers is None or not workers.constants or not all(isinstance(n, int) and n > 0 for n in workers.constants):
            continue
        context = arguments.get("multiprocessing_context")
        if _spawns(matched.call, evidence) if context is None else _is_spawn(context.value):
            yield matched.call, workers, arguments


def _spawns(loader: Call, evidence: Evidence) -> bool:
    """Return whether workers are spawned, as on macOS where the program doesn't choose another way: one that a loader's run reaches."""
    calls = (call for call in evidence.facts.calls if "set_start_method" in (call.method, call.name[-16:]))
    ways = (call.context.called for call in calls if not _is_spawn(_first(call)))
    return not any(was_called or not loader.context.called for was_called in ways)


def _is_spawn(way: Value) -> bool:
    """Return whether a way to start processes is the one of macOS: its name, none at all, or the context that has it."""
    if isinstance(way, Instance) and way.call is not None and way.name.endswith("get_context"):
        way = _first(way.call)
    return isinstance(way, Known) and way.value in (None, "spawn")


def _first(call: Call) -> Value:
    """Return what a call is given for the way to start processes; None is the default of the system."""
    given = call.keywords.get("method") or next(iter(call.arguments), None)
    return given.value if given is not None else Known(None)


def never_read(loader: Call, evidence: Evidence) -> bool:
    """Return whether a program asks a loader for no batch: all that it does with it is `loader.dataset` or `len(loader)`.

    What is read nowhere may be another file's to import.
    """
    reads = evidence.facts.uses.of_made(loader)
    return bool(reads) and all(_only_asks(evidence.parents.get(node)) for node in reads)


def _only_asks(node: ast.AST | None) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ONLY_ASKED
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"

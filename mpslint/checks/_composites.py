"""Functions of torch that call another one, by `rules/platform/composites.yaml`: on a Mac they do what that one does there."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from mpslint.checks._given import Asked, arguments_of
from mpslint.core.knowledge import platform_data, rules_folder
from mpslint.core.record import record
from mpslint.core.versions import VersionRange
from mpslint.facts.values import UNKNOWN, Argument, Call, Known
from mpslint.rule.reader import RuleReader
from mpslint.rule.rule import Condition
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.signatures import load_signatures

CALLED = ".__call__"


@record(frozen=True, slots=True, eq=False)
class Composite:
    """One way in which a function calls another one."""

    condition: Condition
    """The calls of the one."""
    versions: VersionRange
    name: str
    """The qualified name of the other; a method's is `torch.Tensor.exponential_`."""
    arguments: tuple[str | Known, ...]
    """What the other is given, in order: an argument of the one by name, `itself.x` of the call that made its object, or a constant."""
    keywords: Mapping[str, str | Known]
    parameters: tuple[str, ...]
    """Those of the one that can be given by position; a method of a tensor has that first."""
    maker: tuple[str, ...] = ()
    """Those of the call that made its object."""
    given: Asked = field(default_factory=dict)
    """Only where arguments are certainly so."""
    trains: bool = False
    """Only in a program that trains."""

    @property
    def spoken_of(self) -> set[str]:
        """The names under which a table may speak of the one itself: of a class of modules its own, too."""
        return {*self.condition.names, *(name.removesuffix(CALLED) for name in self.condition.names)}

    def said_of(self, values: Mapping[str, str], who: str) -> dict[str, str]:
        """Return what is said of a call of the one in place of `values`; `who` raises, where it isn't the call itself."""
        own = values.get("outer", values["written"])
        said, holes = platform_data("composites")["said"], {"written": own, "name": self.name, "who": who}
        return {**values, "outer": own, **{name: said[name].format(**holes) for name in (("who",) if who else ("written",))}}

    def inner(self, call: Call) -> Call:
        """Return the call of the other that a call of the one makes. What that gives, or a tensor like it, is what the other gives."""
        given = arguments_of(call, self.parameters, self.maker)
        arguments = [_argument(one, given) for one in self.arguments]
        known = next((at for at, one in enumerate(arguments) if one is None), len(arguments))
        of = load_signatures()[self.name].parameters if self.name in load_signatures() else ()
        by_name = {name: one for name, one in zip(of, arguments, strict=False) if one is not None}
        named = {name: one for name, said in self.keywords.items() if (one := _argument(said, given)) is not None}
        placed, method = [one for one in arguments[:known] if one is not None], ""
        receiver = None
        if self.name.startswith(f"{load_kinds().tensor}."):
            receiver, method = placed[0].value if placed else UNKNOWN, self.name.rpartition(".")[2]
            placed = placed[1:]
        return replace(call, names=(self.name,), method=method, receiver=receiver, arguments=tuple(placed), keywords={**by_name, **named})


def composites_of(condition: Condition) -> Iterator[Composite]:
    """Yield the functions that call one of those that a condition is about."""
    known = _by_called()
    for name in condition.names:
        yield from known.get(f"{load_kinds().tensor}.{name}" if condition.subject == "method" else name, ())


def _argument(said: str | Known, given: Mapping[str, Argument]) -> Argument | None:
    """Return what an argument of the inner call is; None where the outer call leaves it at its default."""
    if isinstance(said, Known):
        return Argument(said, None)
    return Argument(UNKNOWN, None) if said == "_" else given.get(said)


@functools.lru_cache(maxsize=1)
def _by_called() -> Mapping[str, tuple[Composite, ...]]:
    """Return the composites by the name of what they call: those of the table, and the classes of modules whose call is a function."""
    found: dict[str, list[Composite]] = {}
    for row in platform_data("composites")["composites"]:
        for one in _of_row(row):
            found.setdefault(one.name, []).append(one)
    for name, signature in load_signatures().items():
        if signature.does in load_signatures():
            found.setdefault(signature.does, []).append(_of_class(name, signature.does))
    return {name: tuple(some) for name, some in found.items()}


def _of_class(name: str, function: str) -> Composite:
    own, done = load_signatures()[name], load_signatures()[function]
    taken = {parameter: parameter if parameter in own.called_with else f"itself.{parameter}" for parameter in done.parameters}
    condition = Condition("call", (f"{name}{CALLED}",))
    return Composite(condition, VersionRange(), function, tuple(taken.values()), {}, own.called_with, own.parameters or ("self",))


def _of_row(row: Mapping[str, Any]) -> Iterator[Composite]:
    """Yield what a row says of each of its calls, which differ in their parameters."""
    reader = RuleReader(rules_folder() / "platform" / "composites.yaml")
    reader.only(row, {"call", "arguments", "given", "does", "versions", "made_with", "parameters", "trains"}, "composites")
    said = ast.parse(str(row["does"]), mode="eval").body
    if not isinstance(said, ast.Call):
        raise reader.fail(f"composites: {row['does']!r} isn't a call")
    arguments = tuple(map(_said, said.args))
    keywords = {str(one.arg): _said(one.value) for one in said.keywords}
    given = {name: {one: reader.comparisons(asked, name) for one, asked in held.items()} for name, held in row.get("given", {}).items()}
    maker, trains = tuple(row.get("made_with", ())), bool(row.get("trains"))
    condition = reader.condition({key: row[key] for key in ("call", "arguments") if key in row}, "composites")
    for name in condition.names:
        signature = load_signatures().get(name)
        parameters = tuple(row["parameters"]) if "parameters" in row else signature.parameters if signature is not None else ()
        one = replace(condition, names=(name,), positional=parameters)
        yield Composite(one, reader.versions(row), ast.unparse(said.func), arguments, keywords, parameters, maker, given, trains)


def _said(node: ast.expr) -> str | Known:
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else Known(ast.literal_eval(node))

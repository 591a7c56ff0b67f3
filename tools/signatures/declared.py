"""What the installed torch declares of a public function: the names of its parameters, for each of its overloads."""

from __future__ import annotations

import ast
import functools
import inspect
import keyword
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

SPACES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.Tensor")
OBJECT = "input"
"""How the object of a method is called in the tables."""


@dataclass(frozen=True)
class Overload:
    """One way to call a function."""

    positional: tuple[str, ...]
    """The parameters that can be given by position, in order."""
    by_name: frozenset[str]
    """The parameters that can only be given by name."""
    required: frozenset[str]
    rest: str = ""
    """The parameter that takes all further positional arguments."""
    types: Mapping[str, str] | None = None
    gives: str = ""

    def bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments by parameter, or None where this overload doesn't take them."""
        bound = dict(zip(self.positional, positional, strict=False))
        further = tuple(positional[len(self.positional) :])
        if (further and not self.rest) or named.keys() & bound.keys() or named.keys() - self.by_name - set(self.positional):
            return None
        bound |= named | ({self.rest: further} if further else {})
        fits = all(self._takes(name, value) for name, value in bound.items())
        return bound if fits and self.required <= bound.keys() else None

    def _takes(self, name: str, value: Any) -> bool:
        said = (self.types or {}).get(name, "")
        if not said:
            return True
        if isinstance(value, bool):
            return "bool" in said or not any(word in said for word in ("int", "_size", "Sequence", "float"))
        if isinstance(value, (list, tuple)):
            return said not in ("_int", "_int | SymInt")
        if isinstance(value, torch.Tensor):
            return "Tensor" in said or "Number" in said or "float" in said or said == "Any"
        if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
            return said not in ("Tensor", "Tensor | None")
        return True


def resolve(name: str) -> Any:
    """Return what a qualified name stands for."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return operator.attrgetter(part) if inspect.isdatadescriptor(found) else found


def overloads(name: str) -> tuple[Overload, ...]:
    """Return the declared overloads of a qualified name; none where nothing is declared."""
    found = resolve(name)
    space, _, last = name.rpartition(".")
    if dispatched := getattr(torch.nn.functional, f"_{last}", None) if space == "torch.nn.functional" else None:
        found = dispatched
    if isinstance(found, operator.attrgetter):
        return (Overload((OBJECT,), frozenset(), frozenset({OBJECT})),)
    if inspect.isfunction(found) and (given := _inspected(found, space)):
        return (given,)
    return tuple(_of_stub(name)) or tuple(_of_schema(name))


def _inspected(function: Any, space: str) -> Overload | None:
    given = list(inspect.signature(function).parameters.values())
    if space == "torch.Tensor":
        given[0] = given[0].replace(name=OBJECT)
    if any(one.kind is one.VAR_KEYWORD for one in given):
        return None
    rest = next((one.name for one in given if one.kind is one.VAR_POSITIONAL), "")
    positional = tuple(one.name for one in given if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD))
    required = frozenset(one.name for one in given if one.default is one.empty and one.name != rest)
    return Overload(positional, frozenset(one.name for one in given if one.kind is one.KEYWORD_ONLY), required, rest)


@functools.cache
def _stubs() -> Mapping[str, Sequence[ast.FunctionDef]]:
    """The functions of the type stubs that torch ships, by qualified name."""
    folder = Path(torch.__file__).parent / "_C"
    found: dict[str, list[ast.FunctionDef]] = {}
    for node in ast.parse((folder / "_VariableFunctions.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(f"torch.{node.name}", []).append(node)
    for outer in ast.parse((folder / "__init__.pyi").read_text()).body:
        if isinstance(outer, ast.ClassDef) and outer.name == "TensorBase":
            for node in outer.body:
                if isinstance(node, ast.FunctionDef):
                    found.setdefault(f"torch.Tensor.{node.name}", []).append(node)
    return found


def _of_stub(name: str) -> Iterator[Overload]:
    for node in _stubs().get(name, ()):
        given = [*node.args.posonlyargs, *node.args.args]
        if given and given[0].arg == "self":
            given[0] = ast.arg(OBJECT, ast.Name("Tensor"))
        every = [*given, *node.args.kwonlyargs]
        for one in every:
            if keyword.iskeyword(one.arg.rstrip("_")):  # `from_` in a stub is `from`, which Python can't spell there
                one.arg = one.arg.rstrip("_")
        types = {one.arg: ast.unparse(one.annotation) if one.annotation else "" for one in every}
        if any("EllipsisType" in said for said in types.values()) or (given and types[given[0].arg] == "Number | _complex"):
            continue  # named dimensions, and numbers in the place of the first tensor
        required = {one.arg for one in given[: len(given) - len(node.args.defaults)]}
        required |= {one.arg for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default is None}
        yield Overload(
            tuple(one.arg for one in given),
            frozenset(one.arg for one in node.args.kwonlyargs),
            frozenset(required),
            node.args.vararg.arg if node.args.vararg else "",
            types,
            ast.unparse(node.returns) if node.returns else "",
        )


def _of_schema(name: str) -> Iterator[Overload]:
    space, _, last = name.rpartition(".")
    prefix = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}.get(space, "")
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{prefix}{last}"):
        if schema.overload_name.split("_")[-1] in ("out", "names", "dimname"):
            continue
        given = [(OBJECT if one.name == "self" else one.name, one) for one in schema.arguments]
        yield Overload(
            tuple(name for name, one in given if not one.kwarg_only),
            frozenset(name for name, one in given if one.kwarg_only),
            frozenset(name for name, one in given if not one.has_default_value()),
            "",
            {name: str(one.type).replace("Optional[Tensor]", "Tensor | None") for name, one in given},
            str(schema.returns[0].type) if len(schema.returns) == 1 else "tuple",
        )

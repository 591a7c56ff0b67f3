"""Arguments to run a function with: the samples of torch's own operator tests, and examples of this folder's table."""

from __future__ import annotations

import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from signatures.declared import OBJECT, SPACES, overloads, resolve
from signatures.examples import MAKERS, OTHERS, Maker, examples, single

LARGEST = 4096
"""Most elements of a tensor in a sample."""


@dataclass(frozen=True)
class Call:
    """Arguments of one call, by parameter."""

    bound: Mapping[str, Any]
    order: tuple[str, ...]
    """The parameters that are given by position."""
    rest: str = ""
    """The parameter that takes all further positional arguments, as a tuple."""

    @property
    def positional(self) -> tuple[Any, ...]:
        """The arguments given by position."""
        return (*(self.bound[name] for name in self.order), *self.bound.get(self.rest, ()))

    @property
    def named(self) -> dict[str, Any]:
        """The arguments given by name."""
        return {name: value for name, value in self.bound.items() if name not in self.order and name != self.rest}

    def tensors(self) -> dict[str, list[torch.Tensor]]:
        """The tensors by parameter, also those in lists."""
        found = {name: list(leaves(value)) for name, value in self.bound.items()}
        return {name: value for name, value in found.items() if value}

    def mapped(self, change: Callable[[str, torch.Tensor], Any]) -> Call:
        """The same call with each tensor changed by its parameter."""
        return replace(self, bound={name: mapped(value, functools.partial(change, name)) for name, value in self.bound.items()})


def leaves(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in a value."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from leaves(one)


def mapped(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """Return a value with each tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(mapped(one, change) for one in value)
    return value


def call_of(name: str, positional: tuple[Any, ...], named: Mapping[str, Any]) -> Call | None:
    """Return a call of a qualified name, or None where no overload of it takes the arguments."""
    for overload in overloads_of(name):
        bound = overload.bind(positional, named)
        if bound is not None:
            return Call(bound, overload.positional[: len(positional)], overload.rest)
    return None


overloads_of = functools.cache(overloads)


@functools.cache
def public_names() -> tuple[str, ...]:
    """The public functions and methods of torch's own name spaces."""
    found = []
    for space in SPACES:
        holder = torch if space == "torch" else resolve(space)
        for name in dir(holder):
            value = getattr(holder, name)
            home = str(getattr(value, "__module__", "") or "")
            if (
                not name.startswith("_")
                and callable(value)
                and not inspect.isclass(value)
                and not home.startswith(("typing", "torch._jit"))
            ):
                found.append(f"{space}.{name}")
    return tuple(found)


def _descriptions() -> list[Any]:
    """Return torch's operator tests, which take seconds to import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return op_db


@functools.cache
def operators() -> Mapping[str, tuple[Any, ...]]:
    """The descriptions of torch's operator tests by each public name that they hold for, aliases, methods and in-place forms included."""
    by_function: dict[int, list[str]] = {}
    for name in public_names():
        by_function.setdefault(id(resolve(name)), []).append(name)
    found: dict[str, list[Any]] = {}

    def add(name: str, description: Any) -> None:
        if name in public_names() and description not in found.setdefault(name, []):
            found[name].append(description)

    for description in _descriptions():
        last = description.name.rpartition(".")[2]
        add(f"torch.{description.name}", description)
        for variant in (description, *description.aliases):
            for name in by_function.get(id(variant.op), ()):
                add(name, description)
        for known in (last, *(alias.name for alias in description.aliases)):
            if "." not in known and known == last.lstrip("_"):
                add(f"torch.Tensor.{known}", description)
        for variant in (description, *description.aliases):
            for method in (variant.method_variant, variant.inplace_variant):
                if method is not None and hasattr(method, "__name__"):
                    add(f"torch.Tensor.{method.__name__}", description)
                    if method is variant.inplace_variant:
                        add(f"torch.{method.__name__}", description)
    return {name: tuple(value) for name, value in found.items()}


def calls(name: str, dtype: torch.dtype, limit: int) -> Iterator[Call]:
    """Yield calls of a qualified name with tensors of a dtype, on the CPU."""
    for positional, named in examples(name, dtype):
        if (call := call_of(name, positional, named)) is not None:
            yield call
    if name not in operators() and name not in MAKERS and name not in OTHERS and name.startswith("torch.Tensor.") and single(name):
        maker = Maker(dtype)
        yield from (Call({OBJECT: maker(*shape)}, (OBJECT,)) for shape in ((), (3,), (2, 3), (1, 2, 3)))
    torch.manual_seed(0)
    for description in operators().get(name, ()):
        if dtype not in description.dtypes:
            continue
        seen = 0
        for sample in itertools.islice(_samples(description, dtype), limit * 2):
            positional, named = (sample.input, *sample.args), dict(sample.kwargs)
            if any(one.numel() > LARGEST or one.layout != torch.strided for one in leaves((*positional, *named.values()))):
                continue
            call = call_of(name, positional, named)
            if call is not None:
                seen += 1
                yield call
            if seen >= limit:
                break


def _samples(description: Any, dtype: torch.dtype) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from description.sample_inputs("cpu", dtype, requires_grad=False)

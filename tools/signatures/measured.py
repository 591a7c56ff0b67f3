"""What real calls of a function give: dtypes, dimensions, graphs and places."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

from signatures.calls import Call, calls, leaves
from signatures.declared import resolve

DTYPES = (torch.float32, torch.float64, torch.float16, torch.int64, torch.bool, torch.complex64)
ACCELERATOR = "mps"
MOST, FEW, MIXED = 16, 5, 4
"""Samples of each description of an operator that are run with float32, with each other dtype, and with mixed dtypes."""
RAISES, ACCEPTS = "raises", "accepts"


@dataclass(frozen=True)
class Result:
    """What one call gave."""

    kind: str
    """`tensor`, `several` (a tuple or list of tensors), `none`, `self`, `python` or `other`."""
    dtypes: tuple[torch.dtype, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    graphs: tuple[bool, ...] = ()
    places: tuple[str, ...] = ()
    nested: Any = None
    """The structure of a tuple whose parts are tuples: the number of each tensor."""
    is_list: bool = False


def run(name: str, call: Call) -> Any:
    """Return what a call gives. Raises whatever it raises."""
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        return resolve(name)(*call.positional, **call.named)


def result_of(value: Any, call: Call) -> Result:
    """Describe what a call gave."""
    first = next(iter(call.bound.values()), None)
    tensors = list(leaves(value))
    facts = (
        tuple(one.dtype for one in tensors),
        tuple(tuple(one.shape) for one in tensors),
        tuple(one.requires_grad for one in tensors),
        tuple(one.device.type for one in tensors),
    )
    if value is None:
        return Result("none")
    if isinstance(value, torch.Tensor):
        return Result("self" if value is first else "tensor", *facts)
    if tensors and isinstance(value, (list, tuple)):
        flat = all(isinstance(one, torch.Tensor) for one in value)
        return Result("several", *facts, None if flat else "nested", is_list=isinstance(value, list))
    return Result("python" if isinstance(value, (bool, int, float, complex, str, list, tuple, torch.dtype)) else "other")


@dataclass(frozen=True)
class Observed:
    """One call that ran."""

    call: Call
    dtype: torch.dtype
    result: Result
    carries: tuple[bool, ...] | None
    """Whether each tensor of the result requires grad where all operands do; None where that can't be asked."""


def observe(name: str, sources: Callable[[str, torch.dtype, int], Iterator[Call]] = calls) -> list[Observed]:
    """Run a function with the samples of each dtype."""
    found = []
    for dtype in DTYPES:
        for call in sources(name, dtype, MOST if dtype == torch.float32 else FEW):
            with contextlib.suppress(Exception):
                fresh = call.mapped(lambda _, one: one.detach().clone())
                result = result_of(run(name, fresh), fresh)
                found.append(Observed(call, dtype, result, _carries(name, call) if dtype in (torch.float32, torch.complex64) else None))
    return found


def mixed(name: str, observed: Sequence[Observed]) -> tuple[list[Observed], frozenset[str]]:
    """Run calls again with the tensors of one parameter in float64. Return those that ran, and the parameters that always refused."""
    ran: list[Observed] = []
    tried: dict[str, set[bool]] = {}
    for one in [one for one in observed if one.dtype == torch.float32][:MIXED]:
        wide = [key for key, given in one.call.tensors().items() if given[0].dtype == torch.float32]
        if sum(len(one.call.tensors()[key]) for key in wide) < 2:
            continue
        for key in wide:
            last = one.call.tensors()[key][-1]
            changed = one.call.mapped(lambda _, tensor, last=last: (tensor.double() if tensor is last else tensor).detach().clone())
            try:
                result = result_of(run(name, changed), changed)
            except Exception:
                tried.setdefault(key, set()).add(False)
            else:
                tried.setdefault(key, set()).add(True)
                ran.append(Observed(changed, torch.float64, result, None))
    return ran, frozenset(key for key, could in tried.items() if could == {False})


def _carries(name: str, call: Call) -> tuple[bool, ...] | None:
    try:
        leaf = call.mapped(lambda _, one: _with_graph(one))
        return tuple(one.requires_grad for one in leaves(run(name, leaf)))
    except Exception:
        return None


def _with_graph(one: torch.Tensor) -> torch.Tensor:
    copy = one.detach().clone()
    return copy.requires_grad_().view_as(copy) if copy.is_floating_point() or copy.is_complex() else copy


def places(name: str, call: Call) -> dict[str, dict[str, str]]:
    """Say for each parameter with tensors what happens when it alone lies on the CPU and all others on the accelerator, by judge;
    under '' what the result's place is where all lie there."""
    given = call.tensors()
    asked = ["", *given] if sum(len(one) for one in given.values()) > 1 else [""]
    return {one: {judge.__name__: judge(name, call, one) for judge in (on_meta, on_fake)} for one in asked}


def on_meta(name: str, call: Call, left: str) -> str:
    """Judge with real meta tensors in the place of the accelerator's."""
    kept = stays(call, left)
    moved = call.mapped(lambda _, one: one.detach().clone() if kept(one) else one.to("meta"))
    return _judged(name, moved, "meta")


def on_fake(name: str, call: Call, left: str) -> str:
    """Judge with torch's fake tensors, which know that they lie on an accelerator."""
    kept = stays(call, left)
    with FakeTensorMode(allow_non_fake_inputs=False) as mode:

        def fake(_: str, one: torch.Tensor) -> torch.Tensor:
            if kept(one):
                return mode.from_tensor(one)
            return torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=ACCELERATOR)

        try:
            moved = call.mapped(fake)
        except Exception:
            return ""
        return _judged(name, moved, ACCELERATOR)


def stays(call: Call, left: str) -> Callable[[torch.Tensor], bool]:
    """Say which tensors stay on the CPU: those of a parameter; of a list that is all there is only the last."""
    given = call.tensors()
    kept = given.get(left, [])
    if len(given) == 1:
        kept = kept[-1:]
    identities = {id(one) for one in kept}
    return lambda one: id(one) in identities


DEVICE_ERRORS = ("same device", "expected device", "devices", "same device type", "on device")


def _judged(name: str, call: Call, accelerator: str) -> str:
    try:
        value = run(name, call)
    except (DataDependentOutputException, DynamicOutputShapeException, NotImplementedError):
        return ""
    except Exception as error:
        said = str(error)
        if "not linked with" in said or "meta tensors" in said or "aten::" in said:
            return ""
        return RAISES if any(words in said for words in DEVICE_ERRORS) else ""
    where = {one.device.type for one in leaves(value)}
    return ",".join(sorted("accelerator" if one == accelerator else one for one in where)) or ACCEPTS


def scalar_accepted(name: str, call: Call) -> Mapping[str, dict[str, str]]:
    """Say the same for each parameter whose tensors have no dimensions."""
    given = call.tensors()
    zero = [one for one, tensors in given.items() if all(tensor.dim() == 0 for tensor in tensors)]
    return {one: {judge.__name__: judge(name, call, one) for judge in (on_meta, on_fake)} for one in zero if len(given) > 1}

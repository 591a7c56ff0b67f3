"""From what calls gave to what a signature says: only what holds for every call that ran."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import yaml

from signatures.calls import Call, leaves, overloads_of
from signatures.measured import RAISES, Observed, mixed, observe, on_fake, on_meta, places, result_of, run

WHOLE = (torch.int64, torch.int32, torch.bool, torch.uint8)
ASKED = 8
"""Most calls of a function that are judged with operands on different devices."""


def signature(name: str) -> dict[str, Any]:
    """Return what the measurements say of a qualified name, in the words of the tables; nothing where they say too little."""
    observed = observe(name)
    if not observed:
        return {}
    parameters = _parameters(name, observed)
    said: dict[str, Any] = {"parameters": list(parameters)}
    if overload := next((one for one in overloads_of(name) if one.rest), None):
        said["rest"] = overload.rest
    said |= _places(name, [one for one in observed if not _other(parameters, one)])
    ran, alike = mixed(name, observed)
    if alike:
        said["alike"] = [one for one in said["parameters"] if one in alike]
    observed += ran
    names = _names(name)
    if "dtype" in names:
        said["dtype_argument"] = "dtype"
    if "device" in names:
        said["place_argument"] = "device"
    if "device" in names and not any(one.call.tensors() for one in observed) and _follows(name, observed[0].call):
        said["makes"] = True
    in_place = name.endswith("_") and all(one.result.kind == "self" for one in observed)
    if in_place:
        said["in_place"] = True
    apart = [one for one in observed if _other(parameters, one)]
    if apart:  # max and min: a tensor in the place of a dimension is the other operand
        whole = facts(name, apart, in_place)
        said["with_tensors"] = {"dim": {"parameters": [said["parameters"][0], "other"], **_places(name, apart), **(whole or {})}}
        observed = [one for one in observed if not _other(parameters, one)]
    return said | _given(name, observed, in_place)


def _other(parameters: Sequence[str], one: Observed) -> bool:
    return "dim" in parameters and "other" in one.call.bound and "other" not in parameters


def _follows(name: str, call: Call) -> bool:
    """Whether what a function makes lies where its argument `device` says."""
    changed = replace(call, bound={**call.bound, "device": "meta"})
    with contextlib.suppress(Exception):
        return {one.device.type for one in leaves(run(name, changed))} == {"meta"}
    return False


def _names(name: str) -> set[str]:
    return {one for overload in overloads_of(name) for one in (*overload.positional, *overload.by_name)}


def is_given(value: Any) -> bool:
    """Whether an argument counts as given."""
    return value is not None and value is not False


def _given(name: str, observed: Sequence[Observed], in_place: bool) -> dict[str, Any]:
    """Say what the calls gave, apart for those with one argument where that is what decides."""
    whole = facts(name, observed, in_place)
    if whole is not None:
        return whole
    optional = sorted({key for one in observed for key, value in one.call.bound.items() if is_given(value)})
    for key in optional:
        split: dict[bool, list[Observed]] = {True: [], False: []}
        for one in observed:
            split[is_given(one.call.bound.get(key))].append(one)
        if split[True] and split[False]:
            first, second = facts(name, split[False], in_place), facts(name, split[True], in_place)
            if first is not None and second is not None:
                blank = {"gives": "", "dtype": "", "parts": [], "each": False, "graph": True, "zero": "", "shape": ""}
                differs = {one: second.get(one, blank[one]) for one in blank if second.get(one, blank[one]) != first.get(one, blank[one])}
                return first | {"with_arguments": {key: differs}}
    return {}


def facts(name: str, observed: Sequence[Observed], in_place: bool) -> dict[str, Any] | None:
    """Return what all calls agree on; None where not even the kind of what they give is one."""
    kinds = {one.result.kind for one in observed}
    if kinds in ({"tensor"}, {"self"}, {"tensor", "self"}):
        said: dict[str, Any] = {} if in_place else {"gives": "torch.Tensor"}
        dtype = "first" if in_place else _dtype(observed, 0)
    elif kinds == {"several"}:
        said = {"gives": "torch.Tensor"}
        count = {len(one.result.dtypes) for one in observed}
        if any(one.result.nested for one in observed):
            return {"gives": ""}
        varies = any("..." in overload.gives for overload in overloads_of(name))
        if varies or any(one.result.is_list for one in observed) or len(count) > 1:
            dtype = _dtype(observed, None)
            said["each"] = True
        else:
            parts = [_dtype(observed, number) for number in range(count.pop())]
            return said | {"parts": parts} | _graph(observed)
    elif len(kinds) == 1:
        return {"gives": {"other": ""}.get(kinds.copy().pop(), kinds.pop())}
    else:
        return None
    if dtype and not in_place:
        said["dtype"] = dtype
    if zero := _zero(name, observed) if not said.get("each") and not in_place else "":
        said["zero"] = zero
    if shape := _shape(name, observed) if not said.get("each") and not in_place else "":
        said["shape"] = shape
    return said | _graph(observed)


def _graph(observed: Sequence[Observed]) -> dict[str, Any]:
    carried = {any(one.carries) for one in observed if one.carries}
    if carried == {True}:
        return {}
    if carried == {False} or all(not (dtype.is_floating_point or dtype.is_complex) for one in observed for dtype in one.result.dtypes):
        return {"graph": False}
    return {} if not carried else {"graph": "?"}


Word = Callable[[Sequence[Any]], Any]


def promoted(values: Sequence[Any]) -> torch.dtype | None:
    """The dtype that torch promotes tensors and numbers to: tensors with dimensions decide over those without, these over numbers."""
    if not values:
        return None
    found = values[0]
    for one in values[1:]:
        found = _stand_in(found, one)
    return torch.result_type(found, found)


def _stand_in(first: Any, second: Any) -> Any:
    """A value that takes part in promotion as two do together."""
    dtype = torch.result_type(first, second)
    dims = max(one.dim() if isinstance(one, torch.Tensor) else -1 for one in (first, second))
    return torch.empty((1,) * max(dims, 0), dtype=dtype)


def _same(values: Sequence[Any]) -> Any:
    return promoted(values)


def _first(values: Sequence[Any]) -> Any:
    return next(one.dtype for one in values if isinstance(one, torch.Tensor))


def _float(values: Sequence[Any]) -> Any:
    found = promoted(values)
    return torch.float32 if found in WHOLE else found


def _widened(values: Sequence[Any]) -> Any:
    found = promoted(values)
    return torch.int64 if found in WHOLE else found


def _real(values: Sequence[Any]) -> Any:
    found = promoted(values)
    return torch.empty(0, dtype=found).abs().dtype if found is not None and found.is_complex else found


def _complex(values: Sequence[Any]) -> Any:
    found = promoted(values)
    return torch.result_type(torch.empty(1, dtype=found), 1j) if found is not None else found


WORDS: Mapping[str, Word] = {"same": _same, "float": _float, "widened": _widened, "real": _real, "complex": _complex, "first": _first}


def _dtype(observed: Sequence[Observed], number: int | None) -> str:
    """The word for the dtype of one result (of all for None); '' where none fits all calls."""
    able = {key for one in observed for key in one.call.tensors()}
    cases = []
    for one in observed:
        if is_given(one.call.bound.get("dtype")) or any(isinstance(value, torch.dtype) for value in one.call.bound.values()):
            continue
        values = [value for key, given in one.call.bound.items() if key in able or not able for value in _values(given)]
        outs = one.result.dtypes if number is None else one.result.dtypes[number : number + 1]
        cases += [(values, one.dtype, out) for out in outs]
    found = {out for _, _, out in cases}
    if len(found) == 1 and len({dtype for _, dtype, _ in cases}) > 1:
        return str(found.pop()).removeprefix("torch.")
    if len({dtype for _, dtype, _ in cases}) < 2:
        return ""
    if not able and all(any(torch.tensor(one).dtype == out for one in values) for values, _, out in cases):
        return "data"
    for word, rule in WORDS.items():
        if all(any(isinstance(one, torch.Tensor) for one in values) and rule(values) == out for values, _, out in cases):
            return word
    return ""


def _values(given: Any) -> Iterable[Any]:
    if isinstance(given, (int, float, complex)):
        return [given]
    if isinstance(given, list) and not any(True for _ in leaves(given)):
        return [value for one in given for value in _values(one)]
    return leaves(given)


def _zero(name: str, observed: Sequence[Observed]) -> str:
    """When the result has no dimensions."""
    cases = [(one.call, len(one.result.shapes[0])) for one in observed if one.dtype in (torch.float32, torch.int64)]
    cases += [probe for call, _ in cases[:ASKED] for probe in _probes(name, call)]
    zeros = [(call, dims == 0) for call, dims in cases]
    if not zeros or not any(call.tensors() for call, _ in zeros):
        return ""
    if all(zero for _, zero in zeros):
        return "always"
    firsts = [(next(iter(call.tensors().values()))[0].dim() == 0, zero) for call, zero in zeros if call.tensors()]
    alls = [(all(one.dim() == 0 for given in call.tensors().values() for one in given), zero) for call, zero in zeros]
    if any(zero for _, zero in zeros):
        for word, pairs in (("same", firsts), ("all", alls)):
            if all(said == zero for said, zero in pairs) and len({said for said, _ in pairs}) == 2:
                return word
        if "reduction" in _names(name) and all(zero for call, zero in zeros if call.bound.get("reduction", "mean") != "none"):
            return "reduced"
        for key in ("dim", "axis"):  # the first that a reduction is done over
            without = [zero for call, zero in zeros if not is_given(call.bound.get(key)) and not call.bound.get("keepdim")]
            if without and all(without):
                return f"unless {key}"
        return ""
    return "never" if len(zeros) > 3 else ""


def _shape(name: str, observed: Sequence[Observed]) -> str:
    """Whether what is given has the shape of the first tensor, or the one to which all are broadcast, whatever they are."""
    ran = [one for one in observed if one.call.tensors()]
    real = [one.call for one in ran if one.dtype == ran[0].dtype]
    cases = [(one.result.shapes[0], _shapes(one.call)) for one in observed if one.call.tensors()]
    several = len(_shapes(real[0])) if real else 0
    like = [probe for call in real[:ASKED] for shape in ((2, 3, 5), (7, 2), (3, 1, 4)) for probe in _shaped(name, call, [shape] * several)]
    broadcast = [probe for call in real[:ASKED] for probe in _shaped(name, call, [(2, 1, 5), (3, 1), (2, 3, 5)][:several])]
    if len({result for result, _ in like}) < 2 or any(result != shapes[0] for result, shapes in like):
        return ""
    if several > 1 and broadcast and all(result == (2, 3, 5) for result, _ in broadcast):
        return "all" if all(result == tuple(torch.broadcast_shapes(*shapes)) for result, shapes in cases) else ""
    return "same" if not (several > 1 and broadcast) and all(result == shapes[0] for result, shapes in cases) else ""


def _shapes(call: Call) -> list[tuple[int, ...]]:
    return [tuple(tensor.shape) for given in call.tensors().values() for tensor in given]


def _shaped(name: str, call: Call, shapes: Sequence[tuple[int, ...]]) -> Iterable[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """The shape of what a function gives for tensors of some shapes, and theirs; nothing where it takes none of these."""
    left = iter(shapes)
    with contextlib.suppress(Exception):
        probe = call.mapped(lambda _, one: one.detach().reshape(-1)[:1].expand(next(left)).clone())
        result = result_of(run(name, probe.mapped(lambda _, one: one.clone())), probe)
        if result.kind in ("tensor", "self"):
            yield result.shapes[0], _shapes(probe)


def _probes(name: str, call: Call) -> Iterable[tuple[Call, int]]:
    """Calls with tensors without dimensions, and with one element, that a function takes."""
    first = next(iter(call.tensors()), "")
    if call.bound.get("dim") not in (None, 0):  # that of a vector
        yield from _probes(name, replace(call, bound={**call.bound, "dim": 0}))
    for parameters in ((first,), tuple(call.tensors())):
        for shape in ((), (1,)):
            with contextlib.suppress(Exception):
                probe = call.mapped(
                    lambda key, one, on=parameters, shape=shape: (
                        one.detach().clone().reshape(-1)[:1].reshape(shape) if key in on and one.numel() else one.detach().clone()
                    )
                )
                result = result_of(run(name, probe), probe)
                if result.kind in ("tensor", "self"):
                    yield probe, len(result.shapes[0])


def _parameters(name: str, observed: Sequence[Observed]) -> tuple[str, ...]:
    """The parameters by position: of the overload that takes any number of arguments, else of the longest that agrees with the calls."""
    known = overloads_of(name)
    if not known:
        return ()
    if starred := next((one for one in known if one.rest), None):
        return starred.positional
    if "dim" in _names(name) and any("other" in one.positional for one in known):
        known = tuple(one for one in known if "other" not in one.positional) or known
    orders = [one.call.order for one in observed]
    return max(known, key=lambda one: (sum(one.positional[: len(order)] == order for order in orders), len(one.positional))).positional


def _places(name: str, observed: Sequence[Observed]) -> dict[str, Any]:
    """Which parameters have to lie on one device, and whether a CPU tensor without dimensions may join them."""
    order = list(dict.fromkeys(key for one in observed for key in one.call.tensors()))
    if all(sum(len(given) for given in one.call.tensors().values()) < 2 for one in observed):
        said: dict[str, Any] = {"operands": order}
    elif real := on_gpu().get(name):
        joins = set(real.get("joins", ()))
        must = [
            key
            for key in order
            if key in (*real.get("raises", ()), *real.get("follows", ())) or (real.keys() == {"joins"} and key in joins)
        ]
        free = [key for key in order if key not in must and key in (*real.get("stays", ()), *joins)]
        said = {"operands": must, "anywhere": free if must else [], "scalars": len(order) > 1 and bool(joins - set(free))}
    else:
        said = _judged(name, observed, order)
    return {key: value for key, value in said.items() if value}


def _judged(name: str, observed: Sequence[Observed], order: Sequence[str]) -> dict[str, Any]:
    """The same of a function that wasn't measured on a GPU, by meta tensors and fake tensors."""
    votes: dict[str, set[bool]] = {}
    scalars: dict[str, set[bool]] = {}
    seen: set[Any] = set()
    for one in [one for one in observed if one.dtype == torch.float32] or observed:
        shape = tuple((key, len(given), given[0].dim() == 0) for key, given in one.call.tensors().items())
        if shape in seen or len(seen) > ASKED:
            continue
        seen.add(shape)
        for key, verdicts in places(name, one.call).items():
            if key and any(tensor.dim() for tensor in one.call.tensors()[key]):
                votes.setdefault(key, set()).add(RAISES in verdicts.values())
        for key in one.call.tensors():
            scalars.setdefault(key, set()).update(_scalar(name, one.call, key))
    if any(given != {True} for given in votes.values()):
        return {}
    joining = [scalars[key] for key in order if key in scalars and not (name.endswith("_") and key == order[0])]
    return {"operands": list(order), "scalars": bool(joining) and all(given == {True} for given in joining)}


@functools.cache
def on_gpu() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """What `on_gpu.py` measured on a real GPU, by qualified name."""
    found: dict[str, dict[str, list[str]]] = yaml.safe_load(Path(__file__).with_name("on_gpu.yaml").read_text(encoding="utf-8"))
    return found


def _scalar(name: str, call: Call, key: str) -> Iterable[bool]:
    """Whether a tensor without dimensions of one parameter may stay on the CPU."""
    try:
        probe = call.mapped(lambda other, one: one.detach().clone().reshape(-1)[:1].reshape(()) if other == key and one.numel() else one)
        others = [one.dim() for other, given in probe.tensors().items() if other != key for one in given]
        run(name, probe.mapped(lambda _, one: one.detach().clone()))
    except Exception:
        return
    if not any(others):
        return
    said = {on_meta(name, probe, key), on_fake(name, probe, key)}
    if said - {""}:
        yield said <= {"accelerator", ""}

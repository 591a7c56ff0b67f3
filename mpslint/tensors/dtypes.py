"""Dtypes: what operands of several dtypes become, and what a tensor gets from the numbers that it is made of."""

from __future__ import annotations

from collections.abc import Sequence

from mpslint.core.record import record
from mpslint.facts.joined import join_all
from mpslint.facts.values import UNKNOWN, Instance, Items, Known, Value, alternatives_of, origin_of
from mpslint.tensors.kinds import DTYPES, load_kinds
from mpslint.tensors.traits import (
    EACH,
    MAYBE,
    NUMBER,
    REAL,
    WHOLE,
    dtype_of,
    is_array,
    is_tensor,
    is_true,
    joined_dtype,
    joined_zero,
    trait,
)

_WHOLE, _REAL = 1, 2


@record(frozen=True)
class Typed:
    """An operand as promotion sees it."""

    dtype: str
    """'' where it isn't known."""
    rank: int
    """2 for a tensor with dimensions, 1 for one without, 0 for a number: what is below the highest only counts by its category."""
    origin: Value
    """The trait that says so."""
    is_of_array: bool = False
    """It is an array, or a number of one."""
    may_be_number: bool = False
    """It may be one of both."""


def result_dtype(word: str, operands: Sequence[Typed], default: Value, of_arrays: bool) -> Value:
    """Return the dtype that a signature's word means for some operands; `default` is that of real numbers."""
    if of_arrays:  # a scalar of NumPy is as strong as an array, since NumPy 2
        operands = [Typed(one.dtype, min(2, one.rank * 2), one.origin) for one in operands]
    elif any(not one.is_of_array and one.rank for one in operands):  # a number of NumPy is one of Python to a tensor
        operands = [Typed("", 2, UNKNOWN) if one.may_be_number else one for one in operands]
        operands = [Typed(one.dtype, 0 if one.is_of_array and one.rank == 1 else one.rank, one.origin) for one in operands]
    found = promoted(operands, dtype_of(default) or load_kinds().default_dtype)
    name = dtype_of(found)
    if not name or word in ("same", "first"):
        return found
    category, bits = DTYPES[name]
    if word == "real":
        return _named({"complex64": "float32", "complex128": "float64"}.get(name, name), found)
    if word == "complex" and (category <= _WHOLE or name in ("float32", "float64", "complex64", "complex128")):
        return _named("complex128" if category > _WHOLE and name.endswith(("t64", "128")) else "complex64", found)
    if word == "widened":
        return _named("int64", found) if category <= _WHOLE else found
    if word == "widest":
        return _named("int64" if category <= _WHOLE else "float64", found)
    if word == "inexact" and category <= _WHOLE:
        return _named({8: "float16", 16: "float32"}.get(max(bits, 8), "float64"), found)
    if word == "float" and category <= _WHOLE:
        return default
    return found if word in ("inexact", "float") else UNKNOWN


def promoted(operands: Sequence[Typed], default: str) -> Value:
    """Return the dtype of what operands make together, as torch promotes; Unknown where that isn't known."""
    if not operands or any(not one.dtype for one in operands):
        return next((one.origin for one in operands if not one.dtype), UNKNOWN)
    result: Typed | None = None
    for rank in (2, 1, 0):
        among = [one for one in operands if one.rank == rank]
        if not among:
            continue
        best = among[0]
        for one in among[1:]:
            best = _wider(best, one)
        if result is None:
            result = best
        elif DTYPES[best.dtype][0] > DTYPES[result.dtype][0]:
            result = Typed(_of_number(best.dtype, result, default), rank, best.origin) if rank == 0 else best
    assert result is not None
    return _named(result.dtype, result.origin)


def _of_number(dtype: str, above: Typed, default: str) -> str:
    """Return the dtype that a Python number of a higher category brings: the default one, not its own 64 bits."""
    if DTYPES[dtype][0] < _REAL:
        return dtype
    return default if DTYPES[dtype][0] == _REAL else "complex128" if above.dtype == "float64" else "complex64"


def _wider(a: Typed, b: Typed) -> Typed:
    """Return the dtype of two operands of one rank."""
    (kind, bits), (other, more) = DTYPES[a.dtype], DTYPES[b.dtype]
    if kind != other:
        return a if kind > other else b
    if bits == more and a.dtype != b.dtype:
        return Typed("float32" if kind == _REAL else "int16" if {a.dtype, b.dtype} == {"uint8", "int8"} else a.dtype, a.rank, a.origin)
    return a if bits >= more else b


def _named(dtype: str, said: Value) -> Value:
    """Return a dtype that follows from another value."""
    if isinstance(said, Known):
        return said if said.value == dtype else Known(dtype, said.origin, said.weak)
    return Known(dtype, origin_of(said))


def typed_operand(value: Value) -> Typed | None:
    """Return an operand as promotion sees it; None for what is no number, tensor or array."""
    if isinstance(value, Known):
        if isinstance(value.value, bool):
            return Typed("bool", 0, value)
        kinds = {int: "int64", float: "float64", complex: "complex128"}
        kind = kinds.get(type(value.value))
        return Typed(kind, 0, Known(kind, value.origin, value.weak)) if kind is not None else None
    if value is WHOLE or value is REAL:
        kind = "int64" if value is WHOLE else "float64"
        return Typed(kind, 0, Known(kind))
    if is_tensor(value) or is_array(value):
        dtype, zero = joined_dtype(value), joined_zero(value)
        return Typed(dtype_of(dtype), 1 if is_true(zero) else 2, dtype, is_array(value), zero is MAYBE)
    return Typed("", 0, UNKNOWN)


def dtype_of_data(value: Value, default: Value) -> Value:
    """Return the dtype that `torch.tensor(value)` gets: numbers of Python give the defaults, arrays and NumPy's numbers their own."""
    return join_all([_dtype_of_element(one, default) for one in alternatives_of(value)])


def _dtype_of_element(value: Value, default: Value) -> Value:
    whole = load_kinds().default_integer
    if value is WHOLE or value is REAL:
        return Known(whole) if value is WHOLE else default
    if value is NUMBER:  # of Python: one of both, which isn't known
        return join_all([Known(whole), default])
    if isinstance(value, Known):
        for kind, dtype in ((bool, "bool"), (int, whole), (float, dtype_of(default)), (complex, "complex64")):
            if isinstance(value.value, kind):
                return Known(dtype, value.origin, value.weak)
        return UNKNOWN
    if isinstance(value, Items):
        inner = [*value.values(), *([value.each] if value.each is not None else [])]
        if value.open and value.each is None:
            return UNKNOWN
        parts = [dtype_of_data(one, default) for one in inner]
        return promoted([Typed(dtype_of(one), 2, one) for one in parts], dtype_of(default)) if parts else default
    if isinstance(value, Instance) and value.kind:
        return joined_dtype(value)
    each = trait(value, EACH)
    return dtype_of_data(each, default) if each is not UNKNOWN else UNKNOWN

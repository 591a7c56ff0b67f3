"""What the tables say of NumPy and of the libraries around it is what these do.

scikit-learn, SciPy, gymnasium, OpenCV, librosa, einops and torchmetrics need not be there: what is said of them is tried where they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from mpslint.tensors.signatures import Signature, with_arguments
from tests.tensors.array_calls import PUBLIC, called, calls, entries, raised, resolved

ENTRIES = entries("numpy", "pandas", "scipy", "sklearn")
READING = [(name, one) for name, said in sorted(ENTRIES.items()) for one in said.on_cpu if ".ndarray." not in name]


def dtype_meant(rule: str, operands: list[Any]) -> str:
    """Return the dtype that a word of the tables means for operands of NumPy; '' for one that isn't said."""
    strong = rule == "data" or all(_is_weak(one) for one in operands)
    kept = (
        np.result_type(*(one if _is_weak(one) and not strong else np.asarray(one).dtype for one in operands))
        if operands
        else np.dtype("float64")
    )
    whole = kept.kind in "biu"
    words = {
        "same": kept,
        "data": kept,
        "first": np.asarray(operands[0]).dtype if operands else "",
        "float": "float64" if whole else kept,
        "real": np.zeros(1, kept).real.dtype,
        "widened": ("uint64" if kept.kind == "u" else "int64") if whole else kept,
        "inexact": np.result_type(kept, "float16"),
        "widest": "int64" if whole else "float64",
    }
    return str(words.get(rule, rule))


def _is_weak(value: Any) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, np.generic)


def without_dimensions(said: Signature, operands: list[Any], named: set[str]) -> bool | None:
    """Return whether the tables say that a result has no dimensions; None where they don't say."""
    first, _, unless = said.zero.partition("unless ")
    if unless and unless in named:
        return None
    match first.strip():
        case "same":
            return np.ndim(operands[0]) == 0
        case "all":
            return all(np.ndim(one) == 0 for one in operands)
    return True if unless or first == "always" else None


def differences(said: Signature, result: Any, arguments: list[Any], named: Mapping[str, Any], operands: list[Any]) -> Iterator[str]:
    """Yield what a table says of one call that isn't so."""
    given = {**named, **dict(zip(said.parameters, arguments, strict=False))}
    said = with_arguments(said, frozenset(one for one, value in given.items() if value is not None and value is not False))
    rule = "float32" if said.dtype_argument in named else said.dtype
    if said.size.isdecimal() and np.ndim(result) != int(said.size):
        yield f"has {np.ndim(result)} dimensions"
    bare = without_dimensions(said, operands, set(named))
    if said.each or said.parts or said.gives_back:
        yield from _different_parts(said, rule, result, arguments, operands)
    elif said.gives == "self":
        yield from [] if result is arguments[0] or np.ndim(arguments[0]) == 0 else [f"gives {type(result)}"]
    else:
        yield from _different(said.scalar if said.scalar and bare else said.gives, rule, result, operands, bare)


def class_name(value: Any) -> str:
    """Return the name of a value's class, as users import it; the one of an array for a scalar of NumPy."""
    cls = np.ndarray if isinstance(value, np.generic) else type(value)
    home = PUBLIC.get(cls.__name__, cls.__module__)
    return f"{home}.{cls.__name__}"


def _different_parts(said: Signature, rule: str, result: Any, arguments: list[Any], operands: list[Any]) -> Iterator[str]:
    if not isinstance(result, tuple | list):
        yield f"gives {type(result)}"
        return
    parts, sources = said.parts or (rule,) * len(result), [operands] * len(result)
    if said.gives_back:
        sources = [[one] for one in arguments for _ in range(said.gives_back)]
        parts = (rule or "first",) * len(sources)
    if len(parts) != len(result):
        yield f"gives {len(result)} parts"
        return
    classes = said.part_classes or (said.gives,) * len(parts)
    for position, (cls, part, one, source) in enumerate(zip(classes, parts, result, sources, strict=True)):
        yield from (f"part {position} {difference}" for difference in _different(cls, part, one, source, None))


def _different(cls: str, rule: str, result: Any, operands: list[Any], bare: bool | None) -> Iterator[str]:
    if (
        cls
        and not (cls == "none" and result is None)
        and not (cls == "python" and not hasattr(result, "dtype"))
        and class_name(result) != cls
        and not _is_kind(cls, result)
    ):
        yield f"gives {class_name(result)}, not {cls}"
    elif bare is not None and not cls.startswith("builtins") and bare != (np.ndim(result) == 0):
        yield f"has {np.ndim(result)} dimensions"
    elif rule and hasattr(result, "shape") and str(np.asarray(result).dtype) != (meant := dtype_meant(rule, operands)):
        of_bools = all(np.asarray(one).dtype == bool for one in operands) and str(np.asarray(result).dtype) in ("int8", "float16")
        yield from (
            [] if of_bools else [f"is {np.asarray(result).dtype}, not {meant}"]
        )  # arithmetic on bools alone isn't what the tables say


def _is_kind(cls: str, value: Any) -> bool:
    """Return whether a value is of a class, or of one that derives from it."""
    found = resolved(cls)[0] if "." in cls else None
    return isinstance(found, type) and isinstance(value, found)


def tried(said: Signature) -> tuple[int, dict[str, Any]]:
    """Return how many calls were made, and one call for each way in which the library differs from the table."""
    made: int = 0
    found: dict[str, Any] = {}
    for arguments, named, operands in calls(said):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                result = called(said.name, arguments, {one: value for one, value in named.items() if value is not None})
            except Exception:  # what a library refuses is nobody's dtype
                continue
        if result is not NotImplemented:
            made += 1
            found.update({one: (arguments, named) for one in differences(said, result, arguments, named, operands) if one not in found})
    return made, found


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_library_does_what_its_table_says(name: str) -> None:
    pytest.importorskip(name.partition(".")[0])

    made, found = tried(ENTRIES[name])

    assert found == {}
    assert made, "no call got through"


@pytest.mark.parametrize(("name", "parameter"), READING)
def test_tensors_that_are_read_as_arrays_must_lie_on_the_cpu(name: str, parameter: str) -> None:
    pytest.importorskip(name.partition(".")[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        elsewhere = list(raised(ENTRIES[name], parameter, torch.ones(3, 3, device="meta")))

    assert elsewhere, "no call got through"
    assert None not in elsewhere


WRAPPING = sorted(name for name, said in ENTRIES.items() if said.wraps and ".ndarray." not in name)


@pytest.mark.parametrize("name", WRAPPING)
def test_what_wraps_gives_the_class_that_it_is_given(name: str) -> None:
    series = pytest.importorskip("pandas").Series
    function, more = resolved(name)[0], [2] * (len(ENTRIES[name].operands) - 1)

    for dtype in ("float64", "int64"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(series([1, 2, 3], dtype=dtype), *more)
        except (TypeError, ValueError):  # this one takes whole numbers only
            continue
        assert isinstance(result, series)

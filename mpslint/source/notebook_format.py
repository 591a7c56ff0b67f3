"""What nbformat says of a notebook. It's loaded only here, and only for what is old, invalid or about to be written."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from mpslint.core.finding import ReadError

CURRENT = 4
MOST_DEMANDS = 2
LONGEST_WORDS = 160
"""Characters that are shown of what nbformat says: it quotes the value that is wrong."""
_BY_TYPE = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
_BY_DEMAND = {"array": "a list", "object": "an object", "string": "text", "integer": "a whole number"}


def kind_of_json(value: Any) -> str:
    """Return what a value is in JSON, such as `null` or `a list`."""
    return _BY_TYPE[next(kind for kind in type(value).__mro__ if kind in _BY_TYPE)]


def is_old(data: Any) -> bool:
    """Return whether the JSON of a notebook says that it's of format 1, 2 or 3."""
    version = data.get("nbformat") if isinstance(data, dict) else None
    return type(version) is int and 0 < version < CURRENT


def upgraded(raw: str, data: Any, path: str) -> Sequence[dict[str, Any]]:
    """Return the cells of a notebook of format 1, 2 or 3 as the current format has them, in order. Raises ReadError."""
    try:
        import nbformat
    except ImportError:
        raise ReadError(f"{path}: a notebook of an old format, which nbformat reads: pip install nbformat") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cells: Sequence[dict[str, Any]] = nbformat.reads(raw, as_version=CURRENT).cells  # type: ignore[no-untyped-call]
    except nbformat.ValidationError as error:
        missed: Any = error.__context__  # the AttributeError that nbformat words, for an object rightly
        is_object = isinstance(missed.obj, dict)
        said = _words(error) if is_object else f"it has {kind_of_json(missed.obj)} where an object with {missed.name!r} belongs"
        raise ReadError(f"{path}: not a notebook: {said}") from None
    except Exception as error:  # its upgrades take for granted that each key has the type that it should have
        raise ReadError(f"{path}: not a notebook: {_demands(data, CURRENT - 1) or _words(error)}") from None
    return cells


def refused(data: Any, path: str) -> ReadError:
    """Return the error that says what keeps some JSON from being a notebook of the current format."""
    try:
        words = _demands(data, CURRENT) if data is not None else "it is null"
    except ImportError:
        words = ""
    return ReadError(f"{path}: not a notebook: {words or 'it has no list of cells'}")


def _demands(data: Any, version: int) -> str:
    """Return in words which demands of a format some JSON doesn't meet, those about cells first. Raises ImportError without nbformat."""
    try:
        words = [_words(error, ": ".join(map(str, error.relative_path))) for error in _errors(data, version, 0)]
    except RecursionError:
        return "its JSON is nested too deeply"
    return "; ".join(sorted(words, key=lambda said: "cells" not in said and "worksheets" not in said)[:MOST_DEMANDS])


def new_flaw(before: bytes, after: bytes) -> str:
    """Return what makes a rewritten notebook invalid that was not so before, in words, or ''. Raises ImportError without nbformat."""
    flaws = _flaws(after)
    old = _flaws(before) if flaws else {}
    return next((words for flaw, words in flaws.items() if flaw not in old), "")


def _flaws(written: bytes) -> dict[tuple[str, ...], str]:
    """Return what makes a notebook invalid, in words, by place and demand, for the words may quote a text that an edit changes.

    Raises ImportError without nbformat.
    """
    import nbformat

    raw = written.decode("utf-8-sig", "replace")
    try:
        data = nbformat.reads(raw, as_version=CURRENT) if is_old(json.loads(raw)) else json.loads(raw)  # type: ignore[no-untyped-call]
        return {(*map(str, error.relative_path), str(error.validator)): _words(error, _cell(error)) for error in _errors(data)}
    except ImportError:  # of a format that is newer than nbformat
        return {}
    except Exception as error:  # what its upgrades and schemas can't be asked about
        return {(type(error).__name__,): _words(error)}


def _errors(data: Any, version: int | None = None, minor: int | None = None) -> Iterable[Any]:
    """Return each demand that some JSON doesn't meet, by default of the format that it says."""
    from nbformat.validator import iter_validate

    errors: Iterable[Any] = iter_validate(data, version=version, version_minor=minor)  # type: ignore[no-untyped-call]
    return errors


def _cell(error: Any) -> str:
    """Return in words in which cell a demand isn't met, or ''."""
    where = list(error.relative_path)
    return f"cell {where[1] + 1}" if where[:1] == ["cells"] and len(where) > 1 else ""


def _words(error: Exception, where: str = "") -> str:
    """Return the first line of what nbformat says, behind the place it says it of."""
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    if getattr(error, "validator", "") == "type" and error.validator_value in _BY_DEMAND:  # type: ignore[attr-defined]
        said = f"it is {kind_of_json(error.instance)}, not {_BY_DEMAND[error.validator_value]}"  # type: ignore[attr-defined]
    said = f"{where}: {said}" if where else said
    return said if len(said) <= LONGEST_WORDS else f"{said[: LONGEST_WORDS - 3]}..."

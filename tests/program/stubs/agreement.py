"""What a program gives under CPython with the real library, and what the stub makes of it."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

from mpslint.facts.values import Instance, Items, Known, Mapping, Value, is_weak
from mpslint.program.evaluator import evaluate_program
from mpslint.program.parse import parse_program
from mpslint.source.reader import read
from mpslint.target.target import default_target

RESULT = "result"


def run(code: str) -> dict[str, Any] | None:
    """Return what CPython puts into `result`, None where the program ends or raises."""
    names: dict[str, Any] = {"__name__": "__main__"}
    words = sys.argv
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(compile(code, "drawn", "exec", dont_inherit=True), names)
        except (Exception, SystemExit):
            return None
        finally:
            sys.argv = words
            if (flags := names.get("FLAGS")) is not None:  # absl keeps them for the whole process
                own = [found for module, found in flags.flags_by_module_dict().items() if not module.startswith("absl")]
                for flag in [one for found in own for one in found]:
                    delattr(flags, flag.name)
    found: dict[str, Any] = dict(names[RESULT])
    return found


def said(code: str) -> dict[str, Value]:
    """Return what the interpreter says that is in `result`, by key."""
    document = read("train.py", code.encode())
    facts = evaluate_program(document, parse_program(document, document.python).body, default_target().versions)
    result = facts.frames[0].slots.get(RESULT)
    entries = result.slots if isinstance(result, (Mapping, Instance)) else {}
    return {key: getattr(value, "value", value) if not isinstance(value, Known) else value for key, value in entries.items()}


def is_false(value: Value, real: Any) -> bool | None:
    """Return whether what is said of a value isn't so; None where nothing is said for certain."""
    if isinstance(value, Known) and not is_weak(value):
        return type(value.value) is not type(real) or value.value != real
    if isinstance(value, Items) and not value.open:
        if not isinstance(real, (list, tuple)) or len(real) != len(value.slots):
            return True
        answers = [is_false(one, item) for one, item in zip(value.values(), real, strict=True)]
        return True if True in answers else None if None in answers else False
    return None


def differences(code: str) -> tuple[list[str], int, int]:
    """Return the entries that are said wrongly, how many are said, and how many there are."""
    real = run(code)
    if real is None:
        return [], 0, 0
    values = said(code)
    answers = {key: is_false(values[key], one) if key in values else None for key, one in real.items()}
    wrong = [f"{key}: {getattr(values[key], 'value', values[key])!r}, not {real[key]!r}" for key, one in answers.items() if one]
    return wrong, sum(one is not None for one in answers.values()), len(answers)

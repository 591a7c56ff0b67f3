"""Run a program under CPython and walk it with the interpreter: whatever the walk calls known must be what CPython gives.

A program says what to compare by `probe(value)`, one a line. `unknown()` stands for what no reader can know: CPython is asked several
times, with other answers each time, and what is known must hold for all of them. A place is a probe with the calls that led there.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
import inspect
import random
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, TypeVar

from mpslint.core.knowledge import platform_data
from mpslint.facts.values import BEHIND, Class, Function, Instance, Items, Known, Mapping, OneOf, Symbol, Value, is_weak
from mpslint.program.evaluator import evaluate_program
from mpslint.program.parse import parse_program
from mpslint.source.reader import read
from mpslint.target.target import default_target

_T = TypeVar("_T")
PROGRAM = "<program>"
LONGEST_RUN = 2.0
"""Seconds of a program under CPython: one that was cut down may have lost what ends its loop."""
ANSWERS = (0, 1, 2, 3, -1, True, False, None, "a", "", 2.5)
RUNS = 3

Spot = tuple[int, int, int]
"""The line of a call, and the columns where it begins and ends; 0 for what is not known."""
Place = tuple[Spot, ...]
"""The calls that led to a probe, and the probe."""


@dataclass
class Comparison:
    """What one program showed."""

    false: list[str] = field(default_factory=list)
    """What is known and wrong, a line each."""
    known: int = 0
    """Places where the interpreter knows the value, or a few of which it is one."""
    unknown: int = 0
    varying: int = 0
    """Unknown places where CPython itself gives several values."""


class _TooLong(BaseException):
    pass


def _fake_modules() -> dict[str, Any]:
    """Return modules that answer as the Mac does, by the platform's own table."""
    modules: dict[str, Any] = {}
    answers = platform_data("answers")
    for table, is_call in ((answers["values"], False), (answers["results"], True)):
        for name, value in table.items():
            *path, last = name.split(".")
            if path and path[0] in ("torch", "sys", "platform"):
                module = modules.setdefault(path[0], SimpleNamespace())
                for part in path[1:]:
                    if not hasattr(module, part):
                        setattr(module, part, SimpleNamespace())
                    module = getattr(module, part)
                setattr(module, last, (lambda value=value: value) if is_call else value)
    return modules


def _stack(frame: FrameType | None) -> Place:
    spots: list[Spot] = []
    is_in_class = False
    while frame is not None:
        if frame.f_code.co_filename == PROGRAM:
            if not is_in_class:  # the frame around the body of a class is at its statement, which is no call
                spots.append((frame.f_lineno, *_columns(frame)))
            is_in_class = not frame.f_code.co_flags & inspect.CO_OPTIMIZED
        frame = frame.f_back
    return tuple(reversed(spots))


def _columns(frame: FrameType) -> tuple[int, int]:
    """Return where on its line the call begins and ends that a frame is at; Python 3.10 does not say."""
    if sys.version_info < (3, 11):
        return 0, 0
    _, _, start, end = _positions(frame.f_code)[frame.f_lasti // 2]
    return start or 0, end or 0


@functools.lru_cache(maxsize=64)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def _lines(place: Place) -> tuple[int, ...]:
    return tuple(line for line, _, _ in place)


def _spot(node: object) -> Spot:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)


def _quietly(execute: Callable[..., _T]) -> Callable[..., _T]:
    """Say nothing of what a generator raises that the program left open, where its end closes it."""

    @functools.wraps(execute)
    def quiet(*given: Any) -> _T:
        before, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            return execute(*given)
        finally:
            sys.unraisablehook = before

    return quiet


@_quietly
def run(code: str, seed: int) -> dict[Place, list[Any]]:
    """Return what each probe of a program is given under CPython, by its place; the program may end in any exception."""
    seen: dict[Place, list[Any]] = defaultdict(list)
    with contextlib.suppress(Exception, _TooLong):
        _execute(code, seed, seen)
    return seen


@_quietly
def raising_line(code: str, seed: int) -> int | None:
    """Return the line of the program's own code at which an exception leaves it; None where none does."""
    try:
        _execute(code, seed, defaultdict(list))
    except (Exception, _TooLong) as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != PROGRAM:
            trace = trace.tb_next
        return trace.tb_lineno if trace is not None else None
    return None


def _execute(code: str, seed: int, seen: dict[Place, list[Any]]) -> None:
    answers = random.Random(seed)

    def probe(value: Any) -> None:
        given = _copied(value)
        seen[_stack(sys._getframe(1))].append(given)

    modules = _fake_modules()  # a program may give their names other values

    def imported(name: str, *_: Any) -> Any:
        return modules[name] if name in modules else importlib.import_module(name)

    own = {**vars(builtins), "__import__": imported, "print": lambda *_: None}
    names = {"__builtins__": own, "__name__": "__main__", "probe": probe, "unknown": lambda: answers.choice(ANSWERS)}
    try:
        with _limited():
            exec(_compiled(code), names)
    finally:
        names.clear()  # what is still open is closed here


@functools.lru_cache(maxsize=2)
def _compiled(code: str) -> CodeType:
    return compile(code, PROGRAM, "exec", dont_inherit=True)  # this module's `annotations` isn't the program's


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, frame: FrameType | None) -> None:
        if _stack(frame):  # not while the exception is on its way out
            raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_RUN, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _copied(value: Any, depth: int = 0) -> Any:
    """Return a value as it is now: it may be changed before it is compared."""
    if depth > 4:
        return Ellipsis
    if type(value) in (list, tuple, set):
        return type(value)([_copied(one, depth + 1) for one in value] if type(value) is not set else value)
    if type(value) is dict:
        return {key: _copied(one, depth + 1) for key, one in value.items()}
    return value


def walked(code: str) -> dict[Place, list[Value]]:
    """Return what the interpreter says of each probe, by its place; a call that something outside makes is line 0."""
    document = read("train.py", code.encode())
    facts = evaluate_program(document, parse_program(document, document.python).body, default_target().versions, frozenset({"torch"}))
    said: dict[Place, list[Value]] = defaultdict(list)
    for call in facts.calls:
        if isinstance(call.node.func, ast.Name) and call.node.func.id == "probe" and call.arguments:
            place = (*map(_spot, call.context.calls), _spot(call.node))
            said[place].append(call.arguments[0].value)
    return said


@_quietly
def compare(code: str, seed: int = 0) -> Comparison:
    """Return how the interpreter and CPython agree on a program."""
    result = Comparison()
    said = walked(code)
    by_lines: dict[tuple[int, ...], list[Value]] = defaultdict(list)
    for place, values in said.items():
        by_lines[_lines(place)] += values
        if len(place) > 1:
            by_lines[place[-1][:1]] += values
    for number in range(RUNS if "unknown()" in code else 1):
        for place, given in run(code, seed * RUNS + number).items():
            lines = _lines(place)
            values = said.get(place) or by_lines.get(lines) or by_lines[lines[-1:]]
            wrong = _wrong(values, given)
            if wrong:
                result.false.append(f"line {lines[-1]}, by {list(lines[:-1])}: {wrong}")
            if number == 0:
                is_unknown = not values or any(_is_unknown(value) for value in values)
                result.unknown += is_unknown
                result.known += not is_unknown
                result.varying += is_unknown and any(not _equal(one, given[0]) for one in given[1:])
    return result


def _wrong(values: list[Value], given: list[Any]) -> str:
    """Return what is wrong of what was said of a place, where CPython gives these values there; '' if nothing is."""
    if not values:
        return f"never reached, but is {given[0]!r}"
    for one in given:
        if not any(allows(value, one) for value in values):
            return f"said {shown(values)}, is {one!r}"
    stray = next((value for value in values if not any(allows(value, one) for one in given)), None)
    return f"said {shown([stray])} among others, is {given!r}" if stray is not None else ""


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and repr(a) == repr(b)


def allows(value: Value, given: Any, is_whole: bool = True) -> bool:
    """Return whether what is known of a value fits what CPython gives; of a list in a list nothing is said, as it may have changed since."""
    if is_weak(value) or given is Ellipsis or (not is_whole and isinstance(value, (Items, Mapping))):
        return True
    if isinstance(value, Known):
        return _equal(value.value, given)
    if isinstance(value, OneOf):
        return any(allows(one, given, is_whole) for one in value.values)
    if isinstance(value, Items):
        if type(given).__name__ not in (value.kind, "frozenset"):
            return False
        if value.kind == "set":
            return value.open or len(given) <= len(value.slots)
        fits = len(value.slots) <= len(given) if value.open else len(value.slots) == len(given)
        return fits and all(index < len(given) and allows(one, given[index], False) for index, one in value.slots.items() if index < BEHIND)
    if isinstance(value, Mapping):
        if type(given) is not dict or not (value.is_open or list(value.slots) == list(given)):
            return False
        return all(
            key in given and allows(entry.value, given[key], False) for key, entry in value.slots.items() if getattr(entry, "is_sure", True)
        )
    if isinstance(value, Instance) and value.cls is not None:
        return type(given).__name__ == value.cls.node.name
    if isinstance(value, Class):
        return isinstance(given, type) and given.__name__ == value.node.name
    if isinstance(value, Function):
        return callable(given) or isinstance(given, property)
    return True


def _is_unknown(value: Value) -> bool:
    if isinstance(value, Instance):
        return value.cls is None
    if isinstance(value, OneOf):
        return any(_is_unknown(one) for one in value.values)
    if isinstance(value, Items):
        return value.open or any(_is_unknown(one) for one in value.slots.values())
    if isinstance(value, Mapping):
        return value.is_open or any(_is_unknown(entry.value) for entry in value.slots.values())
    return not isinstance(value, (Known, Symbol, Function, Class))


def shown(values: list[Value]) -> str:
    """Return values as a report shows them."""
    return " / ".join(map(_shown, values))


def _shown(value: Value) -> str:
    if isinstance(value, Known):
        return repr(value.value)
    if isinstance(value, OneOf):
        return f"one of ({', '.join(map(_shown, value.values))})"
    if isinstance(value, Items):
        return f"{value.kind}[{', '.join(map(_shown, value.values()))}{' ...' if value.open else ''}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_shown(one.value)}' for key, one in value.slots.items())}{' ...' if value.is_open else ''}}}"
    return f"<{type(value).__name__}>"


def smallest(code: str, fails: Callable[[str], bool]) -> str:
    """Return a program cut down, statement by statement and then part by part, to what still fails."""
    code = ast.unparse(ast.parse(code))
    while True:
        for candidate in _smaller(code):
            if fails(candidate):
                code = candidate
                break
        else:
            return code


def _smaller(code: str) -> Iterator[str]:
    """Yield a program with something left out: the largest parts first."""
    tree = ast.parse(code)
    bodies = [
        (node, name)
        for node in ast.walk(tree)
        for name in ("body", "orelse", "finalbody", "handlers")
        if isinstance(getattr(node, name, None), list) and getattr(node, name)
    ]
    for node, name in bodies:
        for change in _changes(getattr(node, name)):
            before = getattr(node, name)
            setattr(node, name, change or ([ast.Pass()] if name == "body" and not isinstance(node, ast.Module) else []))
            with contextlib.suppress(ValueError, SyntaxError):
                text = ast.unparse(ast.fix_missing_locations(tree))
                compile(text, PROGRAM, "exec")
                if len(text) < len(code):
                    yield text
            setattr(node, name, before)
    yield from _with_less_in_expressions(tree, code)


def _changes(body: list[Any]) -> Iterator[list[Any]]:
    half = len(body) // 2
    if half:
        yield body[:half]
        yield body[half:]
    for index in range(len(body)):
        yield [*body[:index], *body[index + 1 :]]
        if isinstance(inner := getattr(body[index], "body", None), list):
            yield [*body[:index], *inner, *body[index + 1 :]]
        if isinstance(inner := getattr(body[index], "orelse", None), list) and inner:
            yield [*body[:index], *inner, *body[index + 1 :]]


def _with_less_in_expressions(tree: ast.AST, code: str) -> Iterator[str]:
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not isinstance(value, (ast.Constant, ast.Name)):
                parts = [one for one in ast.iter_child_nodes(value) if isinstance(one, ast.expr)]
                for part in (ast.Constant(1), *parts):
                    setattr(node, name, part)
                    with contextlib.suppress(ValueError, SyntaxError):
                        text = ast.unparse(ast.fix_missing_locations(tree))
                        compile(text, PROGRAM, "exec")
                        if len(text) < len(code):
                            yield text
                setattr(node, name, value)
            elif isinstance(value, list) and all(isinstance(one, (ast.expr, ast.keyword)) for one in value):
                for index in range(len(value)):
                    setattr(node, name, [*value[:index], *value[index + 1 :]])
                    with contextlib.suppress(ValueError, SyntaxError, IndexError):
                        text = ast.unparse(ast.fix_missing_locations(tree))
                        compile(text, PROGRAM, "exec")
                        if len(text) < len(code):
                            yield text
                setattr(node, name, value)

"""Which lines of the user's code make and keep what stays alive from step to step."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import CO_OPTIMIZED
from traceback import walk_stack, walk_tb
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch

from mpslint.verify.child.drawn_rows import parsed
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.outcome import Kept

FEWEST = 4
"""Steps without which nothing is said to be kept from step to step."""
SHARE = 0.25
"""Share of the steps that may still be a start."""
MOST = 3
DEPTH = 3
HELD_BY_FRAME = 3
"""References to such a copy where only its frame has it, those of who counts them included."""


def kept_by_line(memory: LiveMemory, births: Sequence[int], lines: Mapping[str, str]) -> tuple[Kept, ...]:
    """Return what is alive of the steps after the start and before the last, by the line that made it, most first.

    `births` are the numbers of buffers made by the end of each step. The running frames say which variable holds it.
    """
    if len(births) < FEWEST:
        return ()
    first = int(len(births) * SHARE)
    frames = [frame for frame, _ in walk_stack(sys._getframe(1))]
    found = _kept(memory, range(births[first], births[-2]), lines, len(births) - 2 - first, frames)
    return found or tuple(_joined(lines, len(births), frames))[:MOST]


def kept_by_batches(memory: LiveMemory, made: range, lines: Mapping[str, str], batches: int) -> tuple[Kept, ...]:
    """Return what is alive of the buffers `made` in the batches of an evaluation, in the same way."""
    return _kept(memory, made, lines, batches, [frame for frame, _ in walk_stack(sys._getframe(1))])


def kept_at_the_end(memory: LiveMemory, births: Sequence[int], lines: Mapping[str, str], error: BaseException) -> tuple[Kept, ...]:
    """Return the same of what is alive of the time after the last step, in the frames that an exception went through; nothing where no
    statement of theirs keeps it."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)][::-1]
    found = _kept(memory, range(births[-1] if births else 0, memory.count), lines, 1, frames)
    return found if found and found[0].holder else ()


def _kept(memory: LiveMemory, made: range, lines: Mapping[str, str], steps: int, frames: Iterable[FrameType]) -> tuple[Kept, ...]:
    sizes: Counter[str] = Counter()
    for buffer in memory.buffers.values():
        if buffer.number in made and buffer.line:
            sizes[buffer.line] += buffer.size
    if steps <= 0 or not sizes:
        return ()
    holder, place = _holder(lines, steps, frames)
    _let_go(frames)
    found = [Kept(line, size // steps, _source(line, lines), holder, place) for line, size in sizes.most_common(MOST)]
    return tuple(one for one in found if one.bytes_per_step > 0)


def _let_go(frames: Iterable[FrameType]) -> None:
    """Drop the copies of local variables that looking at frames leaves in them, unless the code has them too: they keep what it lets go."""
    for frame in frames:
        if frame.f_code.co_flags & CO_OPTIMIZED and sys.version_info < (3, 13):
            seen = frame.f_locals
            if sys.getrefcount(seen) <= HELD_BY_FRAME:
                seen.clear()


def _joined(lines: Mapping[str, str], steps: int, frames: Iterable[FrameType]) -> Iterator[Kept]:
    """Yield the tensors of the user's that are made anew of themselves and more, as by `seen = torch.cat([seen, new])`."""
    for frame in (frame for frame in frames if frame.f_code.co_filename in lines):
        file = frame.f_code.co_filename
        for node in ast.walk(parsed("".join(linecache.getlines(file)))):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            name, place = node.targets[0].id, f"{lines[file]}:{node.lineno}"
            value = frame.f_locals.get(name, frame.f_globals.get(name))
            given = [one for part in ast.walk(node.value) if isinstance(part, (ast.List, ast.Tuple)) for one in part.elts]
            if isinstance(value, torch.Tensor) and value.is_meta and any(isinstance(one, ast.Name) and one.id == name for one in given):
                source = linecache.getline(file, node.lineno).strip()
                yield Kept(place, value.numel() * value.element_size() // steps, source, source, place)


def _source(line: str, lines: Mapping[str, str]) -> str:
    """Return the text of a line that reports name as `file:number`."""
    shown, _, number = line.rpartition(":")
    file = next((file for file, name in lines.items() if name == shown), "")
    return linecache.getline(file, int(number)).strip() if file and number.isdigit() else ""


def _holder(lines: Mapping[str, str], steps: int, frames: Iterable[FrameType]) -> tuple[str, str]:
    """Return the statement that keeps a tensor of each step, and where it is; nothing when no variable of the user's does."""
    for frame in frames:
        file = frame.f_code.co_filename
        own = {file: lines[file]} if file in lines else {}
        scopes = [frame.f_locals] if frame.f_locals is frame.f_globals or not own else [frame.f_locals, frame.f_globals]
        for name, value in [one for scope in scopes for one in scope.items()]:
            if (own or _is_of(type(value), lines)) and (found := _kept_under(name, value, steps)):
                text, place = _statement(found, own if found == name else {**own, **lines})
                if text:
                    return text, place
    return "", ""


def _is_of(kind: type, lines: Mapping[str, str]) -> bool:
    """Return whether a class has methods in the user's files: a library has its objects in hand, as Lightning has the user's module."""
    return any(isinstance(method, FunctionType) and method.__code__.co_filename in lines for method in vars(kind).values())


def _kept_under(name: str, value: Any, steps: int, depth: int = 0) -> str:
    """Return the name under which a container, or a number with its graph, keeps tensors; empty when it doesn't."""
    if isinstance(value, torch.Tensor):
        return name if value.grad_fn is not None and value.numel() == 1 and depth == 0 else ""
    if name.startswith("__") or depth > DEPTH:
        return ""
    if isinstance(value, dict):
        if len(value) >= steps and any(isinstance(item, torch.Tensor) for item in list(value.values())[-1:]):
            return name
        parts = [(str(key), item) for key, item in list(value.items())[:50]]
        return next((found for key, item in parts if (found := _kept_under(key, item, steps, depth + 1))), "")
    if isinstance(value, (list, deque)):  # what else has a length and an `append` may run the user's code when it is asked
        return name if len(value) >= steps and _has_tensor(value) else ""
    own = getattr(value, "__dict__", None)
    if isinstance(own, dict) and not isinstance(value, (type, ModuleType)) and depth < 1:
        return next((found for key, item in list(own.items())[:50] if (found := _kept_under(key, item, steps, depth + 1))), "")
    return ""


def _has_tensor(values: list[Any] | deque[Any]) -> bool:
    """Return whether the last of some values is a tensor, or holds one."""
    last = values[-1]
    parts = last.values() if isinstance(last, dict) else last if isinstance(last, (tuple, list)) else (last,)
    return any(isinstance(part, torch.Tensor) and (part.is_meta or part.grad_fn is not None) for part in parts)


def _statement(name: str, files: Mapping[str, str]) -> tuple[str, str]:
    """Return the statement that adds to a variable, and where it is: in the first of some files that has one."""
    word = re.escape(name)
    grows = rf"\.(append|extend|add|appendleft|insert)\(|\+=|=\s*[\w.]*\b{word}\b\s*\+|\[.*\]\s*="
    adds = re.compile(rf"\b{word}\b(\[[^]]*\])?\s*({grows})")
    for file, shown in files.items():
        for number, text in enumerate(linecache.getlines(file), start=1):
            if adds.search(text.partition("#")[0]):
                return text.strip(), f"{shown}:{number}"
    return "", ""

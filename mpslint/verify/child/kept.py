"""Which lines of the user's code make and keep what stays alive from step to step."""

from __future__ import annotations

import linecache
import re
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any

import torch

from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.outcome import Kept

FEWEST = 4
"""Steps without which nothing is said to be kept from step to step."""
SHARE = 0.25
"""Share of the steps that may still be a start."""
MOST = 3
DEPTH = 3


def kept_by_line(memory: LiveMemory, births: Sequence[int], lines: Mapping[str, str]) -> tuple[Kept, ...]:
    """Return what is alive of the steps after the start and before the last, by the line that made it, most first.

    `births` are the numbers of buffers made by the end of each step. The running frames say which variable holds it.
    """
    if len(births) < FEWEST:
        return ()
    first = int(len(births) * SHARE)
    since, until, steps = births[first], births[-2], len(births) - 2 - first
    sizes: Counter[str] = Counter()
    for buffer in memory.buffers.values():
        if since <= buffer.number < until and buffer.line:
            sizes[buffer.line] += buffer.size
    if steps <= 0 or not sizes:
        return ()
    holder, place = _holder(lines, steps)
    found = [Kept(line, size // steps, _source(line, lines), holder, place) for line, size in sizes.most_common(MOST)]
    return tuple(one for one in found if one.bytes_per_step > 0)


def _source(line: str, lines: Mapping[str, str]) -> str:
    """Return the text of a line that reports name as `file:number`."""
    shown, _, number = line.rpartition(":")
    file = next((file for file, name in lines.items() if name == shown), "")
    return linecache.getline(file, int(number)).strip() if file and number.isdigit() else ""


def _holder(lines: Mapping[str, str], steps: int) -> tuple[str, str]:
    """Return the statement that keeps a tensor of each step, and where it is; nothing when no variable of the user's does."""
    for frame in _user_frames(lines):
        scopes = [frame.f_locals] if frame.f_locals is frame.f_globals else [frame.f_locals, frame.f_globals]
        for scope in scopes:
            for name, value in list(scope.items()):
                found = _kept_under(name, value, steps)
                if found:
                    text, place = _statement(found, frame, lines)
                    if text:
                        return text, place
    return "", ""


def _user_frames(lines: Mapping[str, str]) -> Iterator[FrameType]:
    """Yield the running frames of the user's code, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename in lines:
            yield frame
        frame = frame.f_back


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
    return any(isinstance(part, torch.Tensor) and part.is_meta for part in parts)


def _statement(name: str, frame: FrameType, lines: Mapping[str, str]) -> tuple[str, str]:
    """Return the statement that adds to a variable, and where it is."""
    word = re.escape(name)
    grows = rf"\.(append|extend|add|appendleft|insert)\(|\+=|=\s*[\w.]*\b{word}\b\s*\+|\[.*\]\s*="
    adds = re.compile(rf"\b{word}\b(\[[^]]*\])?\s*({grows})")
    for file, shown in {frame.f_code.co_filename: lines[frame.f_code.co_filename], **lines}.items():
        for number, text in enumerate(linecache.getlines(file), start=1):
            if adds.search(text):
                return text.strip(), f"{shown}:{number}"
    return "", ""

"""What a rewrite changed, as lines: cell by cell for people, unified for machines."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from mpslint.engine import Checked

CONTEXT_LINES = 2
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_QUOTED = re.compile(r'["\\\x00-\x1f\x7f]')
"""Letters for which `git` and `patch` have the name of a file in quotation marks."""


def cell_diffs(before: Checked, after: Checked) -> Iterator[tuple[str, list[str]]]:
    """Yield (headline, diff lines) for each cell, or for the file, that changed."""
    path = before.document.path
    if not before.document.cells:
        lines = _diff(before.document.text, after.document.text)
        if lines:
            yield path, lines
        return
    for old, new in zip(before.document.cells, after.document.cells, strict=True):
        lines = _diff(before.document.text[old.span.start : old.span.end], after.document.text[new.span.start : new.span.end])
        if lines:
            yield f"{path} cell {old.number}", lines


def _diff(old: str, new: str) -> list[str]:
    return list(difflib.unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=CONTEXT_LINES))[2:]


def unified_diff(path: str, before: bytes, after: bytes) -> str:
    """Return a plain unified diff of the file itself, as `git apply` and `patch -p1` take it, with its path from the current folder."""
    old, new = (_LINE.findall(data.decode("utf-8", "surrogateescape")) for data in (before, after))
    name = _relative(path)
    lines = difflib.unified_diff(old, new, _headed(f"a/{name}"), _headed(f"b/{name}"))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _headed(name: str) -> str:
    """Return a name as the head of a diff has it: quoted as in C where a line end or a quotation mark is part of it."""
    if _QUOTED.search(name):
        quoted = _QUOTED.sub(lambda match: f"\\{ord(match[0]):03o}", name)
        return f'"{quoted}"'
    return f"{name}\t" if " " in name else name


def _relative(path: str) -> str:
    """Return a path as diffs have it: from the current folder where it lies below it, else from the root, with plain slashes."""
    inside = os.path.relpath(path) if os.path.isabs(path) else os.path.normpath(path)
    return Path(path if inside.startswith("..") else inside).as_posix().lstrip("/")

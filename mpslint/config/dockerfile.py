"""Dockerfiles -> the environment variables that their `ENV` instructions set, and their comments, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpslint.config.variables import variable
from mpslint.core.finding import Span
from mpslint.facts.facts import EnvironmentWrite

_ESCAPE = re.compile(r"(?:[ \t]*#[^\n]*\n)*?[ \t]*#[ \t]*escape[ \t]*=[ \t]*(`|\\)", re.IGNORECASE)
_INSTRUCTION = re.compile(r"[ \t]*([A-Za-z]+)[ \t]+")
_COMMENT = re.compile(r"^[ \t]*(#[^\r\n]*)", re.MULTILINE)
_HERE = re.compile(r"<<-?[ \t]*['\"]?(\w+)['\"]?")
_PAIR = re.compile(r"^[ \t]*#[^\n]*|([A-Za-z_]\w*)=((?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\[^\r\n]|[^\s\"'\\])*)", re.DOTALL | re.MULTILINE)
"""A variable, or a comment between those of several lines."""
_OLD = re.compile(r"([A-Za-z_]\w*)[ \t]+(\S(?:[^\r\n]*\S)?)")


def read_dockerfile(text: str) -> list[EnvironmentWrite]:
    """Return the variables that a Dockerfile sets: `ENV A=1 B="x y"` and the old `ENV A value`. Never fails on any text."""
    found: list[EnvironmentWrite] = []
    for start, end in _pieces(text, _escape_of(text)):
        match = _INSTRUCTION.match(text, start, end)
        if match is not None and match.group(1).upper() == "ENV":
            found += _variables(text, match.end(), end)
    return found


def dockerfile_comments(text: str) -> Iterator[Span]:
    """Yield the place of every comment: a line of its own, also between the lines of an instruction, never in a here document."""
    for start, end in _pieces(text, _escape_of(text)):
        for match in _COMMENT.finditer(text, start, end):
            yield Span(match.start(1), match.end())


def _escape_of(text: str) -> str:
    match = _ESCAPE.match(text)
    return match.group(1) if match is not None else "\\"


def _pieces(text: str, escape: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last offset of each comment and instruction, its continuation lines included, here documents left out."""
    lines = [(match.start(), match.end()) for match in re.finditer(r"[^\n]*\n|[^\n]+", text)]
    index = 0
    while index < len(lines):
        start, end = lines[index]
        index += 1
        line = text[start:end]
        if line.lstrip().startswith("#"):
            yield start, end
            continue
        while index < len(lines) and (line.rstrip().endswith(escape) or line.lstrip().startswith("#")):
            end = lines[index][1]
            line = text[lines[index][0] : end]
            index += 1
        is_env = text[start:end].lstrip().upper().startswith("ENV")
        for here in () if is_env else _HERE.finditer(text, start, end):
            while index < len(lines) and text[lines[index][0] : lines[index][1]].strip() != here.group(1):
                index += 1
            index += 1
        yield start, end


def _variables(text: str, start: int, end: int) -> Iterator[EnvironmentWrite]:
    old = None if _PAIR.match(text, start, end) is not None else _OLD.match(text, start, end)
    if old is not None:
        yield _write(old, old.group(2))
        return
    for pair in _PAIR.finditer(text, start, end):
        if pair.group(1):
            yield _write(pair, pair.group(2))


def _write(match: re.Match[str], raw: str) -> EnvironmentWrite:
    inner = raw[1:-1] if raw[:1] in ("'", '"') and raw[-1:] == raw[:1] and len(raw) > 1 else raw
    return variable(match.group(1), re.sub(r"\\(.)", r"\1", inner), match.start(), match.span(2))

"""Patterns as in .gitignore, read as git reads them: about a file or folder itself, so whoever asks goes from the top down."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from mpslint.core.record import record
from mpslint.source.globs import as_bytes, regex_of

_SPECIAL = re.compile(r"[*?\[\]\\]")
_PLAIN_GLOB = re.compile(r"(?:[^\[\]\\]|\[\w+\])*")
"""Without escapes, and with no other sets than of letters (`*.py[cod]`)."""


@record(frozen=True, slots=True, eq=False)
class _Pattern:
    """One line: what it finds, in which text, and what it says of that."""

    found: re.Pattern[str]
    leaves_out: bool
    is_for_folders: bool
    is_about_names: bool
    """Whether it has no slash but a last one, and so counts in every folder."""

    def fits(self, path: str, name: str, is_folder: bool) -> bool:
        """Return whether it is about a path itself, which has this name."""
        return (is_folder or not self.is_for_folders) and self.found.fullmatch(name if self.is_about_names else path) is not None


class Patterns:
    """Lines of a .gitignore; they are read when a name may fit one of them, as nearly all names fit none."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Take the lines; comments, empty ones and those without a name count for nothing."""
        self.lines = tuple(line for line in lines if line.rstrip(" ").removeprefix("!").strip("/") and not line.startswith("#"))
        last = [as_bytes(line.rstrip(" ").removeprefix("!").removesuffix("/").rpartition("/")[2]) for line in self.lines]
        self._names = frozenset(part for part in last if not _SPECIAL.search(part))
        self._globs = tuple(sorted({part for part in last if _SPECIAL.search(part)}))

    def answer(self, path: str) -> bool | None:
        """Return whether the last pattern about a path itself (from where they count; a folder ends with a slash) leaves it out.

        None: no pattern is about it. What they say of the folders above it is not asked.
        """
        bare = as_bytes(path.removesuffix("/"))
        name = bare.rpartition("/")[2]
        return next((one.leaves_out for one in self._read if one.fits(bare, name, path[-1:] == "/")), None) if self.may_name(name) else None

    def leaves_out(self, path: str) -> bool:
        """Return whether the patterns leave out a path, or a folder that it lies in: there no later pattern brings it back."""
        ends = [match.end() for match in re.finditer("/", path)]
        return any(self.answer(path[:end]) for end in sorted({*ends, len(path)}) if end)

    def may_name(self, name: str) -> bool:
        """Return whether a pattern may be about a file or folder of this name."""
        return name in self._names or (bool(self._globs) and self._looks.search(name) is not None)

    def wrong(self) -> str:
        """Return the first line that is no pattern; '' where all are."""
        return next((line for line in self.lines if _pattern(line) is None), "")

    @functools.cached_property
    def _looks(self) -> re.Pattern[str]:
        """What finds the names that patterns with special characters may be about."""
        return re.compile("|".join(_regex(glob) for glob in self._globs), re.DOTALL)

    @functools.cached_property
    def _read(self) -> Sequence[_Pattern]:
        """The patterns, last first, as the last one that fits decides; as for git, a line that is none counts for nothing."""
        return [one for line in reversed(self.lines) if (one := _pattern(line)) is not None]


def _pattern(line: str) -> _Pattern | None:
    """Return what a line says; None for one that is no pattern."""
    meant = line.rstrip(" ")
    if meant != line and len(meant) % 2 != len(meant.rstrip("\\")) % 2:
        meant += " "  # behind a backslash
    text = meant.removeprefix("!")
    glob = text.removesuffix("/")
    regex = regex_of(as_bytes(glob.removeprefix("/")))
    return None if regex is None else _Pattern(re.compile(regex, re.DOTALL), text == meant, glob != text, "/" not in glob)


def _regex(glob: str) -> str:
    """Return a regular expression that finds at least the names that the last part of a pattern is about.

    What stands between two stars is left out, so that no name takes long.
    """
    if not _PLAIN_GLOB.fullmatch(glob):
        return ""
    parts = glob.split("*")
    ends = parts if len(parts) == 1 else (parts[0], parts[-1])
    return rf"\A{'.*'.join(map(_fixed, ends))}\Z"


def _fixed(glob: str) -> str:
    """Return the regular expression of what has no star."""
    return "".join("." if part == "?" else part if part[:1] == "[" else re.escape(part) for part in re.split(r"(\?|\[\w+\])", glob))

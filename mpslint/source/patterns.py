"""Patterns as in .gitignore, read as git reads them: about a file or folder itself, so whoever asks goes from the top down."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from mpslint.core.record import record
from mpslint.source.globs import regex_of

_SPECIAL = re.compile(r"[*?\[\\]")
_PLAIN_GLOB = re.compile(r"(?:[^\[\]\\]|\[\w+\])*")
"""Without escapes, and with no other sets than of letters (`*.py[cod]`)."""
_MEANT = re.compile(r"((?:\\.|[^\\])*?) *", re.DOTALL)
"""A line without its trailing spaces, but for one behind a backslash."""
MOST_STARS = 4
"""Stars in a part of a pattern, and `**` in all of it, from which on it counts for nothing."""


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
        meant = tuple(line for line in lines if line.strip().strip("!/") and not line.startswith("#"))
        self.lines = tuple(line for line in meant if line.count("*") < MOST_STARS or not _explodes(line))
        self._too_wild = next((line for line in meant if line not in self.lines), "") if len(meant) > len(self.lines) else ""
        last = [line.rstrip(" ").removeprefix("!").removesuffix("/").rpartition("/")[2] for line in self.lines]
        self._names = frozenset(part for part in last if not _SPECIAL.search(part))
        self._globs = tuple(sorted({part for part in last if _SPECIAL.search(part)}))

    def answer(self, path: str) -> bool | None:
        """Return whether the last pattern about a path itself (from where they count; a folder ends with a slash) leaves it out.

        None: no pattern is about it. What they say of the folders above it is not asked.
        """
        bare = path.removesuffix("/")
        name = bare.rpartition("/")[2]
        return next((one.leaves_out for one in self._read if one.fits(bare, name, bare != path)), None) if self.may_name(name) else None

    def leaves_out(self, path: str) -> bool:
        """Return whether the patterns leave out a path, or a folder that it lies in: there no later pattern brings it back."""
        ends = [match.end() for match in re.finditer("/", path)]
        return any(self.answer(path[:end]) for end in sorted({*ends, len(path)}) if end)

    def may_name(self, name: str) -> bool:
        """Return whether a pattern may be about a file or folder of this name."""
        return name in self._names or (bool(self._globs) and self._looks.search(name) is not None)

    def wrong(self) -> str:
        """Return the first line that is no pattern; '' where all are."""
        return self._too_wild or next((line for line in self.lines if _pattern(line) is None), "")

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
    meant = _MEANT.fullmatch(line)
    if meant is None:
        return None
    text = meant[1].removeprefix("!")
    glob = text.removesuffix("/")
    regex = regex_of(glob.removeprefix("/"))
    return None if regex is None else _Pattern(re.compile(regex, re.DOTALL), meant[1][:1] != "!", glob != text, "/" not in glob)


def _regex(glob: str) -> str:
    """Return a regular expression that finds at least the names that the last part of a pattern is about."""
    if not _PLAIN_GLOB.fullmatch(glob):
        return ""
    parts = (part if part[:1] == "[" else {"*": ".*", "?": "."}.get(part, re.escape(part)) for part in re.split(r"([*?]|\[\w+\])", glob))
    return rf"\A{''.join(parts)}\Z"


def _explodes(line: str) -> bool:
    """Return whether a pattern can take for ever: each star more, but for a last one, multiplies the time by the length of the name."""
    parts = re.sub(r"(?:\*\*/)+", "**/", line.strip()).split("/")
    stars = [len(re.findall(r"\*+", part.removesuffix("*"))) for part in parts if part != "**"]
    return max(stars, default=0) >= MOST_STARS or parts[:-1].count("**") >= MOST_STARS

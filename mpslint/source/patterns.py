"""Patterns as in .gitignore: a look at a name comes first, as nearly all names fit none of the patterns."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_SPECIAL = re.compile(r"[*?\[\\]")
_PLAIN_GLOB = re.compile(r"(?:[^\[\]\\]|\[\w+\])*")
"""Without escapes, and with no other sets than of letters (`*.py[cod]`)."""
_PLAINLY_ONE = re.compile(r"[^\[\\]*\w[^\[\\]*")
MOST_STARS = 4
"""Stars in a part of a pattern, and `**` in all of it, from which on it counts for nothing."""
_NO_PATTERN = (ValueError, re.error)
"""What `pathspec` raises for a line that it cannot read."""


class Patterns:
    """Lines of a .gitignore, which `pathspec` understands; it is loaded when a name may fit one of them."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Take the lines; comments, empty ones and those without a name count for nothing."""
        meant = tuple(line for line in lines if line.strip().strip("!/") and not line.startswith("#"))
        self.lines = tuple(line for line in meant if line.count("*") < MOST_STARS or not _explodes(line))
        self._too_wild = next((line for line in meant if line not in self.lines), "") if len(meant) > len(self.lines) else ""
        texts = [text for line in self.lines for text in (line.rstrip(), line.strip())]  # as new and old versions of pathspec take them
        last = [text.removeprefix("!").rstrip("/").rpartition("/")[2] for text in texts]
        self._names = frozenset(part for part in last if not _SPECIAL.search(part))
        self._globs = tuple(sorted({part for part in last if _SPECIAL.search(part)}))

    def answer(self, path: str) -> bool | None:
        """Return whether the patterns leave out a path (with slashes, from where they count; a folder ends with one); None: not named."""
        return self._spec.check_file(path).include

    def may_name(self, name: str) -> bool:
        """Return whether a pattern may be about a file or folder of this name itself, rather than about a folder above it."""
        return name in self._names or (bool(self._globs) and self._looks.search(name) is not None)

    def wrong(self) -> str:
        """Return the first line that is no pattern; '' where all are."""
        return self._too_wild or next((line for line in self.lines if not _is_pattern(line)), "")

    @functools.cached_property
    def _looks(self) -> re.Pattern[str]:
        """What finds the names that patterns with special characters may be about."""
        return re.compile("|".join(_regex(glob) for glob in self._globs), re.DOTALL)

    @functools.cached_property
    def _spec(self) -> GitIgnoreSpec:
        """The patterns as `pathspec` reads them; as git does, it leaves out a line that is none."""
        from pathspec import GitIgnoreSpec

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of `re`, about sets in brackets
            try:
                return GitIgnoreSpec.from_lines(self.lines)
            except _NO_PATTERN:
                return GitIgnoreSpec.from_lines([line for line in self.lines if _is_pattern(line)])


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


def _is_pattern(line: str) -> bool:
    if _PLAINLY_ONE.fullmatch(line):
        return True
    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            GitIgnoreSpec.from_lines([line])
        except _NO_PATTERN:
            return False
    return True

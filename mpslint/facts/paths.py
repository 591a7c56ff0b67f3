"""A path of the program: held as the text that it stands for, and compared as Python compares paths."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

_OF_TEXTS = ("name", "stem", "suffix", "parent")


class PathText(str):
    """What `pathlib` makes of texts: a path equals no text, is always true, and `/` joins it; all else that reads text reads it."""

    __slots__ = ()

    def __new__(cls, *parts: str) -> PathText:
        """Return the path of some parts, as `pathlib` writes it: `Path("./a/")` is `a`."""
        return super().__new__(cls, PurePosixPath(*map(str, parts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathText) and str(self) == str(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((PathText, str(self)))

    def __bool__(self) -> bool:
        return True

    def attribute(self, name: str) -> PathText | str | None:
        """Return what a path has under a name without a look at the disk (`parent`, `stem`); None for a method. Raises AttributeError."""
        if name not in _OF_TEXTS:
            getattr(Path, name)
            return None
        found = getattr(PurePosixPath(str(self)), name)
        return PathText(str(found)) if isinstance(found, PurePosixPath) else str(found)

    def __truediv__(self, other: str) -> PathText:
        return PathText(self, other)

    def __rtruediv__(self, other: str) -> PathText:
        return PathText(other, self)

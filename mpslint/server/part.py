"""A text that an editor holds, and its places as the protocol counts them: from 0, in units of an encoding."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Sequence

from lsprotocol import types
from pygls.workspace import TextDocument

from mpslint.core.record import record
from mpslint.source.document import NEWLINE

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends, as the protocol has them: a form feed or U+2028 ends none."""
    return _LINE.findall(text)


class EditorText(TextDocument):
    """A text as pygls keeps it up to date, but with the lines of the protocol instead of those of `str.splitlines`."""

    @property
    def lines(self) -> Sequence[str]:
        """The lines, with their ends."""
        return lines_of(self.source)


@record(frozen=True, eq=False)
class TextPart:
    """One text at one moment: a file, or a cell of a notebook."""

    uri: str
    version: int | None
    text: str
    encoding: str = "utf-16"
    """What columns count the units of, as agreed with the editor."""

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in NEWLINE.finditer(self.text))]

    def position(self, offset: int) -> types.Position:
        """Return the place of an offset; one beyond the text is its end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect.bisect_right(self._line_starts, offset) - 1
        return types.Position(line, self._units(self.text[self._line_starts[line] : offset]))

    def range(self, start: int, end: int) -> types.Range:
        """Return the range between two offsets."""
        return types.Range(self.position(start), self.position(end))

    def _units(self, text: str) -> int:
        if text.isascii() or self.encoding == "utf-32":
            return len(text)
        if self.encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

"""Shell text -> where its comments stand. A `#` in quotes, here documents, `${x#y}` or inside of a word is none.

What comes after a quote or bracket that never closes is not certain, so nothing there is called a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpslint.core.finding import Span
from mpslint.core.record import record

_ESCAPED = r"(?P<escaped>\\(?:\r\n|.)|<<<)"
_NUMBER = r"(?P<number>\$?\(\((?:[^()]|\([^()]*\))*\)\))"
_QUOTED = r"(?P<quoted>\$'(?:\\.|[^'\\])*'|'[^']*')|(?P<unclosed>')"
_HERE = r"(?P<here><<(?P<tabs>-?)[ \t]*(?P<name>(?:\\.|'[^'\n]*'|\"[^\"\n]*\"|[^\s;&|()<>'\"\\`])+))"
_CASE = r"(?P<case>\bcase\b[ \t][^\n]{1,200}?[ \t\n]in\b)|(?P<esac>\besac\b)"
_OPENS = r"(?P<opens>\$[({]|[\"`])"
_COMMAND = re.compile(
    rf"{_ESCAPED}|{_NUMBER}|{_QUOTED}|{_HERE}|{_CASE}|{_OPENS}|(?P<group>\()|(?P<closes>\))|(?P<line>\n)|(?P<hash>#)", re.DOTALL
)
_TEXT = re.compile(rf"{_ESCAPED}|{_NUMBER}|{_OPENS}", re.DOTALL)
_VALUE = re.compile(rf"{_ESCAPED}|{_NUMBER}|{_QUOTED}|{_OPENS}|(?P<closes>\}})", re.DOTALL)
_VALUE_IN_TEXT = re.compile(rf"{_ESCAPED}|{_NUMBER}|{_OPENS}|(?P<closes>\}})", re.DOTALL)
_MARKS = re.compile(r"[\\'\"]")
_BEFORE_A_WORD = " \t\r\n;&|()<>"
_ENDS_PLAIN, _ENDS_QUOTED = re.compile(r"[\r\n]"), re.compile(r"[\r\n`]")
_ENDS = {"$(": ")", "${": "}", '"': '"', "`": "`", "(": ")"}


@record(slots=True)
class _Unclosed:
    """A quote, bracket or substitution that is still to be closed."""

    sign: str
    start: int
    cases: int = 0
    """How many `case` are open in it, whose patterns end in `)` too."""
    is_quoted: bool = False
    """Whether it stands inside of `"..."`, where `'` is a letter."""


def shell_comments(text: str, indent: str = "") -> list[Span]:
    """Return the place of every comment, from its `#` to the end of its line; `indent` is what stands before each line of the text."""
    reader = _Scan(text, indent)
    found = list(reader.read())
    certain = reader.open[1].start if len(reader.open) > 1 else len(text)
    return [span for span in found if span.start < certain]


class _Scan:
    """Goes through one text once."""

    def __init__(self, text: str, indent: str) -> None:
        self.text, self.indent = text, indent
        self.open = [_Unclosed("", 0)]
        self.backquotes = 0
        """How many of the open signs are backquotes: a comment ends before the next one."""
        self.waiting: list[tuple[str, bool]] = []
        """Here documents that begin with the next line: what ends them, and whether tabs may stand before that."""
        self.in_word = -1
        """Where a substitution ends that a word may go on behind."""

    def read(self) -> Iterator[Span]:
        position = 0
        while (found := self._pattern().search(self.text, position)) is not None:
            position = found.end()
            if found.lastgroup == "hash" and self._begins_word(found.start()):
                position = self._end_of_comment(position)
                yield Span(found.start(), position)
            elif found.lastgroup == "line" and self.waiting:
                position = self._after_here_documents(position)
            elif found.lastgroup == "unclosed":
                self.open.append(_Unclosed("'", found.start()))
                return
            else:
                self._take(found)

    def _pattern(self) -> re.Pattern[str]:
        top = self.open[-1]
        if top.sign == '"':
            return _TEXT
        if top.sign == "${":
            return _VALUE_IN_TEXT if top.is_quoted else _VALUE
        return _COMMAND

    def _take(self, found: re.Match[str]) -> None:
        top, kind, raw = self.open[-1], found.lastgroup, found.group()
        if kind == "here":
            self.waiting.append((_MARKS.sub("", found["name"]), bool(found["tabs"])))
        elif kind in ("case", "esac"):
            top.cases = top.cases + 1 if kind == "case" else max(0, top.cases - 1)
        elif kind in ("closes", "opens") and raw == _ENDS.get(top.sign) and not top.cases:
            self.backquotes -= self.open.pop().sign == "`"
            self.in_word = found.end() if top.sign != "(" else self.in_word
        elif kind in ("opens", "group"):
            self.backquotes += raw == "`"
            self.open.append(_Unclosed(raw, found.start(), is_quoted=raw == "${" and (top.sign == '"' or top.is_quoted)))

    def _begins_word(self, position: int) -> bool:
        """Return whether a word begins at a place: after a blank or an operator, of which a line that goes on is neither."""
        if position == self.in_word:
            return False
        while self.text.endswith(("\\\n", "\\\r\n"), 0, position):
            position = self.text.rindex("\\", 0, position)
        top = self.open[-1]
        return position == 0 or self.text[position - 1] in _BEFORE_A_WORD or (top.sign == "`" and position == top.start + 1)

    def _end_of_comment(self, position: int) -> int:
        ends = _ENDS_QUOTED if self.backquotes else _ENDS_PLAIN
        end = ends.search(self.text, position)
        return end.start() if end is not None else len(self.text)

    def _after_here_documents(self, position: int) -> int:
        for name, has_tabs in self.waiting:
            tabs = r"\t*" if has_tabs else ""
            end = re.compile(rf"^{self.indent}{tabs}{re.escape(name)}\r?$", re.MULTILINE).search(self.text, position)
            position = end.end() if end is not None else len(self.text)
        self.waiting = []
        return position

"""One finding for people, in at most six lines of a terminal: what happens, where and what to do come before why."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Sequence

from mpslint.core.grouped import grouped
from mpslint.core.links import rule_url
from mpslint.core.record import record
from mpslint.report.terminal import Piece, Terminal
from mpslint.session.view import LONGEST_LINE, ShownFinding, windowed
from mpslint.source.document import Place

COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
MOST_LINES, AT_WIDTH = 6, 100
"""Lines that a finding takes on a terminal of this width; what doesn't fit is left to `mpslint explain` and to the formats for machines."""
_MARGIN = f"  {'':>5} | "
SHOWN_ENTRIES = 3
"""Scripts that are named of those whose runs lead to a finding."""
IN_HEADLINE = 2
"""So many other places stand behind the rule; more of them have a line of their own."""
PLACES_WIDTH = 80
"""Characters of the other places where the very same is found; one is always named."""
_WHY = "  why   "
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])|(?<=[a-z]{3}\.)\s+")
"""Between sentences, of which one may begin with the name of a package."""


@record(frozen=True, slots=True)
class Telling:
    """What a report tells beside a finding itself."""

    others: Sequence[ShownFinding] = ()
    """Where else the very same is found."""
    command: str = ""
    """What writes its fix, where the fix itself names it."""
    versions: str = ""
    """The versions that it was judged for, where those of other files differ."""
    is_short: bool = False
    """Without its source and the reason."""
    with_why: bool = True


@record(frozen=True, slots=True)
class _Part:
    """A text behind a label, over as many lines as it needs."""

    label: str
    text: str
    style: str = ""

    @property
    def lines(self) -> int:
        return len(_wrapped(self.label, self.text))


def print_finding(out: Terminal, path: str, finding: ShownFinding, telling: Telling | None = None) -> bool:
    """Print one finding: a headline, what happens, the source with the place marked, where else and why, and the fix.

    Return whether there was room for why.
    """
    telling = telling or Telling()
    counted = os.path.basename(path) if os.path.isabs(path) else path  # where a project lies decides nothing of what is told
    room = MOST_LINES - len(_wrapped("", _plain(_headline(out, counted, finding, telling))))
    room -= len(telling.others) > IN_HEADLINE
    message, *more = _SENTENCE.split(finding.message)
    fix = _fitting(_fix(finding, telling.command), room - _Part("  ", message).lines)
    room -= fix.lines if fix is not None else 0
    with_mark = not telling.is_short and _is_marked(finding)
    is_needed = with_mark and len(finding.source) > AT_WIDTH - len(_MARGIN)  # the mark says what is shown of a long line
    while more and _Part("  ", f"{message} {more[0]}").lines <= room - 2 * is_needed:
        message = f"{message} {more.pop(0)}"
    room -= _Part("  ", message).lines
    has_source = room > 0 and not telling.is_short
    is_needed = is_needed and room > 1
    room -= has_source + is_needed
    told = []
    for part in _notes(finding, telling):
        if part.lines <= room:
            room -= part.lines
            told.append(part)
    out.wrapped(*_headline(out, path, finding, telling))
    out.paragraph("  ", message)
    if has_source:
        _print_source(out, finding, is_needed or (with_mark and room > 0))
    if len(telling.others) > IN_HEADLINE:
        out.paragraph("  also  ", other_places(telling.others), "dim")
    for part in told:
        out.paragraph(part.label, part.text, part.style)
    if fix is not None:
        out.paragraph(fix.label, fix.text, fix.style)
    return any(part.label == _WHY for part in told)


def _fitting(fix: _Part | None, room: int) -> _Part | None:
    """Return a fix, or as much of it as fits: rather a whole sentence."""
    if fix is None or fix.lines <= room:
        return fix
    first = _Part(fix.label, _SENTENCE.split(fix.text)[0], fix.style)
    if first.lines <= room:
        return first
    kept = " ".join(_wrapped(first.label, first.text)[: max(1, room)])
    return _Part(fix.label, f"{kept[: len(kept) - 4].rpartition(' ')[0]} ...", fix.style)


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, AT_WIDTH - len(label), break_long_words=False, break_on_hyphens=False)


def _plain(pieces: Sequence[Piece]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)


def _headline(out: Terminal, path: str, finding: ShownFinding, telling: Telling) -> list[Piece]:
    """Return where a finding is, with the few other places of the very same, its rule, and the versions."""
    place, severity = (place_in(path, finding.place), "bold"), (finding.severity, COLOURS[finding.severity])
    ran = finding.place.execution_count
    count = [(f" In [{ran}]", "dim")] if ran is not None else []
    also = f"  also {other_places(telling.others)}" if 0 < len(telling.others) <= IN_HEADLINE else ""
    versions = f"  [{telling.versions}]" if telling.versions else ""
    rule = out.linked(finding.rule, rule_url(finding.rule))
    return [place, *count, "  ", severity, " ", rule, f" {finding.name}", (versions + also, "dim")]


def _notes(finding: ShownFinding, telling: Telling) -> Iterator[_Part]:
    """Yield what is told where there is room, the most useful first."""
    started = [f"started by {_entries(finding.entries)}"] if finding.entries else []
    if finding.related:
        called = [f"{message} ({place.shown})" for message, place in finding.related]
        both = _Part("  from  ", "; ".join([*called, *started]), "dim")
        if both.lines == 1 or not started:
            yield both
            started = []
        else:
            yield _Part("  from  ", "; ".join(called), "dim")
    if started:
        yield _Part("  run   ", started[0], "dim")
    if finding.why and telling.with_why and not telling.is_short:
        yield _Part(_WHY, _SENTENCE.split(finding.why)[0], "dim")


def place_in(path: str, place: Place) -> str:
    """Return a place as terminals and editors can follow it: `train.py:7:5`, `train.ipynb:cell 12:7:5`."""
    cell = f"cell {place.cell}:" if place.cell is not None else ""
    return f"{place.path or path}:{cell}{place.line}:{place.column}"


def other_places(others: Sequence[ShownFinding]) -> str:
    """Return where else the very same is found, in words: the first places, and how many more there are, each line and other file once."""
    in_files = grouped((other.place.path, other.place.shown) for other in others)
    own = list(dict.fromkeys(in_files.pop("", [])))
    lines = own + [found[0] if len(set(found)) == 1 else f"{path} ({len(set(found))} places)" for path, found in in_files.items()]
    count = next((count for count in range(len(lines), 1, -1) if len("; ".join(lines[:count])) <= PLACES_WIDTH), 1)
    return "; ".join([*lines[:count], *([f"and {len(lines) - count} more"] if lines[count:] else [])])


def print_line(out: Terminal, path: str, finding: ShownFinding) -> None:
    """Print one finding on one line."""
    place, severity = (place_in(path, finding.place), "bold"), (finding.severity, COLOURS[finding.severity])
    out.wrapped(place, " ", severity, " ", out.linked(finding.rule, rule_url(finding.rule), ""), f" {finding.message}")


def _is_marked(finding: ShownFinding) -> bool:
    """Return whether marks below its line say more than the line."""
    column, length = finding.mark
    return bool(finding.source[:column].strip() or finding.source[column + length :].strip(" ,"))


def _print_source(out: Terminal, finding: ShownFinding, with_mark: bool) -> None:
    """Print the line that is meant; of a long one as much as the terminal is wide."""
    room = out.width - len(_MARGIN) if out.is_terminal else LONGEST_LINE
    line, (column, length) = windowed(finding.source, finding.mark, room)
    before, marked, after = line[:column], line[column : column + length], line[column + length :]
    if not with_mark:
        return out.line((f"  {finding.line:>5} | ", "blue"), before, (marked, "bold red"), after)
    out.line((f"  {finding.line:>5} | ", "blue"), line)
    out.line((_MARGIN, "blue"), " " * _cells(before), ("^" * _cells(marked), "bold red"))


def _cells(text: str) -> int:
    """Return how wide a terminal shows a text: letters of East Asia take two cells, accents that follow their letter none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _entries(entries: Sequence[tuple[str, int]]) -> str:
    """Return what starts the runs that lead to a finding, in words: the first, and how many more there are."""
    shown = ", ".join(f"{path}:{line}" if line else path for path, line in entries[:SHOWN_ENTRIES])
    more = len(entries) - SHOWN_ENTRIES
    return f"{shown} and {more} more" if more > 0 else shown


def _fix(finding: ShownFinding, command: str) -> _Part | None:
    if not finding.safety:
        return None
    if finding.safety == "manual":
        return _Part("  do    ", finding.fix, "green")
    run = f"{command}{'' if finding.safety == 'safe' else ' --unsafe'}" if command else ""
    said = "; ".join(filter(None, (finding.reason, run)))
    return _Part("  fix   ", f"{finding.fix}   ({finding.safety}{': ' if said else ''}{said})", "green")

"""Rewrites for people: coloured diffs cell by cell, what is left, and what was done."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from mpslint.core.finding import Finding, Safety
from mpslint.core.grouped import grouped
from mpslint.report.finding import COLOURS, place_in
from mpslint.report.terminal import Terminal
from mpslint.report.text import counted
from mpslint.rewrite.apply import Fixed
from mpslint.rewrite.diff import cell_diffs
from mpslint.session.view import place_of
from mpslint.source.document import Kind

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def print_fixed(out: Terminal, fixed: Fixed) -> None:
    """Print what was (or would be) rewritten in one file: a diff per cell, then what each rewrite is for."""
    if not fixed.is_changed:
        return
    for name, lines in cell_diffs(fixed.before, fixed.after):
        out.line((name, "bold"))
        for line in lines:
            out.line((line.removesuffix("\r"), _STYLES.get(line[:1], "")))
        out.line()
    made = Counter((finding.rule, f"{finding.name}: {finding.fix.summary}") for finding in fixed.applied if finding.fix is not None)
    for (rule, what), times in made.items():
        out.line("  ", (rule, "bold"), f" {what}", *([(f"  ({times} times)", "dim")] if times > 1 else []))
    out.line()


def print_fixes(out: Terminal, fixed: Fixed) -> None:
    """Print what was (or would be) fixed in one file, a line each."""
    document = fixed.before.document
    for finding in fixed.applied:
        if finding.fix is not None:
            place = (place_in(document.path, document.place(finding.span.start)), "bold")
            out.wrapped(place, " ", (finding.rule, "bold"), f" {finding.name}: {finding.fix.summary}")


def print_left(out: Terminal, fixed: Fixed, said: set[tuple[str, str]], is_written: bool) -> None:
    """Print what is left in one file, and why it was not rewritten, the very same once, and which cells could not be read.

    What a check finds only once the fixes are made, such as what matters on the GPU alone, is told from what it finds already.

    Places are those of the file as it is on the disk: of its new text only where that `is_written`. A script that doesn't parse, and has
    nothing to do with any rule, isn't worth a word; another one was refused.

    What is about the run is printed once for all files: `said` has what was printed before, and gets what is printed here.
    """
    left = [finding for finding in fixed.after.findings if finding.severity.rank < 2 or finding in fixed.held_back]
    left = [finding for finding in left if not (finding.is_of_run and (finding.rule, finding.message) in said)]
    said.update((finding.rule, finding.message) for finding in left if finding.is_of_run)
    groups = grouped(((finding.rule, finding.severity.value, _why_left(finding)), finding) for finding in left)
    found_before = {finding.rule for finding in fixed.before.findings}
    for finding, *others in groups.values():
        severity = (finding.severity.value, COLOURS[finding.severity.value])
        home = finding.home and place_in("", place_of(finding.home, fixed.before.document))
        place = (home or _place_on_disk(fixed, finding.span.start, is_written), "bold")
        also = [(f"  (and at {counted(len(others), 'more place')})", "dim")] if others else []
        when, why = ("left", "") if finding.rule in found_before else ("then", "found once the fixes are made; ")
        out.line(f"  {when}  ", place, " ", severity, f" {finding.rule}: {why}{_why_left(finding)}", *also)
    for part in fixed.after.unread if fixed.after.document.kind is not Kind.PYTHON else ():
        out.line("  left  ", (_place_on_disk(fixed, part.span.start, is_written), "bold"), f" not read: {part.reason}")


def _place_on_disk(fixed: Fixed, offset: int, is_written: bool) -> str:
    """Return the place of an offset of the new text, or, until that is written, of what it was in the old text."""
    before, after = fixed.before.document, fixed.after.document
    if is_written or not fixed.is_changed:
        return place_in(after.path, after.place(offset))
    line = after.line_at(offset) - 1
    start, end, new_start, _ = next(block for block in _blocks(before.text, after.text) if block[2] <= line < block[3])
    column = offset - after.line_starts[line]
    line = max(start, min(start + line - new_start, end - 1))
    ends = [*before.line_starts[1:], len(before.text) + 1]
    return place_in(before.path, before.place(min(before.line_starts[line] + column, ends[line] - 1)))


@functools.lru_cache(maxsize=1)
def _blocks(before: str, after: str) -> list[tuple[int, int, int, int]]:
    """Return which lines of the new text were which of the old: first and end in the old, first and end in the new."""
    return [block[1:] for block in SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False).get_opcodes()]


def _why_left(finding: Finding) -> str:
    fix = finding.fix
    if fix is None:
        return "no fix is known"
    if fix.safety is Safety.MANUAL:
        return f"by hand: {fix.summary}"
    reason = f" ({fix.reason})" if fix.reason else ""
    return f"unsafe: {fix.summary}{reason}"


def summary(results: Sequence[Fixed], apply: bool, unsafe: bool) -> str:
    """Return what was done and what was held back, in a sentence or two."""
    fixes = sum(len(fixed.applied) for fixed in results)
    files = sum(1 for fixed in results if fixed.is_changed)
    held = sum(len(fixed.held_back) for fixed in results)
    if not fixes:
        said = "Nothing to fix."
    else:
        verb = "Fixed" if apply else "Would fix"
        said = f"{verb} {counted(fixes, 'finding')} in {counted(files, 'file')}."
        said += "" if apply else " Write with --apply."
    if held and not unsafe:
        fixes_are, them = ("fix", "it changes the run; show it") if held == 1 else ("fixes", "they change the run; show them")
        said += f" {held} unsafe {fixes_are} held back, because {them} with --unsafe."
    return said

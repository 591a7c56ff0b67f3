"""The report for people: place, source, cause and fix; no colours where nobody sees them."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Sequence

from mpslint.core.links import rule_url
from mpslint.report.terminal import Terminal, terminal
from mpslint.session.view import LONGEST_LINE, FileView, ShownFinding, said_together, windowed
from mpslint.source.document import Place

COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
IN_SHORT = "note"
"""What is only worth knowing is said in short, after what goes wrong."""
_MARGIN = f"  {'':>5} | "
SHOWN_PATHS = 3
"""Files and folders that are named in a command."""
SHOWN_ENTRIES = 3
"""Scripts that are named of those whose runs lead to a finding."""
IN_HEADLINE = 2
"""So many other places stand behind the rule; more of them have a line of their own."""
SHOWN_PLACES = 8
"""Places that are named of those where the very same is found."""


def print_report(out: Terminal, files: Sequence[FileView], quiet: bool = False, paths: Sequence[str] = ()) -> None:
    """Print every finding, file by file, then what was not read, then the summary, for the files and folders that were asked for.

    The first line is the worst finding of the first file. For which Mac and versions it was judged is said in the summary,
    or below the files that it holds for, where it differs. A single finding has no empty line below it.
    """
    for file in files if quiet else ():
        for finding in file.findings:
            print_line(out, file.path, finding)
    said = [] if quiet else [(file, causes) for file, causes in said_together(files) if causes]
    is_alone = sum(len(causes) for _, causes in said) == 1
    of_all = _target_of_all([file for file, _ in said] or ([] if quiet else files))
    reasons: set[str] = set()
    for (file, causes), following in itertools.zip_longest(said, [other for other, _ in said[1:]]):
        print_findings(out, file, causes, reasons, _fix_command([file], paths) if is_alone else "")
        if following is not None or not is_alone:
            out.line()
        if not of_all and (following is None or following.target != file.target):
            out.wrapped((f"For {file.target}", "dim"))
    for file in files:
        for place, reason in file.unread if not quiet else ():
            out.line((place_in(file.path, place), "bold"), f" not read: {reason}")
    print_unjudged(out, () if quiet else files)
    print_summary(out, files, paths, of_all, with_command=not is_alone)


def _target_of_all(files: Sequence[FileView]) -> str:
    """Return for which Mac and versions files were judged; '' where that differs."""
    targets = {file.target for file in files if file.target}
    return targets.pop() if len(targets) == 1 else ""


def print_unjudged(out: Terminal, files: Sequence[FileView]) -> None:
    """Print what was not judged, since it runs on another machine: the first place for each reason, and how many more files there are."""
    places: dict[str, list[str]] = {}
    for file in files:
        for place, reason in file.unjudged:
            places.setdefault(reason, []).append(place_in(file.path, place))
    for reason, (first, *others) in places.items():
        more = f" and {counted(len(others), 'other file')}" if others else ""
        out.wrapped((first, "bold"), f"{more} not judged: {reason}")


def print_findings(
    out: Terminal,
    file: FileView,
    causes: Sequence[tuple[ShownFinding, tuple[ShownFinding, ...]]],
    reasons: set[str],
    command: str = "",
) -> None:
    """Print what is found in a file, each with where else it is: what goes wrong in full, errors first, and then the notes in short.

    What is in `reasons` was said, and is not said again. A rule whose messages say enough is shown with its source once a file.
    With a `command` the fix names it.
    """
    said = sorted(causes, key=lambda one: one[0].order)
    shown: set[str] = set()
    was_short = True
    for finding, others in said:
        is_short = finding.severity == IN_SHORT or (not finding.why and finding.rule in shown)
        if not (is_short and was_short) and finding is not said[0][0]:
            out.line()
        if is_short:
            print_in_short(out, file.path, finding, others, command)
        else:
            print_finding(out, file.path, finding, others, finding.why not in reasons, command)
        reasons.add(finding.why)
        shown.add(finding.rule)
        was_short = is_short


def place_in(path: str, place: Place) -> str:
    """Return a place as terminals and editors can follow it: `train.py:7:5`, `train.ipynb:cell 12:7:5`."""
    cell = f"cell {place.cell}:" if place.cell is not None else ""
    return f"{path}:{cell}{place.line}:{place.column}"


def short_place(place: Place) -> str:
    """Return a place in words, without its file, unless that is another than the one that is spoken of."""
    where = f"cell {place.cell}, line {place.line}" if place.cell is not None else f"line {place.line}"
    return f"{place.path}, {where}" if place.path else where


def other_places(others: Sequence[ShownFinding]) -> str:
    """Return where else the very same is found, in words: the first places, and how many more there are, each line and other file once."""
    in_files: dict[str, list[str]] = {}
    for other in others:
        in_files.setdefault(other.place.path, []).append(short_place(other.place))
    own = list(dict.fromkeys(in_files.pop("", [])))
    lines = own + [found[0] if len(set(found)) == 1 else f"{path} ({len(set(found))} places)" for path, found in in_files.items()]
    shown = "; ".join(lines[:SHOWN_PLACES])
    more = len(lines) - SHOWN_PLACES
    return f"{shown}; and {more} more" if more > 0 else shown


def print_line(out: Terminal, path: str, finding: ShownFinding) -> None:
    """Print one finding on one line."""
    place, severity = (place_in(path, finding.place), "bold"), (finding.severity, COLOURS[finding.severity])
    out.wrapped(place, " ", severity, " ", out.linked(finding.rule, rule_url(finding.rule), ""), f" {finding.message}")


def print_finding(
    out: Terminal, path: str, finding: ShownFinding, others: Sequence[ShownFinding] = (), with_why: bool = True, command: str = ""
) -> None:
    """Print one finding: a headline, the source with the place marked, where else it is, where the value comes from, why, and the fix.

    The reasons of a rule are said once a report. With a `command` the fix names it.
    """
    _print_headline(out, path, finding, others)
    _print_source(out, finding)
    _print_places(out, finding, others)
    if finding.why and with_why:
        out.paragraph("  why   ", finding.why, "dim")
    if finding.safety:
        out.paragraph(*_fix_line(finding, command), "green")


def _print_source(out: Terminal, finding: ShownFinding) -> None:
    """Print the line that is meant; of a long one as much as the terminal is wide. What is the whole line needs no marks below it."""
    room = out.width - len(_MARGIN) if out.is_terminal else LONGEST_LINE
    line, (column, length) = windowed(finding.source, finding.mark, room)
    before, marked, after = line[:column], line[column : column + length], line[column + length :]
    if not before.strip() and not after.strip(" ,"):
        return out.line((f"  {finding.line:>5} | ", "blue"), before, (marked, "bold red"), after)
    out.line((f"  {finding.line:>5} | ", "blue"), line)
    out.line((_MARGIN, "blue"), " " * _cells(before), ("^" * _cells(marked), "bold red"))


def _cells(text: str) -> int:
    """Return how wide a terminal shows a text: letters of East Asia take two cells, accents that follow their letter none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def print_in_short(out: Terminal, path: str, finding: ShownFinding, others: Sequence[ShownFinding] = (), command: str = "") -> None:
    """Print one finding without its source and without the reasons. With a `command` the fix names it."""
    _print_headline(out, path, finding, others)
    _print_places(out, finding, others)
    if finding.safety:
        out.paragraph(*_fix_line(finding, command), "green")


def _print_headline(out: Terminal, path: str, finding: ShownFinding, others: Sequence[ShownFinding]) -> None:
    """Print where a finding is, with the few other places of the very same, its rule, and its message."""
    place, severity = (place_in(path, finding.place), "bold"), (finding.severity, COLOURS[finding.severity])
    ran = finding.place.execution_count
    count = [(f" In [{ran}]", "dim")] if ran is not None else []
    also = (f"  also {other_places(others)}" if 0 < len(others) <= IN_HEADLINE else "", "dim")
    out.wrapped(place, *count, "  ", severity, " ", out.linked(finding.rule, rule_url(finding.rule)), f" {finding.name}", also)
    out.paragraph("  ", finding.message)


def _print_places(out: Terminal, finding: ShownFinding, others: Sequence[ShownFinding]) -> None:
    """Print where else the very same is found, where these are many, and where the value comes from."""
    if len(others) > IN_HEADLINE:
        out.paragraph("  also  ", other_places(others), "dim")
    for message, related in finding.related:
        out.paragraph("  from  ", f"{message} ({short_place(related)})", "dim")
    if finding.entries:
        out.paragraph("  run   ", f"started by {_entries(finding.entries)}", "dim")


def _entries(entries: Sequence[tuple[str, int]]) -> str:
    """Return what starts the runs that lead to a finding, in words: the first, and how many more there are."""
    shown = ", ".join(f"{path}:{line}" if line else path for path, line in entries[:SHOWN_ENTRIES])
    more = len(entries) - SHOWN_ENTRIES
    return f"{shown} and {more} more" if more > 0 else shown


def _fix_line(finding: ShownFinding, command: str) -> tuple[str, str]:
    if finding.safety == "manual":
        return "  do    ", finding.fix
    run = f"{command}{'' if finding.safety == 'safe' else ' --unsafe'}" if command else ""
    said = "; ".join(filter(None, (finding.reason, run)))
    return "  fix   ", f"{finding.fix}   ({finding.safety}{': ' if said else ''}{said})"


def print_summary(out: Terminal, files: Sequence[FileView], paths: Sequence[str] = (), target: str = "", with_command: bool = True) -> None:
    """Print the counts, for which Mac and versions, and how many findings have a safe, an unsafe or no fix, with the command."""
    found_in = [file for file in files if file.findings]
    findings = [finding for file in found_in for finding in file.findings]
    read = sum(1 for file in files if not file.problem)
    lost = f"; {counted(len(files) - read, 'file')} could not be read" if read < len(files) else ""
    hidden = _hidden(files)
    judged = (f" For {target}.", "dim") if target else ("", "")
    unjudged = sum(1 for file in files if file.unjudged)
    left = f"{counted(unjudged, 'file')} not judged"
    if not findings and 0 < read == unjudged:
        out.wrapped(f"{left}{lost}.{hidden}")
        return
    lost += f"; {left}" if unjudged else ""
    if not findings:
        if read:
            partial = sum(1 for file in files if file.unread)  # what is in the rest may decide over all of the file
            wrong = "No findings" if partial else "Nothing wrong for MPS"
            said = "Nothing of the severity asked for" if hidden else wrong
            lost += f"; {counted(partial, 'file')} read only in part" if partial else ""
            colour = "" if lost or hidden else "green"
            out.wrapped((f"{said} in {counted(read - unjudged, 'file')}", colour), f"{lost}.{hidden}", judged)
        return
    causes = [finding for _, said in said_together(found_in) for finding, _ in said]
    severities = Counter(finding.severity for finding in causes)
    counts = ", ".join(counted(severities[severity], severity) for severity in COLOURS if severities[severity])
    touched = len(found_in)
    places = f" at {len(findings)} places" if len(findings) > len(causes) else ""
    of = f" of {read}" if read > touched else ""
    out.wrapped((counts, "bold"), f"{places} in {counted(touched, 'file')}{of}{lost}.{hidden}", judged)
    safeties = Counter(finding.safety for finding in findings)
    safe, unsafe = safeties["safe"], safeties["unsafe"]
    if safe and with_command:
        more = f"; {unsafe} more with --unsafe, which changes the run" if unsafe else ""
        out.wrapped(f"{safe} can be fixed safely: {_fix_command(found_in, paths)}{more}")
    elif unsafe and with_command:
        out.wrapped(f"{unsafe} can be fixed by changing the run: {_fix_command(found_in, paths)} --unsafe")


def _fix_command(files: Sequence[FileView], paths: Sequence[str]) -> str:
    """Return the command that fixes what was found in files, by their names or, of many, by what was asked for."""
    import shlex

    findings = [finding for file in files for finding in file.findings]
    fixed = {one.rule for one in findings if one.safety == "safe"}  # whose fixes need those of what awaits them
    where = [file.path for file in files if any(f.safety in ("safe", "unsafe") or f.awaits in fixed for f in file.findings)]
    where = where if len(where) <= SHOWN_PATHS or not 0 < len(paths) <= SHOWN_PATHS else list(paths)
    return f"mpslint fix {shlex.join(where[:SHOWN_PATHS])}{' ...' if len(where) > SHOWN_PATHS else ''}"


def _hidden(files: Sequence[FileView]) -> str:
    """Return what the severity that was asked for leaves out, in a sentence; '' for nothing."""
    severities = Counter(severity for file in files for severity in file.hidden)
    counts = ", ".join(counted(severities[severity], severity) for severity in COLOURS if severities[severity])
    return f" Not shown: {counts} (--severity)." if counts else ""


def print_problems(files: Sequence[FileView]) -> None:
    """Print, on standard error, one line for each file that could not be read."""
    err = terminal(sys.stderr)
    for file in files:
        if file.problem:
            err.line(("mpslint: ", "bold"), file.problem)
    sys.stderr.flush()


def counted(number: int, word: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{number} {word}{'' if number == 1 else 's'}"

"""The report for people: place, source, cause and fix; no colours where nobody sees them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from mpslint.core.grouped import grouped
from mpslint.core.versions import Said, in_words
from mpslint.report.finding import COLOURS, Telling, place_in, print_finding, print_line
from mpslint.report.terminal import Terminal, terminal
from mpslint.session.view import FileView, ShownFinding, said_together

IN_SHORT = "note"
"""What is only worth knowing is said in short, after what goes wrong."""
ON_EVERY_MACHINE = "On every machine with these versions, not only on a Mac:"
SHOWN_PATHS = 3
"""Files and folders that are named in a command."""
Causes = Sequence[tuple[ShownFinding, tuple[ShownFinding, ...]]]


def print_report(
    out: Terminal, files: Sequence[FileView], quiet: bool = False, paths: Sequence[str] = (), *, is_unfit: bool = False
) -> None:
    """Print every finding, then what was not read, then the summary, for the files and folders that were asked for.

    Files that train come first, and in a file what is worst; what goes wrong on every machine comes in a block of its own at the end.
    For which Mac and versions it was judged is said in the summary, and of versions that differ between files with each finding.
    """
    ordered = sorted(files, key=lambda file: not file.trains)
    said = [(file, causes) for file, causes in said_together(ordered) if causes]
    is_alone = not quiet and sum(len(causes) for _, causes in said) == 1
    judged = [file.target for file in ([file for file, _ in said] or ([] if quiet else files)) if file.target]
    reasons: set[str] = set()
    for on_every_machine in (False, True):
        if quiet:
            for file in ordered:
                for finding in file.findings:
                    if finding.is_of_any_machine is on_every_machine:
                        print_line(out, file.path, finding)
            continue
        of_block = [(file, [one for one in causes if one[0].is_of_any_machine is on_every_machine]) for file, causes in said]
        of_block = [(file, causes) for file, causes in of_block if causes]
        if on_every_machine and of_block and any(not one.is_of_any_machine for _, causes in said for one, _ in causes):
            out.line((ON_EVERY_MACHINE, "bold"))
            out.line()
        for file, causes in of_block:
            own_versions = ", ".join(words for name, words, _ in file.target if name in _differing(judged))
            print_findings(out, file, causes, reasons, _fix_command(files, paths) if is_alone else "", own_versions)
            if not is_alone:
                out.line()
    for file in files:
        for place, reason in file.unread:
            out.line((place_in(file.path, place), "bold"), f" not read: {reason}")
    print_unjudged(out, () if quiet else files)
    print_summary(out, files, paths, "" if quiet else _versions(judged), with_command=not is_alone, is_unfit=is_unfit)


def _versions(judged: Sequence[Sequence[Said]]) -> str:
    """Return for which Mac and versions files were judged, in a sentence, and the versions that differ between them in another."""
    differing = _differing(judged)
    every = dict.fromkeys(one for said in judged for one in said)
    same, other = in_words(one for one in every if one[0] not in differing), in_words(one for one in every if one[0] in differing)
    return (f" For {same}." if same else "") + (f" By file: {other}." if other else "")


def _differing(judged: Sequence[Sequence[Said]]) -> frozenset[str]:
    """Return what was not the same for all files."""
    counts = Counter(name for name, _, _ in {one for said in judged for one in said})
    return frozenset(name for name, count in counts.items() if count > 1)


def print_unjudged(out: Terminal, files: Sequence[FileView]) -> None:
    """Print what was not judged, since it runs on another machine: the first place for each reason, and how many more files there are."""
    places = grouped((reason, place_in(file.path, place)) for file in files for place, reason in file.unjudged)
    for reason, (first, *others) in places.items():
        more = f" and {counted(len(others), 'other file')}" if others else ""
        out.wrapped((first, "bold"), f"{more} not judged: {reason}")


def print_findings(out: Terminal, file: FileView, causes: Causes, reasons: set[str], command: str = "", versions: str = "") -> None:
    """Print what is found in a file, each with where else it is: what goes wrong in full, and notes in short.

    What is in `reasons` was said, and is not said again. A rule whose messages say enough is shown with its source once a file.
    With a `command` the fix names it; with `versions` each finding does.
    """
    shown: set[str] = set()
    was_short = True
    for number, (finding, others) in enumerate(causes):
        is_short = finding.severity == IN_SHORT or (not finding.why and finding.rule in shown)
        if number and not (is_short and was_short):
            out.line()
        if print_finding(out, file.path, finding, Telling(others, command, versions, is_short, finding.why not in reasons)):
            reasons.add(finding.why)
        shown.add(finding.rule)
        was_short = is_short


def print_summary(
    out: Terminal,
    files: Sequence[FileView],
    paths: Sequence[str] = (),
    target: str = "",
    with_command: bool = True,
    *,
    is_unfit: bool = False,
) -> None:
    """Print the counts, for which Mac and versions, and how many findings have a safe, an unsafe or no fix, with the command."""
    found_in = [file for file in files if file.findings]
    findings = [finding for file in found_in for finding in file.findings]
    read = sum(1 for file in files if not file.problem)
    lost = f"; {counted(len(files) - read, 'file')} could not be read" if read < len(files) else ""
    hidden = _hidden(files)
    judged = (target, "dim")
    unjudged = sum(1 for file in files if file.unjudged)
    left = f"{counted(unjudged, 'file')} not judged"
    if not findings and 0 < read == unjudged:
        out.wrapped(f"{left}{lost}.{hidden}")
        return
    lost += f"; {left}" if unjudged else ""
    if not findings:
        if read:
            partial = sum(1 for file in files if file.unread)  # what is in the rest may decide over all of the file
            wrong = "No findings" if partial or is_unfit else "Nothing wrong for MPS"
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
    """Print, on standard error, one line for each file that could not be read, or has invalid cells."""
    err = terminal(sys.stderr)
    for file in files:
        if file.problem or file.is_invalid:
            err.line(("mpslint: ", "bold"), file.problem or f"{file.path}: {counted(len(file.unread), 'cell')} not read")
    sys.stderr.flush()


def counted(number: int, word: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{number} {word}{'' if number == 1 else 's'}"

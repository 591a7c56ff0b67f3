"""What the worker thread does with a snapshot: check it, fix it, write comments into it, all as the command line does."""

from __future__ import annotations

from dataclasses import replace

from mpslint.core.finding import Finding, MpslintError, UsageError
from mpslint.core.outside import LARGEST_FILE
from mpslint.core.record import record
from mpslint.program.parse import parse_program
from mpslint.rule.rule import Rule
from mpslint.server.snapshot import Snapshot
from mpslint.server.surroundings import Surroundings
from mpslint.session.running import mistake_in
from mpslint.session.session import Options, add_ignores_to, check_file, configuration_for, fix_file, open_document, rules_for
from mpslint.source.document import Document, Kind, Unread
from mpslint.source.files import LARGEST_JSON, STANDARD_INPUT, FoundFile, is_excluded

BUFFER = FoundFile(STANDARD_INPUT, is_named=False)
"""The text of an editor, for what reads files: nobody asked for this very one, it was only opened."""


@record(frozen=True, eq=False)
class Judged:
    """What came of a snapshot. With neither a Document nor a problem nor a complaint it holds nothing that could matter."""

    snapshot: Snapshot
    document: Document | None = None
    findings: tuple[Finding, ...] = ()
    unread: tuple[Unread, ...] = ()
    problem: str = ""
    """Why nothing was read, where that has no place in the text."""
    is_cut: bool = False
    """Whether runs were left out to be quick."""
    complaint: str = ""
    """What is wrong with the configuration, so that nothing can be said."""

    @property
    def is_broken(self) -> bool:
        """Whether the whole of it does not parse."""
        return bool(self.problem or (self.unread and self.snapshot.kind is Kind.PYTHON))


def judge_snapshot(snapshot: Snapshot, options: Options, around: Surroundings | None = None, is_quick: bool = False) -> Judged:
    """Return what is wrong with a snapshot, by itself and within the runs `around` it; not all of these where it has to be quick.

    Never raises on any text: a mistake of mpslint itself is a problem of one line.
    """
    try:
        data = snapshot.data()
        configuration = configuration_for(snapshot.path, options)
        if is_excluded(snapshot.path, (*configuration.exclude, *options.exclude), configuration.folder):
            return Judged(snapshot)
        if snapshot.kind is Kind.JSON and len(data) > LARGEST_JSON:  # data, as below a folder
            return Judged(snapshot)
        if len(data) > LARGEST_FILE:
            return Judged(snapshot, problem=f"larger than {LARGEST_FILE // 1_000_000} MB, so not read")
        return _judged(snapshot, _asked(snapshot, data, options), around, is_quick)
    except UsageError as error:
        return Judged(snapshot, complaint=str(error))
    except MpslintError as error:
        return Judged(snapshot, problem=_short(error, snapshot))
    except Exception as error:  # any text may be open in an editor: a mistake of mpslint's own costs this file, not the server
        return Judged(snapshot, problem=_short(mistake_in(snapshot.path, error), snapshot))


def _judged(snapshot: Snapshot, asked: Options, around: Surroundings | None, is_quick: bool) -> Judged:
    is_reached = around is not None and around.are_around(snapshot.path, open_document(BUFFER, asked.stdin, asked))
    result = check_file(BUFFER, asked, is_reached)
    checked, is_cut = result.checked, False
    if is_reached and around is not None and not result.problem:
        checked, is_cut = around.within(snapshot.path, checked, is_quick)
    if checked is not None:
        for one in checked.evidence:
            one.facts.release()
        return Judged(snapshot, checked.document, checked.findings, checked.unread, is_cut=is_cut)
    if not result.problem:
        return Judged(snapshot)
    document = open_document(BUFFER, asked.stdin, asked)
    unread = parse_program(document, document.python).unread if document.python else ()
    return Judged(snapshot, document, (), unread, "" if unread else _short(result.problem, snapshot))


def _short(problem: object, snapshot: Snapshot) -> str:
    """Return why something was not checked, without the path of the file, which is open before whoever reads it."""
    return str(problem).removeprefix(f"{STANDARD_INPUT}: ").removeprefix(f"{snapshot.path}: ").removeprefix("not checked, ")


def _asked(snapshot: Snapshot, data: bytes, options: Options) -> Options:
    return replace(options, stdin=data, stdin_filename=snapshot.path, stdin_kind=snapshot.kind)


def fixed_data(snapshot: Snapshot, options: Options, around: Surroundings) -> bytes:
    """Return the bytes that `mpslint fix FILE --apply` would write. Raises MpslintError."""
    may_be_unsafe = configuration_for(snapshot.path, options).unsafe
    asked = _asked(snapshot, snapshot.data(), options)
    return fix_file(BUFFER, asked, may_be_unsafe, lambda checked: around.within(snapshot.path, checked)[0] or checked).data


def ignoring_data(snapshot: Snapshot, options: Options, finding: Finding) -> bytes | None:
    """Return the bytes with a comment that silences a rule on the line of a finding; None where none can. Raises MpslintError."""
    asked = _asked(snapshot, snapshot.data(), options)
    document = open_document(BUFFER, asked.stdin, asked)
    there = [finding.rule, document.line_at(finding.span.start)]
    ignored = add_ignores_to(BUFFER, asked, "", lambda other: [other.rule, document.line_at(other.span.start)] == there)
    return ignored.data if ignored.silenced and not ignored.left else None


def rule_of(snapshot: Snapshot, options: Options, finding: Finding) -> Rule:
    """Return the rule of a finding. Raises MpslintError."""
    rules = rules_for(snapshot.path, configuration_for(snapshot.path, options), options)
    return next(rule for rule in rules if rule.id == finding.rule)

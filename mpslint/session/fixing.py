"""Fix the files of a unit as one change: each is judged within its runs, and what a fix would break elsewhere counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from mpslint.core.finding import MpslintError, UsageError
from mpslint.core.record import record
from mpslint.project.run import full_path
from mpslint.session.runs import Runs
from mpslint.session.session import FileResult, Options, ToFix, configuration_for, fix_file, to_fix, unless_unread
from mpslint.session.units import FilesTogether
from mpslint.source.document import Document

if TYPE_CHECKING:
    from mpslint.engine import Checked
    from mpslint.rewrite.apply import Fixed

Result = TypeVar("Result")
Outcome = tuple[int, "Fixed | MpslintError"]
"""The number of a file, and what fixing it gave, or why it could not be fixed."""


@record(frozen=True, eq=False)
class _Member:
    """A file of a unit that is to be fixed."""

    index: int
    file: ToFix
    known: dict[Document, Checked] = field(default_factory=dict)
    """What its latest text gives by itself."""

    def alone(self, document: Document) -> Checked:
        """Return what the file gives by itself with a text."""
        from mpslint.engine import check

        if document not in self.known:
            self.known.clear()
            self.known[document] = check(document, self.file.target, self.file.rules, is_reached=True, looks_ahead=False)
        return self.known[document]


def fix_unit(unit: FilesTogether, options: Options, unsafe: bool) -> Iterator[Outcome]:
    """Yield what fixing each file of a unit gave, in memory. Raises UsageError when options or configuration are wrong."""
    if not unit.entries:
        for index, found in unit.files:
            may = unsafe or configuration_for(found.path, options).unsafe
            yield index, _outcome(partial(fix_file, found, options, may))
        return
    members: dict[str, _Member] = {}
    for index, found in unit.files:
        file = _outcome(partial(to_fix, found, options))
        if isinstance(file, MpslintError):
            yield index, file
        else:
            members[found.path] = _Member(index, file)
    may = unsafe or all(configuration_for(path, options).unsafe for path in members)
    runs = Runs(unit, options, is_fixing=True)
    together = _outcome(partial(_fixed, members, runs, may))
    for path, member in members.items():
        one = together if isinstance(together, dict) else _outcome(partial(_fixed, {path: member}, runs, may))
        found = member.file.found
        yield member.index, one if isinstance(one, MpslintError) else _outcome(partial(unless_unread, found, one[path], options))


def _outcome(work: Callable[[], Result]) -> Result | MpslintError:
    """Return what some work gives, or why it failed. Raises UsageError, which is nothing of one file."""
    try:
        return work()
    except UsageError:
        raise
    except MpslintError as error:
        return error


def _fixed(members: Mapping[str, _Member], runs: Runs, unsafe: bool) -> dict[str, Fixed]:
    """Return what fixing files together gives, by path."""
    from mpslint.rewrite.apply import fix_together

    def judged(texts: Mapping[str, Document]) -> dict[str, Checked]:
        runs.judge({full_path(path): texts[path] for path in members})
        found = {}
        for path, member in members.items():
            alone = member.alone(texts[path])
            found[path] = runs.result(member.file.found, FileResult(path, alone)).checked or alone
        return {**runs.beyond, **found}

    documents = {path: member.file.document for path, member in members.items()}
    return fix_together(documents, judged, lambda path, finding: members[path].file.is_asked(finding), unsafe)

"""Flags of launch lines that only look like those of a framework: the script in the project builds nothing that takes them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mpslint.core.finding import Finding, Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.project.launch import Entry, is_unwritten
from mpslint.project.run import MOST_FILES, Project, Run

if TYPE_CHECKING:
    from mpslint.settings.evidence import Evidence

_SENTENCE = re.compile(r'"""[^\n]*?"""|\'{3}[^\n]*?\'{3}')
"""A docstring of one line, which may speak of a Trainer that isn't there; longer ones are no code of a Document."""


@record(frozen=True, slots=True)
class Visit:
    """What one launch line leads through: the calls of its script, and what is found there, as rules and places."""

    calls: list[Span]
    found: frozenset[tuple[str, Span]]

    def __contains__(self, span: Span) -> bool:
        """Return whether a place is in one of the calls."""
        return any(span in call for call in self.calls)


def is_used_elsewhere(finding: Finding, visits: Sequence[Visit]) -> bool:
    """Return whether another run of the script does well with what is found, so that its fix would change that run."""
    return any(finding.span in visit and (finding.rule, finding.span) not in visit.found for visit in visits)


def visited(run: Run, evidence: Evidence) -> list[Span]:
    """Return the calls of its script that a launched run went through, in places of that file; nothing of a run that was cut."""
    if run.is_cut or not run.launch or is_unwritten(run.launch):
        return []
    part = next(part for part in run.document.parts or () if run.paths[part.first_line] == run.script)
    spans = (evidence.span_of(call.node) for call in evidence.facts.calls)
    return [Span(span.start - part.span.start, span.end - part.span.start) for span in spans if span in part.span]


def without_strangers(findings: Sequence[Finding], path: str, project: Project) -> tuple[Finding, ...]:
    """Return the findings of a file of launch lines, by its absolute path, without those about flags of scripts of their own.

    What a script of the project does with its flags is judged in its runs. By the line alone it is a guess, which counts only where the
    script, or what it imports, names something that takes the flags of a framework.
    """
    strangers = list(_flags_of_strangers(path, project)) if findings else []
    return tuple(one for one in findings if not any(one.span in span for span in strangers))


def _flags_of_strangers(path: str, project: Project) -> Iterator[Span]:
    """Yield where the flags stand of each launched script that reads them itself, and names nothing of a framework that takes them.

    Those that dialects know by their names only are left to every script that is there.
    """
    for number, launch in enumerate(project.launches(path)):
        files = [project.document(file) for file in project.closure(Entry(launch.script, path, number)) if file != path]
        yield from (flag.span for name, flag in launch.command.flags.items() if files and name in _known_by_name())
        asked = [_asked_in(one.code) for one in files if one is not None] if launch.given else []
        if any(reads for reads, _ in asked) and not any(takes for _, takes in asked):
            words = [word.span for word in launch.given]
            here = [one for one in words if one in launch.command.span]  # the others are where their variables are set
            yield from (one for one in words if one not in here)
            if here:
                yield Span(min(one.start for one in here), max(one.end for one in here))


@functools.lru_cache(maxsize=4 * MOST_FILES)
def _asked_in(code: str) -> tuple[bool, bool]:
    """Return whether code names a parser of flags, and whether it names what takes those of a framework."""
    names = frozenset(re.findall(r"\w+", _SENTENCE.sub("", code)))
    return not names.isdisjoint(platform_data("launchers")["parsers"]), any(map(_takers().fullmatch, names))


@functools.lru_cache(maxsize=1)
def _takers() -> re.Pattern[str]:
    """Return a pattern of the names of what stands for a run in some framework: Trainers, their arguments, Accelerators."""
    from mpslint.settings.dialects import load_dialects  # a file that names no framework loads no dialects
    from mpslint.settings.roles import roles_that

    roles = roles_that("run")
    calls = (call for dialect in load_dialects().all for call in dialect.calls if call.role in roles)
    names = {name.rpartition(".")[2] for call in calls for name in call.names} - {"*"}
    choices = "|".join(re.escape(name).replace(re.escape("*"), r"\w*") for name in sorted(names))
    return re.compile(choices)


@functools.lru_cache(maxsize=1)
def _known_by_name() -> frozenset[str]:
    """Return the flags that dialects read only where the script isn't there to be read itself."""
    from mpslint.settings.dialects import load_dialects  # as above

    commands = (command for dialect in load_dialects().all for command in dialect.commands if command.where_absent)
    return frozenset(name for command in commands for name in command.has)

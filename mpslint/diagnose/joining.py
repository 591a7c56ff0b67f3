"""Join a diagnosis with what `check` says of the source: which findings explain this error, and how to mend them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mpslint.core.finding import Finding, Safety
from mpslint.core.versions import Version, VersionRange, format_version, in_words, parse_version
from mpslint.diagnose.diagnosis import Diagnosis
from mpslint.diagnose.ranking import SourceLine, rank_findings
from mpslint.rule.loading import load_rules
from mpslint.session.session import FileResult
from mpslint.session.view import FileView, ShownFinding, view
from mpslint.target.packages import newest_versions, releases_of

_COMPUTED = {"split_batch": frozenset({"batch.train", "batch.accumulation"})}
"""The settings that a computed fix writes."""


@dataclass(frozen=True, slots=True)
class ExplainingFinding:
    """A finding that explains the diagnosed error: the message it explains, and whether the traceback ends on its line."""

    finding: ShownFinding
    explains: str
    in_traceback: bool


@dataclass(frozen=True, slots=True)
class Source:
    """What check says of one source file, as far as it bears on a diagnosis; `others` counts the findings that do not."""

    path: str
    problem: str
    explaining: tuple[ExplainingFinding, ...]
    others: int
    fix_command: str
    """The command that applies the safe fixes, or ''."""
    target: str = ""
    """What the source was checked for, in words."""

    def settles(self, diagnosis: Diagnosis) -> bool:
        """Return whether a finding that is more than a note explains the cause, so that the code says what the text leaves open."""
        cause = diagnosis.cause
        return cause is not None and any(one.explains == cause.message.id and one.finding.severity != "note" for one in self.explaining)


def join(diagnosis: Diagnosis, result: FileResult) -> Source:
    """Return the findings of a checked file that explain a diagnosis, the nearest first."""
    file = view(result)
    if result.checked is None:
        return Source(file.path, file.problem, (), 0, "")
    document = result.checked.document

    def line_of(finding: Finding) -> SourceLine:
        place = document.place(finding.span.start)
        return SourceLine(place.line, place.cell)

    ranked = rank_findings(diagnosis, result.checked.findings, line_of, settings_of, document.path)
    views = {(finding.rule, *finding.range): finding for finding in file.findings}
    explaining = tuple(
        ExplainingFinding(views[one.finding.rule, one.finding.span.start, one.finding.span.end], one.explains, one.in_traceback)
        for one in ranked
        if one.explains or one.in_traceback
    )
    return Source(file.path, file.problem, explaining, len(ranked) - len(explaining), _fix_command(file, explaining), in_words(file.target))


def observed_versions(diagnosis: Diagnosis, pinned: Mapping[str, Version] = MappingProxyType({})) -> dict[str, str]:
    """Return the versions that a log gives away: those it names, and the newest torch that prints its messages so, if none of a project
    (`pinned`) does.
    """
    found = {name: format_version(version) for name, version in diagnosis.versions.items() if name in newest_versions()}
    causes = diagnosis.causes
    wordings = [symptom.wording for symptom in causes] + [symptom.memory.torch for symptom in causes if symptom.memory is not None]
    for package in {package for wording in wordings for package in wording.packages}:
        if package in pinned and all(_admits(wording, package, pinned[package]) for wording in wordings):
            continue
        fitting = [
            release
            for release in releases_of(package)
            if (version := parse_version(release)) and all(_admits(wording, package, version) for wording in wordings)
        ]
        if fitting and package not in found and parse_version(fitting[-1]) != newest_versions().get(package):
            found[package] = fitting[-1]
    return found


def _admits(wording: VersionRange, package: str, version: Version) -> bool:
    terms = tuple(term for term in wording.terms if term[0] == package)
    return VersionRange(terms).matches({package: version})


def _fix_command(file: FileView, explaining: tuple[ExplainingFinding, ...]) -> str:
    rules = sorted({one.finding.rule for one in explaining if one.finding.safety == Safety.SAFE.value})
    quoted = f"'{file.path}'" if " " in file.path else file.path
    return f"mpslint fix {quoted} --select {','.join(rules)} --apply" if rules else ""


def settings_of(finding: Finding) -> frozenset[str]:
    """Return the canonical settings that a finding's rule asks about or whose fix it writes."""
    return _settings_by_rule().get(finding.rule, frozenset())


@functools.lru_cache(maxsize=1)
def _settings_by_rule() -> dict[str, frozenset[str]]:
    found = {}
    for rule in load_rules():
        names = {name for condition in rule.when if condition.subject in ("setting", "product", "ratio") for name in condition.names[:1]}
        for recipe in rule.fixes:
            names |= set(recipe.set) | _COMPUTED.get(recipe.rewrite, frozenset())
        found[rule.id] = frozenset(names)
    return found

"""Join a diagnosis with what `check` says of the source that it stands in: which findings explain this error, in which order to read
them, and how to mend them."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from mpslint.core.finding import ReadError, Safety
from mpslint.core.outside import read_text
from mpslint.core.versions import Version, VersionRange, format_version, in_words, parse_version
from mpslint.diagnose.catalogue import Explanation, TextRole
from mpslint.diagnose.diagnosis import Diagnosis, Symptom
from mpslint.diagnose.frames import UserLine
from mpslint.rule.loading import load_rules
from mpslint.session.session import FileResult
from mpslint.session.view import FileView, ShownFinding, view
from mpslint.source.document import Place
from mpslint.source.files import find_files
from mpslint.target.packages import newest_versions, releases_of
from mpslint.target.target import Target

_COMPUTED = {"split_batch": frozenset({"batch.train", "batch.accumulation"})}
"""The settings that a computed fix writes."""
MOST_FILES = 60
"""Files of the current folder that are checked where no traceback names one; in a folder of more, none is."""
MARKS = ".git pyproject.toml setup.py requirements.txt environment.yml environment.yaml uv.lock poetry.lock Pipfile".split()
"""One of these says that a folder is a project."""


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
    explaining = explaining_findings(diagnosis, file)
    others = len(file.findings) - len(explaining)
    return Source(file.path, file.problem, explaining, others, _fix_command(file, explaining), in_words(file.target))


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


@functools.lru_cache(maxsize=1)
def _settings_by_rule() -> dict[str, frozenset[str]]:
    """Return the canonical settings that each rule asks about or whose fix it writes."""
    found = {}
    for rule in load_rules():
        names = {name for condition in rule.when if condition.subject in ("setting", "product", "ratio") for name in condition.names[:1]}
        for recipe in rule.fixes:
            names |= set(recipe.set) | _COMPUTED.get(recipe.rewrite, frozenset())
        found[rule.id] = frozenset(names)
    return found


def files_here(diagnosis: Diagnosis) -> list[str]:
    """Return the files of the current folder that the user's own frames name, else all of a small project with something to explain."""
    named = [path for frame in diagnosis.frames if (path := _here(frame))]
    if named:
        return list(dict.fromkeys(named))
    is_explicable = any(symptom.explanation.rules or symptom.explanation.changes for symptom in diagnosis.causes)
    if diagnosis.frames or not is_explicable or not any(Path(mark).exists() for mark in MARKS):
        return []
    found = list(itertools.islice(find_files(["."]), MOST_FILES + 1))
    return [one.path for one in found] if len(found) <= MOST_FILES else []


def _here(frame: UserLine) -> str:
    """Return the path below the current folder of the file that a frame names, '' where it isn't that one.

    The log may come from another machine: the longest end of the path that is a file here, if the line of the traceback is in it.
    """
    parts = PurePosixPath(frame.file.replace("\\", "/")).parts
    for start in range(len(parts)):
        path = Path(*parts[start:])
        if not path.is_absolute() and ".." not in parts[start:] and path.suffix in (".py", ".pyw") and path.is_file():
            return str(path) if _reads(path, frame) else ""
    return ""


def _reads(path: Path, frame: UserLine) -> bool:
    """Return whether the line of a frame is in a file; it may have moved since."""
    try:
        return bool(frame.text) and frame.text in map(str.strip, read_text(path).splitlines())
    except ReadError:
        return False


def pinned(target: Target) -> dict[str, Version]:
    """Return the versions that the project or a person asks for, not those that are only the newest."""
    return {name: choice.version for name, choice in target.choices.items() if choice.is_asked}


def reading_order(symptoms: Sequence[tuple[int, int, Symptom]], last: int) -> tuple[Symptom, ...]:
    """Return symptoms, given with the offsets of their first and last places, in the order to read: causes by severity, those first that
    ended the run (behind `last`, where its traceback begins), then by place; echoes; noise."""

    def rank(item: tuple[int, int, Symptom]) -> tuple[int, int, bool, int]:
        offset, end, symptom = item
        group = 2 if symptom.message.role is TextRole.NOISE else 1 if symptom.follows else 0
        return group, symptom.message.severity.rank, end < last, offset

    return tuple(symptom for *_, symptom in sorted(symptoms, key=rank))


def explaining_findings(diagnosis: Diagnosis, file: FileView) -> tuple[ExplainingFinding, ...]:
    """Return the findings of a file that explain a diagnosis, and those on a line where the traceback leaves the user's code.

    A finding explains a symptom when it quotes its text, when the message names its rule, or when it is about a setting that the message
    says to change. Those of the first cause come first; of two of the same, the one in the traceback, then the worse one.
    """
    order = [symptom.message.id for symptom in diagnosis.causes] + [MEMORY_LOG]

    def is_traced(place: Place) -> bool:
        return any(
            (frame.cell, frame.line) == (place.cell, place.line) and (not frame.file or _same_file(frame.file, place.path or file.path))
            for frame in diagnosis.frames
        )

    def rank(item: ExplainingFinding) -> tuple[int, bool, int, int]:
        place = order.index(item.explains) if item.explains else len(order)
        return place, not item.in_traceback, item.finding.order[1], item.finding.range[0]

    found = (ExplainingFinding(one, _explained(diagnosis, one), is_traced(one.place)) for one in file.findings)
    return tuple(sorted((one for one in found if one.explains or one.in_traceback), key=rank))


_QUOTED = re.compile(r'"([^"]{20,})"')
"""What a finding quotes of an error: enough of it to be no other."""
MEMORY_LOG = "memory-log"
"""What a finding explains that a step-by-step memory log speaks of."""


def _same_file(frame: str, file: str) -> bool:
    return frame.replace("\\", "/").rsplit("/", 1)[-1] == file.replace("\\", "/").rsplit("/", 1)[-1] or frame.startswith(("<", "Cell"))


def _explained(diagnosis: Diagnosis, finding: ShownFinding) -> str:
    """Return the id of the message that a finding explains, or ''."""
    settings = _settings_by_rule().get(finding.rule, frozenset())

    def sets(told: Explanation) -> bool:
        return any(settings & set(change.settings) for change in told.changes)

    told = diagnosis.memory_explanation
    quoted = _QUOTED.findall(finding.message)
    named = [one.message.id for one in diagnosis.causes if any(text in one.quote for text in quoted)]
    named += [symptom.message.id for symptom in diagnosis.causes if finding.rule in symptom.explanation.rules]
    named += [symptom.message.id for symptom in diagnosis.causes if sets(symptom.explanation)]
    named += [MEMORY_LOG] if told is not None and (finding.rule in told.rules or sets(told)) else []
    return next(iter(named), "")

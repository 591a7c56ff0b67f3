"""What a log says beside its known messages: exceptions that nobody catalogued, the versions that it names or gives away, and those in
which torch has what a message says is missing."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator, Mapping, Sequence

from mpslint.core.grouped import grouped
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version, parse_version
from mpslint.diagnose.catalogue import OPERATOR, Explanation, Message
from mpslint.diagnose.compact import blank_escapes, unwrap
from mpslint.diagnose.diagnosis import UnknownError
from mpslint.diagnose.frames import frames_above, is_handling, last_traceback, library_frame, own_frame
from mpslint.diagnose.log import Log

_RAISED = re.compile(r"(?:Error|Exception|Interrupt|Exit)\b(?=:|\s*$)", re.MULTILINE)
_SAID = r"(?::\s.{1,400}|:?\s*$)"
_EXCEPTION = re.compile(rf"(?:[A-Za-z_][\w.]{{0,120}}\.)?[A-Z]\w{{0,80}}(?:Error|Exception|Interrupt|Exit){_SAID}")
_ANY_NAME = re.compile(rf"[A-Za-z_][\w.]{{0,200}}{_SAID}")
_TRACED = re.compile(
    # Python's own: behind the same beginning (`[rank0]: `) its lines are indented, and the one that isn't says what was raised.
    r"^(?P<lead>[^\n]{0,40}?)Traceback \(most recent call last\):[ \t\r]*\n(?:(?P=lead)[ \t]+\S[^\n]*\n|[ \t\r]*\n)*(?P<line>(?P=lead)\w)"
    r"|^(?P<name>[A-Za-z_][\w.]{0,200})[ \t]{2,}Traceback \(most recent call last\)",  # IPython's, which names it above and below
    re.MULTILINE,
)
_LEADING = re.compile(r"^(?:\[[^\]\n]{1,40}\]:?\s*|E\s{1,8}|[\d:.,TZ/-]{8,40}\s+){0,3}")
_MOST_LOOKED_AT, _MOST_SHOWN, _LONGEST, _ANNOUNCED = 2_000, 5, 300, 120
_EDGE = 200_000
_FAR = 40_000
"""How far below its head a traceback may end."""
SINCE, NEVER = "since", "never"
"""The ends of the verdicts of a message (`operator-falls-back-since`): a release has it, or none has."""
_NAMED = re.compile(r"(?:aten::)?(\w+)(?:\.(\w+))?")


def unknown_errors(log: Log, known: Sequence[tuple[int, int]]) -> tuple[UnknownError, ...]:
    """Return the last exceptions of the log whose lines touch none of the known ranges, which stand in order, each text once."""
    found: dict[str, int] = {}
    known_starts = [start for start, _ in known]
    traced = frozenset(_ends_of_tracebacks(log.text))
    named = {log.text.rfind("\n", 0, match.start()) + 1 for match in _RAISED.finditer(log.text)}
    for start in sorted(traced | named)[:_MOST_LOOKED_AT]:
        end = log.text.find("\n", start) % (len(log.text) + 1)
        match = (_ANY_NAME if start in traced else _EXCEPTION).match(_LEADING.sub("", unwrap(log.text[start:end]))[:_LONGEST])
        # An exception without words of its own announces the message on the lines below it.
        reach = end + (_ANNOUNCED if match and match.group().endswith(":") else 0)
        before = bisect.bisect_left(known_starts, reach)
        if match and not (before and start < known[before - 1][1]):
            found[match.group()] = start
    last = [*found.items()][-_MOST_SHOWN:]
    raised = (bisect.bisect_left(known_starts, start + _LONGEST) - bisect.bisect_left(known_starts, start) for start in traced)
    ended = last_traceback(log)
    ends = traced if known and (not any(raised) or is_handling(log, ended)) else frozenset()

    def told(text: str, start: int) -> UnknownError:
        is_end = start in ends and start > max(known[-1][1], ended)
        return UnknownError(text, log.place(start), own_frame(log, start), library_frame(log, start), is_end)

    return tuple(told(*one) for one in last)


def _ends_of_tracebacks(text: str) -> Iterator[int]:
    """Yield where the lines begin that say what was raised, whatever it is called."""
    for match in _TRACED.finditer(text):
        if match["line"] is not None:
            yield match.start("line")
        elif said := re.compile(rf"^{re.escape(match['name'])}(?=:|\s*$)", re.MULTILINE).search(text, match.end(), match.end() + _FAR):
            yield said.start()


def versions_named(text: str) -> Mapping[str, Version]:
    """Return the versions that the head and the tail of a log name; a package named with two versions is left out."""
    expression, names = _named()
    edges = text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    named = ((names[match[1].lower()], parse_version(match[2])) for match in expression.finditer(blank_escapes(edges)))
    found = grouped((name, version) for name, version in named if version is not None)
    return {name: versions[0] for name, versions in found.items() if len(set(versions)) == 1}


@functools.lru_cache(maxsize=1)
def _named() -> tuple[re.Pattern[str], Mapping[str, str]]:
    """Return the expression that finds `torch==2.9.1` and its kin, and the package that each spelling names."""
    table = platform_data("packages")
    names = {word: row["name"] for row in (*table["packages"], *table["systems"]) for word in row["called"]}
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    expression = (
        rf"(?<![\w./-])[`'\"]?({words})[`'\"]?(?: version)?(?: \([^)\n]{{1,20}}\))?"
        r"(?:==|\s?[:=]\s?|[ -])v?(\d{1,3}\.\d{1,3}(?:\.\d{1,4})*)"
    )
    return re.compile(expression, re.IGNORECASE), names


@record(frozen=True, slots=True)
class TracedLine:
    """A line at which tracebacks stand: the end of its file's path, its function, and its number by release."""

    path: str
    function: str
    numbers: Mapping[Version, int]


def versions_traced(log: Log, offset: int) -> dict[str, Version]:
    """Return the minor version of each package of which all known lines in the traceback that ends at `offset` are those of one."""
    fitting: dict[str, set[Version]] = {}
    for frame in frames_above(log, offset):
        for line in _lines():
            if frame.function == line.function and frame.path.endswith(f"/{line.path}"):
                found = {version[:2] for version, number in line.numbers.items() if number == frame.line}
                package = line.path.partition("/")[0]
                fitting[package] = fitting.get(package, found) & found
    return {package: next(iter(found)) for package, found in fitting.items() if len(found) == 1}


@functools.lru_cache(maxsize=1)
def _lines() -> tuple[TracedLine, ...]:
    found = []
    for place, row in platform_data("traced_lines").items():
        path, _, function = place.partition(":")
        numbers = ((parse_version(str(release)), number) for release, number in row["lines"].items())
        found.append(TracedLine(path, function, {version: number for version, number in numbers if version is not None}))
    return tuple(found)


def first_version(operator: str) -> str | None:
    """Return the first torch with an MPS kernel of an operator as PyTorch names it, '' where none has one, None where it is not known."""
    named = _NAMED.fullmatch(operator)
    if named is None:
        return None
    base, overload = named.groups()
    own = (overload or "").removesuffix("_out").removesuffix("out")
    names = {operator.removeprefix("aten::"), f"{base}.{own}" if own else base}
    known = platform_data("operators")
    if not names.isdisjoint(known["never"]):
        return ""
    spelled = (names, {f"{name}_" for name in names})  # of some operators the table has the form alone that writes in place
    found = (first for forms in spelled for first, group in known["first"].items() if not forms.isdisjoint(group))
    return next(found, None)


def first_with_name(module: str, attribute: str) -> str | None:
    """Return the first torch in which a name of a module works for MPS, '' where none has it, None where that is not known."""
    known = platform_data("names")
    entry = known.get(module, {}).get(attribute)
    return str(entry.get("ready", entry["since"])) if entry is not None else "" if module in known["complete"] else None


def explanation_of(
    message: Message, text: str, captures: Mapping[str, str], verdicts: Mapping[str, Explanation]
) -> tuple[Explanation, dict[str, str]]:
    """Return what is said of what a message says is missing, and what to fill in: its general words where no version is known.

    `text` is the message, squeezed.
    """
    found: dict[str, str] = {}
    if message.reader == OPERATOR:
        first = first_version(captures["operator"])
    else:
        module = next((one for one in platform_data("names") if "." in one and one in text), "")
        first = first_with_name(module, captures["attribute"])
        instead = platform_data("names")["instead"].get(captures["attribute"], "")
        found["instead"] = f"Write {instead}." if instead else "Remove the call."
    chosen = verdicts.get(f"{message.id}-{SINCE if first else NEVER}") if first is not None else None
    if chosen is None:
        return message.explanation, {}
    if not first:
        return chosen, found
    return chosen, {**found, "first": first}

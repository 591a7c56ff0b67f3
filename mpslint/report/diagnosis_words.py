"""The sentences that every form of a diagnosis shares."""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.core.versions import format_version
from mpslint.diagnose.catalogue import Change, TextRole, Value
from mpslint.diagnose.diagnosis import Diagnosis, Explained, Symptom
from mpslint.diagnose.matching import MOST_TIMES
from mpslint.diagnose.memory_log import MemoryLog
from mpslint.diagnose.sizes import format_bytes
from mpslint.report.text import counted
from mpslint.target.packages import older_than_read

_QUOTED = 400


def summary(diagnosis: Diagnosis) -> str:
    """Return the one line that says how much is explained."""
    if diagnosis.outcome is Explained.UNKNOWN:
        return "Not known."
    explanation = diagnosis.cause.explanation if diagnosis.cause else diagnosis.memory_explanation
    if explanation is None:
        return "Nothing that stopped or changed the run was recognised."
    if diagnosis.outcome is Explained.EXPLAINED:
        return f"Explained: {explanation.title}."
    return f"Recognised, but that does not settle it: {explanation.title}."


def search(diagnosis: Diagnosis) -> str:
    """Return the command that finds in code what the diagnosis speaks of, or ''."""
    causes = [symptom.explanation for symptom in diagnosis.causes]
    told = [*causes, *([diagnosis.memory_explanation] if diagnosis.memory_explanation is not None else [])]
    rules = list(dict.fromkeys(rule for explanation in told for rule in explanation.rules))
    return f"mpslint check FILE --select {','.join(rules)}" if rules else ""


def where(symptom: Symptom, source: str) -> str:
    """Return where the text stands, how often, the line of the user's code it came from, and who prints it so."""
    parts = [f"{source}, {symptom.place}"]
    if symptom.times > 1:
        at_least = "at least " if symptom.times >= MOST_TIMES else ""  # of long logs not every line is matched
        parts.append(f"{at_least}{symptom.times} times")
    if symptom.frame is not None:
        parts.append(f"from {symptom.frame}")
    if symptom.library is not None:
        parts.append(f"in {symptom.library}")
    if symptom.wording.terms:
        parts.append(f"printed by {symptom.wording}")
    return "; ".join(parts)


def course(log: MemoryLog) -> str:
    """Return a memory log in a line: how many points, and each curve from its first to its last value."""
    parts = [f"{log.points} points, steps {log.first.step:g} to {log.last.step:g}"]
    for name, first, last in (("live", log.first.live, log.last.live), ("driver", log.first.driver, log.last.driver)):
        if first is not None and last is not None:
            parts.append(f"{name} {_amount(first, log)} to {_amount(last, log)}")
    if not log.has_units:
        parts.append("the log names no unit, so only the shape of the curve was judged")
    if log.jump_step is not None:
        parts.append(f"the jump is at step {log.jump_step:g}")
    if log.dropped:
        parts.append(f"{log.dropped} points left out: no machine has that much memory")
    if not log.certain:
        parts.append("not certain")
    return "; ".join(parts)


def change_line(change: Change) -> str:
    """Return a change in words, and behind it the settings that it comes to."""
    settings = ", ".join(f"{name}: {_setting(value)}" for name, value in change.settings.items())
    return f"{change.say} [{settings}]" if settings else change.say


def rest(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what follows from something else, what is noise, and what nobody knows, a sentence each."""
    for symptom in diagnosis.symptoms:
        if symptom.follows:
            yield f"{symptom.place}: {symptom.message.id} follows from {symptom.follows}."
        elif symptom.message.role is TextRole.NOISE:
            yield f"{symptom.place}: noise ({symptom.message.id}): {symptom.explanation.means}"
    for error in diagnosis.unknown:
        frame = f", from {error.frame}" if error.frame else ""
        library = f"; it ends in {error.library}" if error.library else ""
        yield f"{error.place}{frame}: not known: {shortened(error.text)}{library}"
    for name, first in older_than_read(diagnosis.versions).items() if diagnosis.causes else ():
        version, read = format_version(diagnosis.versions[name]), format_version(first)
        yield f"{name} {version} is older than {read}, the oldest that this was read in: it is assumed to hold."
    if diagnosis.outcome is Explained.UNKNOWN:
        yield (
            f"Looked for in {counted(diagnosis.lines, 'line')}: a memory log, and {diagnosis.looked_for} messages of PyTorch on "
            "MPS, of the libraries that train with it and of frameworks it is mistaken for. None is there, and mpslint "
            "does not guess. If this text belongs there, `mpslint report FILE` prints an issue that is ready to file."
        )


def shortened(text: str) -> str:
    """Return a quoted text, cut when it is very long."""
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]} ..."


def _amount(value: float, log: MemoryLog) -> str:
    return format_bytes(round(value)) if log.has_units else f"{value:g}"


def _setting(value: Value) -> str:
    if value is None:
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)

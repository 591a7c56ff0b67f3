"""A diagnosis, and what check says of its source, as text for a terminal and as Markdown for an issue; and the sentences that every form
of it shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from mpslint.core.versions import format_version
from mpslint.diagnose.catalogue import Change, Explanation, TextRole, Value
from mpslint.diagnose.diagnosis import Diagnosis, Explained, Symptom
from mpslint.diagnose.joining import Source
from mpslint.diagnose.matching import MOST_TIMES
from mpslint.diagnose.memory_log import MemoryLog
from mpslint.diagnose.out_of_memory import evidence
from mpslint.diagnose.sizes import format_bytes
from mpslint.report.console import print_wrapped
from mpslint.report.finding import COLOURS, place_in, print_finding
from mpslint.report.terminal import Terminal
from mpslint.report.text import counted
from mpslint.target.packages import older_than_read

_QUOTED = 400


def print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print a diagnosis: the first cause in full, then what follows from it, then what is left unknown."""
    for symptom in diagnosis.causes:
        # Beside an error, a warning is worth a mention only.
        in_full = symptom.message.severity is diagnosis.causes[0].message.severity
        _print_symptom(symptom, diagnosis.source, console, in_full=in_full)
        console.print()
    if diagnosis.memory_log is not None and diagnosis.memory_explanation is not None:
        console.print(Text.assemble(("memory log", "bold"), "  ", diagnosis.memory_explanation.title))
        print_wrapped(f"{diagnosis.source}: {course(diagnosis.memory_log)}", console, indent=2, style="dim")
        _print_explanation(diagnosis.memory_explanation, console)
        console.print()
    lines = list(rest(diagnosis))
    for line in lines:
        print_wrapped(line, console)
    if lines:
        console.print()
    console.print(Text(summary(diagnosis), style="bold"))


def markdown(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as Markdown."""
    return "\n".join(_markdown_lines(diagnosis)).strip() + "\n"


def _print_symptom(symptom: Symptom, source: str, console: Console, *, in_full: bool) -> None:
    severity = symptom.message.severity.value
    title = symptom.explanation.title
    console.print(Text.assemble((severity, COLOURS[severity]), " ", (symptom.message.id, "bold"), "  ", title))
    print_wrapped(where(symptom, source), console, indent=2, style="dim")
    if not in_full:
        print_wrapped(symptom.explanation.means, console, indent=4)
        return
    print_wrapped(shortened(symptom.quote), console, indent=4)
    if symptom.memory is not None:
        _print_block("The numbers", [*evidence(symptom.memory)], console)
    _print_explanation(symptom.explanation, console)


def _print_explanation(explanation: Explanation, console: Console) -> None:
    _print_block("What it means", (explanation.means,), console)
    _print_block("What it does not mean", (explanation.does_not_mean,), console)
    changes = [f"{number}. {change_line(change)}" for number, change in enumerate(explanation.changes, start=1)]
    _print_block("What to change", changes, console)


def _print_block(title: str, lines: Sequence[str], console: Console) -> None:
    if any(lines):
        console.print(Text(f"  {title}", style="bold"))
        for line in lines:
            print_wrapped(line, console, indent=4)


def _markdown_lines(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"**{summary(diagnosis)}**"
    for symptom in diagnosis.causes:
        yield f"\n### {symptom.explanation.title}\n"
        yield f"`{symptom.message.id}` ({symptom.message.severity.value}), {where(symptom, diagnosis.source)}\n"
        yield f"```\n{shortened(symptom.quote)}\n```\n"
        if symptom.memory is not None:
            yield from (f"- {line}" for line in evidence(symptom.memory))
        yield from _markdown_explanation(symptom.explanation)
    if diagnosis.memory_log is not None and diagnosis.memory_explanation is not None:
        yield f"\n### {diagnosis.memory_explanation.title}\n\n{course(diagnosis.memory_log)}"
        yield from _markdown_explanation(diagnosis.memory_explanation)
    for line in rest(diagnosis):
        yield f"\n{line}"


def _markdown_explanation(explanation: Explanation) -> Iterator[str]:
    yield f"\n{explanation.means}"
    if explanation.does_not_mean:
        yield f"\n*It does not mean:* {explanation.does_not_mean}"
    if explanation.changes:
        yield "\n*What to change:*\n"
        yield from (f"{number}. {change_line(change)}" for number, change in enumerate(explanation.changes, start=1))


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


def print_sources(out: Terminal, sources: Sequence[Source]) -> None:
    """Print, for each source, the findings that explain the error, and the command that mends them."""
    for source in sources:
        out.line()
        if not source.explaining:
            out.line((f"In {source.path}: ", "bold"), _nothing(source))
            continue
        out.line((f"In {source.path}, what explains it", "bold"))
        out.line((f"For {source.target}", "dim"))
        out.line()
        for one in source.explaining:
            if one.in_traceback:
                out.line(("the traceback ends on this line:", "bold"))
            print_finding(out, source.path, one.finding)
            out.line()
        if source.fix_command:
            out.line(("Fix: ", "bold"), source.fix_command)
        if source.others:
            out.line(f"{counted(source.others, 'other finding')}: mpslint check {source.path}")


def _nothing(source: Source) -> str:
    if source.others:
        return f"none of {counted(source.others, 'finding')} explains this error (mpslint check {source.path})."
    return "mpslint check finds nothing that would explain it."


def sources_markdown(sources: Sequence[Source]) -> str:
    """Return the same as Markdown; nothing without sources."""
    lines: list[str] = []
    for source in sources:
        lines += ["", f"### In `{source.path}`", ""]
        lines += [
            f"- `{place_in(source.path, one.finding.place)}` {one.finding.severity} {one.finding.rule}: {one.finding.message}"
            + (" (the traceback ends on this line)" if one.in_traceback else "")
            for one in source.explaining
        ] or [_nothing(source)]
        if source.fix_command:
            lines += ["", f"Fix: `{source.fix_command}`"]
    return "\n".join(lines) + "\n" if lines else ""

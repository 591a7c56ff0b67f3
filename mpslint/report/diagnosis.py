"""A diagnosis as text for a terminal and as Markdown for an issue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from mpslint.diagnose.catalogue import Explanation
from mpslint.diagnose.diagnosis import Diagnosis, Symptom
from mpslint.diagnose.memory_words import evidence
from mpslint.report.console import print_wrapped
from mpslint.report.diagnosis_words import change_line, course, rest, shortened, summary, where
from mpslint.report.finding import COLOURS


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
        _print_block("The numbers", evidence(symptom.memory), console)
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

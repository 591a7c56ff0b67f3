"""The training plan as a table: every setting, its value, where it was written, and for which versions a default holds; and the time
of a run on each Mac."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mpslint.core.inert import inert
from mpslint.engine import Checked
from mpslint.estimate.forecast import Forecast, forecast_cells, forecast_notes, made_of
from mpslint.facts.values import Known, OneOf, Unknown, Value
from mpslint.program.machine import MOST_STEPS
from mpslint.session.session import FileResult
from mpslint.session.view import target_line
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting, load_vocabulary
from mpslint.source.document import Document, Kind

ALONE = "What is below comes from the file by itself."
LIMIT = (
    f"it takes more than {MOST_STEPS:,} steps, or nests too deeply. Calls beyond that are not followed, and what they give is not known."
)
MOST_LISTED = 8
"""Files of a run that are named."""


def print_plans(out: Console, results: Sequence[FileResult], with_defaults: bool) -> None:
    """Print one table for each run of each file."""
    if results and not any(one.checked or one.problem for one in results):  # no file of them names a framework
        out.print(f"{results[0].path if len(results) == 1 else f'{len(results)} files'}: no training run that mpslint can read.")
    for result in results:
        if result.checked is None:
            continue
        document, target = result.checked.document, result.checked.target
        plans = [(one, plan) for one in result.checked.evidence for plan in one.plans]
        runs = [(read, plan) for read, plan in plans if plan.kind != "file"] or plans
        out.print(Text(f"For {target_line(target, document)}", style="dim"))
        if not runs:
            out.print(f"{document.path}: no training run that mpslint can read.")
        if result.left_out:
            out.print(Text(f"Not followed, as the project takes too long: the run of {_listed(result.left_out)}. {ALONE}"))
        for one in result.checked.evidence:
            if one.facts.is_exhausted:
                out.print(Text(f"Only part of {one.document.path} was followed: {LIMIT}"))
            if one.is_cut:
                out.print(Text(f"{one.document.path} imports more than mpslint reads; what is beyond that is not known."))
        said: Evidence | None = None
        for read, plan in runs:
            if read.document.parts and read is not said:
                out.print(Text(f"\n{_started(read)}"))
                said = read
            where = f" at {_place(read.document, plan.span.start)}" if plan.span is not None else ""
            out.print(Text(f"\n{plan.title} ({plan.kind}){where}", style="bold"))
            out.print(_table(read.document, plan, with_defaults))


def _started(run: Evidence) -> str:
    """Return what starts a run, which configuration files it reads and what it imports of its own project."""
    document, started = run.document, run.document.started
    others = [part.document for part in document.parts if part is not started and part.document.kind is not Kind.SHELL]
    imports = [other.path for other in others if other.kind in (Kind.PYTHON, Kind.NOTEBOOK)]
    reads = [other.path for other in others if other.path not in imports]
    words = [document.path]
    if run.started_at is not None:
        words.append(f"started by {_place(document, run.started_at.start)}")
    words += [f"{verb} {_listed(paths)}" for verb, paths in (("reads", reads), ("imports", imports)) if paths]
    return ", ".join(words)


def _listed(paths: Sequence[str]) -> str:
    """Return the first few of some paths, and how many more there are."""
    more = f" and {len(paths) - MOST_LISTED} more" if len(paths) > MOST_LISTED else ""
    return ", ".join(paths[:MOST_LISTED]) + more


def written_settings(checked: Checked) -> list[tuple[str, str, str, str]]:
    """Return a row for each setting that the code writes: the run, the setting, its value and its place. No line of the source is in it."""
    plans = [plan for one in checked.evidence for plan in one.plans]
    rows = []
    for plan in [plan for plan in plans if plan.kind != "file"] or plans:
        for name in load_vocabulary():
            setting = plan.get(name)
            if setting is not None and setting.is_written:
                where = _where(checked.document, setting).replace(checked.document.path, Path(checked.document.path).name)
                rows.append((plan.title, name, show_value(setting.value), where))
    return rows


def _table(document: Document, plan: TrainingPlan, with_defaults: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("setting", "value", "written as", "where"):
        table.add_column(column, overflow="fold", no_wrap=column == "setting")
    for name in load_vocabulary():
        setting = plan.get(name)
        if setting is None or (not setting.is_written and not with_defaults):
            continue
        style = "" if setting.is_written else "dim"
        table.add_row(name, show_value(setting.value), setting.spelling, _where(document, setting), style=style)
    return table


def show_value(value: Value) -> str:
    """Return a value for people; one that a command line may change has a tilde."""
    if isinstance(value, Known):
        return f"{value.value}{' ~' if value.weak else ''}"
    if isinstance(value, OneOf):
        return " or ".join(show_value(one) for one in value.values)
    return f"not known ({value.reason})" if isinstance(value, Unknown) and value.reason else "not known"


def _where(document: Document, setting: Setting) -> str:
    if setting.default_versions is not None:
        versions = str(setting.default_versions)
        return f"default of {versions}" if versions else "default"
    place = setting.span or setting.origin
    if place is None:
        return ""
    shown = _place(document, place.start)
    if setting.origin is not None and setting.span is not None and setting.origin not in setting.span:
        shown += f", from {_place(document, setting.origin.start, False)}"
    return shown


def _place(document: Document, offset: int, with_path: bool = True) -> str:
    place = document.place(offset)
    cell = f"cell {place.cell}:" if place.cell is not None else "" if with_path else "line "
    return f"{inert(place.path or document.path) + ':' if with_path or place.path else ''}{cell}{place.line}"


def print_forecast(forecast: Forecast, console: Console) -> None:
    """Print what a step is made of, the table, why ranges are wide, and what to change."""
    console.print(_line("a step", made_of(forecast)))
    head, *rows = forecast_cells(forecast)
    table = Table(*head, show_edge=False, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    for line in forecast_notes(forecast):
        console.print(_line("note", line), style="dim")
    for number, line in enumerate(forecast.advice):
        console.print(_line("to change" if not number else "", line))


def _line(name: str, text: str) -> Text:
    return Text(f"  {name:13} ", style="dim").append(text)

"""The time of a run on each Mac, as a table for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mpslint.estimate.forecast import Forecast
from mpslint.estimate.words import forecast_cells, forecast_notes, made_of


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

"""Write the manual page from the help of the commands: `python docs/man.py mpslint.1`. A wheel installs it, so `man mpslint` shows it."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))

from mpslint import __version__
from mpslint.cli import group
from mpslint.core.links import DOCUMENTATION


def manual() -> str:
    """Return the page as roff."""
    lines = [f'.TH MPSLINT 1 "" "mpslint {__version__}" "User Commands"', ".SH NAME"]
    with click.Context(group, info_name="mpslint") as context:
        summary, *rest = _paragraphs(group.help or "")
        lines += [f"mpslint \\- {_text(summary)}", ".SH SYNOPSIS", "\\fBmpslint\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIPATH\\fR]..."]
        lines += [".SH DESCRIPTION", *_roff(rest), ".SH OPTIONS", *_options(group, context), ".SH COMMANDS"]
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            with click.Context(command, info_name=name, parent=context) as inner:
                usage = " ".join(_text(word) for word in command.collect_usage_pieces(inner))
                lines += [f'.SS "mpslint {name} {usage}"', *_roff(_paragraphs(command.help or "")), *_options(command, inner)]
    lines += [".SH SEE ALSO", DOCUMENTATION]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text; those that begin with a `\\b` line keep their lines."""
    return [paragraph for paragraph in re.split(r"\n[ \t]*\n", inspect.cleandoc(text)) if paragraph.strip()]


def _roff(paragraphs: list[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield ".PP"
        first, *rest = paragraph.splitlines()
        if first == "\b":
            yield from [".nf", *map(_text, rest), ".fi"]
        else:
            yield _text(" ".join(paragraph.split()))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield from [".TP", f"\\fB{_text(record[0])}\\fR", _text(" ".join(record[1].split())) or "\\&"]


def _text(text: str) -> str:
    """Return text as roff shows it: no line begins a request, and hyphens stay those that are typed."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def main() -> int:
    """Write the page and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.parse_args().output.write_text(manual(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What is printed beside reports: lines about files, with their names made inert, and streams that give GitHub Actions no commands."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO

import click

from mpslint.core.finding import ReadError
from mpslint.core.inert import inert, is_in_actions, without_commands


def say(text: str) -> None:
    """Print one line on standard output, also where a name in it holds a line end."""
    click.echo(inert(text))


def complain(text: str) -> None:
    """Print one line on standard error; where nothing can be printed, the exit code says it."""
    with contextlib.suppress(OSError):
        click.echo(inert(text), err=True)


def open_streams() -> None:
    """Open the standard streams that whoever started mpslint closed: the next file that is opened would take their place.

    Raises ReadError where standard output is one of them.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w")
        raise ReadError("standard output is closed; send it to a file or to /dev/null")


def standard_input() -> bytes:
    """Return what comes from standard input. Raises ReadError where it is closed."""
    if sys.stdin is None:
        raise ReadError("-: standard input is closed")
    return sys.stdin.buffer.read()


class WithoutCommands:
    """A text stream whose lines are none of the commands of GitHub Actions; what is written to its `buffer` goes out as it is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._begun = stream, ""

    def write(self, text: str) -> int:
        """Write the whole lines, and keep the rest until its line is whole: a command may come in pieces."""
        whole, end, rest = (self._begun + text).rpartition("\n")
        self._begun = rest
        if end:
            self._stream.write(without_commands(whole) + end)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what is begun too."""
        begun, self._begun = self._begun, ""
        if begun:
            self._stream.write(without_commands(begun))
        self._stream.flush()

    @property
    def buffer(self) -> Any:
        """The bytes below, after what was written as text."""
        self.flush()
        return self._stream.buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_streams() -> None:
    """Inside GitHub Actions, let no line of text become a command; the reports that are commands go past this."""
    if is_in_actions():
        sys.stdout, sys.stderr = WithoutCommands(sys.stdout), WithoutCommands(sys.stderr)


@contextlib.contextmanager
def commands_stopped() -> Iterator[BinaryIO]:
    """Yield standard output for bytes that must not be changed, such as a patch; GitHub Actions takes none of them for a command meanwhile.

    Its own lines stand before and after, where `git apply` and `patch` skip them; a file that output was sent to gets none.
    """
    out: BinaryIO = sys.stdout.buffer
    if not is_in_actions() or _is_file(out):
        yield out
        return
    token = uuid.uuid4().hex
    out.write(f"::stop-commands::{token}\n".encode())
    try:
        yield out
    finally:
        out.write(f"::{token}::\n".encode())
        out.flush()


def _is_file(stream: BinaryIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False

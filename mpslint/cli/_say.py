"""What is printed beside reports: lines about files, with their names made inert, and streams that give GitHub Actions no commands."""

from __future__ import annotations

import contextlib
import io
import os
import select
import stat
import sys
import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO

import click

from mpslint.core.finding import ReadError
from mpslint.core.inert import inert, is_in_actions, without_commands
from mpslint.core.notices import taken

_COMPLAINTS: list[str] = []
EXIT_CLEAN, EXIT_USAGE, EXIT_UNREADABLE = 0, 2, 3


def say(text: str) -> None:
    """Print one line on standard output, also where a name in it holds a line end."""
    click.echo(inert(text))


def complain(text: str) -> None:
    """Print one line on standard error; where nothing can be printed, the exit code says it."""
    _COMPLAINTS.append(text)
    click.echo(inert(text), err=True)


def complain_of_passed_over() -> None:
    """Print a line for whatever was passed over on the way, unless another one is about it."""
    passed = {about: line for about, line in taken().items() if line}
    said = [text.removeprefix("mpslint: ") for text in _COMPLAINTS]
    for about, line in passed.items():
        others = [*said, *(other for other in passed.values() if other != line)]
        if about not in said and not any(other.startswith((f"{about}:", f"{line.partition(': ')[0]}:")) for other in others):
            complain(f"mpslint: {line}")
    _COMPLAINTS.clear()


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


class _Output(io.FileIO):
    """A standard stream that nobody may be reading, on a disk that may be full: it then takes what is left, and keeps the error.

    So no command has an error of it to handle, and Python, which writes what is buffered as it ends, has none to print.
    """

    lost: OSError | None = None

    def write(self, data: Any) -> int:
        """Write some bytes, or nothing from the first error on; return how many were taken."""
        while self.lost is None:
            try:
                done: int | None = super().write(data)
            except OSError as error:
                self.lost = error
            else:
                if done is not None:
                    return done
                select.select([], [self], [])  # a pipe that its other end made one that doesn't wait
        return memoryview(data).nbytes


def keep_errors(stream: TextIO) -> TextIO:
    """Return a standard stream, with its errors kept until `end_if_lost`; where a letter can't be shown, its number is."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):  # a console of Windows
        return stream
    below = io.BufferedWriter(_Output(raw.fileno(), "wb", closefd=False))
    return io.TextIOWrapper(below, stream.encoding, stream.errors, line_buffering=stream.line_buffering or stream.write_through)


def end_if_lost() -> None:
    """Write what is buffered, and end where standard output took not all of it: in one line, or silently where its reader went away.

    Raises SystemExit.
    """
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Output) and raw.lost is not None:
        if not isinstance(raw.lost, BrokenPipeError):
            complain(f"mpslint: standard output cannot be written: {raw.lost.strerror}")
        sys.exit(EXIT_UNREADABLE)


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

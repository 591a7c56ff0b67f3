"""Tries, from inside, what a confinement must not allow, and what must work; standard library only.

`python -I -S probe.py FOLDER PORT PROCESS` prints the names of what it could do, one a line.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

NETWORK, WRITES, READS, PROCESSES = "network", "writes", "reads", "processes"
ALL = (NETWORK, WRITES, READS, PROCESSES)
IN_WORDS = {
    NETWORK: "use the network",
    WRITES: "change files outside its copy",
    READS: "read your files",
    PROCESSES: "signal and inspect other processes",
}
WORKS = "works"
SECRET_TEXT = "a secret"


class Forbidden:
    """What the probe must not reach: files, a port that listens, and a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = socket.socket()
        self.process = subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)

    def __enter__(self) -> Forbidden:
        self.folder.mkdir(parents=True)
        for name in ("secret", "kept", "mode"):
            (self.folder / name).write_text(SECRET_TEXT)
        (self.folder / "mode").chmod(0o640)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(4)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.socket.close()
        self.process.kill()
        self.process.communicate()

    @property
    def arguments(self) -> list[str]:
        """The arguments of the probe."""
        return [str(self.folder), str(self.socket.getsockname()[1]), str(self.process.pid)]

    def gaps(self, printed: str) -> tuple[str, ...]:
        """Return what the probe could do, by what it says and by what has changed; all, where it did not work."""
        said = set(printed.split())
        if WORKS not in said:
            return ALL
        if sorted(os.listdir(self.folder)) != ["kept", "mode", "secret"] or (self.folder / "mode").stat().st_mode & 0o777 != 0o640:
            said.add(WRITES)
        if self.process.poll() is not None:
            said.add(PROCESSES)
        return tuple(name for name in ALL if name in said)


def main(folder: str, port: int, process: int) -> Iterator[str]:
    """Yield what can be done."""
    for name, attempts in (
        (NETWORK, (lambda: _connect(port), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port)))),
        (READS, (lambda: _read(f"{folder}/secret"), lambda: os.listdir(folder), lambda: _read(f"/proc/{process}/environ"))),
        (WRITES, (lambda: os.remove(f"{folder}/kept"), lambda: _write(f"{folder}/new"), lambda: os.chmod(f"{folder}/mode", 0o777))),
        (PROCESSES, (lambda: _kill(process),)),
    ):
        for attempt in attempts:
            with contextlib.suppress(OSError):
                attempt()
                if name in (NETWORK, READS):  # whether a file was changed or a process killed is looked at from outside
                    yield name
    with contextlib.suppress(OSError):
        _write("own-file")
        os.remove("own-file")
        yield WORKS


def _connect(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), timeout=2).close()


def _read(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(1)


def _kill(process: int) -> None:
    if process not in (os.getpid(), os.getppid(), 1):  # in a namespace of its own the number is another process
        os.kill(process, signal.SIGKILL)


def _write(path: str) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("x")


if __name__ == "__main__":
    print("\n".join(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))

"""Which exceptions of foreign code say nothing about it: what it needs isn't on this machine, or is refused. Each becomes one line."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator
from pathlib import Path

from mpslint.core.finding import ReadError
from mpslint.verify.child.sandbox import Refused
from mpslint.verify.job import Lack, LackError

OFFLINE = ("OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectionError", "DatasetNotFoundError")
PATHLIKE = re.compile(r"[^\s'\"]*[\w\])][/.][^\s'\"]*\w")
OUTSIDE_OF_PACKAGE = re.compile(r"^attempted relative import")


def refusal(error: BaseException, line: str, sandbox: str, guessed: str = "", *, has_trained: bool) -> ReadError | None:
    """Return why the code could not be run, at a line of it; None where the exception is the code's own.

    `guessed` names a data set that was drawn with columns which are only guessed.
    """
    at = f" ({line})" if line else ""
    if isinstance(error, Refused):
        return ReadError(str(error))
    if isinstance(error, ImportError):
        return _import(error, at)
    if isinstance(error, (FileNotFoundError, PermissionError)) and (target := _led_out(error, sandbox)):
        return ReadError(f"the code reads {target}, where a link of its folder leads; it may not{at}")
    if isinstance(error, FileNotFoundError) and not has_trained:
        name = next(_named(error), "")
        shown = repr(_inside(name, sandbox)) if name else f"a file: {error}"
        return LackError(f"the code reads {shown}, which isn't on this machine{at}", Lack("file", _inside(name, sandbox)))
    if _shares_memory(error):
        return ReadError(f"the code shares memory with processes that it starts, which verify does not allow{at}")
    if type(error).__name__ in OFFLINE or "offline" in str(error).lower():
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        return ReadError(f"the code needs something from the network, which verify does not use: {said}")
    if guessed and not has_trained:
        said = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        stops = f"with drawn rows in place of the data set {guessed!r}, which isn't on this machine, the code stops: {said}{at}"
        return ReadError(f"{stops}. Run verify once the data set is in the cache of Hugging Face")
    return None


def _shares_memory(error: BaseException) -> bool:
    """Return whether the confinement withheld what processes share: memory of tensors, or the locks of queues and pools."""
    if "unable to open shared memory object" in str(error):
        return True
    called = (Path(frame.filename).parent.name for frame in traceback.extract_tb(error.__traceback__))
    return isinstance(error, PermissionError) and "multiprocessing" in called


def _import(error: ImportError, at: str) -> ReadError:
    """Return what an import lacks: a package, a module of the project or of a library, or a name in one."""
    if OUTSIDE_OF_PACKAGE.match(str(error)):
        said = f"the code is part of a package and can't be run as a script: {error}{at}"
        return LackError(said, Lack("package"))
    if isinstance(error, ModuleNotFoundError) and error.name:
        said = f"the code imports {error.name}, which is not installed here{at}: install it where mpslint is installed"
        return LackError(said, Lack("module", error.name))
    return ReadError(f"an import fails with the versions installed here: {error}{at}")


def _led_out(error: OSError, sandbox: str) -> str:
    """Return where a link of the copy leads that an exception is about; empty where it is about none that leads out."""
    copy = os.path.join(os.path.realpath(sandbox), "")
    named = ((os.path.abspath(name), os.path.realpath(name)) for name in _named(error) if sandbox)
    return next((real for path, real in named if path.startswith(copy) and not real.startswith(copy)), "")


def _named(error: OSError) -> Iterator[str]:
    """Yield the path that an exception is about: its own, else one in its text."""
    if isinstance(error.filename, (str, bytes)):
        yield os.fsdecode(error.filename)
    yield from PATHLIKE.findall(str(error))


def _inside(name: str, sandbox: str) -> str:
    """Return a path that leads into the copy as the code's own user knows it, from where the code was started."""
    if sandbox and os.path.isabs(name) and os.path.realpath(name).startswith(os.path.realpath(sandbox) + os.sep):
        return os.path.relpath(name)
    return name

"""The project that a diagnosis stands in: the user's own files in its traceback, or the few files of the current folder."""

from __future__ import annotations

import itertools
from pathlib import Path, PurePosixPath

from mpslint.core.finding import ReadError
from mpslint.core.outside import read_text
from mpslint.core.versions import Version
from mpslint.diagnose.diagnosis import Diagnosis
from mpslint.diagnose.frames import UserLine
from mpslint.source.files import find_files
from mpslint.target.target import Target

MOST_FILES = 60
"""Files of the current folder that are checked where no traceback names one; in a folder of more, none is."""
MARKS = ".git pyproject.toml setup.py requirements.txt environment.yml environment.yaml uv.lock poetry.lock Pipfile".split()
"""One of these says that a folder is a project."""


def files_here(diagnosis: Diagnosis) -> list[str]:
    """Return the files of the current folder that the user's own frames name, else all of a small project with something to explain."""
    named = [path for frame in diagnosis.frames if (path := _here(frame))]
    if named:
        return list(dict.fromkeys(named))
    is_explicable = any(symptom.explanation.rules or symptom.explanation.changes for symptom in diagnosis.causes)
    if diagnosis.frames or not is_explicable or not any(Path(mark).exists() for mark in MARKS):
        return []
    found = list(itertools.islice(find_files(["."]), MOST_FILES + 1))
    return [one.path for one in found] if len(found) <= MOST_FILES else []


def _here(frame: UserLine) -> str:
    """Return the path below the current folder of the file that a frame names, '' where it isn't that one.

    The log may come from another machine: the longest end of the path that is a file here, if the line of the traceback is in it.
    """
    parts = PurePosixPath(frame.file.replace("\\", "/")).parts
    for start in range(len(parts)):
        path = Path(*parts[start:])
        if not path.is_absolute() and ".." not in parts[start:] and path.suffix in (".py", ".pyw") and path.is_file():
            return str(path) if _reads(path, frame) else ""
    return ""


def _reads(path: Path, frame: UserLine) -> bool:
    """Return whether the line of a frame is in a file; it may have moved since."""
    try:
        return bool(frame.text) and frame.text in map(str.strip, read_text(path).splitlines())
    except ReadError:
        return False


def pinned(target: Target) -> dict[str, Version]:
    """Return the versions that the project or a person asks for, not those that are only the newest."""
    return {name: choice.version for name, choice in target.choices.items() if choice.is_asked}

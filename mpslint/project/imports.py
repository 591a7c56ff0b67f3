"""What a Python text imports, by its text alone: enough to know which files of the project a run may read; and the sources around
some files: where those lie that import them, or start them."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence

from mpslint.config.groups import DEBUGGER_FILE
from mpslint.core.folders import absolute, folder_of, names_in, remembered
from mpslint.core.outside import is_file
from mpslint.core.record import record
from mpslint.project.launch import is_launcher
from mpslint.project.resolve import folders_above, project_folder
from mpslint.source.files import SKIPPED_FOLDERS
from mpslint.source.reader import kind_of

_IMPORT = re.compile(
    r"(?:^|[:;])[ \t]*(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|(?:[^\n#;\\]|\\\r?\n)+)"
    r"|import[ \t]+((?:[^\n#;\\]|\\\r?\n)+))",
    re.MULTILINE,
)
_SEARCH_PATH = re.compile(r"\bsys\.path\.(?:append|insert)\(([^\n]*)")
_RUN = re.compile(r"^[ \t]*%run[ \t]+(?:-\w+[ \t]+)*[\"']?([\w./-]+\.py)\b", re.MULTILINE)
_EXECUTED = re.compile(r"\bexec\([^\n]*?[\"']([\w./-]+\.py)[\"']")
_CONFIG_FILE = re.compile(r"config_file\((?:[^()\"']*[\"'][^\"'\n]*[\"']\s*,)?[^()\"']*[\"']([\w./-]+\.py)(?::\w+)?[\"']")
_FROM_FILE = re.compile(r"\bfromfile\(\s*[\"']([\w./-]+\.py)[\"']")
_BASES = re.compile(r"^_base_\s*=\s*(\[[^\]]*\]|[\"'][^\"'\n]*[\"'])", re.MULTILINE)
_TEXT = re.compile(r"""["']([^"'\n]{1,200})["']""")
_COMMENT = re.compile(r"#[^\n]*")
_SCRIPT = re.compile(r"(\w+)\.py\b")
_MODULE = re.compile(r"(?:-m|--module|run_module\()[\s\"',=]+([\w.]+)")
_WORD = re.compile(r"\w+")
_MAIN = re.compile(r"^if\s+\(?\s*__name__\s*==|^if\s+\(?\s*[\"']__main__[\"']\s*==", re.MULTILINE)
MOST_IMPORTS = 400
"""Statements of one file that are looked at."""
ENDINGS = (".py", ".ipynb", ".sh")
DEBUGGER = os.path.join(".vscode", DEBUGGER_FILE)
MOST_NOTEBOOKS = 20
"""Notebooks of a folder that are looked into; a folder with more of them is a collection, in which few start scripts."""
MOST_NAMES = 20_000
"""Names in the folders of a project that are looked at; importers in what lies beyond are not known."""


@record(frozen=True)
class Imported:
    """One import: the module as it is written, how many dots stand before it, and the names taken from it."""

    module: str
    level: int
    names: tuple[str, ...] = ()
    """What `from module import ...` names; empty for `import module`."""


def imports_of(text: str) -> Iterator[Imported]:
    """Yield the imports of a Python text, wherever they stand; one in a string is no harm, as nothing is found for it."""
    for number, match in enumerate(_IMPORT.finditer(text)):
        if number >= MOST_IMPORTS:
            return
        dots, module, names, plain = match.groups()
        if plain is not None:
            for part in plain.split(","):
                name = part.split()[0] if part.split() else ""
                if name.replace(".", "").isidentifier():
                    yield Imported(name, 0)
            continue
        words = _COMMENT.sub("", names).strip("() \t\r\n").replace("\\", " ").split(",")
        yield Imported(module, len(dots), tuple(word.split()[0] for word in words if word.split()))


def modules_named_in(text: str) -> frozenset[str]:
    """Return the words by which a Python text names modules and scripts: what it imports, files that end in .py, and what follows -m."""
    imports = " ".join(match.group() for match in itertools.islice(_IMPORT.finditer(text), MOST_IMPORTS))
    return frozenset((*_WORD.findall(" ".join((imports, *_MODULE.findall(text)))), *_SCRIPT.findall(text)))


def search_paths_of(text: str) -> tuple[str, ...]:
    """Return the texts that stand in `sys.path.append(...)` and `sys.path.insert(...)`."""
    if "sys.path" not in text:
        return ()
    return tuple(path for call in _SEARCH_PATH.findall(text) for path in _TEXT.findall(call))


def run_files_of(text: str) -> tuple[str, ...]:
    """Return the scripts that `%run` lines of a notebook name, those whose text is executed (`exec(open("x.py").read())`), and those
    that make a configuration (`DEFINE_config_file("config", "configs/small.py")`, `fromfile("configs/small.py")`, `_base_ = "base.py"`).
    """
    executed = _EXECUTED.findall(text) if "exec(" in text else []
    configs = _CONFIG_FILE.findall(text) if "config_file(" in text else []
    configs += _FROM_FILE.findall(text) if "fromfile(" in text else []
    bases = [path for one in _BASES.findall(text) for path in _TEXT.findall(one)] if "_base_" in text else []
    return (*(_RUN.findall(text) if "%run" in text else ()), *executed, *configs, *bases)


def has_main_guard(text: str) -> bool:
    """Return whether a text asks whether it is the script that was started."""
    return "__main__" in text and _MAIN.search(text) is not None


def sources_around(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the scripts, notebooks and shell scripts of the projects that some files (by their absolute paths) lie in."""
    tops = dict.fromkeys(project_folder(os.path.normpath(absolute(folder_of(path)))) for path in paths)
    return tuple(dict.fromkeys(source for top in tops for source in _sources_in(top)))


def launchers_of(paths: Sequence[str]) -> tuple[str, ...]:
    """Return what may start some files: shell scripts, Makefiles and the like beside them, and in the folders of the project above them.

    Of notebooks those of a folder with few: where there are many, they are a collection, in which few start scripts.
    """
    folders = dict.fromkeys(os.path.dirname(path) for path in paths)
    above = dict.fromkeys(one for folder in folders for one in folders_above(folder, project_folder(folder)))
    return tuple(os.path.join(folder, name) for folder in above for name in _launchers_in(folder))


@remembered(maxsize=1024)
def notebooks_in(folder: str) -> tuple[str, ...]:
    """Return the names of the notebooks in a folder, none where there are many."""
    names = sorted(name for name in names_in(folder) if name.endswith(".ipynb"))
    return tuple(names) if len(names) <= MOST_NOTEBOOKS else ()


def _launchers_in(folder: str) -> Iterator[str]:
    for name in sorted(names_in(folder)):
        if not name.endswith((".json", ".yaml", ".yml")) and is_launcher(name, kind_of(name)):
            yield name
    yield from notebooks_in(folder)
    if os.path.dirname(DEBUGGER) in names_in(folder) and is_file(os.path.join(folder, DEBUGGER)):
        yield DEBUGGER


@remembered(maxsize=64)
def _sources_in(top: str) -> tuple[str, ...]:
    return tuple(_walked(top))


def _walked(top: str) -> Iterator[str]:
    """Yield the sources below a folder, those nearest to it first; links are not followed."""
    left = MOST_NAMES
    waiting = [top]
    for folder in waiting:
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        left -= len(found)
        if left < 0:
            return
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                if not (entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS or entry.name.endswith(".egg-info")):
                    waiting.append(entry.path)
            elif entry.name.endswith(ENDINGS) and not entry.is_symlink() and (entry.is_file() or is_file(entry.path)):
                yield entry.path

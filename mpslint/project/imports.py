"""What a Python text imports, by its text alone: enough to know which files of the project a run may read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpslint.core.record import record

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
_MAIN = re.compile(r"^if\s+\(?\s*__name__\s*==|^if\s+\(?\s*[\"']__main__[\"']\s*==", re.MULTILINE)
MOST_IMPORTS = 400
"""Statements of one file that are looked at."""


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

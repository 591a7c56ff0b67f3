"""Where the knowledge lies (`rules/`), and how one file of it is read."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mpslint.finding import RuleError

_PACKAGE = Path(__file__).parent


@functools.lru_cache(maxsize=1)
def rules_folder() -> Path:
    """Return the folder of the rules: the checkout's own when mpslint runs from one, else the copy in the wheel."""
    checkout = _PACKAGE.parent / "rules"
    if (checkout / "platform").is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return checkout
    return _PACKAGE / "rules"


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds. Raises RuleError naming the file and the line when it is not YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise RuleError(f"{path}{line}: not valid YAML: {getattr(error, 'problem', None) or error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}: cannot be read: {error}") from None


def knowledge_files(folder: str) -> Iterator[Path]:
    """Yield the YAML files of one folder below `rules/`, by name (`""` is `rules/` itself)."""
    yield from sorted((rules_folder() / folder).glob("*.yaml"))

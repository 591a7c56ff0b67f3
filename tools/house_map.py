"""Print the map of the house for docs/contributing.md: each folder of mpslint/ with its purpose, from the bottom layer to the top.

    python tools/house_map.py

The order and the purposes come from the code: from `LAYERS` in tests/test_house.py, and from the docstring of each folder.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def house_map() -> str:
    """Return the map as text, one line a folder."""
    sys.path.insert(0, str(ROOT))
    from tests.test_house import LAYERS

    names = [name for layer in reversed(LAYERS) for name in layer.split("+")]
    width = max(map(len, names)) + 1
    return "\n".join(f"{name:{width}}{_purpose(name)}".rstrip() for name in names if not name.startswith("__"))


def _purpose(name: str) -> str:
    """Return the first sentence of the docstring of a folder or module of the package."""
    folder = ROOT / "mpslint" / name
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    if not path.is_file():
        return ""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n\n")[0].replace("\n", " ")


if __name__ == "__main__":
    print(house_map())

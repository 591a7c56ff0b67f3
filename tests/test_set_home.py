"""Moving the project to another address rewrites every place that repeats it."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

from mpslint.core.links import DOCUMENTATION, HOME

ROOT = Path(__file__).parents[1]
SLUG = HOME.removeprefix("https://github.com/")


@pytest.fixture
def copied(tmp_path: Path) -> list[str]:
    """The names of files that hold an address, copied."""
    names = [
        "README.md",
        "pyproject.toml",
        "mpslint/core/links.py",
        "docs/ci.md",
        "docs/mkdocs.yml",
        "editors/vscode/package.json",
        "docs/check.svg",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return names


def test_no_old_address_is_left(tmp_path: Path, copied: list[str]) -> None:
    """And the source, the manifests and the examples name the new one; other links and the package's name stay."""
    spec = importlib.util.spec_from_file_location("set_home", ROOT / "tools" / "set_home.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    changed = tool.move(tmp_path, copied, "someone/mac-lint", "https://docs.example/mac-lint")
    texts = {name: (tmp_path / name).read_text() for name in copied}

    assert changed == copied[:-1]
    assert [name for name, text in texts.items() if DOCUMENTATION in text or re.search(rf"\b{SLUG}\b", text)] == []
    assert 'HOME = "https://github.com/someone/mac-lint"\nDOCUMENTATION = "https://docs.example/mac-lint"' in texts["mpslint/core/links.py"]
    assert "uses: someone/mac-lint@" in texts["docs/ci.md"]
    assert "repo_name: someone/mac-lint" in texts["docs/mkdocs.yml"]
    assert "pip install mpslint" in texts["README.md"]
    assert "https://github.com/meta-pytorch/torchfix" in texts["README.md"]

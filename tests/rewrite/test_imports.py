"""A fix calls torch by the name that the file binds, and imports it where nothing does."""

from __future__ import annotations

import pytest

from mpslint.api import fix

BY = {
    "import torch\n": ("torch", "import torch\n"),
    "import torch as t\n": ("t", "import torch as t\n"),
    "import torch.nn\n": ("torch", "import torch.nn\n"),
    "from lib import torch\n": ("torch", "from lib import torch\n"),
}


@pytest.mark.parametrize("imports", BY)
def test_the_fix_uses_the_files_own_name(imports: str) -> None:
    """An alias is used; no second import is written."""
    name, kept = BY[imports]
    fixed = fix(f'{imports}device = "cuda" if {name}.cuda.is_available() else "cpu"\nx = {name}.ones(2).to(device)\n').text
    assert fixed.startswith(kept)
    if imports != "from lib import torch\n":
        assert f'else "mps" if {name}.backends.mps.is_available() else "cpu"' in fixed
    assert fixed.count("import") == 1


@pytest.mark.parametrize(
    ("imports", "question"),
    [
        ("from torch import cuda\n", "cuda.is_available()"),
        ("from torch.cuda import is_available\n", "is_available()"),
        ("import torch.nn as nn\nfrom torch import cuda\n", "cuda.is_available()"),
    ],
)
def test_torch_is_imported_where_only_its_parts_are(imports: str, question: str) -> None:
    """Without this the fixed file raises NameError on every machine without CUDA."""
    fixed = fix(f'{imports}device = "cuda" if {question} else "cpu"\nopen(device)\n').text
    assert "torch.backends.mps.is_available()" in fixed
    assert "import torch\n" in fixed.splitlines(keepends=True)

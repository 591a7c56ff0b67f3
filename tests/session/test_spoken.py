"""The versions that are said of a file are those of the packages that it uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.session.spoken import spoken_of
from mpslint.source.reader import read
from tests.notebooks import notebook


def spoken(path: Path, text: str) -> str:
    """Return the packages that a file of this text speaks of, in words."""
    return " ".join(spoken_of(read(str(path), text.encode())))


@pytest.mark.parametrize(
    ("name", "text", "packages"),
    [
        ("a.py", "import torch\nfrom torchvision import datasets\nd = datasets.MNIST('datasets/')\n", "torch"),
        ("a.py", "import torch\nimport torchvision.datasets as datasets\n", "torch"),
        ("a.py", "import torch  # peft and trl come later\nt = 'accelerate training'\n", "torch"),
        ("a.py", "'''Uses\nimport trl\n'''\nimport torch\nfrom .datasets import load\nfrom data.datasets import load\n", "torch"),
        (
            "a.py",
            "import torch, datasets as ds\nif ds: import peft; from lightning.pytorch import Trainer\n",
            "torch peft lightning datasets",
        ),
        ("a.py", "import pytorch_lightning as pl\n", "lightning"),
        ("a.py", "import importlib\ntrl = importlib.import_module('trl')\n", "torch transformers accelerate trl"),
        ("a.py", "from transformers import Trainer\n", "torch transformers accelerate"),
        ("a.py", "from helpers import run\n", "torch"),
        ("a.yaml", "datasets:\n  - path: datasets/x\n    accelerate: true\n# for trl\n", "torch"),
        ("a.yaml", "trainer:\n  _target_: lightning.pytorch.Trainer\n", "lightning"),
        (
            "a.sh",
            "pip install 'peft>=0.1' trl==0.9\npython train.py --datasets x data/lightning\n",
            "torch transformers accelerate trl peft",
        ),
        ("a.sh", "accelerate launch train.py\n", "accelerate"),
    ],
)
def test_what_a_file_uses_is_spoken_of(name: str, text: str, packages: str, tmp_path: Path) -> None:
    """Imports, commands and names of classes; no comments, texts, folders, keys, options and attributes of other modules."""
    assert spoken(tmp_path / name, text) == packages


@pytest.mark.parametrize("own", ["{}.py", "{}/__init__.py", "{}/loader.py", "src/{}/__init__.py"])
@pytest.mark.parametrize("name", ["datasets", "accelerate", "lightning", "trl", "peft"])
def test_a_module_of_the_project_is_no_package(name: str, own: str, tmp_path: Path) -> None:
    """Whether it's a module, a package or a folder of modules, beside the script or above it."""
    (tmp_path / ".git").mkdir()
    path = tmp_path / own.format(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")

    for script in ("train.py", "scripts/train.py"):
        assert spoken(tmp_path / script, f"import torch\nfrom {name} import run\n") == "torch"


def test_a_folder_of_data_is_no_module(tmp_path: Path) -> None:
    """The import means the installed package."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "train.json").write_text("{}")

    assert spoken(tmp_path / "train.py", "from datasets import load_dataset\n") == "datasets"


def test_commands_of_a_notebook_count(tmp_path: Path) -> None:
    """Beside its imports, and no text of a cell."""
    told = {"cell_type": "markdown", "metadata": {}, "source": ["Then import trl\n"]}
    text = notebook("!accelerate launch train.py\nimport torch\n", told).decode()

    assert spoken(tmp_path / "a.ipynb", text) == "torch accelerate"

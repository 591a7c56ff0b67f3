"""A configuration of mmengine is read from its files as mmengine itself reads it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from mpslint.session.runs import check_paths
from mpslint.session.session import Options

READS = "import torch\nfrom mmengine.config import Config\n\ncfg = Config.fromfile({path!r})\n"
KEYS = ("a", "b.x", "b.y", "c.x.y")
FILES = {
    "a file": {"run.py": "a = 'cuda'\nb = dict(x='cuda', y='cpu')\nc = dict(x=dict(y='cuda'))\n"},
    "a file on top of another": {
        "run.py": "_base_ = './below/base.py'\na = 'cpu'\nb = dict(x='cuda')\n",
        "below/base.py": "a = 'cuda'\nb = dict(x='cpu', y='cuda')\nc = dict(x=dict(y='cpu'))\n",
    },
    "several below, and in the place of one": {
        "run.py": "_base_ = ['below/one.py', 'below/two.py']\nb = dict(_delete_=True, x='cpu')\n",
        "below/one.py": "_base_ = '../least.py'\nc = dict(x=dict(y='cuda'))\n",
        "below/two.py": "b = dict(y='cuda')\n",
        "least.py": "a = 'cuda'\nc = dict(x=dict(y='cpu', z=1))\n",
    },
    "what a file computes": {"run.py": "import os\nkind = 'cuda' if len('ab') == 2 else 'cpu'\na = kind\nb = {key: kind for key in 'x'}\n"},
    "a file of YAML": {"run.yaml": "a: cuda\nb: {x: cuda, y: cpu}\n"},
}


def value(config: object, key: str) -> object:
    """Return what a real configuration has under a dotted key."""
    for part in key.split("."):
        config = getattr(config, part, None)
    return config


@pytest.mark.parametrize("case", FILES)
def test_a_device_is_said_of_a_file_as_mmengine_reads_it(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("mmengine") is None:
        pytest.skip("needs mmengine")
    from mmengine.config import Config

    files = FILES[case]
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    path = next(iter(files))
    config = Config.fromfile(path)
    real = [key for key in KEYS if value(config, key) == "cuda"]
    found = []
    for key in KEYS:
        (tmp_path / "train.py").write_text(f"{READS.format(path=path)}torch.nn.Linear(2, 2).to(cfg.{key})\n")
        if any(one.rule == "MPS501" for result in check_paths(["train.py"], Options()) for one in result.findings):
            found.append(key)
    assert real
    assert found == real


def test_a_configuration_of_python_is_not_made_to_import_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "run.py").write_text("a = 'cuda'\n")
    (tmp_path / "train.py").write_text(f"{READS.format(path='run.py')}torch.nn.Linear(2, 2).to(cfg.a)\n")
    monkeypatch.chdir(tmp_path)
    found = [one for result in check_paths(["train.py"], Options()) for one in result.findings]
    assert [one.rule for one in found] == ["MPS501"]
    assert not (found[0].fix and found[0].fix.edits)

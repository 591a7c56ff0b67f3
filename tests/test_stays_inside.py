"""Whatever a file of a checkout names, nothing above the checkout is opened for it: by no `..`, absolute path or link."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENDINGS = ("yaml", "yml", "json", "toml", "ini", "cfg", "py", "ipynb", "sh", "mk", "env", "txt")
DRIVER = """
import os, sys
from mpslint.cli import group
folder, seen = sys.argv[1], set()
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        seen.add(os.path.realpath(os.fsdecode(arguments[0])))
sys.addaudithook(watch)
for line in sys.argv[2:]:
    try:
        group.main(line.split(), standalone_mode=False)
    except SystemExit:
        pass
sys.stderr.write("\\n".join(f"OPENED {path}" for path in sorted(seen) if path.startswith(folder + os.sep)))
"""
COMMANDS = (
    "check . --no-cache -j 1", "plan .", "fix .", "config .", "check omega.py", "check pkg/sub/relative.py", "plan hydra0.py conf/config.yaml",
)  # fmt: skip
CUDA = "import torch\nx = torch.ones(2).cuda()\n"
HYDRA = (
    "import hydra\n@hydra.main(config_path={0!r}, config_name={1!r})\ndef main(cfg):\n    x = torch.ones(cfg.a).cuda()\n"
    + CUDA
    + "main()\n"
)
COMPOSED = (
    "import torch\nfrom hydra import compose, initialize\nwith initialize(config_path={0!r}):\n"
    "    cfg = compose(config_name={1!r}, overrides=['model=../../../outside/secret', '+x=../../outside/secret'])\n"
    "x = torch.ones(cfg.a).cuda()\n"
)
LOADED = (
    "import json, configparser, deepspeed, toml, torch, yaml\nfrom pathlib import Path\nfrom dotenv import load_dotenv\n"
    "from omegaconf import OmegaConf\nfrom transformers import Trainer, TrainingArguments\n"
    "a = OmegaConf.load('{0}/secret.yaml')\nb = yaml.safe_load(open('{0}/secret.yml'))\nc = json.load(open('{0}/secret.json'))\n"
    "d = OmegaConf.load(f'{0}/{{c.name}}.yaml')\ne = yaml.safe_load(Path('{0}/secret.yaml').read_text())\nf = toml.load('{0}/secret.toml')\n"
    "g = configparser.ConfigParser()\ng.read('{0}/secret.ini')\nload_dotenv('{0}/secret.env')\nexec(open('{0}/secret.py').read())\n"
    "deepspeed.initialize(config='{0}/secret.json')\n"
    "Trainer(None, TrainingArguments('out', deepspeed='{0}/secret.json', fp16=True)).train()\nx = torch.ones(a.a).cuda()\n"
)
IMPORTED = (
    "import sys, torch\nsys.path.insert(0, '{0}')\nimport secret\nfrom package import module\n"
    "from away import secret as other\nfrom linked import x as third\n" + CUDA
)
SHELL = (
    "source {0}/secret.sh\n. {0}/secret.env\nexport $(cat {0}/secret.env)\npython {0}/secret.py --config {0}/secret.yaml\n"
    "pip install -r {0}/secret.txt\naccelerate launch --config_file {0}/secret.yaml omega.py\nbash {0}/secret.sh\n"
    "deepspeed omega.py --deepspeed_config {0}/secret.json\npython hydra0.py --config-path {0} --config-name secret\n"
    "python hydra0.py +x=../{0}/secret model=../../{0}/secret\npython omega.py --config {0}/secret.yaml\ntorchrun {0}/secret.py\n"
    "cd {0}/..\npython above.py\npython -m outside.secret\n"
)
PINNED = "-r {0}/secret.txt\n-c {0}/secret.txt\n--requirement={0}/secret.txt\n-e {0}\ntorch==2.8\n"
COMPOSE = (
    "include:\n  - {0}/secret.yml\nservices:\n  x:\n    extends: {{file: {0}/secret.yml, service: x}}\n    env_file: {0}/secret.env\n"
    "    build: {0}\n    command: python {0}/secret.py\n"
)
PYPROJECT = (
    "[project]\nname = 'x'\nversion = '1'\ndynamic = ['dependencies']\n[tool.setuptools.dynamic]\ndependencies = {{file = ['{0}/secret.txt']}}\n"
    "[tool.ruff]\nextend = '{0}/secret.toml'\n[tool.poetry.dependencies]\nx = {{path = '{0}'}}\n[tool.uv.workspace]\nmembers = ['{0}']\n"
)
DEBUGGED = {
    "type": "debugpy",
    "request": "launch",
    "program": "${workspaceFolder}/../outside/secret.py",
    "envFile": "../outside/secret.env",
}
LINES = (
    "%run {0}/secret.py\n!python {0}/secret.py\n%run {0}/secret.ipynb\n!pip install -r {0}/secret.txt\n%cd {0}/..\n!python above.py\n"
    + CUDA
)


def names_of(number: int, place: str) -> dict[str, str]:
    """Return files by name that name files of a folder, in every way that a configuration or a program does."""
    return {
        f"omega{number or ''}.py": LOADED.format(place), f"imports{number}.py": IMPORTED.format(place), f"run{number}.sh": SHELL.format(place),
        f"hydra{number}.py": HYDRA.format(place, "secret"), f"composed{number}.py": COMPOSED.format(place, "secret"),
        f"named{number}.py": HYDRA.format("conf", f"{place}/secret"), f"chosen{number}.py": HYDRA.format("conf", f"config{number}"),
        f"conf/config{number}.yaml": f"defaults:\n  - model: {place}/secret\n  - _self_\na: 1\n",
        f"conf/group{number}.yaml": f"defaults:\n  - {place}: secret\n  - _self_\na: 1\n",
        f"grouped{number}.py": HYDRA.format("conf", f"group{number}"), f"listed{number}.py": HYDRA.format("conf", f"list{number}"),
        f"conf/list{number}.yaml": f"defaults:\n  - {place}/secret\n  - /{place}/secret@x\n  - override /{place}: secret\na: 1\n",
        f"requirements-{number}.txt": PINNED.format(place), f"docker-compose.{number}.yml": COMPOSE.format(place),
        f"sub{number}/Makefile": f"include {place}/secret.mk\n-include {place}/*.mk\ntrain:\n\tpython {place}/secret.py\n",
        f"sub{number}/Dockerfile": f"FROM x\nCOPY {place}/secret.txt .\nRUN pip install -r {place}/secret.txt\nRUN python {place}/secret.py\n",
        f"sub{number}/pyproject.toml": PYPROJECT.format(place), f"sub{number}/train.py": CUDA,
        f"sub{number}/setup.cfg": f"[options]\ninstall_requires = file: {place}/secret.txt\n",
        f"sub{number}/environment.yml": f"name: x\ndependencies:\n  - pip:\n    - -r {place}/secret.txt\n",
        f".github/workflows/{number}.yml": f"jobs:\n  x:\n    uses: ./{place}/secret.yml\n    steps:\n      - run: python {place}/secret.py\n",
        f"based{number}.yaml": f"_base_: {place}/secret.py\nextends: {place}/secret.yaml\nx: !include {place}/secret.yaml\ndeepspeed: {place}/secret.json\n",
        f"README{number}.md": f"```\npython omega.py --config {place}/secret.yaml\npython {place}/secret.py\n```\n",
        f"lines{number}.ipynb": json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": LINES.format(place)}],
                                            "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
    }  # fmt: skip


def build(place: Path, is_repository: bool) -> Path:
    """Return a checkout whose files name those of a folder beside it."""
    checkout, outside = place / "checkout", place / "outside"
    (outside / "package").mkdir(parents=True)
    texts = {
        "json": "{}",
        "py": "x = 1\n",
        "ipynb": '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
        "txt": "torch==2.0\n",
    }
    for ending in ENDINGS:
        (outside / f"secret.{ending}").write_text(texts.get(ending, "a = 1\n" if ending in ("toml", "mk", "env") else "a: 1\n"))
    for path in (outside / "__init__.py", outside / "package/__init__.py", outside / "package/module.py", place / "above.py"):
        path.write_text("y = 1\n")
    files = {
        "pkg/__init__.py": "", "pkg/sub/__init__.py": "", "conf/model/small.yaml": "a: 1\n", "pyproject.toml": "", ".vscode/launch.json": json.dumps(
            {"configurations": [DEBUGGED]}), "conf/config.yaml": "a: 1\n",
        "pkg/sub/relative.py": "from ....outside import secret\nfrom ...outside.package import module\nfrom .... import above\n" + CUDA,
        "relative.py": "from ..outside import secret\nfrom .. import above\n" + CUDA,
        "asked.py": "import argparse, yaml\np = argparse.ArgumentParser()\np.add_argument('--config', default='../outside/secret.yaml')\n"
        "c = yaml.safe_load(open(p.parse_args().config))\n" + CUDA,
    }  # fmt: skip
    for number, named in enumerate(("../outside", "../../outside", "../../../outside", str(outside), "away", "../away", "up/outside")):
        files |= names_of(number, named)
    for name, text in files.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text)
    for link, target in {
        "away": "../outside", "conf/away": "../../outside", "up": "..", "linked.py": "../outside/secret.py", "linked.yaml": "../outside/secret.yaml",
        "loop": "loop", "pkg/linked.py": "../../outside/secret.py", "requirements-9.txt": "../outside/secret.txt",
    }.items():  # fmt: skip
        (checkout / link).symlink_to(target)
    if is_repository:
        (checkout / ".git").mkdir()
    return checkout


@pytest.mark.parametrize("is_repository", [True, False], ids=["repository", "folder"])
def test_nothing_above_the_checkout_is_opened(tmp_path: Path, is_repository: bool) -> None:
    """Each way to name a file, by seven paths that lead out, with and without a repository around."""
    checkout = build(tmp_path, is_repository)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPSLINT_CACHE_DIR": str(checkout.parent.parent / f"{tmp_path.name}-cache")}
    ended = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path), *COMMANDS], cwd=checkout, env=environment, capture_output=True, check=True
    )
    opened = [Path(line[7:]) for line in ended.stderr.decode().splitlines() if line.startswith("OPENED ")]

    assert checkout / "omega.py" in opened
    assert [path for path in opened if not path.is_relative_to(checkout)] == []

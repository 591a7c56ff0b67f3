"""The commands of a README that name configuration files: the runs that its scripts are documented to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.project.supposed import commands_in
from mpslint.session.runs import check_paths
from mpslint.session.session import Options

SCRIPT = """\
import pathlib

import torch
import typer
import yaml

app = typer.Typer()


@app.command()
def main(checkpoint: str = typer.Option(...), config_file: pathlib.Path = typer.Option(...)):
    with open(config_file) as file:
        config = yaml.safe_load(file)
    model = torch.nn.Linear(2, 2).to(config["runtime"]["device"])


if __name__ == "__main__":
    app()
"""
CONFIG = "runtime:\n  device: cuda\n"
CONTINUED = """\
# Captions

```shell
git clone https://example.com/captions
cd captions
CUDA_VISIBLE_DEVICES="..." python \\
    predict.py \\
    --checkpoint path/to/it \\
    --config-file configs/large.yaml \\
    --first 10 # for debugging
```
"""


def found(folder: Path, readme: str, name: str = "README.md") -> list[tuple[str, str]]:
    """Return the rule and the file of each finding in a project with such a README."""
    (folder / "configs").mkdir(exist_ok=True)
    (folder / "configs" / "large.yaml").write_text(CONFIG)
    (folder / "configs" / "small.yaml").write_text(CONFIG)
    (folder / "predict.py").write_text(SCRIPT)
    (folder / name).write_text(readme)
    results = check_paths([str(folder)], Options(isolated=True))
    return [(one.rule, Path(result.path).name) for result in results for one in (result.checked.findings if result.checked else ())]


@pytest.mark.parametrize(
    "readme",
    [
        CONTINUED,
        "```\n$ python predict.py --config-file=configs/large.yaml\n```\n",
        "~~~bash\npython3 ./predict.py --config-file ./configs/large.yaml --checkpoint x\n~~~\n",
        "1. Predict:\n   ```console\n   python -m predict --config-file configs/large.yaml\n   ```\n",
        "Run `python predict.py --config-file configs/large.yaml` to predict.\n",
        "```sh\naccelerate launch predict.py --config-file configs/large.yaml\n```\n",
    ],
)
def test_the_configuration_file_of_a_documented_command_is_read(tmp_path: Path, readme: str) -> None:
    assert found(tmp_path, readme) == [("MPS501", "large.yaml")]


@pytest.mark.parametrize(
    "readme",
    [
        "```\npython predict.py --config-file configs/missing.yaml\n```\n",
        "```\npython predict.py --config-file <your config>\n```\n",
        "```\ncat configs/large.yaml\n```\n",
        "Edit configs/large.yaml, then start predict.py.\n",
        "```\npython other.py --config-file configs/large.yaml\n```\n",
    ],
)
def test_other_lines_start_nothing(tmp_path: Path, readme: str) -> None:
    assert found(tmp_path, readme) == []


def test_only_the_words_that_name_configuration_files_are_taken(tmp_path: Path) -> None:
    text = "```\npython predict.py run --seed 3 --config-file configs/large.yaml --fp16\n```\n"
    found(tmp_path, text)

    assert list(commands_in([str(tmp_path)])) == [(str(tmp_path / "predict.py"), ("run", "--config-file", "configs/large.yaml"))]

"""A script that a notebook starts runs with what the notebook installs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mpslint.core.folders import forget_disk
from mpslint.session.runs import check_paths
from mpslint.session.session import Options
from mpslint.session.starters import installed_in, pins_of_starters, stamp_of_starters
from mpslint.source.reader import read

SCRIPT = "from transformers import Seq2SeqTrainingArguments\n\nargs = Seq2SeqTrainingArguments('out', evaluation_strategy='epoch')\n"


def notebook(*cells: str) -> str:
    """Return a notebook with these cells."""
    made = [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text} for text in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without pins, whose notebook installs an old transformers and starts one of two scripts."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "scripts").mkdir()
    for name in ("train.py", "other.py"):
        (tmp_path / "scripts" / name).write_text(SCRIPT)
    (tmp_path / "lesson.ipynb").write_text(
        notebook("!pip install 'transformers==4.38.2' 'torch==2.2.1'", "!torchrun --nproc_per_node 1 ./scripts/train.py --lr 1e-4")
    )
    return tmp_path


def rules_in(file: Path) -> set[str]:
    """Return the rules that speak of a file."""
    (result,) = check_paths([str(file)], Options(isolated=True))
    return {finding.rule for finding in result.findings}


def test_the_script_has_the_versions_of_the_notebook(project: Path) -> None:
    """The old name of an argument is right there; the script that nothing starts is judged for today's release."""
    assert "MPS901" not in rules_in(project / "scripts" / "train.py")
    assert "MPS901" in rules_in(project / "scripts" / "other.py")


def test_the_projects_own_pins_count_for_more(project: Path) -> None:
    """What the notebook installs is then another environment."""
    (project / "requirements.txt").write_text("transformers==5.2.0\n")

    assert "MPS901" in rules_in(project / "scripts" / "train.py")


@pytest.mark.parametrize(
    "command", ["# python scripts/train.py", "!cat scripts/train.py.bak", "!python elsewhere/train.py", "print('scripts/train.py')"]
)
def test_other_words_start_nothing(project: Path, command: str) -> None:
    """Of commands only, and of a path that leads to the script."""
    (project / "lesson.ipynb").write_text(notebook("!pip install transformers==4.38.2", command))

    assert "train.py" not in pins_of_starters(str(project / "scripts"))


def test_a_changed_notebook_is_another_key(project: Path) -> None:
    """So that the cache asks again; a folder without scripts has none."""
    before = stamp_of_starters(str(project / "scripts"))
    (project / "lesson.ipynb").write_text(notebook("!pip install transformers==5.2.0", "!python scripts/train.py"))
    forget_disk()

    assert stamp_of_starters(str(project / "scripts")) != before
    assert stamp_of_starters(str(project)) == ""
    assert pins_of_starters(str(project / "scripts"))["train.py"][0].spec == "==5.2.0"


PINS = "!pip install transformers==4.38.2"


@pytest.mark.parametrize(
    "command",
    [
        "!rm scripts/train.py",
        "!wget https://example.org/scripts/train.py",
        "!cp scripts/train.py scripts/train2.py",
        "!git clone https://example.org/other\n!cd other && python scripts/train.py",
        "%cd /content/diffusers/examples\n!python train.py",
        "!cd other && python train.py",
        "!cat scripts/train.py | head",
        "!pytest scripts/train.py",
        "!python -c 'print(1)' scripts/train.py",
    ],
)
def test_a_mention_is_no_start(project: Path, command: str) -> None:
    """What is removed, loaded, copied, printed, or started in a folder of another project."""
    (project / "lesson.ipynb").write_text(notebook(PINS, command))
    (project / "other").mkdir()
    (project / "other" / "train.py").write_text(SCRIPT)

    assert "train.py" not in pins_of_starters(str(project / "scripts"))


@pytest.mark.parametrize(
    "command",
    [
        "!cd scripts && python train.py",
        "%cd scripts\n!python train.py --lr 1",
        "%run scripts/train.py",
        "%run -i scripts/train.py --lr 1",
        "!python -u ./scripts/train.py",
        "!CUDA_VISIBLE_DEVICES=0 accelerate launch --num_processes 1 scripts/train.py",
        "!{sys.executable} scripts/train.py",
        "!python -m scripts.train",
        "!python {here}/scripts/train.py",
        "%%bash\nset -e\ncd scripts\npython train.py",
    ],
)
def test_forms_of_a_start(project: Path, command: str) -> None:
    """Folders that are gone to, magics, launchers, modules, and a path that begins with the project's own folder."""
    (project / "lesson.ipynb").write_text(notebook(PINS, command.replace("{here}", f"/content/{project.name}")))

    assert pins_of_starters(str(project / "scripts"))["train.py"][0].spec == "==4.38.2"


@pytest.mark.parametrize(
    "line", ["!pip install transformers==4.38.2 && python scripts/train.py", "%pip install transformers==4.38.2 && python scripts/train.py"]
)
def test_one_line_installs_and_starts(project: Path, line: str) -> None:
    """The install is before the start, though both are one command."""
    (project / "lesson.ipynb").write_text(notebook(line))

    assert pins_of_starters(str(project / "scripts"))["train.py"][0].spec == "==4.38.2"


@pytest.mark.parametrize("cells", [("!python scripts/train.py", PINS), ("!python scripts/train.py && pip install transformers==4.38.2",)])
def test_what_is_installed_afterwards_does_not_count(project: Path, cells: tuple[str, ...]) -> None:
    """By then the script has run."""
    (project / "lesson.ipynb").write_text(notebook(*cells))

    assert "train.py" not in pins_of_starters(str(project / "scripts"))


def test_notebooks_that_disagree_settle_nothing(project: Path) -> None:
    """Of a package that they install in other versions; what they agree on counts."""
    (project / "another.ipynb").write_text(notebook("!pip install transformers==5.2.0 torch==2.2.1", "!python scripts/train.py"))

    assert [one.name for one in pins_of_starters(str(project / "scripts"))["train.py"]] == ["torch", "torch"]


def _source_of(name: str, *cells: str) -> str:
    """Return where a notebook of these cells gets a version from: the last command that counts."""
    document = read("lesson.ipynb", notebook(*cells).encode())
    return next(f"{one.spec} {one.source}".strip() for one in installed_in(document) if one.name == name)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("!pip install torch==2.4.0; pip install torch==2.6.0",), "==2.6.0 cell 1"),
        (("%%bash\npip install torch==2.4.0\npip install torch==2.6.0",), "==2.6.0 cell 1"),
        (("!pip install torch==2.4.0 || pip install torch==1.9.0",), "==2.4.0 cell 1"),
        (('VERSION = "2.4.0"', "!pip install torch=={VERSION}"), "==2.4.0 cell 2"),
        (('VERSION = "2.4.0"  # tested', "%pip install torch==$VERSION"), "==2.4.0 cell 2"),
        (('import subprocess, sys\nsubprocess.check_call([sys.executable, "-m", "pip", "install", "torch==2.4.0"])',), "==2.4.0 cell 1"),
        (('import os\nos.system("pip install torch==2.4.0")', "!pip install torch==2.6.0"), "==2.6.0 cell 2"),
    ],
)
def test_the_last_command_counts(cells: tuple[str, ...], expected: str) -> None:
    """In a line, in a cell and in Python; a command after `||` is for where the first one fails, and names stand for their texts."""
    assert _source_of("torch", *cells) == expected


@pytest.mark.parametrize(
    "cells",
    [
        ('VERSION = "2.4.0"', 'VERSION = "2.6.0"', "!pip install torch=={VERSION}"),
        ('VERSION = "2.4.0" if IN_COLAB else "2.6.0"', "!pip install torch=={VERSION}"),
        ('if IN_COLAB:\n    import os; os.system("pip install torch==2.4.0")\n    os.system("pip install torch==2.4.0")',),
        ('# os.system("pip install torch==2.4.0")',),
    ],
)
def test_what_is_not_certain_is_no_pin(cells: tuple[str, ...]) -> None:
    """A name with two values, and a command under a condition of Python."""
    document = read("lesson.ipynb", notebook(*cells).encode())
    assert [one.spec for one in installed_in(document) if one.name == "torch" and one.spec] == []


USES = "from trl import SFTTrainer"


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("!pip install -U transformers trl", USES, "!pip install transformers==4.41.2"), "cell 1"),
        (("!pip install transformers trl", "import transformers", "!pip install transformers==4.41.2", USES), "cell 1"),
        (("!pip install transformers", "import torch", "!pip install transformers==4.41.2", USES), "==4.41.2 cell 3"),
        (("!pip install transformers", "!pip install transformers==4.41.2", USES), "==4.41.2 cell 2"),
        (("!pip install transformers", USES, "import os; os.kill(os.getpid(), 9)", "!pip install transformers==4.41.2"), "==4.41.2 cell 4"),
        (("!pip install transformers", USES, "!pip install transformers==4.41.2  # then restart the runtime"), "==4.41.2 cell 3"),
        ((USES, "!pip install transformers==4.41.2", USES), "==4.41.2 cell 2"),
    ],
)
def test_a_later_cell_does_not_change_what_is_imported(cells: tuple[str, ...], expected: str) -> None:
    """The kernel goes on with the version of the cell before; a script that is started then has the later one."""
    assert _source_of("transformers", *cells) == expected
    document = read("lesson.ipynb", notebook(*cells).encode())
    before = installed_in(document, len(document.text))
    assert next(one.spec for one in before if one.name == "transformers") == "==4.41.2"

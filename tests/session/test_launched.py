"""Flags of launch lines that look like a framework's count where the script takes them so."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.session.runs import check_paths
from mpslint.session.session import Options

LINE = "python train.py --model_name_or_path bert --output_dir out --num_train_epochs 3 --fp16\n"
OPTIONS = 'import argparse\n\n\ndef get_parser():\n    parser = argparse.ArgumentParser()\n    parser.add_argument("--fp16", action="store_true")\n    return parser\n'
OWN = "import torch\nfrom options import get_parser\n\nargs, _ = get_parser().parse_known_args()\nif args.fp16:\n    from apex import amp\nmodel = torch.nn.Linear(2, 2)\n"
TRAINER = """from transformers import HfArgumentParser, Trainer, TrainingArguments

args = made(HfArgumentParser(TrainingArguments))
Trainer(model, args, train_dataset=data).train()
"""


def found(folder: Path, files: dict[str, str]) -> int:
    """Return how often fp16 is found in some files and the line that starts one of them."""
    for name, text in {**files, "run.sh": LINE}.items():
        (folder / name).write_text(text)
    results = check_paths([str(folder)], Options(isolated=True, select=("MPS101",)))
    return sum(len(one.findings) for one in results)


def test_flags_of_a_script_with_a_parser_of_its_own_are_its_own(tmp_path: Path) -> None:
    """`--fp16` asks this one for Apex: no Trainer gets it."""
    assert found(tmp_path, {"train.py": OWN, "options.py": OPTIONS}) == 0


def test_a_docstring_that_speaks_of_a_trainer_takes_no_flags(tmp_path: Path) -> None:
    """Of one line, as of several."""
    assert found(tmp_path, {"train.py": OWN, "options.py": OPTIONS + '\n\ndef sized():\n    """Give a size for Trainer."""\n'}) == 0


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"train.py": TRAINER},
        {"train.py": "from llamafactory.train.tuner import run_exp\n\nrun_exp()\n"},
        {"train.py": "from engine import made\n\nmade(1)\n", "engine.py": f"def made(x):\n    return x\n\n\n{TRAINER}"},
    ],
    ids=["absent", "trainer", "handed_on", "imported"],
)
def test_flags_of_trainers_and_of_absent_scripts_count(files: dict[str, str], tmp_path: Path) -> None:
    """Of a script that isn't in the project, such as an example of transformers, the flags are all that is known."""
    assert found(tmp_path, files) == 1


@pytest.mark.parametrize("is_there", [True, False])
def test_flags_known_by_their_name_count_where_the_script_is_absent(is_there: bool, tmp_path: Path) -> None:
    """A script that is there says itself what its flag does."""
    (tmp_path / "run.sh").write_text("accelerate launch train_lora.py --enable_xformers_memory_efficient_attention --use_8bit_adam\n")
    if is_there:
        (tmp_path / "train_lora.py").write_text("from accelerate import Accelerator\n\nimport argparse\n\naccelerator = Accelerator()\n")

    (result,) = [one for one in check_paths([str(tmp_path)], Options(isolated=True)) if one.path.endswith("run.sh")]

    assert {one.rule for one in result.findings} == (set() if is_there else {"MPS507", "MPS561"})


@pytest.mark.parametrize("word", ["8", "$(cat rows)", "${1}", "${ROWS}"])
def test_flags_of_the_launcher_count_wherever_the_words_of_the_script_come_from(word: str, tmp_path: Path) -> None:
    """A word may be set in another line, with the launcher between the two."""
    (tmp_path / "train.py").write_text(OWN)
    (tmp_path / "options.py").write_text(OPTIONS)
    (tmp_path / "run.sh").write_text(f"ROWS={word}\ntorchrun --nproc_per_node=8 train.py --rows a $ROWS\n")
    results = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS552",)))
    assert [finding.rule for one in results for finding in one.findings] == ["MPS552"]

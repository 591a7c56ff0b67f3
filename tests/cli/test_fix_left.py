"""What `mpslint fix` says of what it leaves: where it is, and whether a check finds it already."""

from __future__ import annotations

import os
from pathlib import Path

from tests.warm_command import mpslint


def run(*arguments: str, cwd: Path) -> str:
    """Return what a command prints."""
    return mpslint(list(arguments), cwd, os.environ).stdout.decode()


def test_what_is_left_has_its_line_in_the_file_as_it_is(tmp_path: Path) -> None:
    """As check gives it, until the rewrite is written."""
    text = "\n".join(
        [
            "from transformers import Trainer, TrainingArguments",
            "",
            "args = TrainingArguments('out', fp16=True)",
            "",
            "class Mine(Trainer):",
            "    def compute_loss(self, model, inputs, return_outputs=False):",
            "        return model(**inputs).loss",
            "",
            "Mine(model=model, args=args, train_dataset=data).train()",
            "",
        ]
    )
    (tmp_path / "left.py").write_text(text)

    assert "left.py:6:9 error MPS907" in run("fix", "left.py", cwd=tmp_path)
    assert "left.py:7:9 error MPS907" in run("fix", "left.py", "--apply", cwd=tmp_path)


def test_a_script_without_a_run_that_does_not_parse_is_no_work(tmp_path: Path) -> None:
    """`check` says nothing of it either."""
    (tmp_path / "shell.py").write_text("import os\nos.system(f'a {x!} b')\n")

    assert "not read" not in run("fix", ".", cwd=tmp_path)


AFTER_THE_FIX = """
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.LSTM(8, 8).to(device)
optimizer = torch.optim.AdamW(model.parameters())

def collate(batch):
    return pad_sequence(batch, batch_first=True)

for batch in DataLoader(torch.load("data.pt"), batch_size=8, collate_fn=collate):
    loss = model(batch.to(device))[0].sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_what_only_the_fix_brings_about_is_told_from_what_is_left(tmp_path: Path) -> None:
    """Padding matters on the GPU alone: a check doesn't find it yet, and does once the fix is made."""
    (tmp_path / "later.py").write_text(AFTER_THE_FIX)
    assert "MPS302" not in run("check", "later.py", "--no-cache", "--torch", "2.13.0", cwd=tmp_path)

    output = run("fix", "later.py", "--torch", "2.13.0", cwd=tmp_path)
    assert "  then  later.py:11:12 warning MPS302: found once the fixes are made; " in output
    assert "  left  " not in output

    (tmp_path / "later.py").write_text(AFTER_THE_FIX.replace('else "cpu"', 'else "mps"'))
    assert "MPS302" in run("check", "later.py", "--no-cache", "--torch", "2.13.0", cwd=tmp_path)
    assert "  left  later.py:11:12 warning MPS302: " in run("fix", "later.py", "--torch", "2.13.0", cwd=tmp_path)


def test_what_a_patch_leaves_is_said_beside_it(tmp_path: Path) -> None:
    """On standard error, so that the patch stays one; an exit code of 1 is explained."""
    (tmp_path / ".env").write_text("PYTORCH_MPS_HIGH_WATERMARK_RATIO=abc\n")

    ended = mpslint(["fix", ".env", "--diff"], tmp_path, os.environ)
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert b".env:1:1 warning MPS705: by hand: " in ended.stderr
    assert ended.stderr.endswith(b"Nothing to fix.\n")
    assert mpslint(["fix", ".env", "--diff", "-q"], tmp_path, os.environ).stderr == b""


def test_a_cell_that_nobody_can_read_ends_a_fix_as_it_ends_a_check(tmp_path: Path) -> None:
    """What wasn't read isn't known to need nothing."""
    (tmp_path / "invalid.ipynb").write_text('{"cells": [{"cell_type": null, "source": "import torch"}], "nbformat": 4}')
    codes = [mpslint([command, "invalid.ipynb"], tmp_path, os.environ).returncode for command in ("check", "fix")]

    assert codes == [3, 3]

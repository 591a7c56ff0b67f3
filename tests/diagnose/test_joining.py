"""A diagnosis is joined with what check says of the source: what explains the error comes first, with the command that mends it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mpslint.diagnose import diagnose, log_of_bytes
from mpslint.diagnose.joining import Source, join, observed_versions
from mpslint.session.session import Options, check_file
from mpslint.source.files import FoundFile
from tests.cli.test_cli import run
from tests.notebooks import code_cell, notebook

OOM = (
    "RuntimeError: MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB). "
    "Tried to allocate 51.44 MiB on private pool."
)
FP16 = "ValueError: fp16 mixed precision requires a GPU (not 'mps')."
SOURCE = """\
from transformers import AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
data = load().map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=512), batched=True)
args = TrainingArguments("out", fp16=True)
trainer = Trainer(model=make(), args=args, train_dataset=data, data_collator=DataCollatorWithPadding(tokenizer))
trainer.train()
"""


def joined(text: str, source: Path) -> Source:
    """Return a log joined with a source."""
    diagnosis = diagnose(log_of_bytes(text.encode(), "log"))
    return join(diagnosis, check_file(FoundFile(str(source)), Options(observed=observed_versions(diagnosis), isolated=True)))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script with half precision and dynamic padding."""
    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    return path


def test_growth_is_explained_by_padding_not_by_precision(script: Path) -> None:
    """The finding about the setting that the message says to change comes; others are counted."""
    found = joined(OOM, script)

    assert [one.finding.rule for one in found.explaining][:1] == ["MPS301"]
    assert "MPS101" not in [one.finding.rule for one in found.explaining]
    assert found.others >= 1
    assert "--select MPS301" in found.fix_command


def test_the_error_text_dates_torch(script: Path) -> None:
    """GiB and a private pool: torch 2.8 to 2.11, so the finding speaks of that allocator."""
    assert observed_versions(diagnose(log_of_bytes(OOM.encode(), "log"))) == {"torch": "2.11.0"}
    assert "torch 2.11.0 (the error text)" in joined(OOM, script).target


def test_precision_is_explained_by_its_finding_on_its_line(script: Path) -> None:
    """The line in the traceback is matched to the finding."""
    trace = f'Traceback (most recent call last):\n  File "/home/me/train.py", line 5, in <module>\n    args = ...\n{FP16}\n'
    found = joined(trace, script)

    assert (found.explaining[0].finding.rule, found.explaining[0].in_traceback) == ("MPS101", True)


def test_a_fault_that_quotes_the_text_of_the_log_explains_it(tmp_path: Path) -> None:
    """An abort has no traceback: what check says of the sum names the text that it ends with."""
    script = tmp_path / "train.py"
    script.write_text('import torch\n\nx = torch.ones(2, 4, 1, 30, 1, device="mps")\nprint(x.sum(dim=-2))\n')

    text = (
        "torch==2.4.1\nfailed assertion `[MPSNDArray, initWithBuffer:descriptor:] Error: buffer is not large enough. Must be 960 bytes'\n"
    )
    source = joined(text, script)

    assert [(one.finding.rule, one.finding.place.line) for one in source.explaining] == [("MPS929", 4)]


def test_a_frame_of_another_file_does_not_count(script: Path) -> None:
    """Line 5 of something else is no line of the source."""
    trace = f'Traceback (most recent call last):\n  File "/home/me/other.py", line 5, in <module>\n    args = ...\n{FP16}\n'

    assert not any(one.in_traceback for one in joined(trace, script).explaining)


def test_a_notebook_is_its_own_source(tmp_path: Path) -> None:
    """Its stored error is diagnosed, its code is checked, and both are printed, as text and as JSON."""
    error = {"output_type": "error", "ename": "RuntimeError", "evalue": OOM.removeprefix("RuntimeError: "), "traceback": [OOM]}
    lines = SOURCE.splitlines(keepends=True)
    (tmp_path / "n.ipynb").write_bytes(notebook(*lines[:-1], code_cell(lines[-1], outputs=[error])))
    text = run("diagnose", "n.ipynb", cwd=tmp_path)
    data = json.loads(run("diagnose", "n.ipynb", "--format", "json", cwd=tmp_path).stdout)

    assert text.returncode == 0
    assert "MPS301 dynamic-padding" in text.stdout
    assert "mpslint fix n.ipynb --select MPS301" in text.stdout
    assert data["sources"][0]["explaining"][0]["finding"]["rule"] == "MPS301"
    assert "MPS301" in run("report", "n.ipynb", "--no-torch", cwd=tmp_path).stdout


def test_a_source_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    """With the exit code for it."""
    (tmp_path / "error.log").write_text(FP16)
    done = run("diagnose", "error.log", "--source", "gone.py", cwd=tmp_path)

    assert (done.returncode, "gone.py: no such file" in done.stderr) == (3, True)

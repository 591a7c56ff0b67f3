"""A report holds what a maintainer asks for, and nothing that says who or where its writer is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from mpslint.cli import group
from mpslint.diagnose import Log, diagnose
from mpslint.diagnose.issue_report import IssueReport, PlacedFinding, RunMemory
from mpslint.diagnose.scrubbing import scrub
from mpslint.doctor import examine
from mpslint.doctor.machine import Machine
from mpslint.finding import Finding, Severity, Span
from mpslint.report.issue import issue_body
from mpslint.verify.last import NAME, keep
from mpslint.verify.outcome import RunResult, StepRecord
from mpslint.verify.report import Report
from mpslint.verify.spec import Machine as Mac

MAC = Machine("Darwin", (15, 3), "Apple M2 Pro", "arm64", 16 * 1024**3, False, False, None)

SECRETS = [
    ("/Users/ann/code/train.py", "~/code/train.py"),
    ('File "/home/ann.lee/x.py", line 3', 'File "~/x.py", line 3'),
    ("C:\\Users\\ann\\x.py", "~\\x.py"),
    ("/Users/runner/work/pytorch", "/Users/runner/work/pytorch"),
    ("/var/folders/x1/abcdefghij1234567890/T/ipykernel_1/2.py", "<temporary>/T/ipykernel_1/2.py"),
    ("/Volumes/Anns Disk/data", "/Volumes/<volume>/data"),
    ("login(token='hf_abcdefghijklmnopqrstuvwx')", "login(token='<token>')"),
    ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "HF_TOKEN=<token>"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ", "<token>"),
    ("github_pat_11ABCDEFG0123456789_abcdefghijk", "<token>"),
    ("OPENAI: sk-proj-abcdefghijklmnopqrstuvwx", "OPENAI: <token>"),
    ("AKIAABCDEFGHIJKLMNOP", "<token>"),
    ("Authorization: Bearer abc.def-ghi123", "Authorization: <token> <token>"),
    ("curl -H 'bearer abcdefghijkl'", "curl -H 'bearer <token>'"),
    ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "WANDB_API_KEY=<token>"),
    ('"password": "hunter22"', '"password": "<token>"'),
    ("https://ann:secret@git.example.org/x", "https://<user>@git.example.org/x"),
    ("mail ann.lee@example.org please", "mail <mail> please"),
    ("ann@Anns-MacBook train %", "<user>@<host> train %"),
    ("(pid=12, ip=10.0.0.17)", "(pid=12, ip=<address>)"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdEFGH", "<token>"),
]

HARMLESS = [
    "MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB).",
    "tokens/s 1234.5, tokenizer: T5TokenizerFast, max_new_tokens=1024, pad_token=eos_token",
    "commit hash 2236df1770800ffea5697b11b0bb0d910b2e59e1",
    "torch 2.15.0, transformers 5.23.0, macOS 15.3.1",
    "step=50 | live_tensors=4.20 GiB | driver=12.3 GiB",
    "@torch.no_grad() def f(x): return x @ y",
]


@pytest.mark.parametrize(("text", "scrubbed"), SECRETS)
def test_secrets_are_taken_out(text: str, scrubbed: str) -> None:
    """Names in paths, tokens of all kinds, passwords, mail and network addresses do not leave."""
    assert scrub(text) == scrubbed


@pytest.mark.parametrize("text", HARMLESS)
def test_what_a_maintainer_needs_stays(text: str) -> None:
    """Numbers, versions, hashes and code are left as they are."""
    assert scrub(text) == text


def test_names_are_taken_out_wherever_they_stand() -> None:
    """The user's and the machine's name go too, unless they are so short that words would go with them."""
    assert scrub("annalee ran on Anns-Mac-mini as annalee2", ("annalee", "Anns-Mac-mini")) == "<name> ran on <name> as annalee2"
    assert scrub("al allocated", ("al",)) == "al allocated"


@given(st.text() | st.sampled_from([text for text, _ in SECRETS]))
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    """What is scrubbed is clean."""
    assert scrub(scrub(text)) == scrub(text)


def test_a_full_report(tmp_path: Path) -> None:
    """Diagnosis, environment, findings and the memory of runs stand in it, scrubbed."""
    log = Log("/Users/zuleika/train.log", 'File "/Users/zuleika/t.py", line 3\nRuntimeError: Placeholder tensor is empty!')
    finding = Finding("MPS301", "dynamic-padding", Severity.WARNING, "Shapes vary.", Span(0, 1))
    report = IssueReport(
        examination=examine(ask_torch=False, machine=MAC, packages={"torch": "2.13.0"}, environ={"DISABLE_MPS": "1"}, home=tmp_path),
        diagnosis=diagnose(log),
        findings=(PlacedFinding("/Users/zuleika/train.ipynb, cell 12, line 7", finding),),
        runs=(RunMemory("as written", "emulated", 200, (1 << 30, 2 << 30), (3 << 30, 16 << 30), 4 << 30),),
        tail="the | end\n```",
        names=("zuleikas-mac",),
    )

    body = issue_body(report)

    assert "zuleika" not in body
    assert "| torch | 2.13.0 |" in body
    assert "| system | macOS 15.3 |" in body
    assert "| DISABLE_MPS | 1 |" in body
    assert "`placeholder-empty` (error), ~/train.log, line 2" in body
    assert "- ~/train.ipynb, cell 12, line 7: warning MPS301 dynamic-padding: Shapes vary." in body
    assert "| as written | emulated | 200 | 1.00 GiB to 2.00 GiB | 3.00 GiB to 16.00 GiB | 4.00 GiB |" in body
    assert body.count("```") % 2 == 0


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report is printed or written; the end of the log is in it only when mpslint does not know the text."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("MPSLINT_CACHE", str(tmp_path))
    known, unknown = tmp_path / "known.log", tmp_path / "unknown.log"
    known.write_text("loss 0.1\nRuntimeError: Placeholder tensor is empty!\n")
    unknown.write_text("loss 0.1\n\x1b[31mOddError\x1b[0m: token=hf_abcdefghijklmnopqrstuvwx\n")
    written = tmp_path / "issue.md"
    runner = CliRunner()

    printed = runner.invoke(group, ["report", str(known), "--no-torch"])
    saved = runner.invoke(group, ["report", "-", "--no-torch", "-o", str(written)], input=unknown.read_bytes())
    bare = runner.invoke(group, ["report", "--no-torch"])

    assert printed.exit_code == 0
    assert "placeholder-empty" in printed.output
    assert "End of the log" not in printed.output
    assert saved.exit_code == 0
    assert saved.output == ""
    assert "OddError: token=<token>" in written.read_text()
    assert "End of the log" in written.read_text()
    assert bare.exit_code == 0
    assert "## Environment" in bare.output
    assert "## Diagnosis" not in bare.output


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    """A folder is no place for a report."""
    result = CliRunner().invoke(group, ["report", "--no-torch", "-o", str(tmp_path)])

    assert result.exit_code != 0
    assert "cannot be written" in str(result.exception)
    assert json.dumps(str(tmp_path))[1:-1] in str(result.exception)


def test_the_last_verify_is_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Amounts of its runs, first and last step; what was not measured is a question mark. Without one, the part is not there."""
    monkeypatch.setenv("MPSLINT_CACHE", str(tmp_path))
    before = CliRunner().invoke(group, ["report", "--no-torch"]).output
    steps = (StepRecord(1, live=1 << 30, peak=2 << 30, driver=-1), StepRecord(2, live=3 << 30, peak=5 << 30, driver=-1))
    keep([Report("train.py", Mac(), runs=(RunResult("as written", "emulated", steps),))])
    after = CliRunner().invoke(group, ["report", "--no-torch"]).output
    (tmp_path / NAME).write_text("[1]")
    broken = CliRunner().invoke(group, ["report", "--no-torch"]).output

    assert "| train.py, as written | emulated | 2 | 1.00 GiB to 3.00 GiB | ? to ? | 5.00 GiB |" in after
    assert "## Memory" not in before
    assert "## Memory" not in broken

"""`mpslint diagnose` reads what it is given, prints what it knows and leaves with the documented code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mpslint.cli import group
from mpslint.core.finding import Finding, Severity, Span
from mpslint.diagnose import Log, diagnose
from mpslint.diagnose.joining import explaining_findings
from mpslint.session.view import FileView, shown_findings
from mpslint.source.document import Document, Kind
from tests import LONG, warm_command

KNOWN = "RuntimeError: Placeholder tensor is empty!"
UNCERTAIN = "zsh: killed     python train.py"
UNKNOWN = "KeyError: 'labels'"
LESSON = (
    "RuntimeError: MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: "
    "47.74 GiB). Tried to allocate 51.44 MiB on private pool."
)


def run(*arguments: str, text: str | None = None) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(group, ["diagnose", *arguments], input=text)


def mpslint(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run the whole program."""
    done = warm_command.mpslint(["diagnose", *arguments], Path.cwd(), os.environ, text)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (KNOWN, 0),
        (LESSON, 0),
        ("CUDA out of memory. Tried to allocate 2 GiB", 0),
        (UNCERTAIN, 1),
        (UNKNOWN, 1),
        ("hello", 1),
    ],
)
def test_exit_codes_of_a_text(text: str, code: int) -> None:
    """0 is explained, 1 is known but not certain, or not known."""
    assert run("--message", text).exit_code == code


def test_input_comes_from_a_file_a_pipe_or_the_command_line(tmp_path: Path) -> None:
    """All three ways say the same but for the name of the source."""
    path = tmp_path / "train.log"
    path.write_text(KNOWN)
    outputs = [run(str(path)), run("-", text=KNOWN), run(text=KNOWN), run("-m", KNOWN)]

    assert {result.exit_code for result in outputs} == {0}
    assert len({result.output.replace(str(path), "X").replace("<stdin>", "X").replace("<message>", "X") for result in outputs}) == 1


@pytest.mark.parametrize(
    ("arguments", "text", "code", "complaint"),
    [
        (["missing.log"], "", 3, "missing.log: cannot be read"),
        (["-"], "", 3, "<stdin>: empty"),
        (["-m", "  "], "", 3, "<message>: empty"),
        (["a.log", "-m", "x"], "", 2, "not both"),
        (["--format", "yaml"], "", 2, "Invalid value for '--format'"),
        (["--nonsense"], "", 2, "No such option"),
    ],
)
def test_what_goes_wrong_is_one_line_and_a_code(arguments: list[str], text: str, code: int, complaint: str) -> None:
    """Usage is 2, unreadable is 3; no traceback is printed for either."""
    result = mpslint(*arguments, text=text)

    assert result.returncode == code
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_broken_files_are_one_line(tmp_path: Path) -> None:
    """A broken notebook, a binary file and an empty file each say what they are."""
    for name, data, complaint in [
        ("a.ipynb", b'{"cells": ', "its JSON is broken"),
        ("a.log", b"\x7fELF\x00\x00", "a binary file"),
        ("b.log", b"", "empty"),
    ]:
        path = tmp_path / name
        path.write_bytes(data)
        result = mpslint(str(path))

        assert result.returncode == 3
        assert result.stderr.startswith(f"mpslint: {path}: ")
        assert complaint in result.stderr
        assert result.stderr.count("\n") == 1


def test_nothing_that_is_slow_is_imported(tmp_path: Path) -> None:
    """A diagnosis needs neither torch nor LibCST nor nbformat."""
    program = f"import sys\nfrom mpslint.cli import group\ngroup(['diagnose', '-m', {KNOWN!r}], standalone_mode=False)\n"
    check = "import atexit, sys\natexit.register(lambda: print(sorted(set(sys.modules) & {'torch', 'libcst', 'nbformat'})))\n"

    result = subprocess.run([sys.executable, "-c", check + program], capture_output=True, text=True, check=False, timeout=LONG)

    assert result.stdout.splitlines()[-1] == "[]"


def test_the_text_has_colours_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Piped output is plain; FORCE_COLOR and NO_COLOR are obeyed."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain = run("-m", LESSON).output
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = run("-m", LESSON).output
    monkeypatch.setenv("NO_COLOR", "1")
    silenced = run("-m", LESSON).output

    assert "\x1b" not in plain
    assert "\x1b[1;31m" in coloured
    assert "\x1b[1;31m" not in silenced
    assert not any(line.endswith(" ") for line in plain.splitlines())


def test_the_lesson_as_text() -> None:
    """What a reader needs is there in order: verdict, numbers, meaning, the cures that are none, the changes."""
    output = " ".join(run("-m", LESSON).output.split())
    order = [
        "error out-of-memory Memory grew outside the live tensors",
        "Live tensors hold at most 4.20 GiB; 43.49 GiB is held outside them (91 % of all).",
        "a 36 GB Mac",
        "printed by torch >= 2.8, torch <= 2.11",
        "What it means",
        "What it does not mean",
        "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0",
        "What to change",
        "1. Pad to a few fixed lengths",
        "2. Install torch 2.14 or later",
        "Explained: Memory grew outside the live tensors",
    ]

    assert [text for text in order if text in output] == order
    assert sorted(order, key=output.index) == order


def test_a_warning_beside_an_error_is_told_in_short() -> None:
    """The advice of a warning would bury that of the error."""
    warning = "'pin_memory' argument is set as true but not supported on MPS now, device pinned memory won't be used."

    beside = run("-m", f"{KNOWN}\n{warning}").output
    alone = run("-m", warning).output

    assert "pin_memory=torch.cuda.is_available()" in alone
    assert "pin-memory-ignored" in beside
    assert "pin_memory=torch.cuda.is_available()" not in beside


def test_what_is_not_known_says_what_was_looked_for() -> None:
    """No guess, but what was looked for, what stands there, and how to report it."""
    output = " ".join(run("-m", UNKNOWN).output.split())

    assert "not known: KeyError: 'labels'" in output
    assert "Looked for in 1 line:" in output
    assert "mpslint report FILE" in output
    assert output.endswith("Not known.")


@pytest.mark.parametrize(
    "text",
    [
        "error: 'stablehlo.gather' op operand #1 must be tensor of int values, but got 'tensor<64xf32>'",
        "ValueError: New volume: 10 should match old volume: 20",
        "IndexError: error: dimension index (2) not within number of dimensions (2)",
    ],
)
def test_what_other_programs_say_alike_is_not_known(text: str) -> None:
    assert run("-m", text).output.endswith("Not known.\n")


def test_noise_alone_explains_nothing() -> None:
    """A leaked semaphore says only that something ended."""
    result = run("-m", "UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown")

    assert result.exit_code == 1
    assert "noise (leaked-semaphores)" in result.output
    assert "Nothing that stopped or changed the run was recognised." in result.output


def test_json_holds_everything() -> None:
    """The JSON form has one documented shape, whatever was found."""
    csv = "step,live_gib,driver_gib\n" + "\n".join(f"{step},4.2,{5 + step}" for step in range(30))
    data = json.loads(run("--format", "json", "-m", f"torch==2.9.1\n{LESSON}\n{UNKNOWN}\n{csv}").output)

    (symptom,) = data["symptoms"]
    assert data["schema"] == 1
    assert data["outcome"] == "explained"
    assert symptom["memory"]["verdict"] == "growth-outside-tensors"
    assert symptom["memory"]["other_bytes"] == round(43.49 * 1024**3)
    assert symptom["memory"]["macs"] == [{"memory_gb": 36, "macos": "newer", "ratio": 1.7}]
    assert symptom["explanation"]["change"][0]["set"] == {"padding.multiple_of": 64}
    assert data["memory_log"]["verdict"] == "memory-driver-grows"
    assert data["unknown"][0]["text"] == UNKNOWN
    assert data["versions"] == {"torch": "2.9.1"}
    assert json.loads(run("--format", "json", "-m", "hello").output)["symptoms"] == []


def test_markdown_can_be_pasted() -> None:
    """Markdown has a heading for each cause, the quote in a fence, and balanced fences."""
    csv = "step,live,driver\n" + "\n".join(f"{step},4.2,{5 + step}" for step in range(30))

    output = run("--format", "markdown", "-m", f"{LESSON}\n{KNOWN}\n{csv}").output

    assert output.count("\n### ") == 3
    assert output.count("```") == 4
    assert "*What to change:*" in output


def test_help_has_examples() -> None:
    """The help shows how it is called."""
    output = run("--help").output

    assert "mpslint diagnose train.log" in output
    assert "Exit codes: 0 explained" in output


def test_findings_that_explain_the_error_come_first() -> None:
    """A rule that the message names, on the line where the traceback ends, before other lines; others explain nothing."""
    log = (
        'Traceback (most recent call last):\n  File "/Users/ann/train.py", line 7, in <module>\n'
        "ValueError: fp16 mixed precision requires a GPU (not 'mps').\n"
    )
    document = Document("train.py", Kind.PYTHON, "x = 12345\n" * 10)
    findings = [
        Finding("MPS605", "pin-memory", Severity.NOTE, "", Span(80, 81)),
        Finding("MPS101", "fp16-mixed-precision", Severity.ERROR, "", Span(70, 71)),
        Finding("MPS101", "fp16-mixed-precision", Severity.WARNING, "", Span(60, 61)),
        Finding("MPS401", "eval-logits", Severity.ERROR, "", Span(50, 51)),
    ]
    file = FileView(document.path, findings=tuple(shown_findings(document, findings)))

    found = explaining_findings(diagnose(Log("train.log", log)), file)

    assert [(one.finding.line, one.explains, one.in_traceback) for one in found] == [
        (7, "fp16-requires-gpu", True),
        (8, "fp16-requires-gpu", False),
    ]
    assert explaining_findings(diagnose(Log("x", "hello")), file) == ()


def test_without_a_source_the_rules_to_look_for_are_named() -> None:
    """With one, its findings are there instead."""
    alone = run("-m", LESSON).output
    joined = run("-m", LESSON, "--source", "samples/summarization.ipynb").output

    assert "Where it is in your code: mpslint check FILE --select MPS301," in alone
    assert "Where it is in your code" not in joined
    assert "MPS301" in joined


def test_a_count_of_a_long_log_says_that_it_is_a_lower_bound(tmp_path: Path) -> None:
    """A message that comes very often isn't matched in every line."""
    line = "RuntimeError: MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB)\n"
    log = tmp_path / "a.log"

    log.write_text(line * 3)
    assert "line 1; 3 times" in " ".join(CliRunner().invoke(group, ["diagnose", str(log)]).output.split())
    log.write_text(line * 2000)
    assert "line 1; at least " in " ".join(CliRunner().invoke(group, ["diagnose", str(log)]).output.split())


def test_versions_older_than_the_explanations_were_read_in_are_said() -> None:
    """What is said of them is assumed; within the releases that were read nothing is added."""
    message = ("--message", "AssertionError: Torch not compiled with CUDA enabled")

    assert "torch 1.10 is older than 1.12, the oldest that this was read in" in run(*message, "--torch", "1.10").output
    assert "older than" not in run(*message, "--torch", "1.12").output

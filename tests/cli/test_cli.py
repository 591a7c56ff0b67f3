"""The command line as a user meets it: output, exit codes, one clear line for whatever is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.notebooks import notebook
from tests.warm_command import mpslint

BAD = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"
WORSE = BAD.replace(")\n", ", dataloader_pin_memory=True)\n")
"""A note beside the warning."""
CLEAN = "print('hello')\n"
NEWER = ("--torch", "2.13.0", "--accelerate", "1.15.0")
"""Versions in which fp16 is a warning, whatever is installed."""


def run(*arguments: str, cwd: Path, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run mpslint as a user does, in a folder."""
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV", "CONDA_PREFIX")}
    root = Path(__file__).parents[2]
    done = mpslint(arguments, cwd, {**kept, "PYTHONPATH": str(root), **environment}, stdin)
    said = [stream.decode().replace("\r\n", "\n") for stream in (done.stdout, done.stderr)]
    return subprocess.CompletedProcess(done.args, done.returncode, *said)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bad and a clean script."""
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "clean.py").write_text(CLEAN)
    return tmp_path


def test_a_clean_file_exits_with_0(folder: Path) -> None:
    """And says so."""
    done = run("check", "clean.py", cwd=folder)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing wrong" in done.stdout


def test_findings_exit_with_1_and_show_place_cause_and_fix(folder: Path) -> None:
    """No colours where the output is a pipe."""
    done = run("check", ".", cwd=folder)

    assert done.returncode == 1
    assert "bad.py:2:33" in done.stdout
    assert "MPS101" in done.stdout
    assert "fp16=not torch.backends.mps.is_available()" in done.stdout
    assert "\x1b" not in done.stdout


def test_exit_zero(folder: Path) -> None:
    """Whatever was found."""
    assert run("check", "bad.py", "--exit-zero", cwd=folder).returncode == 0


def test_colours_where_somebody_sees_them(folder: Path) -> None:
    """FORCE_COLOR stands in for a terminal; NO_COLOR wins."""
    assert "\x1b" in run("check", "bad.py", cwd=folder, FORCE_COLOR="1").stdout
    assert "\x1b[31" not in run("check", "bad.py", cwd=folder, FORCE_COLOR="1", NO_COLOR="1").stdout


WRONG = [
    (["check", "x.py", "--select", "fp16-mixed-precison"], 2, "did you mean fp16-mixed-precision"),
    (["check", "clean.py", "--torch", "new"], 2, "not a version"),
    (["check", "clean.py", "--memory", "lots"], 2, "write it like 16GB"),
    (["check", "clean.py", "--config", "gone.toml"], 2, "no such configuration"),
    (["check", "clean.py", "--nope"], 2, "No such option"),
    (["check", "clean.py", "--format", "pylint"], 2, "concise prints one line a finding"),
    (["check", "clean.py", "--show-fixes"], 2, "`mpslint fix` shows each fix"),
    (["check", "clean.py", "--select", "fp17"], 2, "did you mean fp16-mixed-precision"),
    (["explain", "fp16"], 2, "did you mean fp16-mixed-precision"),
    (["plan", "empty"], 0, "no file to plan in empty"),
    (["check", "clean.py", "--output-format=full"], 2, "without --format the report is whole"),
    (["nope"], 2, "No such command"),
    (["explain", "MPS999"], 2, "unknown rule"),
    (["check", "gone.py"], 3, "gone.py: no such file"),
    (["check", "binary.py"], 3, "binary.py: not text"),
    (["check", "broken.ipynb"], 3, "broken.ipynb:1"),
    (["check", "syntax.py"], 3, "syntax.py:2:5"),
    (["check", "invalid.ipynb"], 3, "invalid.ipynb: 1 cell not read"),
    (["fix", "broken.ipynb", "--apply"], 3, "broken.ipynb:1"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), WRONG, ids=[" ".join(a) for a, _, _ in WRONG])
def test_what_is_wrong_is_one_line_and_an_exit_code(folder: Path, arguments: list[str], code: int, said: str) -> None:
    """Never a traceback."""
    (folder / "x.py").write_text(CLEAN)
    (folder / "empty").mkdir()
    (folder / "binary.py").write_bytes(b"\x00\x01")
    (folder / "broken.ipynb").write_text('{"cells": [')
    (folder / "syntax.py").write_text("import torch\ndef (:\n")
    (folder / "invalid.ipynb").write_text('{"cells": [{"cell_type": null, "source": "import torch"}], "nbformat": 4}')
    done = run(*arguments, cwd=folder)

    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_other_files_are_still_checked(folder: Path) -> None:
    """One unreadable file costs itself; the exit code says that something was not read."""
    (folder / "broken.ipynb").write_text("{")
    done = run("check", ".", cwd=folder)

    assert done.returncode == 3
    assert "MPS101" in done.stdout
    assert "broken.ipynb" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_one_line(folder: Path) -> None:
    """And the files beside it are checked."""
    locked = folder / "locked"
    locked.mkdir(mode=0o000)
    try:
        done = run("check", ".", cwd=folder)
    finally:
        locked.chmod(0o755)

    assert done.returncode == 3
    assert "locked: cannot be read" in done.stderr


def test_standard_input(folder: Path) -> None:
    """`-` is a script unless its name or its look says otherwise."""
    assert run("check", "-", cwd=folder, stdin=BAD).returncode == 1
    named = run("check", "-", "--stdin-filename", "a/train.py", cwd=folder, stdin=BAD)
    assert "a/train.py:2:33" in named.stdout
    assert run("check", "-", cwd=folder, stdin=notebook(BAD).decode()).returncode == 1


def test_json_is_data_with_places_and_edits(folder: Path) -> None:
    """Ranges, cells, fixes as edits, the Target and the plans."""
    (folder / "n.ipynb").write_bytes(notebook("x = 1\n", BAD))
    done = run("check", "n.ipynb", "--format", "json", "--torch", "2.9", cwd=folder)
    (file,) = json.loads(done.stdout)["files"]
    (finding,) = [row for row in file["findings"] if row["rule"] == "MPS101"]

    assert done.returncode == 1
    assert (finding["place"]["cell"], finding["place"]["line"], finding["text"]) == (2, 2, "fp16=True")
    assert finding["fix"]["edits"][0]["text"] == "not torch.backends.mps.is_available()"
    assert file["target"]["torch"] == {"version": "2.9", "source": "option"}
    assert file["plans"][0]["settings"]["precision.mixed"]["value"] == "fp16"


def test_severity_and_rules_can_be_chosen(folder: Path) -> None:
    """By option and by configuration."""
    assert "MPS101" not in run("check", "bad.py", "--severity", "error", *NEWER, cwd=folder).stdout
    assert "MPS101" not in run("check", "bad.py", "--ignore", "MPS1", cwd=folder).stdout
    assert "MPS101" in run("check", "bad.py", "--select", "fp16-mixed-precision", cwd=folder).stdout
    (folder / "mpslint.toml").write_text('[per-file-ignores]\n"bad.py" = ["MPS101"]\n')
    assert "MPS101" not in run("check", "bad.py", cwd=folder).stdout
    assert "MPS101" in run("check", "bad.py", "--isolated", cwd=folder).stdout


def test_fix_shows_and_apply_writes(folder: Path) -> None:
    """Without --apply a diff and exit code 1; with it the file changes, and a second time there is nothing to do."""
    shown = run("fix", "bad.py", "--select", "MPS101", cwd=folder)
    assert shown.returncode == 1
    assert "+args = TrainingArguments('out', fp16=not torch.backends.mps.is_available())" in shown.stdout
    assert (folder / "bad.py").read_text() == BAD

    applied = run("fix", "bad.py", "--select", "MPS101", "--apply", "--backup", cwd=folder)
    assert applied.returncode == 0
    assert (folder / "bad.py").read_text() == "import torch\n" + BAD.replace("True", "not torch.backends.mps.is_available()")
    assert (folder / "bad.py.orig").read_text() == BAD
    again = run("fix", "bad.py", "--select", "MPS101", "--apply", cwd=folder)
    assert (again.returncode, "Nothing to fix" in again.stdout) == (0, True)


def test_fix_of_standard_input_prints_the_result(folder: Path) -> None:
    """As editors and pipes want it."""
    done = run("fix", "-", "--apply", "--select", "MPS101", cwd=folder, stdin=BAD)

    assert done.stdout == "import torch\n" + BAD.replace("True", "not torch.backends.mps.is_available()")


def test_a_plain_diff_can_be_applied(folder: Path) -> None:
    """`mpslint fix --diff | git apply` is the same as --apply."""
    patch = run("fix", "bad.py", "--select", "MPS101", "--diff", cwd=folder).stdout
    subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, text=True, check=True)

    assert (folder / "bad.py").read_text() == "import torch\n" + BAD.replace("True", "not torch.backends.mps.is_available()")


def test_what_check_takes_fix_takes(folder: Path) -> None:
    """And one line a finding has the name that it has in ruff."""
    assert run("fix", "bad.py", "--no-cache", "--show-fixes", "--exit-zero", cwd=folder).returncode == 0
    assert run("check", "bad.py", "--format", "concise", cwd=folder).stdout == run("check", "bad.py", "-q", cwd=folder).stdout


def test_plan_explain_and_rules(folder: Path) -> None:
    """The other commands answer, as text and as JSON."""
    assert "precision.mixed" in run("plan", "bad.py", cwd=folder).stdout
    assert json.loads(run("plan", "bad.py", "--format", "json", cwd=folder).stdout)[0]["plans"]
    assert "Sources" in run("explain", "MPS101", "--all", cwd=folder).stdout
    assert "MPS101" in run("rules", cwd=folder).stdout
    assert json.loads(run("rules", "--format", "json", cwd=folder).stdout)[0]["id"] == "MPS001"


def test_help_has_examples(folder: Path) -> None:
    """Every command explains itself."""
    for name in ("check", "fix", "plan", "explain"):
        done = run(name, "--help", cwd=folder)
        assert done.returncode == 0
        assert f"mpslint {name} " in done.stdout


def test_a_check_loads_nothing_heavy(folder: Path) -> None:
    """No torch, no transformers, no nbformat, and no LibCST where nothing is found."""
    code = (
        "import sys, runpy\n"
        "sys.argv = ['mpslint', 'check', sys.argv[1]]\n"
        "try:\n    runpy.run_module('mpslint', run_name='__main__')\n"
        "except SystemExit:\n    pass\n"
        "print(*sorted(name for name in sys.modules if '.' not in name))\n"
    )
    loaded = {}
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    for name in ("bad.py", "clean.py"):
        done = subprocess.run([sys.executable, "-c", code, name], cwd=folder, env=environment, capture_output=True, text=True, check=True)
        loaded[name] = set(done.stdout.splitlines()[-1].split())

    assert not loaded["bad.py"] & {"torch", "transformers", "datasets", "numpy", "nbformat", "jsonschema"}
    assert "libcst" not in loaded["clean.py"]


def test_what_is_said_of_many_places_is_said_once(tmp_path: Path) -> None:
    """The places follow the first; one line a finding names each of them; a fix mends them all."""
    code = "import torch\n" + "x = torch.ones(2).to('cuda')\n" * 12
    (tmp_path / "many.py").write_text(code)

    shown, quiet = (run("check", "many.py", *more, cwd=tmp_path).stdout for more in ([], ["-q"]))
    comment = run("check", "many.py", "--format", "markdown", cwd=tmp_path).stdout
    fixed = run("fix", "--apply", "many.py", cwd=tmp_path)

    assert "1 error at 12 places" in comment
    assert comment.count("| error |") == 1
    assert "and 11 more places" in comment
    assert shown.count("MPS501") == 1
    assert "also  line 3; line 4" in shown
    assert "line 11; and 2 more" in " ".join(shown.split())
    assert "1 error at 12 places in 1 file." in shown
    assert quiet.count("MPS501") == 12
    assert fixed.returncode == 0
    assert ".to('cuda')" not in (tmp_path / "many.py").read_text()


def test_a_line_with_two_places_is_named_once_and_what_nothing_mends_is_no_argument(tmp_path: Path) -> None:
    """The command that is proposed names the files in which it would change something."""
    (tmp_path / "twice.py").write_text("import torch\nx = torch.ones(2).to('cuda')\ny = x.to('cuda') + x.to('cuda')\n")
    (tmp_path / "unmended.py").write_text("import torch\nprint(torch.cuda.get_device_name(0))\n")

    shown = run("check", ".", cwd=tmp_path).stdout

    assert "also line 3\n" in shown
    assert "3 can be fixed safely: mpslint fix twice.py\n" in shown


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("tests/helpers.py", "import pytest\nimport torch\nx = torch.ones(2, device='cuda')\n"),
        ("kernels/test_norm.py", "import torch\ndef test_norm():\n    assert torch.ones(2, device='cuda').norm() > 1\n"),
        ("job.py", "import os\nimport torch\nout = os.environ['SM_MODEL_DIR']\nx = torch.ones(2, device='cuda')\n"),
        ("serve.py", "import modal\nimport torch\n@app.cls(image=made(1), gpu='T4')\nclass Model:\n    x = torch.ones(2, device='cuda')\n"),
        ("bench_norm.py", "import torch\nstart = torch.cuda.Event(enable_timing=True)\nx = torch.ones(2, device='cuda')\n"),
    ],
)
def test_suites_are_left_alone(tmp_path: Path, name: str, code: str) -> None:
    """Tests for CUDA are skipped where there is none, and its benchmarks are for its users; such names alone say nothing."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(code)
    (tmp_path / "test_run.py").write_text("import torch\ndef test_loop():\n    return torch.ones(2, device='cuda')\ntest_loop()\n")

    assert run("check", name, cwd=tmp_path).returncode == 0
    assert run("check", "test_run.py", cwd=tmp_path).returncode == 1


def test_what_is_named_twice_is_said_once(folder: Path) -> None:
    """By itself and by its folder, and however it is written."""
    assert run("check", "-q", "bad.py", ".", "./bad.py", str(folder / "bad.py"), cwd=folder).stdout.count("MPS101") == 1


@pytest.mark.parametrize("pattern", ["bad\\"])
def test_an_exclude_that_is_no_pattern_is_one_line(folder: Path, pattern: str) -> None:
    """On the command line and in a configuration."""
    expected = (2, f"mpslint: exclude: {pattern!r} is not a .gitignore pattern\n")
    done = run("check", "--exclude", pattern, cwd=folder)
    assert (done.returncode, done.stderr) == expected

    (folder / "mpslint.toml").write_text(f"exclude = ['{pattern}']\n")
    done = run("check", ".", cwd=folder)
    assert (done.returncode, done.stderr) == expected


def test_no_other_line_of_an_env_file_is_shown(folder: Path) -> None:
    """They are secrets, and reports go into the logs of CI."""
    lines = "HF_TOKEN=hf_secret\nPYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\nWANDB_API_KEY=secret\n"
    (folder / ".env").write_text(lines)
    for output_format in ("text", "json", "sarif", "github", "gitlab", "junit", "markdown"):
        done = run("check", ".env", "--format", output_format, cwd=folder)
        assert done.returncode == 1
        assert "secret" not in done.stdout + done.stderr

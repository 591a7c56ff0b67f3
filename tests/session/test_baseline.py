"""A baseline leaves out what it holds, wherever it has moved to, and nothing else; --add-ignore writes comments that work."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.test_cli import BAD, CLEAN, run
from tests.notebooks import notebook

NAME = "baseline.json"
OTHER = "args = TrainingArguments('another', fp16=True)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with findings in a script, in a notebook and below a folder, and a baseline of them."""
    (tmp_path / "mpslint.toml").write_text('select = ["MPS101"]\n[target]\ntorch = "2.13.0"  # where fp16 is a warning\n')
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "n.ipynb").write_bytes(notebook("x = 1\n", BAD))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "bad.py").write_text(BAD)
    done = run("check", ".", "--write-baseline", NAME, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Wrote 3 findings in 3 files to {NAME}.\n"
    return tmp_path


def test_what_a_baseline_holds_is_not_reported(folder: Path) -> None:
    """It reads well, and the exit code is that of what is new."""
    done = run("check", ".", "--baseline", NAME, cwd=folder)
    rows = json.loads((folder / NAME).read_text())["findings"]

    assert (done.returncode, done.stderr) == (0, f"3 findings left out: in the baseline {NAME}\n")
    assert [row["path"] for row in rows] == ["bad.py", "n.ipynb", "sub/bad.py"]
    assert rows[0]["text"] == "args = TrainingArguments('out', fp16=True)"


def test_new_findings_are_reported_among_moved_old_ones(folder: Path) -> None:
    """In text and in JSON alike."""
    (folder / "bad.py").write_text("\n\nimport torch\n" + BAD + OTHER)
    (folder / "n.ipynb").write_bytes(notebook("x = 1\n", "y = 2\n", BAD, OTHER, indent=2))
    done = run("check", ".", "--baseline", NAME, "--quiet", cwd=folder)
    found = json.loads(run("check", ".", "--baseline", NAME, "--format", "json", cwd=folder).stdout)

    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines() if "MPS101" in line] == ["bad.py:6:37", "n.ipynb:cell"]
    assert [len(file["findings"]) for file in found["files"] if not file["path"].endswith(".json")] == [1, 1, 0]
    assert found["summary"]["warning"] == 2


def test_the_same_line_a_second_time_is_new(folder: Path) -> None:
    """A baseline counts."""
    (folder / "bad.py").write_text(BAD + BAD.splitlines()[1] + "\n")

    assert run("check", "bad.py", "--baseline", NAME, cwd=folder).returncode == 1


def test_entries_that_no_longer_occur_are_counted(folder: Path) -> None:
    """Only those that this run could have met: the file was checked for their rule, or is no more."""
    (folder / "bad.py").write_text(CLEAN)
    (folder / "sub" / "bad.py").unlink()
    said = f"2 entries of the baseline no longer occur: bad.py (1), sub/bad.py (1); --write-baseline {NAME} writes it anew\n"

    assert said in run("check", ".", "--baseline", NAME, cwd=folder).stderr
    one = run("check", "n.ipynb", "--baseline", NAME, cwd=folder).stderr
    assert "1 entry of the baseline no longer occurs: sub/bad.py (1)" in one
    unasked = run("check", ".", "--baseline", NAME, "--ignore", "MPS101", cwd=folder).stderr
    assert "1 entry" in unasked
    assert "1 entry" in run("check", ".", "--baseline", NAME, "--severity", "error", cwd=folder).stderr


def test_a_baseline_holds_from_any_folder(folder: Path) -> None:
    """Its paths count from where it lies."""
    assert run("check", "bad.py", "--baseline", f"../{NAME}", cwd=folder / "sub").returncode == 0
    assert run("check", str(folder / "n.ipynb"), "--baseline", f"../{NAME}", cwd=folder / "sub").returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "cannot be read: No such file"), ("[]", "not a baseline"), ('{"schema": 2}', "another version"), ("{", "not a baseline")],
)
def test_what_is_no_baseline_is_one_line(folder: Path, text: str | None, said: str) -> None:
    """With what to do."""
    if text is None:
        (folder / NAME).unlink()
    else:
        (folder / NAME).write_text(text)
    done = run("check", ".", "--baseline", NAME, cwd=folder)

    assert done.returncode == 2
    assert said in done.stderr
    assert "--write-baseline" in done.stderr


def test_a_baseline_of_what_cannot_be_read_is_not_whole(folder: Path) -> None:
    """It is written, and the exit code says that something is missing; entries of such a file are not called gone."""
    (folder / "bad.py").write_text(BAD + "def (:\n")

    assert "no longer" not in run("check", ".", "--baseline", NAME, cwd=folder).stderr
    assert run("check", ".", "--write-baseline", NAME, cwd=folder).returncode == 3
    assert run("check", ".", "--write-baseline", NAME, "--baseline", NAME, cwd=folder).returncode == 2


def test_add_ignore_silences_what_is_there(folder: Path) -> None:
    """In scripts and notebooks, with the reason; the second time there is nothing to do."""
    done = run("check", "--add-ignore=measured on an M2", ".", cwd=folder)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Ignored 3 findings.\n")
    assert (folder / "bad.py").read_text() == BAD.rstrip("\n") + "  # mpslint: ignore[MPS101] measured on an M2\n"
    assert run("check", ".", cwd=folder).returncode == 0
    assert run("check", ".", "--add-ignore", cwd=folder).stdout == "Nothing to ignore.\n"


def test_add_ignore_takes_no_path_for_a_reason(folder: Path) -> None:
    """`--add-ignore bad.py` is about bad.py."""
    assert run("check", "--add-ignore", "bad.py", cwd=folder).returncode == 0
    assert (folder / "bad.py").read_text().endswith("fp16=True)  # mpslint: ignore[MPS101]\n")
    assert "\n" + BAD.splitlines()[1] + "\n" in (folder / "sub" / "bad.py").read_text()


def test_add_ignore_leaves_what_no_comment_can_silence(folder: Path) -> None:
    """A line between backslashes: the others of the file are silenced, and what is left is said with what to do instead."""
    between = "from transformers import TrainingArguments\na = \\\n    TrainingArguments('o', fp16=True) \\\n    or None\n"
    (folder / "bad.py").write_text(between + OTHER)
    done = run("check", "bad.py", "--add-ignore", cwd=folder)

    assert done.returncode == 1
    assert done.stdout == (
        "bad.py: 1 finding ignored\nbad.py:3: MPS101 cannot be silenced by a comment here; name the file in per-file-ignores\nIgnored 1 finding.\n"
    )
    assert (folder / "bad.py").read_text() == between + OTHER.rstrip("\n") + "  # mpslint: ignore[MPS101]\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-", "--add-ignore"], 2, "writes files"),
        (["bad.py", "--add-ignore=a\nb"], 2, "one line"),
        (["latin.py", "--add-ignore=größer €"], 3, "cannot be written in"),
        (["gone.py", "--add-ignore"], 3, "no such file"),
    ],
)
def test_add_ignore_refuses_in_one_line(folder: Path, arguments: list[str], code: int, said: str) -> None:
    """And leaves the files as they are."""
    (folder / "latin.py").write_bytes(b"# coding: latin-1\n" + BAD.replace("out", "\xfc").encode("latin-1"))
    before = {path: path.read_bytes() for path in folder.rglob("*.py")}
    done = run("check", *arguments, cwd=folder)

    assert (done.returncode, said in done.stderr) == (code, True)
    assert {path: path.read_bytes() for path in folder.rglob("*.py")} == before


def test_output_goes_to_a_file(folder: Path) -> None:
    """Nothing is printed but what could not be read; a folder that is not there is one line."""
    done = run("check", "bad.py", "--format", "sarif", "--output", "out.sarif", cwd=folder)

    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert json.loads((folder / "out.sarif").read_text())["version"] == "2.1.0"
    assert run("check", "bad.py", "--output", "out.txt", cwd=folder, FORCE_COLOR="1").stdout == ""
    assert (folder / "out.txt").read_text().startswith("bad.py")
    assert "\x1b" not in (folder / "out.txt").read_text()
    run("check", "bad.py", "--output", "out.txt", "--quiet", cwd=folder)
    assert len((folder / "out.txt").read_text().splitlines()) == 3
    refused = run("check", "bad.py", "--output", "gone/out.txt", cwd=folder)
    assert (refused.returncode, "gone/out.txt: cannot be written" in refused.stderr) == (3, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_output_into_a_folder_without_permission(folder: Path) -> None:
    """One line."""
    (folder / "sub").chmod(0o555)

    assert run("check", "bad.py", "--output", "sub/out.txt", cwd=folder).returncode == 3


def test_annotations_by_themselves_inside_github_actions(folder: Path) -> None:
    """Beside the text, also where that goes to a file; not where a format is asked for."""
    both = run("check", "bad.py", cwd=folder, GITHUB_ACTIONS="true").stdout
    assert both.startswith("bad.py")
    assert "\n::warning file=bad.py,line=2,col=33," in both
    assert run("check", "bad.py", "--output", "out.txt", cwd=folder, GITHUB_ACTIONS="true").stdout.startswith("::warning")
    for chosen in ("text", "json"):
        assert "::warning" not in run("check", "bad.py", "--format", chosen, cwd=folder, GITHUB_ACTIONS="true").stdout
    assert "::warning" not in run("check", "bad.py", "--statistics", cwd=folder, GITHUB_ACTIONS="true").stdout


@pytest.mark.parametrize("option", ["--baseline", "--write-baseline"])
def test_a_finding_gets_a_comment_or_an_entry(folder: Path, option: str) -> None:
    """Both at once is an error, before anything is written."""
    before = [(folder / name).read_bytes() for name in ("bad.py", NAME)]
    done = run("check", ".", option, NAME, "--add-ignore", cwd=folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"--add-ignore writes a comment for every finding, {option} sets findings aside" in done.stderr
    assert [(folder / name).read_bytes() for name in ("bad.py", NAME)] == before

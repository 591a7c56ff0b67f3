"""The command line where it is bent: no path, wrong configurations, habits from other linters, full disks and odd letters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint import cli
from tests.cli.test_cli import BAD, WORSE, run
from tests.notebooks import notebook
from tests.warm_command import mpslint


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bad script."""
    (tmp_path / "bad.py").write_text(WORSE)
    return tmp_path


def environment() -> dict[str, str]:
    """Return an environment in which a folder elsewhere finds mpslint."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool]\nmpslint = 3\n", "tool.mpslint must be a table"),
        ('[tool.mpslint]\nignore = "MPS1"\n', "ignore must be a list of strings"),
        ('[tool.mpslint]\ntarget = "x"\n', "target must be a table"),
        ('[tool.mpslint.per-file-ignores]\n"a*" = "MPS1"\n', 'per-file-ignores."a*" must be a list of strings'),
        ('[tool.mpslint]\nrules = ["nowhere"]\n', "there is no folder "),
        ('[tool.mpslint]\nignore = ["MPS99l"]\n', "unknown rule 'MPS99l'"),
        ('[tool.mpslint.per-file-ignores]\n"other.py" = ["fp16-mixed-precison"]\n', "did you mean fp16-mixed-precision?"),
    ],
)
def test_a_wrong_configuration_names_its_file(folder: Path, text: str, said: str) -> None:
    """In one line, with what is wrong in it, in the words of TOML."""
    (folder / "pyproject.toml").write_text(text)
    done = run("check", "bad.py", cwd=folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"mpslint: {folder / 'pyproject.toml'}: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_current_folder_is_checked_where_none_is_named(folder: Path) -> None:
    """As other linters do; its files are named without `./`, and the command that mends them can be copied."""
    done = run("check", cwd=folder)

    assert done.returncode == 1
    assert "\nbad.py:2:" in done.stdout
    assert "can be fixed safely: mpslint fix bad.py\n" in done.stdout
    assert run("fix", cwd=folder).stdout.startswith("bad.py\n@@")
    (folder / "empty").mkdir()
    nothing = run("check", "empty", cwd=folder)
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "mpslint: no file to check in empty\n")


def test_the_command_that_mends_can_be_copied(folder: Path) -> None:
    """It names the files with findings, or, where there are many, what was asked for."""
    assert "2 can be fixed safely: mpslint fix bad.py\n" in run("check", ".", cwd=folder).stdout
    (folder / "run it.sh").write_text("export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\n")
    assert "; mpslint fix 'run it.sh' --unsafe)\n1 warning in 1 file. For macOS" in run("check", "run it.sh", cwd=folder).stdout
    for name in "abc":
        (folder / f"{name}.py").write_text(BAD)
    assert "mpslint fix .; 1 more with --unsafe" in run("check", ".", cwd=folder).stdout
    named = run("check", "a.py", "b.py", "bad.py", "c.py", cwd=folder).stdout
    assert "mpslint fix a.py b.py bad.py ...\n" in named


def test_the_summary_counts_what_could_not_be_read(folder: Path) -> None:
    """On standard output too, where somebody reads the result."""
    (folder / "broken.ipynb").write_text("{")
    (folder / "clean.py").write_text("x = 1\n")

    assert run("check", "clean.py", "broken.ipynb", cwd=folder).stdout == "Nothing wrong for MPS in 1 file; 1 file could not be read.\n"
    assert "in 1 file; 1 file could not be read. For macOS" in run("check", "bad.py", "broken.ipynb", cwd=folder).stdout


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--fix", "mpslint fix --apply"),
        ("--diff", "mpslint fix --diff"),
        ("--extend-exclude", "--exclude"),
    ],
)
def test_options_of_other_linters_are_told_apart(folder: Path, option: str, said: str) -> None:
    """With the name that they have here."""
    done = run("check", "bad.py", option, cwd=folder)

    assert done.returncode == 2
    assert said in done.stderr


def test_a_report_goes_to_standard_output_by_its_sign(folder: Path) -> None:
    """`--output -` makes no file of that name."""
    assert run("check", "bad.py", "--output", "-", cwd=folder).stdout == run("check", "bad.py", cwd=folder).stdout
    assert not (folder / "-").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("name", ["text", "json", "sarif"])
def test_a_full_disk_is_one_line(folder: Path, name: str) -> None:
    """And not the exit code of findings."""
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "mpslint", "check", "bad.py", "--format", name]
        done = subprocess.run(line, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, env=environment())

    assert (done.returncode, done.stderr) == (3, "mpslint: standard output cannot be written: No space left on device\n")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8:strict", "utf-8:surrogateescape"])
@pytest.mark.parametrize("name", ["text", "json", "sarif", "github", "gitlab", "junit", "markdown"])
def test_what_has_no_place_in_an_encoding_is_shown_by_its_number(folder: Path, encoding: str, name: str) -> None:
    """Letters on an old terminal, half a surrogate pair in a notebook, a byte of a file's name; reports stay what they are."""
    cell = BAD.replace("'out'", "'größe \ud83d'") + "more = TrainingArguments(\n    '\ud83d', fp16=True)\n"
    (folder / "cells.ipynb").write_bytes(notebook(cell))
    odd = os.fsdecode(b"b\xff.py")
    (folder / odd).write_text(BAD)
    done = mpslint(["check", "cells.ipynb", odd, "--format", name], folder, {**environment(), "PYTHONIOENCODING": encoding})

    assert (done.returncode, done.stderr) == (1, b"")
    text = done.stdout.decode("ascii" if encoding == "ascii" and name == "text" else "utf-8")
    assert "MPS101" in text
    assert name not in ("json", "sarif", "gitlab") or json.loads(text)
    assert mpslint(["fix", "cells.ipynb", odd], folder, environment()).stderr == b""


def test_a_folder_that_nobody_may_look_into_is_one_line(folder: Path) -> None:
    """Named, come across, or with the file that is named in it."""
    secret = folder / "secret"
    secret.mkdir()
    (secret / "train.py").write_text(BAD)
    secret.chmod(0)
    try:
        if os.access(secret, os.R_OK):
            pytest.skip("root may read everything")
        for path, said in (("secret", "secret"), (".", "secret"), ("secret/train.py", "secret/train.py")):
            done = run("check", path, cwd=folder)
            assert (done.returncode, done.stderr) == (3, f"mpslint: {said}: cannot be read: Permission denied\n")
    finally:
        secret.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="a folder in use cannot be removed there")
def test_a_current_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    """As after `git checkout` of another branch."""
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"cd {gone} && rmdir {gone} && {sys.executable} -m mpslint check train.py"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment())

    assert (done.returncode, done.stderr) == (3, "mpslint: the current folder no longer exists\n")


def test_what_the_system_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever it happens: the file and the reason, never a traceback."""

    def refused(words: list[str]) -> None:
        raise PermissionError(13, "Permission denied", "/etc/notes")

    monkeypatch.setattr(cli, "group", refused)
    with pytest.raises(SystemExit, match="3"):
        cli.main()

    assert capsys.readouterr().err == "mpslint: /etc/notes: Permission denied\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("requirements.txt", "torch>=2.0\n", "not a kind of file that mpslint checks"),
        ("notes.md", "# torch\n", "not a notebook: Markdown is read as one if its header has the key `jupyter` or `jupytext`"),
    ],
)
def test_a_file_of_another_kind_is_not_taken_for_python(folder: Path, name: str, text: str, said: str) -> None:
    """Requirements may even parse, and would be called clean; a script with an odd ending is still one."""
    (folder / name).write_text(text)
    done = run("check", name, cwd=folder)
    (folder / "train.py_").write_text(BAD)

    assert done.returncode == 3
    assert done.stderr.startswith(f"mpslint: {name}: {said}")
    assert run("check", "train.py_", cwd=folder).returncode == 1


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("check - <&-", 3, "standard input is closed"),
        ("diagnose <&-", 3, "standard input is closed"),
        ("server <&-", 3, "standard input is closed"),
        ("check bad.py >&-", 3, "standard output is closed"),
        ("check nope.py 2>/dev/full", 3, ""),
        ("check bad.py 2>&-", 1, ""),
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has it")
def test_closed_and_full_streams_are_no_findings(folder: Path, line: str, code: int, said: str) -> None:
    """Exit code 1 is for findings: what cannot be read or said has its own."""
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m mpslint {line}"], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )

    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_clean_file_says_when_its_versions_are_newer_than_the_knowledge(folder: Path) -> None:
    """Nothing was found may only mean that nothing is known yet."""
    (folder / "clean.py").write_text("import torch\n")
    done = run("check", "clean.py", "--torch", "99.0", cwd=folder)
    assert "torch 99.0 (option, newer than " in done.stdout
    assert "Nothing wrong for MPS in 1 file." in done.stdout
    assert "newer than" not in run("check", "clean.py", "--torch", "2.13", cwd=folder).stdout


def test_a_file_is_no_option_where_pre_commit_names_it(folder: Path) -> None:
    """pre-commit puts a repository's names behind the options, where a name that begins with a dash would be one."""
    outside = folder / "outside.py"
    repository = folder / "r"
    victim = repository / f"-o{outside}"
    victim.parent.mkdir(parents=True)
    for path in (victim, repository / "--apply.py", repository / "train.py"):
        path.write_text(BAD)
    names = [f"-o{outside}", "--apply.py", "train.py"]
    command = [sys.executable, "-m", "mpslint", "check", "--quiet", "--severity", "warning", *names]
    done = subprocess.run(
        command,
        cwd=repository,
        env={**environment(), "PRE_COMMIT": "1"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )

    assert (done.returncode, outside.exists()) == (1, False), done.stderr
    found = {line.split(":")[0].removeprefix("./") for line in done.stdout.splitlines() if "MPS101" in line}
    assert found == set(names)


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="Windows has no names for open files")
@pytest.mark.parametrize(
    ("command", "out", "err"),
    [
        ("check . --format json -o /dev/stdout | cat", "{", ""),
        ("check . --format json -o /dev/stderr 2>&1 >/dev/null | cat", "{", ""),
        ("check . --format json -o /dev/fd/3 3>&1 | cat", "{", ""),
        ("check . --format json -o >(cat) | cat; wait $!", "{", ""),
        ("check . --format json -o /dev/fd/99", "", "mpslint: /dev/fd/99: cannot be written: Bad file descriptor\n"),
    ],
)
def test_a_report_goes_into_what_is_open(folder: Path, command: str, out: str, err: str) -> None:
    """A pipe has no path, so `/dev/stdout` and `>(command)` lead to none."""
    line = f"'{sys.executable}' -m mpslint {command}"
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True)

    assert done.stdout[:1] == out, done.stderr
    assert done.stderr == err


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="Windows has no names for open files")
def test_a_report_goes_behind_what_is_there(folder: Path) -> None:
    """`-o /dev/stdout >> file` adds to the file, as every other command does."""
    (folder / "kept.log").write_text("before\n")
    with open(folder / "kept.log", "a") as log:
        command = [sys.executable, "-m", "mpslint", "check", ".", "--format", "json", "-o", "/dev/stdout"]
        subprocess.run(command, cwd=folder, env=environment(), stdout=log)

    assert (folder / "kept.log").read_text().startswith("before\n{")


NAMED = 'a\n::error::b "q\\.py'
"""A name that goes on in a second line, with a quotation mark."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows takes no such names")
@pytest.mark.parametrize(
    "arguments", [["fix", "."], ["fix", ".", "--apply"], ["check", ".", "--add-ignore"], ["plan", NAMED]], ids=" ".join
)
def test_a_name_with_a_line_end_stays_on_its_line(tmp_path: Path, arguments: list[str]) -> None:
    """Else a stranger's file says lines of its own in a log, as if mpslint did."""
    (tmp_path / NAMED).write_text(WORSE)
    (tmp_path / NAMED.replace("b", "broken")).write_text("import torch\n(((\n")
    done = run(*arguments, cwd=tmp_path)

    assert "Traceback" not in done.stderr
    assert not [line for line in (done.stdout + done.stderr).splitlines() if line.lstrip().startswith(":")]
    assert "\\n::error::b" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["check", ".", "-o", "bad.py"], ["check", "--write-baseline", "bad.py"], ["check", "bad.py", "--format", "json", "-o", "n.ipynb"]],
    ids=" ".join,
)
def test_what_is_checked_is_not_written_over(folder: Path, arguments: list[str]) -> None:
    """Who leaves out the name of the report names a script instead."""
    (folder / "n.ipynb").write_bytes(notebook(BAD))
    before = [(folder / name).read_bytes() for name in ("bad.py", "n.ipynb")]
    done = run(*arguments, cwd=folder)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"mpslint: {arguments[-1]}: a file that mpslint checks, so not written over; name another for what it writes\n"
    assert [(folder / name).read_bytes() for name in ("bad.py", "n.ipynb")] == before


def test_a_version_in_the_configuration_is_what_is_written(folder: Path) -> None:
    """`torch = 2.10` without quotes is a number to TOML, the same as 2.1."""
    (folder / "mpslint.toml").write_text("[target]\ntorch = 2.10\n")

    assert "torch = 2.10 " in run("config", "bad.py", cwd=folder).stdout


def test_an_empty_word_names_no_rule(folder: Path) -> None:
    """It is the beginning of every id."""
    (folder / "mpslint.toml").write_text('select = [""]\n')
    done = run("check", "bad.py", cwd=folder)

    assert (done.returncode, "unknown rule ''" in done.stderr) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("name", ["nowhere.toml", "mpslint.toml"])
def test_a_configuration_that_leads_nowhere_is_said(folder: Path, name: str) -> None:
    """Its owner believes that it counts."""
    (folder / "mpslint.toml").symlink_to(name)
    done = run("check", "bad.py", cwd=folder)

    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "mpslint.toml: cannot be read: " in done.stderr


def test_standard_input_is_excluded_by_its_name(folder: Path) -> None:
    """With --force-exclude, as a named file is; fix hands the text back, since an editor puts it in place of what it sent."""
    (folder / "mpslint.toml").write_text('exclude = ["old/"]\n')
    for command in (["check", "-q"], ["fix", "--apply"]):
        line = [*command, "-", "--stdin-filename", "old/a.py", "--force-exclude"]
        done = mpslint(line, folder, os.environ, BAD.encode())
        assert (done.returncode, done.stdout.decode()) == (0, BAD if command[0] == "fix" else "")
        assert mpslint(line[:-1], folder, os.environ, BAD.encode()).stdout.decode() != done.stdout.decode()


def test_a_name_for_standard_input_without_it_is_refused(folder: Path) -> None:
    """Else the folder would be checked, and what was sent thrown away."""
    done = run("check", "--stdin-filename", "a.py", cwd=folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mpslint: --stdin-filename is the name of standard input: give - as the path\n"


def test_fix_says_that_there_is_nothing(tmp_path: Path) -> None:
    """As check does."""
    assert run("fix", ".", cwd=tmp_path).stderr == "mpslint: no file to fix in .\n"


def test_plan_says_where_no_file_is_about_training(folder: Path) -> None:
    """A file that names no framework, and a folder of such files: one line, and no silence."""
    (folder / "other").mkdir()
    for name in ("a.py", "b.py"):
        (folder / "other" / name).write_text("x = 1\n")

    assert run("plan", "other/a.py", cwd=folder).stdout == "other/a.py: no training run that mpslint can read.\n"
    assert run("plan", "other", cwd=folder).stdout == "2 files: no training run that mpslint can read.\n"

"""`mpslint fix` as a user meets it: what it prints, what it writes, and what it leaves whole when something goes wrong."""

from __future__ import annotations

import inspect
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mpslint.cli import fix as fix_command
from mpslint.cli import group
from mpslint.session.fixing import Outcome
from mpslint.session.session import Options
from mpslint.session.units import FilesTogether
from mpslint.source.temporary import temporary_file
from tests import LONG, comes_true
from tests.notebooks import notebook
from tests.warm_command import mpslint

ROOT = Path(__file__).parents[2]
HEAD = "from transformers import TrainingArguments\n"
BAD = HEAD + "args = TrainingArguments('out', fp16=True, dataloader_pin_memory=False)\n"
GOOD = "import torch\n" + BAD.replace("True", "not torch.backends.mps.is_available()")
UNSAFE = "export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, outside git, with a script, a notebook and a shell script."""
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "bad.ipynb").write_bytes(notebook("x = 1\n", BAD))
    (tmp_path / "run.sh").write_text(UNSAFE)
    (tmp_path / "a b.py").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


SEPARATELY = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
"""Click before 8.2 keeps the two streams apart only if asked."""


def run(*arguments: str, stdin: str = "") -> Result:
    """Run `mpslint fix`."""
    return CliRunner(**SEPARATELY).invoke(group, ["fix", *arguments], input=stdin)


def git(folder: Path, *arguments: str, stdin: str = "") -> str:
    """Run git and return what it prints."""
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false"]
    return subprocess.run(["git", *settings, *arguments], cwd=folder, input=stdin, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["bad.py"], 1),
        (["bad.py", "--apply"], 0),
        (["bad.py", "--ignore", "MPS101"], 0),
        (["run.sh", "--apply"], 1),
        (["run.sh", "--apply", "--unsafe"], 0),
        (["nosuch.py"], 3),
        (["bad.py", "nosuch.py", "--apply"], 3),
        (["--apply"], 2),
        (["bad.py", "--select", "NOPE"], 2),
        (["bad.py", "--nope"], 2),
    ],
)
def test_exit_codes(folder: Path, arguments: list[str], code: int) -> None:
    """0 nothing left, 1 something left or to do, 2 usage, 3 could not read or write."""
    done = mpslint(["fix", *arguments], folder, os.environ)

    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    if code > 1:
        assert len(done.stderr.splitlines()) == 1 or done.stderr.startswith(b"Usage")


def test_a_notebook_is_shown_by_cells(folder: Path) -> None:
    """With the number that its user counts."""
    done = run("bad.ipynb")

    assert "bad.ipynb cell 2\n" in done.output
    assert "-args = TrainingArguments('out', fp16=True, d" in done.output
    assert "+args = TrainingArguments('out', fp16=not torch.backends.mps.is_available(), d" in done.output
    assert "cell 1" not in done.output


def test_what_is_held_back_is_named_with_the_reason(folder: Path) -> None:
    """And how to see it."""
    said = run("run.sh").output

    assert "MPS701: unsafe: remove it (a run that doesn't fit raises an error again)" in said
    assert "1 unsafe fix held back, because it changes the run; show it with --unsafe." in said
    assert "-export PYTORCH" in run("run.sh", "--unsafe").output
    (folder / "run.sh").write_text(UNSAFE * 2)
    assert "2 unsafe fixes held back" in run("run.sh").output


def test_what_is_about_all_files_is_left_once(folder: Path) -> None:
    """As check says it once."""
    (folder / "requirements.txt").write_text("torch==2.4.0\ntriton==3.0.0\n")
    for name in ("one.py", "two.py"):
        (folder / name).write_text("import torch\n")
    assert run("one.py", "two.py").output.count("MPS720") == 1
    for name in ("one.py", "two.py"):
        (folder / name).write_text("import torch\nfrom unsloth import FastLanguageModel\n")
    assert run("one.py", "two.py").output.count("MPS720") == 1


def test_what_could_not_be_read_is_said(folder: Path) -> None:
    """A cell costs a cell, a script costs the script."""
    (folder / "half.ipynb").write_bytes(notebook("def (:\n", BAD))
    (folder / "broken.py").write_text(BAD + "def (:\n")

    done = run("half.ipynb", "--apply")
    assert "half.ipynb:cell 1:1:5 not read: does not parse" in done.output
    assert "fp16=not torch.backends.mps.is_available()" in (folder / "half.ipynb").read_text()
    done = run("broken.py", "--apply")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "broken.py:3:5: does not parse" in done.stderr
    assert (folder / "broken.py").read_text() == BAD + "def (:\n"


def test_a_folder(folder: Path) -> None:
    """Every file of it; --diff of all of them is one patch for git, names with blanks included."""
    (folder / "sub").mkdir()
    (folder / "sub" / "größe.py").write_bytes(BAD.replace("\n", "\r\n").encode())
    (folder / "sub" / "last.py").write_text(BAD.rstrip("\n"))
    (folder / "other.py").write_text("print(1)\n")
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    patch = CliRunner().invoke(group, ["fix", ".", "--diff", "--unsafe"]).stdout_bytes
    applied = run(".", "--apply", "--unsafe")
    after = {path: path.read_bytes() for path in before}
    for path, data in before.items():
        path.write_bytes(data)
    subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, check=True)

    assert applied.exit_code == 0
    assert {path: path.read_bytes() for path in before} == after
    assert sum(before[path] != after[path] for path in before) == 6
    if shutil.which("patch"):
        for path, data in before.items():
            path.write_bytes(data)
        subprocess.run(["patch", "-p1", "--binary", "-s"], cwd=folder, input=patch, check=True)
        assert {path: path.read_bytes() for path in before} == after


def test_an_absolute_path_has_a_relative_diff(folder: Path) -> None:
    """From the folder where it is run."""
    assert run(str(folder / "bad.py"), "--diff").output.startswith("--- a/bad.py\n+++ b/bad.py\n")
    assert run("./bad.py", "--diff").output.startswith("--- a/bad.py\n")


def test_a_diff_of_a_file_elsewhere_is_from_the_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`patch -p1 -d /` takes it: no folder of its path is without a name."""
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")

    assert run(str(folder / "bad.py"), "--diff").output.startswith(f"--- a{(folder / 'bad.py').as_posix()}\n")


def test_what_one_file_forbids_the_others_are_not_denied(folder: Path) -> None:
    """The same rule has a safe fix in one file and leads to an error in another, and a module that both import ties them."""
    head = "import lightning as L\nfrom shared import data\n"
    (folder / "shared.py").write_text("data = 1\n")
    (folder / "mixed.py").write_text(f'{head}fabric = L.Fabric(accelerator="cuda", precision="16-mixed")\nfabric.backward(loss)\n')
    (folder / "half.py").write_text(f'{head}fabric = L.Fabric(accelerator="cuda", precision="16-true")\nfabric.backward(loss)\n')

    said = run("half.py", "mixed.py", "--diff").output

    assert "+++ b/mixed.py" in said
    assert "+++ b/half.py" not in said


def test_undo_is_shown_inside_git_only(folder: Path) -> None:
    """Dirty files are fine; outside git nothing is kept unless it is asked for."""
    assert "git" not in run("bad.py", "--apply").output
    assert sorted(os.listdir(folder)) == ["a b.py", "bad.ipynb", "bad.py", "run.sh"]
    run("bad.ipynb", "--apply", "--backup")
    assert (folder / "bad.ipynb.orig").read_bytes() == notebook("x = 1\n", BAD)

    (folder / "bad.py").write_text(BAD)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")
    (folder / "bad.py").write_text(BAD + "print(2)\n")
    said = run("bad.py", "--apply").output
    assert "git diff -- bad.py" in said
    assert "git restore -- bad.py" in said
    assert (folder / "bad.py").read_text() == GOOD + "print(2)\n"


def test_standard_input(folder: Path) -> None:
    """With --apply the result alone, whatever is left; named by --stdin-filename; a diff on request."""
    assert run("-", "--apply", stdin=BAD).output == GOOD
    assert run("-", "--apply", stdin="x = 1\n").output == "x = 1\n"
    assert run("-", "--apply", "--stdin-filename", "run.sh", stdin=UNSAFE + "echo\n").output == UNSAFE + "echo\n"
    assert run("-", "--apply", stdin=notebook(BAD).decode()).output == notebook(GOOD).decode()
    assert run("-", "--diff", stdin=BAD).output.startswith("--- a/-\n")


@pytest.mark.parametrize("named", ["lib/x.py", "lib", "l*/x.py", "l*"])
def test_nothing_is_written_through_a_linked_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    """One line says so, and which file to name; the same for comments that ignore."""
    for folder in ("tree", "other"):
        (tmp_path / folder).mkdir()
    outside = tmp_path / "other" / "x.py"
    outside.write_text(BAD)
    (tmp_path / "tree" / "lib").symlink_to("../other")
    monkeypatch.chdir(tmp_path / "tree")
    for result in (run(named, "--apply"), CliRunner(**SEPARATELY).invoke(group, ["check", named, "--add-ignore"])):
        assert result.exit_code == 3
        assert result.stderr.count("\n") == 1
        assert f"outside of {tmp_path / 'tree'}; left as it is (name {outside} to change it)" in result.stderr

    assert outside.read_text() == BAD
    assert run(str(outside), "--apply").exit_code == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is killed")
def test_what_a_killed_fix_left_is_removed(folder: Path) -> None:
    """By the next one that may write there, also where nothing is left to fix in the folder."""
    (folder / "fine").mkdir()
    (folder / "fine" / "x.py").write_text("x = 1\n")
    if not (child := os.fork()):
        with temporary_file(str(folder / "fine"), b"half"):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    run(".")
    assert len(os.listdir(folder / "fine")) == 2
    run(".", "--apply")
    assert os.listdir(folder / "fine") == ["x.py"]


def test_a_link_a_mode_and_a_backup(folder: Path) -> None:
    """The link stays one, the mode is kept."""
    (folder / "bad.py").chmod(0o750)
    (folder / "link.py").symlink_to("bad.py")
    run("link.py", "--apply", "--backup")

    assert (folder / "link.py").is_symlink()
    assert (folder / "bad.py").read_text() == GOOD
    assert (folder / "bad.py.orig").read_text() == BAD
    assert stat.S_IMODE((folder / "bad.py").stat().st_mode) == 0o750


def test_a_read_only_file(folder: Path) -> None:
    """One line, and the others are fixed."""
    (folder / "bad.py").chmod(0o444)
    done = run("bad.py", "a b.py", "--apply")

    assert done.exit_code == 3
    assert done.stderr == "mpslint: bad.py: is read-only; left as it is (chmod u+w lets mpslint change it)\n"
    assert ((folder / "bad.py").read_text(), (folder / "a b.py").read_text()) == (BAD, GOOD)


def test_a_full_disk(folder: Path) -> None:
    """One line, exit code 3, and the file is whole."""
    (folder / "long.py").write_text(BAD + "# more\n" * 2000)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "mpslint", "fix", "long.py", "--apply"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )

    assert (done.returncode, done.stderr) == (3, "mpslint: long.py: cannot be written: File too large; left as it is\n")
    assert (folder / "long.py").read_text() == BAD + "# more\n" * 2000
    assert sorted(os.listdir(folder)) == ["a b.py", "bad.ipynb", "bad.py", "long.py", "run.sh"]


def test_a_file_that_changes_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody saves it between the reading and the writing: theirs stays."""
    original = fix_command.fix_unit

    def slow(*arguments: object) -> object:
        fixed = list(original(*arguments))  # type: ignore[arg-type]
        (folder / "bad.py").write_text(BAD + "# mine\n")
        return fixed

    monkeypatch.setattr(fix_command, "fix_unit", slow)
    done = run("bad.py", "--apply")

    assert done.exit_code == 3
    assert "changed while it was being fixed" in done.stderr
    assert (folder / "bad.py").read_text() == BAD + "# mine\n"


def test_ctrl_c_leaves_every_file_whole(folder: Path) -> None:
    """Old or new, and no temporary file."""
    long = BAD + "".join(f"x{n} = {n}\n" for n in range(3000))
    names = [f"f{number:02}.py" for number in range(40)]
    for name in names:
        (folder / name).write_text(long)
    process = subprocess.Popen(
        [sys.executable, "-m", "mpslint", "fix", *names, "--apply"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    fixed = "import torch\n" + long.replace("True", "not torch.backends.mps.is_available()")
    assert comes_true(lambda: (folder / names[0]).read_text() == fixed or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=LONG)
    texts = [(folder / name).read_text() for name in names]

    assert "Traceback" not in errors
    assert texts[0] == fixed
    assert set(texts) <= {long, fixed}
    assert not [name for name in os.listdir(folder) if name.startswith(".mpslint-")]


CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\ntorch.ones(2, device=device)\n'
"""A choice that asks the machine."""


@pytest.mark.parametrize("is_configured", [False, True])
def test_code_of_this_mac_only_gets_the_short_form(folder: Path, is_configured: bool) -> None:
    """What the fix would ask the machine is answered; a flag that other machines might share is written too."""
    (folder / "bad.py").write_text(BAD + 'import torch\ntorch.ones(2).to("cuda")\n' + CHOICE)
    (folder / "train.sh").write_text("accelerate launch --mixed_precision fp16 other.py\n")
    (folder / "mpslint.toml").write_text("this-mac-only = true\n" if is_configured else "")

    run("bad.py", "train.sh", "--apply", *([] if is_configured else ["--this-mac-only"]))

    assert "fp16=False" in (folder / "bad.py").read_text()
    assert 'torch.ones(2).to("mps")' in (folder / "bad.py").read_text()
    assert 'device = torch.device("mps")\n' in (folder / "bad.py").read_text()
    assert "--mixed_precision no" in (folder / "train.sh").read_text()


def test_a_mistake_of_mpslint_costs_one_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one line, the file stays as it was, and the others are fixed."""
    fix_unit = fix_command.fix_unit

    def fails(unit: FilesTogether, options: Options, unsafe: bool) -> Iterator[Outcome]:
        if unit.files[0][1].path == "bad.py":
            raise KeyError("oh")
        return fix_unit(unit, options, unsafe)

    monkeypatch.setattr(fix_command, "fix_unit", fails)
    done = run("a b.py", "bad.py", "--apply")

    assert done.exit_code == 3
    assert done.stderr.startswith("mpslint: bad.py: not checked, because of a mistake in mpslint (KeyError: 'oh'; ")
    assert (folder / "bad.py").read_text() == BAD
    assert (folder / "a b.py").read_text() == GOOD


@pytest.mark.parametrize(("own", "other"), [("\n", "\r\n"), ("\r\n", "\n")])
def test_a_new_line_ends_as_the_lines_of_its_own_file_do(folder: Path, own: str, other: str) -> None:
    """The files of one run may have different line ends."""
    (folder / "main.py").write_bytes(f"from model import A, B{other}{other}A(), B(){other}".encode())
    script = folder / "model.py"
    text = (
        "from sentence_transformers import SentenceTransformer\n\n\n"
        "class A:\n    def __init__(self, device='cuda:0'):\n        self.model = SentenceTransformer('a').to(device)\n\n\n"
        "class B:\n    def __init__(self, device='cuda:0'):\n        self.model = SentenceTransformer('b').to(device)\n"
    )
    script.write_bytes(text.replace("\n", own).encode())

    run("main.py", "model.py", "--apply")

    fixed = script.read_bytes()
    assert fixed.count(b"\n") > text.count("\n"), "no line was added"
    assert fixed.count(b"\r\n") == (fixed.count(b"\n") if own == "\r\n" else 0)


def test_what_is_written_by_then_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes after the first file: it is written, and its owner hears of it."""
    original = fix_command._worked

    def interrupted(*arguments: object) -> Iterator[object]:
        yield next(iter(original(*arguments)))  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(fix_command, "_worked", interrupted)
    done = run("bad.py", "a b.py", "--apply")

    assert (done.exit_code, done.stderr) == (130, "mpslint: ended early, after writing 1 file\nmpslint: interrupted\n")
    assert ((folder / "bad.py").read_text(), (folder / "a b.py").read_text()) == (GOOD, BAD)

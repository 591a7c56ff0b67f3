"""Many files at once: the same findings in the same order, however many processes find them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from mpslint.core.finding import UsageError
from mpslint.session import running, session
from mpslint.session.running import check_files
from mpslint.session.session import FileResult, Options, files_of
from mpslint.session.units import FilesTogether
from mpslint.source.files import FoundFile
from mpslint.source.notebook import NotebookText
from mpslint.verify.keeper import descendants
from tests import LONG, comes_true, runs
from tests.notebooks import notebook

ROOT = Path(__file__).parents[2]
BAD = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"


IS_COPIED = multiprocessing.get_start_method() == "fork"
TWO_COPIES = pytest.param(2, marks=pytest.mark.skipif(not IS_COPIED, reason="only a copy of this process has what a test put into it"))
IN_PROCESSES = """
import multiprocessing, os, sys
from mpslint.session import running
from mpslint.session.session import Options, files_of

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    running._one_by_one = None  # what is left of processes that ended would be done here
    os.chdir(sys.argv[2])
    print(sum(len(one.findings) for one in running.check_files(list(files_of(["."], Options())), Options(isolated=True), jobs=2)))
"""


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[FoundFile]:
    """Forty files of different size, some with findings, some that cannot be read, one that is not there."""
    monkeypatch.chdir(tmp_path)
    for number in range(38):
        text = BAD * (number % 4) + f"x = {number}\n" * (997 * number % 300)
        (tmp_path / f"file{number:02}.py").write_text(text + ("def (:\n" if number % 7 == 6 else ""))
    (tmp_path / "broken.ipynb").write_text('{"cells": [')
    return [*files_of(["."], Options()), FoundFile("gone.py", "no such file or folder")]


def test_parallel_and_serial_are_the_same(many: list[FoundFile]) -> None:
    """In the order of the files, not in the order in which they are done."""
    serial = list(check_files(many, Options(), 1))

    assert [view.path for view in serial] == [found.path for found in many]
    assert list(check_files(many, Options(), 2)) == serial
    assert list(check_files(many, Options(), 3)) == serial
    assert sum(len(view.findings) for view in serial) > 20
    assert sum(bool(view.problem) for view in serial) > 3


@pytest.mark.parametrize("method", ["spawn", *(["forkserver"] if sys.platform != "win32" else [])])
def test_processes_work_however_they_are_started(tmp_path: Path, method: str) -> None:
    """A process of a server that forks isn't this one's child, which is Linux's default in Python 3.14."""
    (tmp_path / "many").mkdir()
    for number in range(4):
        (tmp_path / "many" / f"{number}.py").write_text(BAD)
    (tmp_path / "main.py").write_text(IN_PROCESSES)
    line = [sys.executable, str(tmp_path / "main.py"), method, str(tmp_path / "many")]
    done = subprocess.run(line, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=LONG, check=False)

    assert done.stdout.split() == ["4"], done.stderr


def test_standard_input_reaches_the_processes(many: list[FoundFile]) -> None:
    """Its text travels with the options."""
    views = list(check_files([FoundFile("-"), *many], Options(stdin=BAD.encode()), 2))

    assert "MPS101" in [finding.rule for finding in views[0].findings]


def test_a_wrong_option_is_said_from_a_process_too(many: list[FoundFile]) -> None:
    """As one error, with its hint."""
    with pytest.raises(UsageError, match="did you mean"):
        list(check_files(many, Options(select=("MPS10l",)), 2))


def test_what_a_killed_process_leaves_is_done_here(many: list[FoundFile], monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine short of memory kills workers; the run goes on and misses nothing."""
    Path("launch.sh").write_text("python file02.py\npython file03.py --size 4\n")
    many = [*files_of(["."], Options()), *many[-1:]]
    serial = list(check_files(many, Options(), 1))
    monkeypatch.setattr(running, "_check_chunk", killed)

    assert list(check_files(many, Options(), 2)) == serial


def killed(*_: object) -> None:
    """End the process that is to check some files."""
    os._exit(1)


@pytest.mark.parametrize(
    ("megabytes", "jobs", "pre_commit", "expected"),
    [
        (1, None, "", False),
        (6, None, "", True),
        (6, None, "1", True),
        (6, 1, "", False),
        (1, 4, "", True),
        (6, 2, "1", True),
    ],
)
def test_processes_are_started_where_they_pay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, megabytes: int, jobs: int | None, pre_commit: str, expected: bool
) -> None:
    """Above some megabytes, where there are cores; under pre-commit too, which starts one process only."""
    monkeypatch.setenv("PRE_COMMIT", pre_commit)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    files = []
    for number in range(2):
        path = tmp_path / f"{number}.py"
        path.write_bytes(b"#" * (megabytes * 500_001))
        files.append((number, FoundFile(str(path))))

    assert running._is_much(files, jobs) is expected
    assert running._is_much(files[:1], jobs) is False


def test_one_core_starts_no_processes(monkeypatch: pytest.MonkeyPatch, many: list[FoundFile]) -> None:
    """Nor does a machine that does not say how many it has."""
    monkeypatch.setattr(running, "ENOUGH_BYTES", 0)
    monkeypatch.delenv("PRE_COMMIT", raising=False)
    for cores in (1, None):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert running._is_much(list(enumerate(many)), None) is False


def test_the_collector_is_left_as_it_was(many: list[FoundFile]) -> None:
    """Switched off while syntax trees come and go, and only then."""
    assert gc.isenabled()
    views = check_files(many, Options(), 1)
    next(views)
    assert not gc.isenabled()
    views.close()
    assert gc.isenabled()


BEGUN = """
from mpslint.cli import main
from mpslint.session import running

began = running.BEGINS

def begin(*arguments):
    results = began(*arguments)
    open("begun", "w").close()
    return results

running.BEGINS = begin
main()
"""
"""The command line, which leaves a file when it begins to check."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which processes are left")
@pytest.mark.parametrize(("jobs", "begins", "processes"), [("1", "_one_by_one", 0), ("2", "_started", 2)])
def test_an_interrupt_is_one_line(tmp_path: Path, jobs: str, begins: str, processes: int) -> None:
    """Ctrl-C reaches every process of the terminal's group: no traceback, no process left, and not the exit code of findings."""
    for number in range(60):
        (tmp_path / f"{number}.py").write_text(BAD + "def f(x):\n    return x.cuda()\n" * 1500)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MPSLINT_CACHE_DIR": str(tmp_path / "cache")}
    line = [sys.executable, "-c", BEGUN.replace("BEGINS", begins), "check", ".", "--isolated", "--jobs", jobs]

    pipe = subprocess.PIPE
    process = subprocess.Popen(line, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    assert comes_true(lambda: (tmp_path / "begun").exists() or process.poll() is not None)
    started = set(descendants(process.pid))
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=LONG)

    assert errors == "mpslint: interrupted\n"
    assert process.returncode == 130
    assert len(started) == processes if IS_COPIED else len(started) >= processes
    assert comes_true(lambda: not any(map(runs, started)))


def test_an_interrupt_in_a_class_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 3.12, Python wraps what a descriptor raises while its class is made in a RuntimeError."""

    def interrupted(*_: object) -> None:
        raise RuntimeError("Error calling __set_name__ on 'Field' instance") from KeyboardInterrupt()

    monkeypatch.setattr(running, "check_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        running._checked_alone(FoundFile("train.py"), Options())


def test_no_hash_decides(tmp_path: Path) -> None:
    """The order of sets differs from process to process; what is said does not."""
    model = "model = AutoModelForSpeechSeq2Seq.from_pretrained('x/y', dropout=0.0, attention_dropout=0.0)\n"
    (tmp_path / "train.py").write_text(f"from transformers import *\n{model}{BAD.splitlines()[1]}\nTrainer(model, args).train()\n")
    line = [sys.executable, "-m", "mpslint", "check", "train.py", "--format", "json", "--isolated"]
    said = {
        subprocess.run(
            line, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}, capture_output=True, text=True
        ).stdout
        for seed in "1234"
    }

    assert len(said) == 1
    assert "active_dropout" in said.pop()


TORCH = "import torch\nx = torch.ones(3)\n"
LOOKS_BROKEN = {
    "merged.py": TORCH + "<<<<<<< HEAD\ny = 1\n=======\ny = 2\n>>>>>>> other\n",
    "cut.py": TORCH + "y = torch.stack([x,\n",
    "text.py": TORCH + 'y = """\n',
    "old.py": TORCH + "print 'x', x\n",
    "template.py": TORCH + "{% if x %}\ny = 1\n{% endif %}\n",
}
BROKEN_NOTEBOOK = '{"cells": [{"cell_type": "markdown", "source": "words",, }]}'


@pytest.mark.parametrize("name", LOOKS_BROKEN)
def test_a_script_that_is_broken_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Below a folder too, though no rule could find anything in it; not where it names no framework, as in the tests of a parser."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(LOOKS_BROKEN[name])
    (tmp_path / "other.py").write_text(LOOKS_BROKEN[name].replace("torch", "numpy"))
    (tmp_path / "fine.py").write_text(TORCH + 'smiley = ":("\n')
    views = {view.path: view.problem for view in check_files(list(files_of(["."], Options())), Options(), 1)}

    assert [path for path, problem in views.items() if "does not parse" in problem] == [name]


def test_a_notebook_that_is_none_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is about, and wherever its JSON is broken."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.ipynb").write_text(BROKEN_NOTEBOOK)
    (tmp_path / "words.ipynb").write_text(BROKEN_NOTEBOOK.replace(",, ", ""))
    views = {view.path: view.problem for view in check_files(list(files_of(["."], Options())), Options(), 1)}

    assert "not valid JSON" in views["broken.ipynb"]
    assert not views["words.ipynb"]


@pytest.mark.parametrize("jobs", [1, TWO_COPIES])
def test_a_mistake_of_mpslint_costs_one_file(many: list[FoundFile], monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    """It is said in one line, with what went wrong and what to send; the other files are checked."""
    expected = {view.path: view for view in check_files(many, Options(), 1)}

    def check_file(found: FoundFile, options: Options) -> FileResult:
        if found.path == "file02.py":
            raise KeyError("oh\nno")
        return session.check_file(found, options)

    monkeypatch.setattr(running, "check_file", check_file)
    views = {view.path: view for view in check_files(many, Options(), jobs)}
    problem = views.pop("file02.py").problem
    del expected["file02.py"]

    assert views == expected
    assert problem.startswith("file02.py: not checked, because of a mistake in mpslint (KeyError: 'oh\\nno'; test_running.py:")
    assert problem.endswith("`mpslint report file02.py` prints what to send")


@pytest.mark.parametrize("jobs", [1, TWO_COPIES])
def test_a_mistake_in_a_run_is_said_and_costs_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], jobs: int
) -> None:
    """One line names the entry and what went wrong; its files are checked by themselves."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helpers.py").write_text("def half(model):\n    return model.half()\n")
    (tmp_path / "train.py").write_text(f"import helpers\n{BAD}")

    def check_unit(unit: FilesTogether, options: Options) -> None:
        raise KeyError("oh\nno")

    monkeypatch.setattr(running, "check_unit", check_unit)
    views = {view.path: view for view in check_files(list(files_of(["."], Options())), Options(), jobs)}

    assert "MPS101" in [finding.rule for finding in views["train.py"].findings]
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("mpslint: runs of train.py not read: a mistake in mpslint (KeyError: 'oh\\nno'; test_running.py:")
    assert said[0].endswith("each file is checked by itself")


def test_notebooks_that_are_done_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their JSON, pictures and all, is not kept by what was once asked about it."""
    monkeypatch.chdir(tmp_path)
    for number in range(40):
        (tmp_path / f"{number}.ipynb").write_bytes(notebook(f"x = {number}\n", BAD))
    views = list(check_files(list(files_of(["."], Options())), Options(), 1))
    gc.collect()
    kept = [one for one in gc.get_objects() if type(one) is NotebookText]  # isinstance asks some objects of torch, which warn

    assert sum(len(view.findings) for view in views) >= 40
    assert len(kept) < 15


@pytest.mark.parametrize(
    "refusal",
    [
        OSError(11, "Resource temporarily unavailable"),
        OSError(24, "Too many open files"),
        ImportError("no semaphores"),
        RuntimeError("no thread"),
    ],
)
def test_without_processes_one_does_it_all(many: list[FoundFile], monkeypatch: pytest.MonkeyPatch, refusal: Exception) -> None:
    """No fork, no file handles, no semaphores (a read-only /dev/shm): the same findings, and one line that says why it takes longer."""
    serial = list(check_files(many, Options(), 1))
    said: list[str] = []

    def refuse(*_: object, **__: object) -> None:
        raise refusal

    monkeypatch.setattr(ProcessPoolExecutor, "submit", refuse)

    assert list(check_files(many, Options(), 2, tell=said.append)) == serial
    assert len(said) == 1
    assert "one process: " in said[0]


def test_findings_about_the_environment_are_said_once(tmp_path: Path) -> None:
    """Of many files the first one has them."""
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("import torch\n")
    options = Options(target={"torch": "2.15.0", "macos": "14"})
    views = list(check_files([FoundFile(str(tmp_path / name)) for name in ("a.py", "b.py")], options, jobs=1))

    assert [[finding.rule for finding in view.findings] for view in views] == [["MPS715"], []]


def test_processes_answer_every_few_files(tmp_path: Path) -> None:
    """However short these are: progress once waited for a hundred of them."""
    for number in range(90):
        (tmp_path / f"file{number:02}.py").write_text(f"x = {number}\n")
    chunks = running._chunks([FilesTogether(((index, found),)) for index, found in enumerate(files_of([str(tmp_path)], Options()))])

    assert [len(chunk) for chunk in chunks] == [20, 20, 20, 20, 10]

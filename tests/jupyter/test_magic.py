"""`%load_ext mpslint`, `%mpslint` and `%%mpslint`, in a real IPython; and mpslint as a library."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import mpslint
from mpslint.core.finding import ReadError, UsageError
from tests.notebooks import notebook

IPython = pytest.importorskip("IPython")

BAD = "args = TrainingArguments('out', fp16=True, dataloader_pin_memory=False)\n"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An IPython with mpslint loaded, whose history is in memory and which keeps nothing of its own."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("NO_COLOR", "1")
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.HistoryManager.enabled = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = InteractiveShell(config=config)
        made.run_line_magic("load_ext", "mpslint")
        yield made


def run(shell: Any, source: str) -> None:
    """Run a cell as a notebook does, numbered and kept."""
    assert shell.run_cell(source, store_history=True).success


def test_the_line_magic_checks_what_ran(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A name of an earlier cell is known in a later one."""
    run(shell, "half = True\nTrainingArguments = dict\n")
    run(shell, "if half == 2:\n    pass\n")
    run(
        shell,
        "import sys\nif 'never' in sys.argv:\n    from transformers import Trainer, TrainingArguments as T\n    T('out', fp16=half)\n",
    )
    capsys.readouterr()
    run(shell, "%mpslint")
    said = capsys.readouterr().out

    assert "In [3], line 4: " in said
    assert "MPS101" in said


def test_the_cell_magic_checks_a_cell_and_runs_it(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What it adds to the cells before it, not what they have said already."""
    run(
        shell,
        "import sys\nif 'never' in sys.argv:\n    from transformers import TrainingArguments\n    TrainingArguments('out', tf32=True)\n",
    )
    capsys.readouterr()
    run(shell, "%%mpslint\nimport sys\nif 'never' in sys.argv:\n    TrainingArguments('out', fp16=True)\nprint('ran', 40 + 2)\n")
    said = capsys.readouterr().out

    assert "MPS101" in said
    assert "MPS104" not in said
    assert "ran 42" in said
    run(shell, "x = 43")
    assert shell.user_ns["x"] == 43


def test_a_clean_notebook_is_said_to_be_clean(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """And a cell that does not parse costs nothing but itself."""
    run(shell, "x = 1")
    capsys.readouterr()
    run(shell, "%mpslint")

    assert "Nothing wrong for MPS" in capsys.readouterr().out


def test_a_cell_that_is_fixed_and_run_again_is_clean(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Each cell is known by its last run, with the frontend's id or without; a cell that was checked by %%mpslint counts too."""
    bad = "import sys\nif 'never' in sys.argv:\n    from transformers import TrainingArguments\n    TrainingArguments('out', fp16=True)\n"
    run(shell, "%%mpslint\n" + bad)
    assert "MPS101" in capsys.readouterr().out
    run(shell, "%mpslint")
    assert "In [1], line 5: warning MPS101" in capsys.readouterr().out

    run(shell, bad.replace("True", "False"))
    capsys.readouterr()
    run(shell, "%mpslint --severity warning")
    assert "MPS101" not in capsys.readouterr().out

    for number, text in enumerate((bad, "x = 1\n", bad.replace("True", "False"))):
        assert shell.run_cell(text, store_history=True, cell_id=f"id-{number % 2}").success
    capsys.readouterr()
    run(shell, "%mpslint --severity warning")
    assert "MPS101" not in capsys.readouterr().out


def test_a_fix_goes_into_the_next_cell_or_in_place_of_the_cell(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shown as a diff; `%%mpslint fix` does not run the cell."""
    given: list[tuple[str, bool]] = []
    monkeypatch.setattr(shell, "set_next_input", lambda text, replace=False: given.append((text, replace)))
    bad = "import sys\nif 'never' in sys.argv:\n    from transformers import TrainingArguments\n    TrainingArguments('out', fp16=True)"
    run(shell, bad)
    run(shell, "%mpslint fix")
    assert "-    TrainingArguments('out', fp16=True)" in capsys.readouterr().out
    run(shell, "%%mpslint fix --select MPS101\nran = 1\n" + bad)

    assert [replace for _, replace in given] == [False, True]
    assert all("fp16=not torch.backends.mps.is_available()" in text and "mpslint" not in text for text, _ in given)
    assert "ran" not in shell.user_ns


def test_each_cell_is_checked_before_it_runs_once_asked(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """From %mpslint on to %mpslint off; a clean cell says nothing."""
    bad = "import sys\nif 'never' in sys.argv:\n    from transformers import TrainingArguments\n    TrainingArguments('out', fp16=True)\n"
    run(shell, "%mpslint on")
    capsys.readouterr()
    run(shell, bad)
    assert "MPS101" in capsys.readouterr().out
    run(shell, "y = 1\n")
    assert capsys.readouterr().out == ""
    run(shell, "%mpslint off")
    capsys.readouterr()
    run(shell, bad.replace("'out'", "'other'"))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--help", "Usage: %mpslint "),
        ("--help", "%mpslint fix [NUMBER]"),
        ("chek", "did you mean 'check'?"),
        ("--sevrity error", "--help lists"),
        ("--select MPS1000", "unknown rule"),
    ],
)
def test_options_are_parsed(shell: Any, capsys: pytest.CaptureFixture[str], line: str, said: str) -> None:
    """With a help, and one line for what is wrong."""
    run(shell, "x = 'transformers'")
    capsys.readouterr()
    run(shell, f"%mpslint {line}")

    assert said in capsys.readouterr().out


def test_the_plan_is_shown(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """As `mpslint plan` does."""
    run(
        shell,
        "import sys\nif 'never' in sys.argv:\n    from transformers import TrainingArguments\n    TrainingArguments('out', per_device_train_batch_size=3)\n",
    )
    capsys.readouterr()
    run(shell, "%mpslint plan")

    assert "batch.train" in capsys.readouterr().out


def test_jupyterlab_finds_the_language_server() -> None:
    """By the entry point, with a command that starts it."""
    from mpslint.jupyter.language_server import spec

    found = spec(None)["mpslint"]
    assert found["argv"][1:] == ["-m", "mpslint", "server"]


def test_check_as_a_library() -> None:
    """Typed findings with places, texts and edits; a notebook's count in its cells."""
    text = "import torch\nfrom transformers import TrainingArguments\n" + BAD
    (finding,) = mpslint.check(text).findings
    (edit,) = finding.edits

    assert (finding.rule, finding.severity, finding.cell, finding.line, finding.column) == ("MPS101", "warning", None, 3, 33)
    assert (finding.fix, finding.safety) == ("fp16=not torch.backends.mps.is_available()", "safe")
    assert text[: edit.start] + edit.text + text[edit.end :] == mpslint.fix(text).text
    cells = notebook("x = 1\n", text).decode()
    (inside,) = mpslint.check(cells, filename="n.ipynb").findings
    assert (inside.cell, inside.line) == (2, 3)
    assert mpslint.check(notebook("def (:\n").decode(), filename="n.ipynb").unread == ("cell 1, line 1: does not parse: invalid syntax",)


def test_fix_as_a_library() -> None:
    """The text, what was mended, and what is left; unsafe fixes on request; nothing changes where nothing is found."""
    shell = "export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\necho\n"
    safe = mpslint.fix(shell, filename="run.sh")
    unsafe = mpslint.fix(shell, filename="run.sh", unsafe=True)

    assert (safe.text, safe.is_changed, [finding.safety for finding in safe.left]) == (shell, False, ["unsafe"])
    assert (unsafe.text, [finding.rule for finding in unsafe.applied], unsafe.left) == ("echo\n", ["MPS701"], ())
    assert mpslint.fix("x = 1\r\n").text == "x = 1\r\n"


def test_a_library_call_for_a_target() -> None:
    """Versions and the Mac; what does not exist is an error with one line."""
    text = "from transformers import TrainingArguments\n" + BAD

    assert mpslint.check(text, target={"accelerate": "1.3", "transformers": "4.49"}).findings[0].severity == "error"
    assert mpslint.check(text, target={"memory": "16GB", "chip": "m2"}).findings
    with pytest.raises(UsageError):
        mpslint.check(text, target={"torch": "newest"})
    with pytest.raises(ReadError):
        mpslint.check("{", filename="n.ipynb")


def test_every_name_of_the_library_is_documented() -> None:
    """What is exported has a docstring that says what comes in and out."""
    for name in mpslint.__all__:
        one = getattr(mpslint, name)
        if callable(one):
            assert len(one.__doc__ or "") > 40, name

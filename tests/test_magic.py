"""`%load_ext mpslint`, `%mpslint` and `%%mpslint`, in a real IPython; and mpslint as a library."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import mpslint
from mpslint.finding import ReadError, UsageError
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

    assert "this notebook:cell 3:4:" in said
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


def test_check_as_a_library() -> None:
    """Typed findings with places, texts and edits; a notebook's count in its cells."""
    text = "from transformers import TrainingArguments\n" + BAD
    (finding,) = mpslint.check(text).findings
    (edit,) = finding.edits

    assert (finding.rule, finding.severity, finding.cell, finding.line, finding.column) == ("MPS101", "warning", None, 2, 33)
    assert (finding.fix, finding.safety) == ("fp16=False", "safe")
    assert text[: edit.start] + edit.text + text[edit.end :] == mpslint.fix(text).text
    cells = notebook("x = 1\n", text).decode()
    (inside,) = mpslint.check(cells, filename="n.ipynb").findings
    assert (inside.cell, inside.line) == (2, 2)
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
            assert not re.search(r"\bTODO\b", one.__doc__ or "")

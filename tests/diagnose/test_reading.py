"""Logs, tracebacks and the stored outputs of notebooks are read with true places; the user's own line is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mpslint.core.finding import ReadError
from mpslint.diagnose import Explained, Log, LogPlace, UserLine, diagnose, log_of_bytes, read_log
from mpslint.diagnose.frames import own_frame
from mpslint.diagnose.named import versions_named

OOM = (
    "RuntimeError: MPS backend out of memory (MPS allocated: 16.00 GB, other allocations: 1.31 GB, max allowed: "
    "18.13 GB). Tried to allocate 256 bytes on shared pool."
)
LIBRARY = "/Users/ann/venv/lib/python3.11/site-packages/transformers/trainer.py"


def notebook(*cells: dict[str, Any], **other: Any) -> bytes:
    """Return a notebook of format 4."""
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **other}).encode()


def code(*outputs: dict[str, Any], run: int | None = None) -> dict[str, Any]:
    """Return a code cell with outputs."""
    return {"cell_type": "code", "execution_count": run, "metadata": {}, "source": ["x"], "outputs": list(outputs)}


def stream(*lines: str) -> dict[str, Any]:
    """Return a stream output."""
    return {"output_type": "stream", "name": "stderr", "text": list(lines)}


def error(value: str, *traceback: str, name: str = "RuntimeError") -> dict[str, Any]:
    """Return an error output."""
    return {"output_type": "error", "ename": name, "evalue": value, "traceback": list(traceback)}


MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": ["# Training"]}


def test_a_notebook_names_the_cell_that_printed_and_the_line_that_failed() -> None:
    """The error of a cell is at that cell, counted with the cells that are no code, and its frame is a line of it."""
    data = notebook(
        MARKDOWN,
        code(stream("ok\n"), run=1),
        code(
            stream("loss 0.1\n", "loss 0.2\n"),
            error(
                OOM.removeprefix("RuntimeError: "),
                "\x1b[0;31m------\x1b[0m",
                "\x1b[0;31mRuntimeError\x1b[0m    Traceback (most recent call last)",
                "Cell \x1b[0;32mIn[7], line 2\x1b[0m\n\x1b[0;32m----> 2\x1b[0m trainer.train()",
                f"File \x1b[0;32m{LIBRARY}:2245\x1b[0m, in \x1b[0;36mTrainer.train\x1b[0;34m(self)\x1b[0m",
                f"\x1b[0;31mRuntimeError\x1b[0m: {OOM.removeprefix('RuntimeError: ')}",
            ),
            run=7,
        ),
    )

    (symptom,) = diagnose(log_of_bytes(data, "train.ipynb")).symptoms

    assert symptom.place == LogPlace(line=8, cell=3)
    assert symptom.frame == UserLine(line=2, execution=7, cell=3)
    assert str(symptom.frame) == "cell 3, line 2"
    assert symptom.quote == OOM


def test_an_error_in_a_function_of_an_earlier_cell_is_at_that_cell() -> None:
    """A frame names the run of its cell; the notebook says which cell that is."""
    traceback = (
        "Traceback (most recent call last)",
        "Cell In[5], line 1\n----> 1 step()",
        "Cell In[3], line 4, in step()\n----> 4 loss.backward()",
        "RuntimeError: Placeholder tensor is empty!",
    )
    data = notebook(code(stream("defined\n"), run=3), MARKDOWN, code(error("Placeholder tensor is empty!", *traceback), run=5))

    (symptom,) = diagnose(log_of_bytes(data, "n.ipynb")).symptoms

    assert symptom.frame == UserLine(line=4, execution=3, cell=1)


def test_an_error_without_a_traceback_still_has_its_value() -> None:
    """Some tools store the error's name and value only."""
    data = notebook(code(error("Placeholder tensor is empty!")))

    (symptom,) = diagnose(log_of_bytes(data, "n.ipynb")).symptoms

    assert symptom.message.id == "placeholder-empty"
    assert symptom.place == LogPlace(line=1, cell=1)


def test_an_old_notebook_is_read() -> None:
    """Format 3 keeps its cells in a worksheet and calls an error pyerr."""
    cell = code(error("Placeholder tensor is empty!"))
    cell["outputs"][0]["output_type"] = "pyerr"
    cell["prompt_number"] = 4
    del cell["execution_count"]
    data = json.dumps({"worksheets": [{"cells": [cell]}], "nbformat": 3}).encode()

    log = log_of_bytes(data, "old.ipynb")

    assert [symptom.message.id for symptom in diagnose(log).symptoms] == ["placeholder-empty"]
    assert log.cell_of(4) == 1
    assert log.cell_of(5) is None


def test_odd_cells_cost_nothing() -> None:
    """Outputs that are no outputs are passed over."""
    odd = {
        "cell_type": "code",
        "outputs": ["text", {"output_type": "display_data"}, {"output_type": "stream", "text": 3}],
    }
    data = json.dumps({"cells": ["no cell", odd, {"outputs": None}, code(stream("MPS backend out of memory\n"))]}).encode()

    (symptom,) = diagnose(log_of_bytes(data, "odd.ipynb")).symptoms

    assert symptom.place.cell == 4


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("a.log", b"", "empty"),
        ("a.log", b" \n\t\n", "empty"),
        ("a.log", b"MPS\x00backend", "a binary file"),
        ("a.ipynb", b'{"cells": [', "its JSON is broken"),
        ("a.ipynb", b"[1, 2]", "it has no list of cells"),
        ("a.ipynb", b'{"cells": 3}', "it has no list of cells"),
        ("a.ipynb", notebook(MARKDOWN, code()), "no cell holds printed output or an error"),
    ],
)
def test_what_cannot_be_read_is_one_clear_line(name: str, data: bytes, complaint: str) -> None:
    """Empty, binary and broken input says what it is."""
    with pytest.raises(ReadError, match=complaint) as raised:
        log_of_bytes(data, name)

    assert str(raised.value).startswith(name)
    assert "\n" not in str(raised.value)


def test_a_missing_file_and_a_folder_are_one_clear_line(tmp_path: Path) -> None:
    """What the system says is passed on."""
    with pytest.raises(ReadError, match="cannot be read"):
        read_log(tmp_path / "missing.log")
    with pytest.raises(ReadError, match="not a regular file"):
        read_log(tmp_path)


def test_encodings_of_consoles() -> None:
    """UTF-8 with or without a mark, PowerShell's UTF-16, Windows line ends and broken bytes are all text."""
    text = "é\r\nRuntimeError: Placeholder tensor is empty!\r\n"
    for data in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16"), text.encode("latin-1")):
        (symptom,) = diagnose(log_of_bytes(data, "console.log")).symptoms

        assert symptom.message.id == "placeholder-empty"
        assert symptom.place.line == 2


TRACEBACKS = [
    (
        f'Traceback (most recent call last):\n  File "/Users/ann/train.py", line 88, in <module>\n    main()\n'
        f'  File "{LIBRARY}", line 2325, in train\n    return loop(\n           ^^^^^\n',
        UserLine(88, "/Users/ann/train.py"),
    ),
    (
        "Traceback (most recent call last)\nCell In[26], line 2\n----> 2 trainer.train()\n\n"
        f"File {LIBRARY}:2245, in Trainer.train(self)\n"
        "   2243 x\n-> 2245     return inner(\n",
        UserLine(2, execution=26),
    ),
    (
        "Traceback (most recent call last)\nInput In [4], in <cell line: 9>()\n----> 9 loss.backward()\n"
        f"File {LIBRARY}:300, in f(x)\n--> 300 run()\n",
        UserLine(9, execution=4),
    ),
    (
        "Traceback (most recent call last)\n<ipython-input-12-ab34cd> in <module>\n"
        "      1 x\n----> 3 trainer.train()\n\n"
        f"{LIBRARY} in train(self)\n-> 1280 inner()\n",
        UserLine(3, execution=12),
    ),
    (
        "Traceback (most recent call last)\n/var/folders/xx/ipykernel_123/456.py in <module>\n----> 5 step()\n",
        UserLine(5),
    ),
    (
        "╭── Traceback (most recent call last) ──╮\n│ /Users/ann/proj/train.py:42 in <module>  │\n│ ❱ 42 loss()  │\n"
        f"│ {LIBRARY}:2643 in ctc_loss │\n╰────╯\n",
        UserLine(42, "/Users/ann/proj/train.py"),
    ),
    (
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "/data space/pre train.py", line 59, in <module>\n[rank0]:     step()\n',
        UserLine(59, "/data space/pre train.py"),
    ),
    (f'Traceback (most recent call last):\n  File "{LIBRARY}", line 5, in train\n    x\n', None),
    ('Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n', None),
    ('Traceback (most recent call last):\n  File "/Users/ann/venv/bin/accelerate", line 8, in <module>\n', None),
    ("no traceback at all\n", None),
]


@pytest.mark.parametrize(("traceback", "frame"), TRACEBACKS)
def test_the_last_line_of_the_users_own_code(traceback: str, frame: UserLine | None) -> None:
    """Whoever printed the traceback, the last frame outside of libraries is found."""
    log = Log("pasted", f"unrelated\n{traceback}{OOM}\n")

    assert own_frame(log, log.text.index("RuntimeError: MPS")) == frame


def test_a_traceback_far_above_belongs_to_something_else() -> None:
    """A message that is printed long after a traceback did not come from it."""
    log = f"{TRACEBACKS[0][0]}KeyError: 'x'\n" + "loss 0.1, all is well again\n" * 200 + OOM

    (symptom,) = diagnose(Log("two", log)).symptoms

    assert symptom.frame is None


def test_an_unnamed_cell_is_the_one_that_printed() -> None:
    """IPython 7 names no run in newer kernels; the output's own cell is meant."""
    traceback = ("Traceback (most recent call last)", "/var/folders/xx/ipykernel_123/456.py in <module>\n----> 5 step()", OOM)
    data = notebook(MARKDOWN, code(error(OOM.removeprefix("RuntimeError: "), *traceback), run=3))

    (symptom,) = diagnose(log_of_bytes(data, "n.ipynb")).symptoms

    assert symptom.frame == UserLine(5, cell=2)
    assert str(UserLine(5)) == "cell In [ ], line 5"


def test_the_first_cause_comes_first_and_noise_last() -> None:
    """Errors stand before warnings, in the order of the log; echoes and noise follow, named as such."""
    log = "\n".join(
        [
            "'pin_memory' argument is set as true but not supported on MPS now, device pinned memory won't be used.",
            "Error: command buffer exited with error status.",
            "Caused GPU Timeout Error (00000002:kIOAccelCommandBufferCallbackErrorTimeout)",
            "ValueError: loss is nan",
            OOM,
            "resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown",
        ]
    )

    symptoms = diagnose(Log("many", log)).symptoms

    assert [(symptom.message.id, symptom.follows) for symptom in symptoms] == [
        ("gpu-timeout", ""),
        ("out-of-memory", ""),
        ("pin-memory-ignored", ""),
        ("command-buffer-failed", "gpu-timeout"),
        ("loss-is-nan", "command-buffer-failed"),
        ("leaked-semaphores", ""),
    ]
    assert [symptom.is_cause for symptom in symptoms] == [True, True, True, False, False, False]


def test_an_unknown_exception_is_never_guessed() -> None:
    """A warning that is known does not explain an exception that is not."""
    warning = "'pin_memory' argument is set as true but not supported on MPS now, device pinned memory won't be used.\n"
    exception = "Traceback (most recent call last):\n  File \"/Users/ann/train.py\", line 3, in <module>\nKeyError: 'labels'\n"

    alone = diagnose(Log("alone", exception))
    both = diagnose(Log("both", warning + exception))
    known = diagnose(Log("known", warning))

    assert alone.outcome is Explained.UNKNOWN
    assert [(error.text, error.frame) for error in alone.unknown] == [("KeyError: 'labels'", UserLine(3, "/Users/ann/train.py"))]
    assert both.outcome is Explained.UNCERTAIN
    assert known.outcome is Explained.EXPLAINED


def test_unknown_exceptions_are_few_and_different() -> None:
    """The last ones are shown, each once, under whatever prefix."""
    log = "\n".join(f"[rank0]: my.pkg.OddError: number {number % 8}" for number in range(100))

    texts = [error.text for error in diagnose(Log("many", log)).unknown]

    assert texts == [f"my.pkg.OddError: number {number}" for number in range(3, 8)]


def test_versions_that_a_log_names() -> None:
    """Environment reports, pip lists and sentences name versions; two different ones of a package name none."""
    text = """
    - `transformers` version: 4.37.0.dev0
    - PyTorch version (GPU?): 2.3.1 (False)
    PyTorch version: 2.3.1
    OS: macOS 14.5 (arm64)
    Python version: 3.12.4 (main)
    accelerate==0.25.0
    trl 0.19.1, later trl==0.20.0
    requires PyTorch >= 1.10
    site-packages/torch 9.9.9
    """

    assert versions_named(text) == {
        "transformers": (4, 37, 0),
        "torch": (2, 3, 1),
        "macos": (14, 5),
        "python": (3, 12, 4),
        "accelerate": (0, 25, 0),
    }
    assert versions_named("torch==2.9.1\n" + "x" * 1_000_000 + "\naccelerate==1.11.0") == {
        "torch": (2, 9, 1),
        "accelerate": (1, 11, 0),
    }


TRACED = {
    "a class of the program's own": (
        'Traceback (most recent call last):\n  File "t.py", line 3, in f\n    f()\nNaNDetected: step 7\n',
        "NaNDetected: step 7",
    ),
    "no word of errors": (
        'Traceback (most recent call last):\n  File "t.py", line 3, in f\n    next(it)\nStopIteration\n',
        "StopIteration",
    ),
    "behind a rank": (
        '[rank0]: Traceback (most recent call last):\n[rank0]:   File "t.py", line 3, in f\n[rank0]:     f()\n[rank0]: my.pkg.diverged: loss\ndone\n',
        "my.pkg.diverged: loss",
    ),
    "in a notebook": (
        "------\nNaNDetected                     Traceback (most recent call last)\nCell In[3], line 2\n----> 2 f()\n\nNaNDetected: step 7\n",
        "NaNDetected: step 7",
    ),
}


@pytest.mark.parametrize("log", TRACED)
def test_a_traceback_says_what_was_raised_whatever_it_is_called(log: str) -> None:
    """Its last line is no frame; a line of its form elsewhere is no exception."""
    text, raised = TRACED[log]

    assert [one.text for one in diagnose(Log("train.log", f"Epoch: 1\n{text}")).unknown] == [raised]


OUT_OF_MEMORY = (
    "RuntimeError: MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 1.49 GiB, max allowed: 47.74 GiB). "
    "Tried to allocate 64.00 GiB on private pool."
)
ENDED = 'Traceback (most recent call last):\n  File "train.py", line 5, in <module>\n    {line}\n{error}\n'


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (f"WARNING:root:caught {OUT_OF_MEMORY}\n{ENDED.format(line='dump(x)', error='TypeError: no JSON')}", Explained.UNCERTAIN),
        (f"{ENDED.format(line='dump(x)', error='TypeError: no JSON')}WARNING:root:caught {OUT_OF_MEMORY}\n", Explained.EXPLAINED),
        (ENDED.format(line="net(x)", error=OUT_OF_MEMORY) + ENDED.format(line="f()", error="KeyError: 'x'"), Explained.EXPLAINED),
        (f"WARNING:root:caught {OUT_OF_MEMORY}\nTypeError: no JSON\n", Explained.EXPLAINED),
    ],
)
def test_what_was_caught_does_not_explain_the_error_that_ended_the_run(text: str, outcome: Explained) -> None:
    """The run went on behind what no traceback ends with, until a traceback ended with something else."""
    assert diagnose(log_of_bytes(text.encode(), "log")).outcome is outcome

"""The report for people fits their terminal: long lines show what is meant, reasons are said once, marks stand under the letters."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mpslint.report.terminal import Terminal
from mpslint.report.text import ON_EVERY_MACHINE, print_report
from mpslint.session.session import Options, check_file
from mpslint.session.view import LONGEST_LINE, view, windowed
from mpslint.source.files import FoundFile
from tests.notebooks import notebook

HEAD = "from transformers import TrainingArguments\n"


@given(st.text("abc ", max_size=400), st.integers(0, 400), st.integers(1, 400), st.integers(22, 200))
def test_a_window_holds_what_is_meant(line: str, column: int, length: int, width: int) -> None:
    """It fits, shows what is marked from its beginning, and says where something is left out."""
    column = min(column, max(0, len(line) - 1))
    length = max(1, min(length, len(line) - column))
    shown, (start, marked) = windowed(line, (column, length), width)

    assert len(shown) == min(width, len(line))
    assert shown.removesuffix("...")[start : start + marked] == line[column : column + length][: len(shown.removesuffix("...")) - start]
    assert shown == line or shown.startswith("...") or shown.endswith("...")
    assert marked >= min(length, width // 2 - 3)


def reported(path: Path, text: str, width: int = 0, **target: str) -> list[str]:
    """Return the lines of the report on a script for some versions, as a pipe or a terminal of some width gets them."""
    path.write_text(text)
    file = view(check_file(FoundFile(str(path)), Options(isolated=True, target=target, select=("MPS101", "MPS116", "MPS503", "MPS902"))))
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None, soft_wrap=True, highlight=False, markup=False) if width else None
    print_report(Terminal(stream, console, width), [replace(file, path=path.name)])
    return stream.getvalue().splitlines()


def marked(lines: list[str]) -> str:
    """Return what of the source the first mark stands under."""
    number = next(number for number, line in enumerate(lines) if "^" in line)
    return lines[number - 1][lines[number].index("^") : lines[number].rindex("^") + 1]


@pytest.mark.parametrize("width", [0, 120, 80, 40])
def test_a_long_line_is_shown_around_what_is_meant(tmp_path: Path, width: int) -> None:
    """Wherever on the line it is."""
    lines = reported(
        tmp_path / "train.py", f"{HEAD}x = '{'a' * 300}'; args = TrainingArguments('o', fp16=True); y = '{'b' * 300}'\n", width
    )
    source = [line for line in lines if " | " in line]

    assert marked(lines) == "fp16=True"
    assert all(len(line) <= (width or LONGEST_LINE + 10) for line in source)
    assert source[-2].startswith("      2 | ...")
    assert source[-2].endswith("...")


def test_a_mark_stands_under_wide_letters(tmp_path: Path) -> None:
    """Which a terminal shows over two cells; an accent that follows its letter takes none."""
    lines = reported(
        tmp_path / "train.py",
        "import torch\nx = '\u6a21\u578b e\u0301'; y = 'cuda' if torch.cuda.is_available() else 'cpu'\ntorch.ones(2).to(y)\n",
    )
    number = next(number for number, line in enumerate(lines) if "^" in line)

    assert lines[number].index("^") == lines[number - 1].index("'cuda'") + 2 - 1


def test_the_reasons_of_a_rule_are_said_once(tmp_path: Path) -> None:
    """Also where the rule has several things to say."""
    text = "import torch\na = torch.ones(2, device='mps').double()\nb = torch.ones(2, dtype=torch.float64, device='mps')\n"
    lines = reported(tmp_path / "train.py", text)

    assert sum("error MPS116" in line for line in lines) == 2
    assert sum(line.startswith("  why ") for line in lines) == 1


def test_a_rule_that_says_enough_comes_without_reasons_and_shows_its_source_once(tmp_path: Path) -> None:
    """Three arguments of one call are three messages, not three excerpts."""
    text = HEAD + "args = TrainingArguments('o', overwrite_output_dir=True, logging_dir='x', push_to_hub_token='y')\n"
    lines = reported(tmp_path / "train.py", text, transformers="5.23.0")

    assert sum("error MPS902" in line for line in lines) > 1
    assert not any(line.startswith("  why ") for line in lines)
    assert sum(" | " in line and "^" in line for line in lines) == 1


def test_what_goes_wrong_on_every_machine_comes_after_what_goes_wrong_on_a_mac(tmp_path: Path) -> None:
    """Of the same severity: errors of the versions stay before the warnings."""
    text = (
        HEAD
        + "args = TrainingArguments('o', overwrite_output_dir=True, logging_dir='x')\nimport torch\nx = torch.zeros(3, dtype=torch.float64, device='mps')\n"
    )
    lines = reported(tmp_path / "train.py", text, transformers="5.23.0")
    found = [line.split("  ")[1].split()[:2] for line in lines if "train.py:" in line and " MPS" in line]

    errors = [rule for severity, rule in found if severity == "error"]
    assert found[0] == ["error", "MPS116"]
    assert errors[1:] == ["MPS902"] * len(errors[1:])
    assert len(errors) > 1


def test_a_single_finding_is_said_in_six_lines(tmp_path: Path) -> None:
    """Headline, message, source, mark, fix with its command, and the summary with the versions."""
    lines = reported(
        tmp_path / "train.py", "import torch\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.ones(2).to(device)\n"
    )

    assert len(lines) == 6
    assert "mpslint fix" in lines[4]
    assert lines[5].startswith("1 warning in 1 file. For macOS")


def test_what_is_said_of_many_files_is_said_once(tmp_path: Path) -> None:
    """With the places in the others, each file named once; other words are another cause."""
    same = "import torch\nx = torch.ones(2).to('cuda')\n"
    texts = {"a.py": same, "b.py": same + "y = x.to('cuda')\n", "c.py": same, "d.py": same.replace(".to('cuda')", ".cuda()")}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    views = [view(check_file(FoundFile(str(tmp_path / name)), Options(isolated=True))) for name in texts]
    stream = io.StringIO()
    print_report(Terminal(stream), [replace(one, path=name) for one, name in zip(views, texts, strict=True)])
    said = stream.getvalue()

    assert [line.split(":")[0] for line in said.splitlines() if "error MPS501" in line] == ["a.py", "d.py"]
    assert "\n  also  b.py (2 places); c.py, line 2" in said
    assert "2 errors at 5 places in 4 files." in said


def test_what_runs_elsewhere_is_not_called_right(tmp_path: Path) -> None:
    """The reason is said once, with the first place, and the file isn't counted among those where nothing is wrong."""
    modal = "import modal\n\n\n@app.function(gpu='A100')\ndef train():\n    import torch\n"
    texts = {"a.py": modal, "b.py": modal, "c.py": "import torch\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    def said(*names: str) -> str:
        files = [view(check_file(FoundFile(str(tmp_path / name)), Options(isolated=True))) for name in names]
        stream = io.StringIO()
        print_report(Terminal(stream, None, 0), files)
        return stream.getvalue().replace(f"{tmp_path}/", "")

    why = "not judged: Modal runs this code in a container with a rented GPU"
    assert said("a.py") == f"a.py:4:1 {why}\n1 file not judged.\n"
    assert said("a.py", "b.py", "c.py") == f"a.py:4:1 and 1 other file {why}\nNothing wrong for MPS in 1 file; 2 files not judged.\n"


def test_what_was_read_in_part_is_not_called_right(tmp_path: Path) -> None:
    """The cell that isn't read may hold the imports of all others."""
    (tmp_path / "a.ipynb").write_bytes(notebook("from transformers import Trainer,\n    TrainingArguments", "x = 1"))
    (tmp_path / "b.py").write_text("import torch\n")

    def said(*names: str) -> str:
        stream = io.StringIO()
        print_report(
            Terminal(stream, None, 0), [view(check_file(FoundFile(str(tmp_path / name)), Options(isolated=True))) for name in names]
        )
        return stream.getvalue().splitlines()[-1].split(" For ")[0]

    assert said("a.ipynb") == "No findings in 1 file; 1 file read only in part."
    assert said("a.ipynb", "b.py") == "No findings in 2 files; 1 file read only in part."
    assert said("b.py") == "Nothing wrong for MPS in 1 file."


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"language_info": {"name": "R"}}, "R"),
        ({"kernelspec": {"name": "julia-1.9", "language": "julia"}}, "julia"),
        ({"kernelspec": {"name": "ir"}}, "ir"),
    ],
)
def test_a_notebook_in_another_language_is_not_called_right(tmp_path: Path, metadata: dict[str, object], language: str) -> None:
    """Who names one hears that nothing of it was read; in a folder nobody asked for it."""
    data = {"cells": [{"cell_type": "code", "source": "fp16 <- TRUE", "metadata": {}}], "metadata": metadata, "nbformat": 4}
    (tmp_path / "a.ipynb").write_text(json.dumps(data))

    def said(is_named: bool) -> str:
        stream = io.StringIO()
        found = FoundFile(str(tmp_path / "a.ipynb"), is_named=is_named)
        print_report(Terminal(stream, None, 0), [view(check_file(found, Options(isolated=True)))])
        return stream.getvalue().replace(f"{tmp_path}/", "")

    why = f"its language is {language}, and mpslint reads Python notebooks only"
    assert said(is_named=True) == f"a.ipynb:1:1 not judged: {why}\n1 file not judged.\n"
    assert said(is_named=False) == "Nothing wrong for MPS in 1 file.\n"


def test_one_order_in_every_report(tmp_path: Path) -> None:
    """What trains before what helps it, errors before warnings, and what every machine gets wrong at the end, under its own line."""
    texts = {
        "a.py": HEAD + "import torch\nx = torch.ones(2).cuda()\nargs = TrainingArguments('o', overwrite_output_dir=True)\n",
        "b.py": HEAD
        + "from transformers import Trainer\nargs = TrainingArguments('o', logging_dir='x', fp16=True)\n"
        + "import torch\ny = torch.ones(2).to('cuda')\nTrainer(torch.nn.Linear(2, 2).to('cuda'), args).train()\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    versions = {"transformers": "5.23.0", "accelerate": "1.15.0", "torch": "2.13.0"}
    options = Options(isolated=True, target=versions, select=("MPS101", "MPS501", "MPS902"))
    views = [replace(view(check_file(FoundFile(str(tmp_path / name)), options)), path=name) for name in texts]
    whole, quiet = io.StringIO(), io.StringIO()
    print_report(Terminal(whole), views)
    print_report(Terminal(quiet), views, quiet=True)
    heads = [line for line in whole.getvalue().splitlines() if ".py:" in line and " MPS" in line]

    assert [(line[:4], line.split("MPS")[1][:3]) for line in heads] == [
        *(("b.py", "501"), ("b.py", "101"), ("a.py", "501")),
        *(("b.py", "902"), ("a.py", "902")),
    ]
    lines = [line for line in quiet.getvalue().splitlines() if ".py:" in line and " MPS" in line]
    assert [(line[:4], line.split("MPS")[1][:3]) for line in lines] == [("b.py", "501")] + [
        (line[:4], line.split("MPS")[1][:3]) for line in heads
    ]
    assert whole.getvalue().index(heads[2]) < whole.getvalue().index(ON_EVERY_MACHINE) < whole.getvalue().index(heads[3])


def test_versions_that_differ_are_said_with_each_finding_and_once_at_the_end(tmp_path: Path) -> None:
    """No line between files can be read as the heading of the next one."""
    text = HEAD + "args = TrainingArguments('o', fp16=True)\n"
    views = []
    for name, version in (("a.py", "2.8"), ("b.py", "2.10")):
        (tmp_path / name).write_text(text)
        asked = Options(isolated=True, target={"torch": version, "transformers": "5.23.0"}, select=("MPS101",))
        views.append(replace(view(check_file(FoundFile(str(tmp_path / name)), asked)), path=name))
    stream = io.StringIO()
    print_report(Terminal(stream), views)
    lines = stream.getvalue().splitlines()

    assert [line for line in lines if line.startswith(("a.py", "b.py"))] == [
        "a.py:2:31  error MPS101 fp16-mixed-precision  [torch 2.8]",
        "b.py:2:31  error MPS101 fp16-mixed-precision  [torch 2.10]",
    ]
    assert sum("For macOS" in line for line in lines) == 1
    assert "By file: torch 2.8, torch 2.10 (option)." in stream.getvalue()

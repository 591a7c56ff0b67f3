"""What a fix writes compiles, and its names are bound: in every file of a run, wherever a setting is decided."""

from __future__ import annotations

import ast
import json
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyflakes.checker import Checker
from pyflakes.messages import UndefinedLocal, UndefinedName

from mpslint.api import fix
from mpslint.core.finding import Edit, Finding, Fix, Safety, Severity, Span
from mpslint.engine import Checked
from mpslint.rewrite.apply import fix_together
from mpslint.rewrite.damage import damage_of
from mpslint.rule.loading import load_rules
from mpslint.session.runs import check_paths
from mpslint.session.session import Options
from mpslint.source.document import Document
from mpslint.source.reader import read
from mpslint.target.target import default_target
from tests.notebooks import code_cell, notebook
from tests.project.test_project_runs import fixed_in
from tests.rule.cases import examples_of

EXAMPLES = sorted({example.bad for rule in load_rules() for example in examples_of(rule) if example.bad and example.file.endswith(".py")})
WAYS = {
    "a constant of a module": ("VALUE = {value}\n", "settings.VALUE"),
    "a dataclass": (
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass Config:\n    value: object = {value}\n\n\nconfig = Config()\n",
        "settings.config.value",
    ),
    "a class": ("class Config:\n    value = {value}\n", "settings.Config.value"),
    "the command line": (
        "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--value', type=type({value}), default={value})\nargs = parser.parse_args()\n",
        "settings.args.value",
    ),
    "an argument": ("def made(value):\n    return value\n\n\nvalue = made({value})\n", "settings.value"),
}
"""How another module decides a value, and how it is read from there."""
SHARE = 1.0 if os.environ.get("MPSLINT_DEEP") else 0.15


def undefined(code: str) -> set[str]:
    """Return the names of a program that pyflakes can't resolve."""
    messages = Checker(ast.parse(code)).messages
    return {str(one.message_args[0]) for one in messages if isinstance(one, (UndefinedName, UndefinedLocal))}


def split(code: str) -> Iterator[tuple[str, str]]:
    """Yield an example in which another module has one of the constants that are given by name, and that constant."""
    given = [keyword.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call) for keyword in node.keywords]
    lines = code.splitlines(keepends=True)
    for one in given:
        if isinstance(one, ast.Constant) and one.lineno == one.end_lineno and code.isascii():
            line = lines[one.lineno - 1]
            own = f"{line[: one.col_offset]}{{}}{line[one.end_col_offset :]}" if "{" not in line else ""
            if own:
                yield "".join([*lines[: one.lineno - 1], own, *lines[one.lineno :]]), line[one.col_offset : one.end_col_offset]


SPLIT = [(way, *parts) for code in EXAMPLES for parts in split(code) for way in WAYS]


@pytest.mark.parametrize("number", range(8))
def test_every_file_that_fixes_change_compiles_and_its_names_are_bound(number: int, tmp_path: Path) -> None:
    """The examples of all rules, with a setting in another module."""
    drawn = random.Random(number).sample(SPLIT, int(len(SPLIT) * SHARE) // 8)
    for index, (way, code, value) in enumerate(drawn):
        settings, reading = WAYS[way]
        folder = tmp_path / str(index)
        folder.mkdir()
        (folder / "settings.py").write_text(settings.replace("{value}", value))
        future = "from __future__ import annotations\n" if "from __future__" in code else ""
        (folder / "train.py").write_text(f"{future}import settings\n{code.replace(future, '').replace('{}', reading)}")
        for path, fixed in fixed_in(folder).items():
            after = fixed.data.decode()
            compile(after, path, "exec")
            assert undefined(after) <= undefined(fixed.original.decode()), after


LOADER = "from torch.utils.data import DataLoader\n\nimport settings\n\nfor x in DataLoader([], num_workers=settings.W, collate_fn=lambda r: r):\n    pass\n"


@pytest.mark.parametrize(
    ("settings", "fixed"),
    [
        ("W = 6\n", 'import sys\nW = 0 if sys.platform == "darwin" else 6\n'),
        ('"""Doc."""\nfrom __future__ import annotations\n\nW = 6\n', '"""Doc."""\nfrom __future__ import annotations\n\nimport sys\nW = 0 if sys.platform == "darwin" else 6\n'),
        ("import os\nW = 6\n", 'import sys\nimport os\nW = 0 if sys.platform == "darwin" else 6\n'),
        ("import sys\nW = 6\n", 'import sys\nW = 0 if sys.platform == "darwin" else 6\n'),
        ("import sys as system\nW = 6\n", 'import sys as system\nW = 0 if system.platform == "darwin" else 6\n'),
        ("W = 6\nimport sys\n", 'import sys\nW = 0 if sys.platform == "darwin" else 6\nimport sys\n'),
        ("W = 6\ndef f(sys):\n    return sys\n", 'import sys\nW = 0 if sys.platform == "darwin" else 6\ndef f(sys):\n    return sys\n'),
        ("from os import *\nW = 6\n", 'import sys\nfrom os import *\nW = 0 if sys.platform == "darwin" else 6\n'),
        ("if TYPE_CHECKING:\n    import sys\nW = 6\n", None),
        ("try:\n    import sys\nexcept ImportError:\n    pass\nW = 6\n", None),
        ("sys = None\nW = 6\n", ""),
        ("class sys:\n    platform = 'x'\nW = 6\n", ""),
        ("import sys\ndel sys\nW = 6\n", ""),
        ("import os\ndef made(sys):\n    return 6\nW = made(os)\n", ""),
    ],
)  # fmt: skip
def test_the_module_that_decides_a_value_imports_what_the_fix_asks(settings: str, fixed: str | None, tmp_path: Path) -> None:
    """Where its name means something else, or is deleted, nothing is written; None: wherever the import goes."""
    (tmp_path / "settings.py").write_text(settings)
    (tmp_path / "main.py").write_text(LOADER)
    after = fixed_in(tmp_path)["settings.py"].data.decode()
    if fixed is None:
        assert "import sys\n" in after.splitlines(keepends=True)
        assert undefined(after) <= {"TYPE_CHECKING"}
    else:
        assert after == (fixed or settings)


def test_a_notebook_imports_in_a_cell_that_runs_before() -> None:
    """Not in the one below that imports it today."""
    cells = [
        "workers = 6\n",
        "from torch.utils.data import DataLoader\n",
        "import sys\n",
        "for x in DataLoader([], num_workers=workers, collate_fn=lambda r: r):\n    pass\n",
    ]
    fixed = fix(notebook(*map(code_cell, cells)).decode(), filename="train.ipynb").text
    written = ["".join(cell["source"]) for cell in json.loads(fixed)["cells"]]
    assert written[0] == 'import sys\nworkers = 0 if sys.platform == "darwin" else 6\n'


@pytest.mark.parametrize(
    ("code", "old", "new", "said"),
    [
        ("x = 6\n", "6", "0 if sys.platform else 6", "a NameError, as `sys` may not be bound"),
        ("if a:\n    import sys\nx = 6\n", "6", "sys.maxsize", "a NameError, as `sys` may not be bound"),
        ("def f():\n    y = 6\n    import sys\n", "6", "sys.maxsize", "a NameError, as `sys` may not be bound"),
        ("import sys\nx = 6\n", "6", "sys.maxsize", ""),
        ("x = 6\n", "6", "max(6, len('sys.platform'))", ""),
        ("x = sys.argv\ny = 6\n", "6", "sys.maxsize", ""),
        ("x = 6\n", "6", "(6", "a syntax error"),
        ("x = 6\n", "x = 6", "return 6", "a syntax error"),
        ("from __future__ import annotations\n", "from __future__", "import os\nfrom __future__", "a syntax error"),
        ("x = (\ny = 6\n", "6", "7", ""),
    ],
)
def test_what_edits_break_is_told(code: str, old: str, new: str, said: str) -> None:
    """What was broken before isn't their doing."""
    document = read("train.py", code.encode())
    start = code.index(old)
    assert damage_of([Edit(Span(start, start + len(old)), new)], document) == said


def test_a_fix_that_would_break_the_code_is_not_made() -> None:
    """It's named, and others are made."""
    document = read("train.py", b"x = 6\ny = 7\n")
    wrong, right = (
        Finding(rule, "name", Severity.ERROR, "text", Span(at, at + 1), "", Fix(Safety.SAFE, text, (Edit(Span(at, at + 1), text),)))
        for rule, at, text in (("MPS101", 4, "sys.maxsize"), ("MPS102", 10, "8"))
    )

    def judged(texts: Mapping[str, Document]) -> dict[str, Checked]:
        left = [one for one in (wrong, right) if one is wrong or "7" in texts["train.py"].text]
        return {"train.py": Checked(texts["train.py"], default_target(), tuple(left), (), ())}

    fixed = fix_together({"train.py": document}, judged, lambda *_: True, False)["train.py"]
    assert fixed.data == b"x = 6\ny = 8\n"
    (left,) = fixed.after.findings
    assert left.fix is not None
    assert left.fix.summary == "sys.maxsize (not made: it would cause a NameError, as `sys` may not be bound in train.py)"


def test_a_check_offers_no_fix_that_would_break_the_code(tmp_path: Path) -> None:
    """Its advice says why."""
    (tmp_path / "settings.py").write_text("import sys\n\n\ndef made():\n    return 6\n\n\nW = made()\ndel sys\n")
    (tmp_path / "main.py").write_text(LOADER)
    files = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS610",)))
    (found,) = (one for file in files if file.checked for one in file.checked.findings)
    assert found.fix is not None
    assert (found.fix.safety, found.fix.edits) == (Safety.MANUAL, ())
    assert "not made: it would cause a NameError" in found.fix.summary

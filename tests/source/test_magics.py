"""Notebook syntax is masked at equal length, and only where IPython would take it."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mpslint
from mpslint.source.document import SnippetKind
from mpslint.source.magics import mask_cell

MASKED = [
    ("!pip install torch\nx = 1\n", "_                 \nx = 1\n"),
    ("%matplotlib inline\n", "_                 \n"),
    ("if x:\n    !ls\n", "if x:\n    _  \n"),
    ("files = !ls *.py\n", "files = _       \n"),
    ("t = %timeit -o f()\n", "t = _             \n"),
    ("%time x = f()\n", "_;    x = f()\n"),
    ("%timeit f()\n", "_;      f()\n"),
    ("%timeit -n 10 -r3 f()\n", "_;                f()\n"),
    ("model?\n", "_     \n"),
    ("?model\n", "_     \n"),
    ("!python x.py \\\n  --fp16\ny = 1\n", "_             \n        \ny = 1\n"),
    ("%%time\nx = 1\n", "      \nx = 1\n"),
    ("%%capture out\n!ls\nx = 1\n", "             \n_  \nx = 1\n"),
]
UNTOUCHED = [
    'text = """\n!not a magic\n%nor this\n"""\n',
    'x = ("a %s"\n     % y)\n',
    "x = [\n  !y\n]\n",
    "z = a % b\n",
    "w = a != b\n",
    "y = x if x else '?'\n",
    "s = 'what?'\n",
    "# is this one?\n",
]


@pytest.mark.parametrize(("cell", "python"), MASKED)
def test_magics_become_python_of_the_same_length(cell: str, python: str) -> None:
    """What IPython runs becomes a placeholder, padded with blanks; the rest stays."""
    masked = mask_cell(cell).python

    assert masked == python
    ast.parse(masked)


@pytest.mark.parametrize("cell", UNTOUCHED)
def test_what_only_looks_like_a_magic_is_left_alone(cell: str) -> None:
    """A line inside a string or a bracket, and operators, are Python."""
    assert mask_cell(cell).python == cell


def test_shell_lines_are_kept_as_snippets() -> None:
    """`!` lines, `%env` and install commands are facts of their own, with their places."""
    cell = "!export A=1\n%env B=2\n%pip install torch==2.3\n"
    snippets = mask_cell(cell).snippets

    assert [(s.kind, s.text) for s in snippets] == [
        (SnippetKind.SHELL, "export A=1"),
        (SnippetKind.ENV, "B=2"),
        (SnippetKind.INSTALL, "pip install torch==2.3"),
    ]
    assert all(cell[s.span.start : s.span.end] == s.text for s in snippets)


def test_a_bash_cell_is_one_snippet_and_no_python() -> None:
    """`%%bash` hides nothing but is no Python."""
    cell = "%%bash\nexport A=1\npython train.py\n"
    masked = mask_cell(cell)

    assert not masked.python.strip()
    assert [s.text.strip() for s in masked.snippets] == ["export A=1\npython train.py"]


def test_a_written_script_is_a_program_of_its_own() -> None:
    """`%%writefile x.py` holds a script at its place; other files are no Python."""
    masked = mask_cell("%%writefile train.py\nx = 1\n")

    assert masked.script == " " * len("%%writefile train.py") + "\nx = 1\n"
    assert not masked.python.strip()
    assert not mask_cell("%%writefile notes.txt\nx = 1\n").script


@pytest.mark.parametrize("cell", ["%%html\n<b>\n", "%%javascript\nx\n", "%%R\nx <- 1\n", "%%sql\nselect 1\n"])
def test_cells_in_another_language_are_skipped(cell: str) -> None:
    """Their text is blank, line by line."""
    assert not mask_cell(cell).python.strip()


@pytest.mark.parametrize("command", ["pip install torch", "pip -q install torch", "cd ..", "ls *.py", "conda install x", "run train.py"])
def test_automagic_is_masked(command: str) -> None:
    """IPython runs `pip install x` without a percent sign, too; what follows is Python."""
    assert mask_cell(f"{command}\nx = 1\n").python == f"_{' ' * (len(command) - 1)}\nx = 1\n"


@pytest.mark.parametrize(
    "cell", ["cat = 1\nls.append(2)\n", "ls -l\n", "cp == 1\n", "x = (\n    pip install\n)\n", "pipe install\n", "run\n"]
)
def test_python_is_no_automagic(cell: str) -> None:
    """Names that are called like a command stay, and so does what is wrong in another way."""
    assert mask_cell(cell).python == cell


def test_automagic_says_what_it_installs() -> None:
    """The snippet is the command, at its place."""
    assert [(s.kind, s.span.start, s.text) for s in mask_cell("x = 1\npip -q install torch==2.0.1\ncd src\n").snippets] == [
        (SnippetKind.INSTALL, 6, "pip -q install torch==2.0.1"),
        (SnippetKind.FOLDER, 34, "cd src"),
    ]


PIECES = st.sampled_from(
    [
        "!ls\n",
        "%x\n",
        "pip -q install x\n",
        "cd ..\n",
        "x = 1\n",
        "'''",
        '"""',
        "(",
        ")",
        "\\\n",
        "#",
        "\r\n",
        "\r",
        "é",
        "?",
        "= !a\n",
        "%%time\n",
        "  ",
        "'",
    ]
)


@given(st.lists(PIECES, max_size=20).map("".join))
def test_masks_have_the_length_and_the_lines_of_the_cell(cell: str) -> None:
    """Whatever a cell holds, its mask has the same length and the same line ends, and snippets lie where they say."""
    masked = mask_cell(cell)

    assert len(masked.python) == len(cell)
    assert [i for i, c in enumerate(masked.python) if c in "\r\n"] == [i for i, c in enumerate(cell) if c in "\r\n"]
    assert all(cell[s.span.start : s.span.end] == s.text for s in masked.snippets)


def test_a_script_that_was_exported_from_a_notebook_is_read() -> None:
    """Its commands are masked as in a notebook, and count for what they start; strings and continued lines are left alone."""
    exported = (
        '"""train.ipynb\n\n!nothing to run\n"""\n\n!pip install torch==2.3.0\n!torchrun --nproc_per_node=2 train.py\n\nimport torch\n'
        'share = 7 \\\n% 3\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\nx = torch.ones(2).to(device)\n'
    )
    found = mpslint.check(exported, filename="train.py")
    mended = mpslint.fix(exported, filename="train.py")

    assert [finding.rule for finding in found.findings] == ["MPS552", "MPS503"]
    assert mended.text.replace('"mps" if torch.backends.mps.is_available() else ', "") == exported
    assert mended.text != exported

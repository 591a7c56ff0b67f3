"""A glance tells what cannot parse, and takes hardly anything that parses for it."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from mpslint.source.glance import cannot_parse
from mpslint.source.reader import read

BROKEN = [
    "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n",
    "x = f(1,\n",
    "x = [1, 2\ny = 3\n",
    "x = {'a': 1)\n",
    'x = """\n',
    "x = '''a\n",
    "print 'x'\n",
    "{% if x %}\nx = 1\n{% endif %}\n",
]
FINE = [
    "x = ':('  # :-(\n",
    'x = \'\'\'(\n\'\'\'\ny = """[\n"["""\n',
    "x = 'it\\'s ('\n",
    'x = "" + "("\n',
    "text = '''\n<<<<<<< HEAD\n'''\n",
    "x = '{% if x %}'\n",
    "# print it\n#print x\nprint (1)\nprint(2)\n",
    'def f():\n    """One (of\n    """\n',
]


@pytest.mark.parametrize("text", BROKEN)
def test_what_cannot_parse(text: str) -> None:
    """And Python says so too."""
    assert cannot_parse(read("train.py", text.encode()))
    with pytest.raises(SyntaxError):
        ast.parse(text)


@pytest.mark.parametrize("text", FINE)
def test_what_parses(text: str) -> None:
    """Whatever stands in its strings and comments."""
    ast.parse(text)
    assert not cannot_parse(read("train.py", text.encode()))


def test_the_standard_library_is_not_taken_for_broken() -> None:
    """But for one file in a hundred, which is then parsed for nothing."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    taken = [path.name for path in files if cannot_parse(read(str(path), path.read_bytes()))]

    assert len(files) > 100
    assert len(taken) <= len(files) / 100

"""Whatever a file holds, mpslint says something sensible about it in bounded time: one clear line, never a traceback."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.core.finding import ReadError
from mpslint.engine import check
from mpslint.program.evaluator import evaluate_program
from mpslint.program.machine import MOST_STEPS
from mpslint.program.parse import parse_program
from mpslint.rewrite.apply import fix
from mpslint.rule.loading import load_rules
from mpslint.session.session import Options, check_file
from mpslint.source.files import FoundFile, find_files
from mpslint.source.reader import kind_of, read
from mpslint.target.target import default_target
from tests.rule.cases import examples_of
from tests.warm_command import mpslint

HEAD = "import torch\nfrom transformers import TrainingArguments\nargs = TrainingArguments('o', fp16=True)\n"
KEYS = "base_model: x\nfp16: true\n"
TARGET = default_target()
EXAMPLES = [text for rule in load_rules() for example in examples_of(rule) for text in (example.bad, example.ok) if text]
RELAXED = settings(max_examples=60)

TOO_DEEP = {
    "parentheses": "x = " + "(" * 300 + "1" + ")" * 300,
    "a sum": "x = " + " + ".join(["a"] * 10_000),
    "attributes": "x = torch" + ".a" * 5_000,
    "calls": "x = torch" + ".a()" * 5_000,
    "elif": "if a == 0:\n    b = 1\n" + "".join(f"elif a == {i}:\n    b = {i}\n" for i in range(3_000)),
    "blocks": "".join(" " * i + "if a:\n" for i in range(120)) + " " * 120 + "x = 1",
    "lambdas": "x = " + "lambda: " * 2_000 + "1",
}
GROWING = {
    "texts": "s = 'a'\n" + "s = s + s\n" * 100,
    "lists": "l = [1]\n" + "l = l + l\n" * 100,
    "joined": "s = 'a'\n" + "s = ''.join([s, s])\n" * 100,
    "formatted": "s = 'a'\n" + "s = f'{s}{s}'\n" * 100,
    "paths": "s = 'a'\n" + "s = s / s\n" * 100,
    "replaced": "s = 'ab'\n" + "s = s.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')\n" * 40,
    "nested": "t = 1\n" + "t = (t, t)\n" * 100 + "d = {}\n" + "d = {'a': d, 'b': d}\n" * 60 + "def f(x): return x.cuda()\nf(t)\nf(d)\n",
    "numbers": "x = 9 ** 9 ** 9 ** 9\ny = 'a' * 10 ** 10\nz = [1] * 10 ** 10\nw = 1 << 10 ** 9\nq = '{:1000000000}'.format(1)\nf'{1:1000000000}'\n",
    "digits": "x = 10 ** 4000\ny = str(x)\nz = f'{x}'\nTrainingArguments('o', max_steps=10 ** 5000)\n",
    "infinite": "TrainingArguments('o', per_device_train_batch_size=1e400, gradient_accumulation_steps=float('nan'))\nint(1e400)\n",
}
CYCLIC = {
    "lists": "l = []\nl.append(l)\nl[0] = l\nfor x in data:\n    l.append(l)\nTrainingArguments(*l)\n",
    "dicts": "d = {}\nd['a'] = d\nx = d['a']['a']\nTrainingArguments(**d)\nfor k in d: d[k] = d\n",
    "classes": "class A(A): pass\nclass B(A): pass\nA = B\nclass A(B): pass\nA().x\nclass C: pass\nC.c = C\nc = C()\nc.c = c\nc.cuda()\n",
    "functions": "def f(g=None): return f(f)\nf(f)\ng = lambda x: g(g)\ng(g)\ndef h(): yield from h()\nh()\n",
}
FANNING = {
    "calls": "".join(f"def f{i}(x):\n    return f{i + 1}(x) + f{i + 1}(x + 1)\n" for i in range(40))
    + "def f40(x):\n    return x.cuda()\nf0(1)\n",
    "branches": "def f(a):\n" + "".join(f"    if a == {i}:\n        return torch.ones({i})\n" for i in range(400)) + "f(1)\n",
    "loops": "".join("    " * i + f"for a{i} in q:\n" for i in range(18)) + "    " * 18 + "x.cuda()\n",
}


def check_text(text: str, name: str = "train.py") -> list[str]:
    """Return the ids of what is found; nothing may be raised."""
    return [finding.rule for finding in check(read(name, text.encode("utf-8", "surrogatepass")), TARGET).findings]


@pytest.mark.parametrize("text", TOO_DEEP.values(), ids=TOO_DEEP)
def test_what_nests_too_deeply_is_one_line(tmp_path: Path, text: str) -> None:
    """The file is said to be unread, or read after all where the running Python can; the run goes on."""
    path = tmp_path / "deep.py"
    path.write_text(HEAD + text + "\n")
    result = check_file(FoundFile(str(path)), Options(isolated=True))

    assert "\n" not in result.problem
    assert "MPS101" in [finding.rule for finding in result.findings] or result.problem.startswith(f"{path}:")


@pytest.mark.parametrize("text", [*GROWING.values(), *CYCLIC.values()], ids=[*GROWING, *CYCLIC])
def test_what_grows_or_holds_itself_is_unknown(text: str) -> None:
    """Nothing is computed beyond some thousand characters, and nothing is followed in circles."""
    assert "MPS101" in check_text(HEAD + text)


@pytest.mark.parametrize("text", FANNING.values(), ids=FANNING)
def test_what_fans_out_has_a_budget(text: str) -> None:
    """A program of which every path would take for ever is followed for a bounded number of steps."""
    document = read("x.py", (HEAD + text).encode())
    facts = evaluate_program(document, parse_program(document, document.python).body, TARGET.versions)

    assert len(facts.calls) < MOST_STEPS
    assert "MPS101" in check_text(HEAD + text)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("null.py", (HEAD + "x = 1\0\n").encode(), "null bytes"),
        ("late.py", (HEAD + "#" * 9000 + "\nx = 1\0\n").encode(), "null"),
        ("wide.py", HEAD.encode("utf-16"), "null bytes"),
        ("half.py", (HEAD + "x = '\ud800'\n").encode("utf-8", "surrogatepass"), "not valid utf-8"),
        ("coding.py", b"# -*- coding: klingon -*-\n" + HEAD.encode(), "unknown encoding"),
        ("rot.py", b"# -*- coding: rot13 -*-\n" + HEAD.encode(), "unknown text encoding"),
        ("empty.ipynb", b"", "not valid JSON"),
        ("cut.ipynb", b'{"cells": [{"cell_type": "code", "source": ["import torch\\n", "x', "not valid JSON"),
        ("deep.ipynb", b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        ("list.ipynb", b"[1, 2]", "not a notebook"),
    ],
)
def test_what_is_no_text_is_one_line(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    """It says what is wrong with the file."""
    path = tmp_path / name
    path.write_bytes(data)
    problem = check_file(FoundFile(str(path)), Options(isolated=True)).problem

    assert problem.startswith(str(path))
    assert said in problem
    assert "\n" not in problem


YAMLS = {
    "a bomb": "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
    + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)),
    "merged": "m0: &m0 {a: 1}\n" + "".join(f"m{i + 1}: &m{i + 1}\n  <<: [*m{i}, *m{i}]\n  k{i}: *m{i}\n" for i in range(60)),
    "a cycle": "train: &a\n  x: *a\nb: &b [*b]\n",
    "deep": "x: " + "[" * 3_000 + "]" * 3_000 + "\n",
    "deep blocks": "".join("  " * i + "a:\n" for i in range(1_000)),
}


@pytest.mark.parametrize("text", YAMLS.values(), ids=YAMLS)
def test_yaml_that_explodes_does_not(tmp_path: Path, text: str) -> None:
    """Anchors are not unfolded, and what nests too deeply is said."""
    path = tmp_path / "sft.yaml"
    path.write_text(KEYS + text)
    result = check_file(FoundFile(str(path)), Options(isolated=True))

    assert "\n" not in result.problem
    assert result.problem or result.checked is not None


def notebook(cells: list[str]) -> bytes:
    """Return a notebook with these code cells."""
    rows = [
        {"cell_type": "code", "source": text.splitlines(True), "metadata": {}, "outputs": [], "execution_count": None} for text in cells
    ]
    return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()


def test_ten_thousand_cells_are_read() -> None:
    """Those that parse and those that do not."""
    data = notebook([HEAD, *(f"x{i} = torch.ones({i}" + ")" * (i % 10 > 0) for i in range(10_000))])
    checked = check(read("long.ipynb", data), TARGET)

    assert "MPS101" in [finding.rule for finding in checked.findings]
    assert len(checked.unread) == 1_000


def test_thousands_of_places_are_mended_together() -> None:
    """What all places share is found once: each asking for itself, and each about all others, takes minutes."""
    text = "import torch\n" + "".join(f"x{i} = torch.ones({i}).cuda()\n" for i in range(3_000))
    fixed = fix(read("long.py", text.encode()), TARGET)

    assert len(fixed.applied) == 3_000
    assert fixed.after.findings == ()


def test_every_beginning_of_a_notebook_is_read_or_refused() -> None:
    """As an interrupted download leaves it."""
    data = notebook([HEAD, "!pip install x\n%env A=b\nprint('ö')", "x = ("])
    for length in range(0, len(data), 7):
        with pytest.raises(ReadError, match=r"^cut[.]ipynb"):
            read("cut.ipynb", data[:length])


@RELAXED
@given(st.binary(max_size=300), st.sampled_from(["x.py", "x.ipynb", "x.yaml", "x.json", "x.sh", ".env", "Dockerfile"]))
def test_any_bytes_are_read_or_refused(data: bytes, name: str) -> None:
    """Never another error than the one that says so."""
    try:
        document = read(name, data)
    except ReadError:
        return
    check(document, TARGET)


@RELAXED
@given(st.sampled_from(EXAMPLES), st.randoms(use_true_random=False), st.sampled_from(["x.py", "x.ipynb", "x.yaml", "x.sh", "Dockerfile"]))
def test_mutilated_programs_are_checked_and_fixed(text: str, chance: random.Random, name: str) -> None:
    """Lines and characters of real examples, shuffled, doubled and lost: no error, and a fix leaves what can be read."""
    lines = text.splitlines(True)
    for _ in range(chance.randint(1, 4)):
        index = chance.randrange(len(lines) + 1)
        lines[index:index] = [
            chance.choice(lines),
            chance.choice("()[]{}:,.\n \t='\"#@\\*%!$&|<>`0ä"),
            chance.choice(lines)[: chance.randint(0, 9)],
        ]
        del lines[chance.randrange(len(lines))]
    data = "".join(lines).encode()
    try:
        document = read(name, notebook(lines) if name.endswith("ipynb") else data, kind_of(name))
    except ReadError:
        return
    fixed = fix(document, TARGET, None, unsafe=True)
    read(name, fixed.data, kind_of(name))


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    done = mpslint(arguments, cwd, os.environ)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_folder_may_hold_anything(tmp_path: Path) -> None:
    """Loops of links and dangling links are passed over; pipes and sockets are too, in one line, which a named one is as well."""
    (tmp_path / "train.py").write_text(HEAD)
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    os.mkfifo(tmp_path / "pipe.py")
    done = run("check", ".", "-q", cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert done.stdout.count("MPS101") == 1
    assert done.stderr == "mpslint: pipe.py: a pipe, not a file, so passed over\n"
    assert done.returncode == 1

    named = run("check", "pipe.py", "train.py", cwd=tmp_path)
    assert "pipe.py: not a regular file" in named.stderr
    assert named.returncode == 3
    assert "MPS101" in named.stdout


def test_a_file_that_vanishes_is_one_line(tmp_path: Path) -> None:
    """Between being found and being read."""
    path = tmp_path / "train.py"
    path.write_text(HEAD)
    (found,) = find_files([str(tmp_path)])
    path.unlink()

    assert check_file(found, Options(isolated=True)).problem == f"{path}: cannot be read: No such file or directory"

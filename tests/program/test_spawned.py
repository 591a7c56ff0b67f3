"""Commands that Python programs start."""

from __future__ import annotations

import pytest

from mpslint.config.groups import groups_in
from mpslint.facts.values import Known
from mpslint.program.unreached import read

IMPORTS = "import os, sys, shlex, subprocess\nimport subprocess as sp\nfrom subprocess import run as start\n"


def words_of(code: str) -> list[list[object]]:
    """Return the words of each command that a program starts; None for one that is not known."""
    document = read("all.py", (IMPORTS + code).encode())
    commands = [command for group in groups_in(document) for command in group.commands]
    return [[one.value.value if isinstance(one.value, Known) else None for one in command.given] for command in commands]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('subprocess.run([sys.executable, "x.py", "--lr", "1"])', ["python", "x.py", "--lr", "1"]),
        ('sp.check_call(("python", "x.py", "--lr", str(1)))', ["python", "x.py", "--lr", "1"]),
        ('cmd = ["python", "x.py"]\nstart(cmd)', ["python", "x.py"]),
        ('cmd = ["python", "x.py"]\ncmd += rest\nstart(cmd)', ["python", "x.py", None]),
        ('start(["python", "x.py"] + rest)', ["python", "x.py", None]),
        ('start(["python", "x.py", *rest])', ["python", "x.py", None]),
        ('start(["python", "x.py", f"--lr={lr}"])', ["python", "x.py", "--lr", None]),
        ('LR = "1"\nstart(["python", "x.py", "--lr", LR])', ["python", "x.py", "--lr", "1"]),
        ('LR = "1"\nif go:\n    LR = "2"\nstart(["python", "x.py", "--lr", LR])', ["python", "x.py", "--lr", None]),
        ('if go:\n    LR = "2"\nstart(["python", "x.py", "--lr", LR])', ["python", "x.py", "--lr", "2"]),
        ('def f():\n    cmd = ["python", "x.py"]\n    cmd.append("--a")\n    start(cmd)\n    cmd.append("b")', ["python", "x.py", "--a"]),
        ('cmd = f"python x.py {lr}"\nos.system(cmd)', ["python", "x.py", None]),
        ('def f(cmd):\n    start(cmd)\ncmd = ["python", "x.py"]\nf(cmd)\nf(cmd)', ["python", "x.py"]),
        ('def f():\n    cmd = ["python", "x.py"]\n    start(cmd)\ndef g():\n    cmd = 1', ["python", "x.py"]),
        ('cmd = ["python", "y"]\ncmd = ["python", "x.py"]\nif go:\n    start(cmd)', ["python", "x.py"]),
        ('LR = "1"\ndef f():\n    LR = "2"\n    start(["python", "x.py", LR])', ["python", "x.py", "2"]),
        ('os.system("python x.py --lr 1")', ["python", "x.py", "--lr", "1"]),
        ('os.system("python x.py "\n          "--lr 1")', ["python", "x.py", "--lr", "1"]),
        ("os.system(f'''python x.py \\\\\n  --lr {args.lr}''')", ["python", "x.py", "--lr", None]),
        ('subprocess.Popen(shlex.split("python x.py"))', ["python", "x.py"]),
        ('subprocess.run(args=["python", "x.py"])', ["python", "x.py"]),
    ],
)
def test_what_is_written_is_known(code: str, words: list[object]) -> None:
    """Lists, names of lists, texts, and what is put into them."""
    assert words_of(code) == [words]


@pytest.mark.parametrize(
    "code",
    [
        'print(["python", "x.py"])',
        'def run(words): ...\nrun(["python", "x.py"])',
        'os.path.join("x.py")',
        "subprocess.run(cmd)  # x.py",
        'subprocess.run(["python", "x.py"',
        'if go:\n    cmd = ["python", "x.py"]\nelse:\n    cmd = ["python", "y.py"]\nstart(cmd)',
        'if go:\n    cmd = f"python x.py {lr}"\nelse:\n    cmd = f"python y.py {lr}"\nos.system(cmd)',
        'cmd = ["python", "x.py"]\ndef g(cmd):\n    start(cmd)',
        'cmd = ["python", "x.py"]\nfor cmd in cmds:\n    start(cmd)',
        'os.system("python x.py\\t--lr 1" % lr)',
    ],
)
def test_other_code_starts_nothing(code: str) -> None:
    """Functions of other names, lists that nothing starts, and what does not parse."""
    assert words_of(code) == []


def test_words_stand_where_they_are_written() -> None:
    """Without their quotes, shifted by where the file begins; the word of a name where the name gets it."""
    text = IMPORTS + 'LR = "1"\nsubprocess.run(["python", "x.py", "--lr", LR])\nos.system(f"python x.py " "--bs=2")\n'
    found = [command for group in groups_in(read("all.py", text.encode()), 50) for command in group.commands]

    spans = [[text[one.span.start - 50 : one.span.end - 50] for one in command.given] for command in found]
    assert spans == [["python", "x.py", "--lr", "1"], ["python", "x.py", "--bs=2"]]
    assert found[0].given[-1].span.start - 50 == text.index('"1"') + 1

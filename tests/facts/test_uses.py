"""What a walk notes of who reads a value, and of what it came to."""

from __future__ import annotations

import ast

import pytest

from mpslint.facts.facts import Uses
from mpslint.settings.evidence import Evidence, gather_evidence
from mpslint.source.reader import read
from mpslint.target.target import default_target


def evidence_of(text: str) -> Evidence:
    """Return the evidence of a script."""
    document = read("train.py", text.encode())
    return gather_evidence(document, document.python, default_target())


def readers(text: str) -> list[str]:
    """Return the expressions by which the constant 'here' of a script is read."""
    evidence = evidence_of(text)
    here = [node for one in evidence.parsed.body for node in ast.walk(one) if isinstance(node, ast.Constant) and node.value == "here"]
    return sorted(map(ast.unparse, evidence.facts.uses.of(*here)))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a = 'here'\n", []),
        ("a = 'here'\nf(a)\n", ["a"]),
        ("a = 'here'\nb = a\nf(b)\n", ["a", "b"]),
        ("a = 'here'\na = 'there'\nf(a)\n", []),
        ("a = 'here'\ndef f(b):\n    return b\ng(f(a))\n", ["a", "b", "f(a)"]),
        ("def f(a='here'):\n    g(a)\nf('there')\n", []),
        ("def f(a='here'):\n    g(a)\nf()\n", ["a"]),
        ("def f():\n    a = 'here'\ndef g(a):\n    h(a)\nf()\ng(1)\n", []),
        ("class C:\n    a = 'here'\nf(C.a)\n", ["C.a"]),
        ("class C:\n    def __init__(self):\n        self.a = 'here'\nf(C().a)\n", ["C().a"]),
        ("d = {'k': 1}\na = d.get('k', 'here')\nf(a)\n", []),
        ("d = {}\na = d.get('k', 'here')\nf(a)\n", ["a", "d.get('k', 'here')"]),
        ("a = 'here' if f() else 'there'\ng(a)\n", ["a"]),
        ("if f():\n    a = 'here'\nelse:\n    a = ''.join(['here'])\ng(a)\n", ["a"]),
        ("if f():\n    a = g()\nelse:\n    a = h()\nif f():\n    b = 'x'\n    b = 'here'\nelse:\n    b = 'here'\ng(b)\n", ["b"]),
        ("for i in range(3):\n    a = 'here'\n    f(a)\n", ["a"]),
        ("a = 'here'\n[f(a) for i in g()]\n", ["a"]),
    ],
)
def test_a_value_is_read_where_the_program_reads_it_whatever_its_name(text: str, read: list[str]) -> None:
    """Through names, parameters, results and attributes, and not where another value has its name."""
    assert readers(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a = make()\n", []),
        ("a = make()\nf(a)\nb = a\nf(b)\n", ["a", "a", "b"]),
        ("def f():\n    return make()\na = f()\ng(a.b)\n", ["a"]),
        ("a = make()\na = 1\nf(a)\n", []),
        ("class C:\n    def __init__(self):\n        self.a = make()\nc = C()\nf(c.a)\n", ["c.a"]),
        ("import torch\nmake = torch.ones\na = make(2)\nb = a.sum()\nf(b)\n", ["a"]),
    ],
)
def test_what_a_call_makes_is_read_where_the_program_reads_it(text: str, read: list[str]) -> None:
    """An object too, and a tensor, which has no call."""
    facts = evidence_of(text).facts
    made = next(call for call in facts.calls if ast.unparse(call.node.func) == "make")
    assert sorted(map(ast.unparse, facts.uses.of_made(made))) == read


@pytest.mark.parametrize(
    ("text", "is_reached"),
    [
        ("f()\n", True),
        ("if True:\n    pass\nelse:\n    f()\n", False),
        ("if g():\n    pass\nelse:\n    f()\n", True),
        ("def g(a=None):\n    if a is None:\n        f()\ng(1)\n", False),
        ("def g(a=None):\n    if a is None:\n        f()\ng(1)\ng()\n", True),
        ("def g():\n    return\n    f()\ng()\n", False),
    ],
)
def test_a_statement_is_reached_where_a_path_leads_there(text: str, is_reached: bool) -> None:
    """Decided tests lead to one branch, others to both."""
    evidence = evidence_of(text)
    calls = [
        node for one in evidence.parsed.body for node in ast.walk(one) if isinstance(node, ast.Expr) and ast.unparse(node.value) == "f()"
    ]

    assert (calls[0] in evidence.facts.uses.reached) == is_reached


@pytest.mark.parametrize(
    ("text", "is_vague"),
    [
        ("globals()['f']()\n", True),
        ("import importlib\nimportlib.import_module(name)\n", True),
        ("getattr(module, name)()\n", True),
        ("getattr(module, 'name')()\n", False),
        ("import os\nos.getcwd()\n", False),
    ],
)
def test_what_may_read_any_name_is_noted(text: str, is_vague: bool) -> None:
    """Then nothing is certainly never read."""
    uses: Uses = evidence_of(text).facts.uses

    assert uses.is_vague == is_vague

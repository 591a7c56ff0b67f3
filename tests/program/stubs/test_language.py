"""What a stub can be made of, and what is said of a mistake in one."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from mpslint.core.knowledge import stub_files
from mpslint.facts.values import Argument, Known
from mpslint.program.stubs.evaluate import MOST_STEPS
from mpslint.program.stubs.host import Host
from mpslint.program.stubs.language import Scope, StubError
from mpslint.program.stubs.library import library_of
from mpslint.program.stubs.syntax import evaluator

PROGRAMS = {
    "loops": "found = [a for a in range(9) if a % 2 == 0] if False else []\nfor a in [1, 2, 3, 4]:\n    if a == 2:\n        continue\n    if a == 4:\n        break\n    found.append(a)\nelse:\n    found.append('else')\n",
    "while": "found = []\nn = 0\nwhile n < 5:\n    n += 1\n    found += [n]\nelse:\n    found.append('else')\n",
    "functions": "def f(a, *b, c=3, d, **e):\n    return a, b, c, d, e\nfound = [f(1, 2, d=4, x=5), f(*[1], **{'d': 2})]\n",
    "classes": "class A:\n    x = 1\n    def __init__(self, y):\n        self.y = y\n    def f(self):\n        return self.x, self.y\nclass B(A):\n    def f(self):\n        return super().f()\nfound = [B(2).f(), isinstance(B(1), A), isinstance(1, (str, int))]\n",
    "closures": "def f(a):\n    def g(b):\n        return a + b\n    return g\nfound = [f(1)(2), (lambda x: x[1:])([1, 2])]\n",
    "unpacking": "a, *b, c = [1, 2, 3, 4]\n[d, (e, f)] = 1, (2, 3)\nfound = [a, b, c, d, e, f, {**{'x': 1}, 'y': 2}, [*b, 0]]\n",
    "logic": "found = [1 if [] else 2, None or 0, 1 and 2, not '', 1 < 2 < 3, 'a' in 'abc', f'{1}-{\"x\"}', -1, {x for x in [1]} == {1}]\n",
    "texts": "found = ['a=b'.partition('='), ' x '.strip(), 'A-B'.lower().replace('-', '_'), 'abc'[::-1], 'abc'[1]]\n",
}
MISTAKES = {
    "t.py:1: x is not defined": "found = x\n",
    "t.py:1: Import can't be in a stub": "import os\n",
    "t.py:1: Try can't be in a stub": "try:\n    pass\nexcept OSError:\n    pass\n",
    "t.py:1: AttributeError: no __class__": "found = ().__class__\n",
    "t.py:1: AttributeError: no format": "found = '{0.__class__}'.format(1)\n",
    "t.py:1: TypeError: Mult can't be in a stub": "found = 'x' * 1000000000\n",
    "t.py:1: TypeError: Pow can't be in a stub": "found = 9 ** 9 ** 9\n",
    "t.py:2: TypeError: no parameter takes a value": "def f(): pass\nf(1)\n",
    f"t.py:2: takes more than {MOST_STEPS:,} steps": "while True:\n    pass\n",
    "t.py:1: calls nest more than 40 deep": "def f(x):\n    return f(x)\nf(1)\n",
}


def carried_out(code: str, **names: Any) -> dict[str, Any]:
    scope = Scope("t.py", dict(names))
    evaluator(library_of().imported, Host(None, None)).execute(ast.parse(code).body, scope)  # type: ignore[arg-type]
    return scope.names


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_stub_does_what_python_does(what: str) -> None:
    names: dict[str, Any] = {}
    exec(PROGRAMS[what].replace("a % 2 == 0", "True"), names)
    assert carried_out(PROGRAMS[what].replace("a % 2 == 0", "True"))["found"] == names["found"]


@pytest.mark.parametrize("said", MISTAKES)
def test_a_mistake_is_one_line_with_its_place(said: str) -> None:
    with pytest.raises(StubError) as error:
        carried_out(MISTAKES[said])
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    "code", ["if x:\n    pass\n", "y = not x\n", "y = x == 1\n", "y = x or 1\n", "y = [1 for a in [1] if x]\n", "while x:\n    pass\n"]
)
def test_a_value_of_the_program_decides_nothing(code: str) -> None:
    with pytest.raises(StubError, match="of the program"):
        carried_out(code, x=Argument(Known(True), None))


def test_a_parameter_by_name_without_a_default_is_asked_for_by_whoever_carries_it_out() -> None:
    names = carried_out("def f(*, x):\n    return x\n")
    with pytest.raises(TypeError, match="nothing gives x"):
        evaluator(library_of().imported, Host(None, None)).call(names["f"], [], {})  # type: ignore[arg-type]


def test_every_shipped_stub_can_be_read() -> None:
    assert stub_files()
    for name in stub_files():
        assert library_of().module(name).names

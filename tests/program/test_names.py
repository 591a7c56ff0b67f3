"""A name counts as bound only where Python would find it."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.program.names import Bindings, unbound

PROGRAMS = [
    ("sys.x", True),
    ("import sys\nsys.x", False),
    ("if a: import sys\nsys.x", True),
    ("if a: import sys\nelse: sys=1\nsys", False),
    ("try:\n import sys\nexcept E: pass\nsys", True),
    ("try:\n import sys\nexcept E: sys=None\nsys", False),
    ("try:\n import sys\nexcept E: raise\nsys", False),
    ("try:\n import sys\nexcept E: exit(1)\nsys", False),
    ("def f(): return sys\nimport sys", False),
    ("def f(): return sys", True),
    ("import sys\ndef f():\n sys.x\n import sys", True),
    ("def f(sys): return sys", False),
    ("import sys\ndel sys\nsys", True),
    ("import sys\ndef f(): sys\ndel sys", True),
    ("if TYPE_CHECKING: import sys\ndef f(): sys", True),
    ("if TYPE_CHECKING: import sys\nsys", True),
    ("class A:\n import sys\n x = sys.p", False),
    ("class A:\n import sys\n def f(self): return sys", True),
    ("import sys\nclass A:\n x: int = sys.p", False),
    ("x = sys.p\nimport sys", True),
    ("for i in range(3): import sys\nsys", True),
    ("while True:\n import sys\n break\nsys", False),
    ("while True:\n if a: break\n import sys\nsys", True),
    ("with open(x): import sys\nsys", False),
    ("with suppress(E): import sys\nsys", True),
    ("[sys for sys in x]", False),
    ("[sys for i in sys]", True),
    ("lambda sys: sys", False),
    ("lambda: sys", True),
    ("import sys\nlambda: sys", False),
    ("(sys := 3) + sys", False),
    ("def f(x=sys): pass\nimport sys", True),
    ("@sys.deco\ndef f(): pass", True),
    ("def f():\n global sys\n import sys\ndef g(): sys", False),
    ("match x:\n case 1: import sys\n case _: import sys\nsys", False),
    ("match x:\n case 1: import sys\nsys", True),
    ("def f():\n import sys\n def g(): return sys\n return g", False),
    ("def f():\n def g(): return sys\n import sys\n return g", False),
    ("sys += 1", True),
    ("x: sys = 1", False),
    ("import sys.path\nsys", False),
    ("import a as sys\nsys", False),
    ("from a import sys\nsys", False),
    ("try:\n pass\nfinally:\n import sys\nsys", False),
    ("def f():\n if a: return\n import sys\n sys", False),
    ("async def f():\n async with a as sys: sys", False),
    ("print(__name__, len)", False),
    ("def f(): raise X\nf()\nsys", True),
    ("if a:\n raise X\nelif b:\n import sys\nelse:\n import sys\nsys", False),
    ("x = [lambda: sys for i in y]\nimport sys", False),
    ("for sys in x: sys", False),
    ("for sys in x: pass\nsys", True),
    ("for a in b:\n import sys\nelse: pass\nsys", True),
    ("if x:\n import sys\n sys\n", False),
    ("class A:\n x = sys\n sys = 1", True),
    ("def f():\n x = [sys for _ in y]\n sys = 1\n", True),
    ("if a: sys = 1\nelif b: sys = 2\nelse: exit()\nsys", False),
    ("if a: pass\nelif b: import sys\nsys", True),
    ("x: sys = sys", True),
    ("print(f'{sys}')", True),
    ("for i in x:\n if i: continue\n import sys\n sys", False),
]
"""Programs, and whether they read `sys` where it may not be bound."""


@pytest.mark.parametrize(("code", "is_missing"), PROGRAMS)
def test_what_may_not_be_bound_is_missing(code: str, is_missing: bool) -> None:
    """In the order in which statements run, on every path; what a function reads of its module may be bound later."""
    assert unbound(ast.parse(code).body, {"sys"}) == ({"sys"} if is_missing else set())


@pytest.mark.parametrize(
    ("code", "is_bound"),
    [
        ("import sys\nHERE\n", True),
        ("HERE\nimport sys\n", False),
        ("import sys\ndef f():\n    HERE\n", True),
        ("def f():\n    HERE\nimport sys\n", False),
        ("import sys\ndef f():\n    HERE\ndel sys\n", False),
        ("def f():\n    import sys\n    HERE\n", True),
        ("def f():\n    HERE\n    import sys\n", False),
        ("import sys\nclass A:\n    x = HERE\n", True),
        ("class A:\n    import sys\n    def f(self):\n        HERE\n", False),
        ("if a:\n    import sys\nelif HERE:\n    pass\n", False),
        ("if a:\n    import sys\n    HERE\n", True),
        ("def f(x=HERE):\n    import sys\n", False),
        ("if __name__ == '__main__':\n    import sys\n    HERE\ndef f(): pass\n", True),
        ("'é'; import sys; HERE\n", True),
    ],
)
def test_what_is_bound_at_a_place(code: str, is_bound: bool) -> None:
    """A function may be called from its definition to the end of the module."""
    before = code[: code.index("HERE")]
    place = before.count("\n") + 1, len(before.rpartition("\n")[2].encode())
    assert Bindings(ast.parse(code).body, {"sys"}).at(place) == ({"sys"} if is_bound else set())


def test_long_chains_are_read() -> None:
    """Of `elif` and of sums: no recursion that Python would end."""
    chain = "if a0:\n    import sys\n" + "".join(f"elif a{n}:\n    import sys\n" for n in range(700)) + "else:\n    import sys\nsys\n"
    assert not unbound(ast.parse(chain).body, {"sys"})
    assert unbound(ast.parse(f"x = {' + '.join(['sys'] * 700)}").body, {"sys"})


lines = st.sampled_from(
    ["a = 1", "a; del a", "a", "b = a", "import a.b", "from x import a", "a += 1", "pass", "raise ValueError", "[a for a in b]", "b = [a for c in c]", "c = lambda: a",  "def c(): return a", "def c():\n  a\n  a = 2", "def c():\n  global a\n  a = 3"]
)  # fmt: skip
heads = st.sampled_from(["if next(turn):", "for _ in range(next(turn)):", "while next(turn):", "try:", "with manager:", "class d:"])


@st.composite
def blocks(draw: st.DrawFn, depth: int = 2) -> list[str]:
    """Draw the lines of a block."""
    found: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        if depth and draw(st.booleans()):
            head = draw(heads)
            found += [head, *(f" {line}" for line in draw(blocks(depth - 1)))]
            if head == "try:":
                found += ["except Exception:", *(f" {line}" for line in draw(blocks(depth - 1)))]
            elif head.startswith("if") and draw(st.booleans()):
                found += ["else:", *(f" {line}" for line in draw(blocks(depth - 1)))]
        else:
            found += draw(lines).split("\n")
    return found


class _Manager:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


@settings(max_examples=400)
@given(blocks(), st.integers(0, 2**16))
def test_where_nothing_is_missing_python_raises_no_name_error(body: list[str], turns: int) -> None:
    """On whatever path a program takes; what functions read is none of it."""
    code = "\n".join(body)
    if unbound(ast.parse(code).body, {"a"}):
        return
    names = {"turn": (turns >> n & 1 for n in range(100)), "manager": _Manager(), "b": [1], "c": [1]}
    modules = {"a": ast, "a.b": ast, "x": ast}
    builtins = {**vars(__import__("builtins")), "__import__": lambda name, *rest: type("module", (), {"a": modules["a"]})}
    raised: list[Exception] = []
    try:
        exec(compile(code, "drawn", "exec"), {"__builtins__": builtins, "__name__": "drawn", **names})
    except Exception as error:  # the program may do what it likes, but for one thing
        raised.append(error)
    assert not any(isinstance(error, NameError) and "'a'" in str(error) for error in raised), code

"""The evaluator reads a program as the Mac would run it: what it says it knows is true on every path, else it says nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.program import machine
from mpslint.program.evaluator import evaluate_program
from mpslint.program.parse import parse_program
from mpslint.source.document import Kind
from mpslint.source.reader import read
from tests.notebooks import notebook
from tests.program.probes import ROOTS, facts_of, probed, shown


@pytest.mark.parametrize("text", ["'{0:9999}'.format(1)", "'{:{w}}'.format(1, w=9999)", "'{:{}}'.format(1, 9999)"])
def test_formats_wider_than_any_text(text: str) -> None:
    """A width in a format isn't filled: a program with a huge one would need as much memory here as it does itself."""
    assert probed(f"probe({text})") == ["?"]


def test_alternatives_of_an_unknown_test() -> None:
    """Both ways of an undecided `if` are possible, and nothing else."""
    assert probed("b = 16 if x else 8\nprobe(b)") == [{16, 8}]
    assert probed("if x:\n  b = 16\nelse:\n  b = 8\nprobe(b)") == [{16, 8}]
    assert probed("b = 16\nif x:\n  b = 16\nprobe(b)") == [16]


def test_alternatives_of_a_chain_of_tests() -> None:
    """A chain of `elif` leaves what any of its branches leaves; one that ends the path leaves nothing."""
    assert probed("b = 8\nif a:\n  b = 1\nelif c:\n  b = 2\nelif d:\n  pass\nelse:\n  raise E\nprobe(b)") == [{1, 2, 8}]
    assert probed("if a:\n  b = 1\nelif (n := 4) and c:\n  b = 2\nelif d:\n  b = n\nprobe(b)") == [{1, 2, 4}]
    assert probed("if a:\n  raise E\nelif c:\n  return_ = 1\nelse:\n  raise E\nprobe(return_)") == [1]


def test_a_chain_of_tests_is_walked_to_its_end() -> None:
    """Branches stand side by side: a long chain isn't a deep one."""
    branches = "".join(f"elif a == {i}:\n  probe({i})\n" for i in range(1500))
    facts = facts_of(f"if a:\n  pass\n{branches}")
    assert len(facts.calls) == 1500
    assert not facts.is_exhausted
    assert len(facts.calls[-1].context.guards) == 1501


def test_a_path_that_leaves_does_not_count_after() -> None:
    """After `if x: return`, only the other path is there."""
    assert probed("def f(x):\n  b = 16\n  if x:\n    b = 1\n    return\n  probe(b)\nf(y)") == [16]


def test_a_default_of_a_flag_is_the_default_run() -> None:
    """`if args.fp16:` with a default of False: the default run goes on without it, the other path is walked under a guard."""
    facts = facts_of(
        """
        import argparse
        p = argparse.ArgumentParser()
        p.add_argument("--fp16", action="store_true")
        args = p.parse_args()
        b = 16
        if args.fp16:
            b = 8
            probe(b)
        probe(b)
        """
    )
    calls = [call for call in facts.calls if getattr(call.node.func, "id", "") == "probe"]

    assert [shown(call.arguments[0].value) for call in calls] == [8, 16]
    assert [[guard.text for guard in call.context.guards] for call in calls] == [["args.fp16"], []]


def test_branches_that_the_mac_never_takes_are_not_walked() -> None:
    """Nothing under `if torch.cuda.is_available()` is a fact."""
    assert probed("import torch\nif torch.cuda.is_available():\n  probe(1)\nelse:\n  probe(2)") == [2]


def test_what_follows_a_turned_away_mac_is_not_reached() -> None:
    """`if not cuda: raise` ends the run on a Mac."""
    assert probed("import torch\nif not torch.cuda.is_available():\n  raise SystemExit\nprobe(1)") == []


def test_a_function_handed_on_is_walked_with_what_is_known_then() -> None:
    """`dataset.map(f)` calls f with arguments that are not known; its globals are those of that moment."""
    assert probed("n = 512\ndef f(x):\n  probe(n)\nds.map(f)\nn = 1024") == [512]


def test_each_call_of_a_helper_counts() -> None:
    """A helper that is called twice is seen twice."""
    assert probed("def loader(b):\n  probe(b)\nloader(16)\nloader(1)") == [16, 1]


def test_names_of_outside_things() -> None:
    """Aliases, submodules, subclasses in the file and methods go by one name each."""
    facts = facts_of(
        """
        import transformers.trainer as tt
        from transformers import Trainer as T, AutoModel
        from torch.cuda.amp.grad_scaler import GradScaler
        class Mine(T):
            pass
        tt.Trainer()
        Mine()
        GradScaler()
        AutoModel.from_pretrained("x").eval()
        """
    )

    assert [call.names for call in facts.calls][:5] == [
        ("transformers.Trainer",),
        ("transformers.Trainer",),
        ("torch.cuda.amp.GradScaler",),
        ("transformers.AutoModel.from_pretrained",),
        ("transformers.AutoModel.from_pretrained.eval",),
    ]
    assert facts.calls[4].method == "eval"


def test_notebook_cells_share_names() -> None:
    """A constant of one cell is known in the next; a broken cell costs itself only."""
    document = read("n.ipynb", notebook("b = 16\n", "x = = 3\n", "%matplotlib inline\nprobe(b)\n"), Kind.NOTEBOOK)
    parsed = parse_program(document, document.python)
    facts = evaluate_program(document, parsed.body, {}, ROOTS)

    assert [shown(call.arguments[0].value) for call in facts.calls] == [16]
    assert [document.place(part.span.start).cell for part in parsed.unread] == [2]


def test_two_broken_cells_do_not_make_one_whole() -> None:
    """A string opened in one cell and closed in another is two broken cells."""
    document = read("n.ipynb", notebook("s = '''\n", "'''\n", "x = 1\n"), Kind.NOTEBOOK)
    parsed = parse_program(document, document.python)

    assert len(parsed.unread) == 2
    assert len(parsed.body) == 1


def test_cells_that_ipython_would_mend_are_read() -> None:
    """An indented cell, prompts, and a command without a percent sign."""
    document = read("n.ipynb", notebook("  b = 16\n  c = 2\n", ">>> d = 3\n", "pip install x\ne = 4\n"), Kind.NOTEBOOK)
    parsed = parse_program(document, document.python)

    assert not parsed.unread
    assert [statement.lineno for statement in parsed.body if hasattr(statement, "targets")] == [1, 2, 4, 7]


STATEMENTS = st.recursive(
    st.sampled_from(
        [
            "x = 1", "y = x + 1", "x += y", "f()", "d['a'] = x", "d.update(x=y)", "a.b = x", "return x", "del x", "raise E", "break",
            "x = [i for i in y]", "x, *y = z", "global x", "import torch", "from torch import *", "assert x", "x = yield", "lambda: x",
            "x = f'{y!r:>{z}}'", "x = y if z else w", "x = y[1:2]", "x = y @ z", "x: int = 3", "pass", "(x := 3)", "x = {**y, 'a': 1}",
        ]
    ).map(lambda line: [line]),
    lambda inner: st.tuples(
        st.sampled_from(["if x:", "for i in y:", "while x:", "with a as b:", "def f(x=1, *a, k=2, **kw):", "class C(B):", "try:", "async def g():"]),
        st.lists(inner, min_size=1, max_size=3),
    ).map(lambda pair: [pair[0], *["  " + line for block in pair[1] for line in block], *(["finally:", "  pass"] if pair[0] == "try:" else [])]),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(STATEMENTS, max_size=6))
def test_any_program_can_be_walked(blocks: list[list[str]]) -> None:
    """No program crashes the evaluator, and every open journal is closed at the end."""
    facts_of("\n".join(line for block in blocks for line in block))


def test_classes_above_a_class_are_looked_at_once() -> None:
    """Each class of forty has the two of before for its bases: there are a million millions of ways to the first."""
    rows = "".join(f"class A{n}(A{n - 1}, B{n - 1}): pass\nclass B{n}(A{n - 1}, B{n - 1}): pass\n" for n in range(1, 41))
    assert probed(f"class A0:\n  b = 16\nclass B0: pass\n{rows}probe(A40().b)") == [16]


def test_deep_nesting_costs_only_itself() -> None:
    """An expression that nests beyond the limit is given up; what stands beside it is still known."""
    assert probed("x = " + "-" * 150 + "1\nprobe(16)") == [16]
    assert probed("x = " + "+".join(["a"] * 1200) + "\nprobe(16)")[-1] == 16


def test_many_calls_end() -> None:
    """Calls that multiply are followed within a budget."""
    code = "def f0():\n  g(1)\n" + "".join(f"def f{i}():\n" + f"  f{i - 1}()\n" * 6 for i in range(1, 11)) + "f10()\nprobe(16)"

    assert probed(code) == [16]


@pytest.mark.parametrize(
    "text",
    [
        "import enum\nclass Kind(enum.Enum):\n    A = 1\n    def is_a(self):\n        return self == Kind.A\n",
        "class Other: pass\nclass Made:\n    def __new__(cls):\n        return Other()\n    def name(self):\n        return 1\n",
    ],
    ids=["enumeration", "__new__"],
)
def test_methods_of_a_class_whose_call_makes_something_else_are_walked(text: str) -> None:
    """Nothing calls them, and calling the class gives no object of it: that was a mistake in mpslint on every enumeration with methods."""
    assert facts_of(text).frames


@pytest.mark.parametrize("expression", ["list(range(10**30))", "'a'.split('b', 10**30)", "'a'.replace('a', 'b', 10**30)"])
def test_a_number_that_no_machine_counts_to_raises_in_the_program_that_is_read(expression: str) -> None:
    """CPython raises OverflowError there, which the program may catch."""
    with pytest.raises(OverflowError):
        eval(expression)

    facts = facts_of(f"import torch\ntry:\n    x = {expression}\nexcept OverflowError:\n    torch.ones(1)\n")
    assert [call.name for call in facts.calls if call.name.startswith("torch")] == ["torch.ones"]


def test_looking_through_what_is_not_followed_counts_as_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty methods that each call two others end in thousands of calls that are too deep, behind each of which are all of them."""
    monkeypatch.setattr(machine, "MOST_STEPS", 10_000)
    methods = [f"    def m{i}(self):\n        self.m{(i + 1) % 60}()\n        self.m{(i + 2) % 60}()\n" for i in range(60)]
    facts = facts_of(f"class A:\n{''.join(methods)}A().m0()\n")

    assert facts.is_exhausted
    assert facts.steps < 5_000

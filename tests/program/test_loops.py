"""Loops are walked anew until what a round leaves is known, for a bounded number of steps."""

from __future__ import annotations

import pytest

from mpslint.facts.facts import Facts
from mpslint.program import any_round
from mpslint.program.evaluator import evaluate_program
from mpslint.program.parse import parse_program
from mpslint.source.reader import read
from mpslint.target.target import default_target
from tests.program.against_cpython import compare
from tests.program.stateful_programs import program

STATE = "class C:\n    pass\no, xs, d = C(), [1], {}\no.n = 1\n"


def walked(text: str) -> Facts:
    """Return what is seen of a program."""
    document = read("train.py", text.encode())
    return evaluate_program(document, parse_program(document, document.python).body, default_target().versions)


def nested(depth: int, *body: str) -> str:
    """Return loops within one another, the innermost with some statements."""
    heads = "".join("    " * level + f"for a{level} in q{level}:\n" for level in range(depth))
    return STATE + heads + "".join("    " * depth + one + "\n" for one in body)


@pytest.mark.parametrize(
    "body", [("x.cuda()",), ("o.n = a0", "xs.append(o.n)"), ("y = [a0]", "q0.append(y)", "q1.n = y", "q2(y)", "o = q3(o)")]
)
def test_walks_of_loops_within_loops_do_not_multiply(body: tuple[str, ...]) -> None:
    """Three walks of each of 24 loops within one another would be 3**24."""
    assert walked(nested(24, *body)).steps < 2 * any_round.MOST_REPEATED_STEPS


def test_a_loop_that_is_walked_once_forgets_what_it_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no steps are left to walk loops anew, what is known is still what CPython gives."""
    monkeypatch.setattr(any_round, "MOST_REPEATED_STEPS", -1)
    false = {number: found for number in range(5000, 5100) if (found := compare(program(number), number).false)}

    assert not false


def test_objects_of_a_walk_that_is_thrown_away_are_no_reason_for_another() -> None:
    """What a round makes is new in each: the walks of a loop that only makes lists and objects are two at most."""
    once = walked(STATE + "def f(q):\n    y = [C(), {}]\n    q.append(y)\n    return q\nf(q)\n").steps
    looped = walked(STATE + "def f(q):\n    y = [C(), {}]\n    q.append(y)\n    return q\nfor a in q:\n    f(q)\n").steps

    assert looped < 3 * once


ADDING = ["xs.append({'n': len(xs)})", *["o.n = f(o.n, xs)"] * 20]
"""What adds another dict in each round, and takes some steps."""


def steps_of(depth: int) -> int:
    """Return the steps of a walk of loops within one another around some statements."""
    return walked(f"def f(a, b):\n    return [a, b, a + b]\n{nested(depth, *ADDING)}").steps


@pytest.mark.parametrize("depth", [1, 6])
def test_loops_within_loops_are_walked_twice(depth: int) -> None:
    """The first walk shows what a round writes, for all of them at once; the second begins with that, and shows nothing more."""
    assert steps_of(depth) < 2.5 * steps_of(0)


def test_what_a_loop_came_to_in_another_walk_is_joined_with_what_is_known_there() -> None:
    """In the first walk of the outer loop the inner one finds a text, in the second what the outer one left there."""
    false = compare(
        "o = {'n': 'a'}\nfor i in range(2):\n    for j in range(2):\n        o['n'] = o['n'] + 'b'\n    o['n'] = 1 if i else 'c'\n", 0
    ).false

    assert not false

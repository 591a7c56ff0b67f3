"""Values, and what surrounds the places where they are decided."""

from __future__ import annotations

import ast

from mpslint.facts.values import MOST_CLASSES, Class, Guard, Known, Symbol, any_guard


def guards(*tests: str) -> list[Guard]:
    return [Guard(ast.parse(test, mode="eval").body, True) for test in tests]


def test_each_test_around_a_place_is_asked_once() -> None:
    """Each branch of a long `elif` stands under all tests above it."""
    chain = guards(*(f"a == {number}" for number in range(100)))
    asked: list[str] = []

    def holds(guard: Guard) -> bool:
        asked.append(guard.text)
        return guard.text == "a == 50"

    answers = [any_guard(tuple(chain[:length]), "fifty", holds) for length in range(101)]

    assert answers == [length > 50 for length in range(101)]
    assert asked == [f"a == {number}" for number in range(51)]
    assert not any_guard(tuple(chain), "another question", lambda guard: False)


def chain_of(length: int) -> Class:
    """Return a class with so many above it, the topmost a Module with a field and a name."""
    made = Class(ast.parse("class A: pass").body[0], {"top": Known(1)}, (Symbol("torch.nn.Module"),), (), ("field",))  # type: ignore[arg-type]
    for _ in range(length):
        made = Class(made.node, {}, (made,))
    return made


def test_classes_are_looked_through_as_deep_as_programs_have_them() -> None:
    """What the topmost of many classes has, the lowest has too; of a chain that nobody writes, only the nearest are looked at."""
    deep, deeper = chain_of(MOST_CLASSES - 1), chain_of(10_000)

    assert deep.outside_bases() == ("torch.nn.Module",)
    assert deep.all_fields() == ("field",)
    assert deep.lookup("top") is not None
    assert deeper.lookup("top") is None
    assert (deeper.outside_bases(), deeper.all_fields()) == ((), ())


def test_the_classes_above_a_class_are_looked_for_once() -> None:
    """Hundreds of classes in a row are asked for theirs again and again."""
    node = ast.parse("class C: pass").body[0]
    assert isinstance(node, ast.ClassDef)
    base = Class(node, {})
    derived = Class(node, {}, (base,))

    assert derived.lineage() == (derived, base)
    assert derived.lineage() is derived.lineage()

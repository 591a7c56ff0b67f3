"""What is noted of a write, for what may be written where it can't be seen."""

from __future__ import annotations

from mpslint.facts.values import Items
from mpslint.program.store import Store


def test_a_write_to_a_list_that_stands_for_many_loses_it_and_what_it_gets() -> None:
    """However often it is written, nothing else is lost: all that is lost is forgotten, put back and merged from then on."""
    store, many, one = Store(), Items("list", {}), Items("list", {})
    store.stand_for_many(many, since=many.born)
    for _ in range(3):
        store.change(many, {0: one}, True)

    assert set(store.lost) == {id(many), id(one)}

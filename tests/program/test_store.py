"""What is noted of a write, for what may be written where it can't be seen."""

from __future__ import annotations

from mpslint.facts.values import Items, Known
from mpslint.program.places import CONTENT
from mpslint.program.store import Store


def test_a_write_to_a_list_that_stands_for_many_loses_it_and_what_it_gets() -> None:
    """However often it is written, nothing else is lost: all that is lost is forgotten, put back and merged from then on."""
    store, many, one = Store(), Items("list", {}), Items("list", {})
    store.stand_for_many(many, since=many.born)
    for _ in range(3):
        store.change(many, {0: one}, True)

    assert set(store.lost) == {id(many), id(one)}


def test_what_is_lost_waits_to_be_forgotten_only_where_something_may_be_known_of_it() -> None:
    """A list that nothing wrote since all lists were forgotten isn't looked at again; one that is put back behind a path is."""
    store, one, other = Store(), Items("list", {0: Known(1)}), Items("list", {})
    store.lose(one)
    store.lose(other)
    store.regained.clear()
    with store.path():
        store.forget(one, CONTENT)
        store.regained.clear()

    assert set(store.regained) == {id(one)}

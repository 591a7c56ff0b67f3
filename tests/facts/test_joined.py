"""What is known of a value that is one of several."""

from __future__ import annotations

from typing import Any

from mpslint.facts.joined import same
from mpslint.facts.values import AutogradGraph, Known


def _without_graph(*passes: Any) -> Known:
    return Known(AutogradGraph(False, frozenset(passes)))


def test_graphs_are_equal_whatever_the_order_in_which_their_passes_are_written_out() -> None:
    first, second = _without_graph(0, 8), _without_graph(8, 0)
    assert str(first.value) != str(second.value)
    assert same(first, second)

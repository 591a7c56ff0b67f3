"""The list of threads: each is told by what the list says, and the share that is told holds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("threads", Path(__file__).parents[1] / "benchmarks" / "threads.py")
assert _SPEC is not None
assert _SPEC.loader is not None
benchmark = importlib.util.module_from_spec(_SPEC)
sys.modules["threads"] = benchmark
_SPEC.loader.exec_module(benchmark)

THREADS = benchmark.threads()


@pytest.mark.parametrize("thread", [one for one in THREADS if one.told], ids=lambda one: one.where)
def test_a_thread_is_told(thread: object) -> None:
    """The rule or message that the list names tells it."""
    assert benchmark.is_told(thread), benchmark.told_by(thread)


@pytest.mark.parametrize("thread", [one for one in THREADS if not one.told and not one.unknowable], ids=lambda one: one.where)
def test_a_thread_that_is_not_told_is_silent(thread: object) -> None:
    """A thread that becomes told leaves this list."""
    assert not benchmark.told_by(thread)


def test_the_list_is_long_enough_and_mostly_told() -> None:
    """At least 150 threads, each once; a script or a text for each that a static look can know; 80 % of these are told."""
    knowable = [one for one in THREADS if not one.unknowable]
    assert len({one.where for one in THREADS}) == len(THREADS) >= 150
    assert [one.where for one in knowable if not one.code and not one.text] == []
    assert sum(bool(one.told) for one in knowable) >= 0.8 * len(knowable)

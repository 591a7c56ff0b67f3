"""Tests that ask for several processes are decided for a run of one."""

from __future__ import annotations

import ast

import pytest

from mpslint.facts.values import Guard
from mpslint.rule.guards import is_of_one_process, of_one_process

OF_ONE = (
    "not args.distributed",
    "args.world_size == 1",
    "world_size <= 1",
    "args.local_rank == -1",
    "local_rank < 0",
    "rank == 0",
    "args.local_rank in [-1, 0]",
    "rank is None",
    "cfg.ddp is False",
    "not distributed or rank == 0",
)
OF_SEVERAL = (
    "args.distributed",
    "config['distributed']",
    "torch.distributed.is_initialized()",
    "use_ddp",
    "args.multi_gpu",
    "world_size > 1",
    "nprocs >= 2",
    "args.local_rank != -1",
    "local_rank >= 0",
    "rank is not None",
    "distributed and rank == 0",
)
OF_OTHER_THINGS = (
    "torch.distributed.is_available()",
    "is_main_process()",
    "n_gpu > 1",
    "use_gpu and not distributed",
    "rank == 3",
    "args.dist_url == 'env://'",
    "world_size > args.limit",
    "1 < world_size < 4",
    "world_size > 0",
)


@pytest.mark.parametrize("test", OF_ONE)
def test_what_a_run_of_one_process_answers_with_yes(test: str) -> None:
    """Its body runs on a Mac."""
    assert of_one_process(ast.parse(test, mode="eval").body) is True


@pytest.mark.parametrize("test", OF_SEVERAL)
def test_what_a_run_of_one_process_answers_with_no(test: str) -> None:
    """Its `else` runs on a Mac."""
    assert of_one_process(ast.parse(test, mode="eval").body) is False


@pytest.mark.parametrize("test", OF_OTHER_THINGS)
def test_what_the_number_of_processes_alone_does_not_answer(test: str) -> None:
    """Such a test stays undecided."""
    assert of_one_process(ast.parse(test, mode="eval").body) is None


def test_a_default_that_leads_the_other_way_counts_more() -> None:
    """`--distributed` that is on unless told otherwise, and a rank that is -1 by default."""
    test = ast.parse("args.distributed", mode="eval").body

    assert is_of_one_process(Guard(test, False))
    assert is_of_one_process(Guard(test, False, False))
    assert not is_of_one_process(Guard(test, False, True))
    assert not is_of_one_process(Guard(test, True))

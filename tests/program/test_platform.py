"""What the platform answers depends on the versions of the Target, and a function that they lack answers nothing."""

from __future__ import annotations

from typing import Any

import pytest

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.program.platform import NO_ANSWER, load_platform, with_cuda


@pytest.mark.parametrize(
    ("name", "versions", "answer"),
    [
        ("torch.cuda.is_available", {"torch": (1, 9)}, False),
        ("torch.mps.is_available", {"torch": (2, 5)}, True),
        ("torch.mps.is_available", {"torch": (2, 4, 1)}, NO_ANSWER),
        ("torch.mps.is_available", {}, True),
        ("torch.accelerator.current_accelerator", {"torch": (2, 6)}, "mps"),
        ("torch.accelerator.current_accelerator", {"torch": (2, 5, 1)}, NO_ANSWER),
        ("transformers.is_torch_bf16_gpu_available", {"transformers": (4, 55, 4), "macos": (15,)}, False),
        ("transformers.is_torch_bf16_gpu_available", {"transformers": (4, 56), "macos": (15,)}, True),
        ("transformers.is_torch_bf16_gpu_available", {"transformers": (5, 24), "macos": (13,)}, False),
        ("torch.no_such_question", {"torch": (2, 15)}, NO_ANSWER),
    ],
)
def test_an_answer_is_that_of_the_versions(name: str, versions: dict[str, tuple[int, ...]], answer: Any) -> None:
    """The first row whose versions match counts, and rules/platform/names.yaml says which torch has a function."""
    assert load_platform().answer(name, versions) == answer


def test_a_name_is_there_with_the_first_of_its_functions() -> None:
    """hasattr(torch, "accelerator") is false before torch 2.6."""
    assert load_platform().has("torch.accelerator", {"torch": (2, 6)})
    assert not load_platform().has("torch.accelerator", {"torch": (2, 5, 1)})
    assert load_platform().has("torch.mps", {"torch": (2, 0)})
    assert not load_platform().has("torch.mps", {"torch": (1, 13)})
    assert not load_platform().has("torch.nothing", {"torch": (2, 15)})


def test_a_machine_with_cuda_answers_nothing_by_rows() -> None:
    """Rows speak of a Mac's versions."""
    assert with_cuda().answer("transformers.is_torch_bf16_gpu_available", {"transformers": (5, 24), "macos": (15,)}) is NO_ANSWER
    assert with_cuda().answer("torch.cuda.is_available", {}) is True


def test_rows_can_be_read() -> None:
    """Each row has its versions, and an answer."""
    for rows in platform_data("answers")["results"].values():
        for row in rows if isinstance(rows, list) else ():
            assert set(row) == {"versions", "is"}
            VersionRange.parse(row["versions"])

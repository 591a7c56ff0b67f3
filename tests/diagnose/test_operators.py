"""Operators without an MPS kernel: diagnose says since when there is one."""

from __future__ import annotations

import pytest

from mpslint.diagnose import Diagnosis, diagnose, log_of_bytes
from mpslint.diagnose.named import first_version

TEXT = "NotImplementedError: The operator '{}' is not currently implemented for the MPS device. If you want this op to be considered for addition"


def diagnosed(text: str) -> Diagnosis:
    """Return the diagnosis of a text."""
    return diagnose(log_of_bytes(text.encode(), "log"))


@pytest.mark.parametrize(
    ("operator", "first"),
    [
        ("aten::isin.Tensor_Tensor_out", "2.4"),
        ("aten::_fft_r2c", "2.3"),
        ("aten::bucketize.Tensor", "2.2"),
        ("aten::_ctc_loss", "2.14"),
        ("aten::upsample_bicubic2d.out", "2.6"),
        ("aten::segment_reduce", ""),
        ("aten::_nested_tensor_from_mask_left_aligned", ""),
        ("aten::add.out", None),
        ("torchvision::nms", None),
        ("bitsandbytes::optimizer_update_8bit_blockwise", None),
        ("", None),
    ],
)
def test_the_first_version_of_an_operator(operator: str, first: str | None) -> None:
    """Overloads that write into a given tensor count with the others; operators of other packages are not known."""
    assert first_version(operator) == first


def test_an_operator_that_came_later_names_its_version() -> None:
    """The advice is the version itself, also beside a pin that has the kernel: the text shows that another torch, such as a preview, ran."""
    for version in ("2.3.1", "2.4.0.dev20240101", "2.6.0"):
        told = diagnosed(f"torch=={version}\n{TEXT.format('aten::isin.Tensor_Tensor_out')}").symptoms[0].explanation
        assert told.title == "aten::isin.Tensor_Tensor_out runs on MPS since torch 2.4"
        assert told.changes[0].say == "Install torch 2.4 or later."


def test_an_operator_that_never_came_asks_for_no_upgrade() -> None:
    """No version is named where none helps."""
    told = diagnosed(TEXT.format("aten::segment_reduce")).symptoms[0].explanation
    assert "Upgrading to torch 2.15 does not help" in told.does_not_mean
    assert not any(change.upgrade.terms for change in told.changes)


def test_an_operator_of_another_package_keeps_the_general_words() -> None:
    """What the table does not know is not guessed."""
    told = diagnosed(TEXT.format("mypackage::count")).symptoms[0].explanation
    assert told.title == "No MPS kernel for mypackage::count"


def test_an_encoder_is_named_in_place_of_its_operator() -> None:
    """Where one thing alone calls an operator, that is said."""
    diagnosis = diagnosed(TEXT.format("aten::_nested_tensor_from_mask_left_aligned"))
    assert [symptom.message.id for symptom in diagnosis.symptoms] == ["padded-encoder-mask"]


def test_an_operator_of_which_the_table_has_the_form_in_place() -> None:
    """index_copy and index_copy_ have one kernel."""
    assert first_version("aten::index_copy.out") == first_version("aten::index_copy_") == "2.8"


def test_an_upgrade_that_the_text_itself_shows_is_not_advised() -> None:
    """torch prints the dtype from 2.8 on, which is what the upgrade would bring."""
    old, new = (
        diagnosed(f"RuntimeError: ConvTranspose 3D {words}is not supported on MPS").symptoms[0].explanation.changes
        for words in ("", "with BF16 or FP16 types ")
    )

    assert [str(change.upgrade) for change in old if change.upgrade.terms] == ["torch >= 2.8"]
    assert [str(change.upgrade) for change in new if change.upgrade.terms] == []


@pytest.mark.parametrize("operator", ["sigmoid", "log1p", "atan2", "cumsum"])
def test_the_upgrade_for_int64_is_to_a_torch_that_takes_it(operator: str) -> None:
    """The wheels of 2.1 to 2.7 still hold this text for sigmoid and log1p, those up to 2.6 for atan2."""
    (symptom,) = diagnosed(f"RuntimeError: MPS does not support {operator} op with int64 input").symptoms

    assert [str(change.upgrade) for change in symptom.explanation.changes if change.upgrade.terms] == ["torch >= 2.8"]

"""Words are found where they can matter, however they are spaced."""

from __future__ import annotations

import pytest

from mpslint.source.words import quoted, stands_in, words_of


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ('device = "cuda"', True),
        ("x.to('cuda:0')", True),
        ('kinds = "cpu,cuda".split(",")', True),
        ('main(["--device=cuda"])', True),
        ('f"cuda:{rank}"', True),
        ("torch.cuda.empty_cache()", False),
        ('say("no") or torch.cuda.is_available()', False),
        ('if device.type == "cuda":', False),
        ('if device.type!="cuda":', False),
        ('if "cuda" in str(device):', False),
        ('if "cuda:0" not in names:', False),
        ('"cuda" if has_gpu else "cpu"', True),
        ('x = "cuda" ; y == "cuda"', True),
        ('if device.type in ("cpu", "cuda"):', False),
        ("if device not in ['cuda:0', 'cuda', 'mps']:", False),
        ('for device in ("cpu", "cuda"):', True),
        ('runs = [run(device) for device in ["cpu", "cuda"]]', True),
        ('if device in ("cpu",): device = "cuda"', True),
        ('"use_cuda"', False),
    ],
)
def test_a_quoted_word_is_one_that_a_string_may_be(text: str, is_there: bool) -> None:
    """Not a name of the program, nor what something is only compared with."""
    assert stands_in(text, quoted("cuda")) is is_there


@pytest.mark.parametrize(
    ("text", "is_there"),
    [("model.eval()", True), ("model . eval ( )", True), ("(model.\n  eval())", True), ("evaluate()", False), ("model.evaluate()", False)],
)
def test_a_method_is_found_where_it_is_called(text: str, is_there: bool) -> None:
    """Over spaces and line ends, but not inside another name."""
    assert stands_in(text, ".eval(") is is_there


def test_pieces_are_found_in_identifiers_as_they_begin_and_end() -> None:
    """A piece between marks has to begin or end an identifier there."""
    words = words_of(["Trainer"], ["fp16", ".pad(", '"mps', "+="])

    assert words.among(frozenset(["Trainer", "MyTrainer", "use_fp16", "pad", "padding", "mps_device", "use_mps"])) == {
        "Trainer", "use_fp16", "pad", "mps_device",
    }  # fmt: skip
    assert words.among(frozenset(["pads"])) == set()
    assert words.marks_in("x += 1")
    assert not words.marks_in("x + 1")

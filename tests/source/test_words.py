"""Words are found where they can matter, however they are spaced."""

from __future__ import annotations

import pytest

from mpslint.source.words import found_by, parameter, quoted, stands_in, words_of


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


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("def f(x, device): ...", True),
        ("async def f(\n    x: int,\n    *,\n    device: str,\n): ...", True),
        ("def  f[T](device: T): ...", True),
        ("f = lambda x, device: x", True),
        ("def f(device='cpu'): ...", False),
        ("def f(x): return g(device)", False),
        ("my_lambda = device", False),
        ("undef(device)", False),
    ],
)
def test_a_parameter_is_one_that_only_a_call_gives_a_value(text: str, is_there: bool) -> None:
    """Of a function or a lambda; other words may end like those that begin one."""
    assert stands_in(text, parameter("device")) is is_there


@pytest.mark.parametrize(
    ("text", "is_there"), [("m = TinyGPT(3)", True), ("m = gpt_2 (3)", True), ("m = gpt", False), ("m = gp(3)", False)]
)
def test_a_pattern_may_leave_the_case_open(text: str, is_there: bool) -> None:
    """Names of models are written in all ways."""
    assert stands_in(text, found_by(r"(?i:gpt|lm)\w*\s*\(")) is is_there


def test_pieces_are_found_in_identifiers_as_they_begin_and_end() -> None:
    """A piece between marks has to begin or end an identifier there."""
    words = words_of(["Trainer"], ["fp16", ".pad(", '"mps', "+="])

    assert words.among(frozenset(["Trainer", "MyTrainer", "use_fp16", "pad", "padding", "mps_device", "use_mps"])) == {
        "Trainer", "use_fp16", "pad", "mps_device",
    }  # fmt: skip
    assert words.among(frozenset(["pads"])) == set()
    assert words.marks_in("x += 1")
    assert not words.marks_in("x + 1")

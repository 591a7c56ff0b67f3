"""Calls of what lies outside the program give what the knowledge says of them."""

from __future__ import annotations

import pytest

from tests.program.probes import probed

HEAD = "import accelerate, deepspeed, lightning\na = accelerate.Accelerator()\nf = lightning.Fabric()\n"


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("a.prepare(1)", 1),
        ("a.prepare(1, 2, 3)", [1, 2, 3]),
        ("a.prepare(*[1, 2], device_placement=[True, False])", [1, 2]),
        ("a.prepare_model(1, device_placement=False)", 1),
        ("a.prepare_model(model=1)", 1),
        ("a.unwrap_model(a.prepare(1))", 1),
        ("f.setup(1)", 1),
        ("f.setup(1, 2)", [1, 2]),
        ("f.setup_dataloaders(1, 2)", [1, 2]),
        ("deepspeed.initialize(args=0, model=1)", [1, "?", "?", "?"]),
        ("deepspeed.initialize(0, 1, 2)", [1, 2, "?", "?"]),
        ("a.prepare(1, *input())", "object accelerate.Accelerator.prepare"),
        ("a.prepare()", "object accelerate.Accelerator.prepare"),
        ("a.free_memory(1, 2)", "object accelerate.Accelerator.free_memory"),
    ],
)
def test_some_give_back_what_they_are_given(call: str, given: object) -> None:
    """One argument by itself, several as a tuple, in order; nothing where it isn't known how many there are."""
    assert probed(f"{HEAD}probe({call})\n") == [given]


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("'mps'.startswith(('cuda', 'cpu'))", False),
        ("'mps:0'.startswith(('cuda', 'mps'))", True),
        ("'run.py'.endswith(('.yaml', '.py'))", True),
        ("'mps'.startswith((input(), 'mps'))", "?"),
        ("'{} on {}'.format('net', ('mps', 0))", "net on ('mps', 0)"),
    ],
)
def test_methods_of_a_text_take_tuples(call: str, given: object) -> None:
    """Python asks for each of several beginnings; what isn't known in one keeps the answer unknown."""
    assert probed(f"probe({call})\n") == [given]

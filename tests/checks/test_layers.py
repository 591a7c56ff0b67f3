"""The list of torch's layers with weights, compared with the torch that is installed."""

from __future__ import annotations

import warnings

import pytest

from mpslint.core.knowledge import platform_data

ARGUMENTS = ((), (4,), (2, 2), (4, 4), (4, 4, 3), (1, 4), (0, (2, 2)), (1.0, 2.0), (4, [2, 3]), (4, 8, [2, 4]))
"""What some class of torch.nn can be made with."""


def test_the_layers_with_weights_are_those_of_torch() -> None:
    """Each class of torch.nn that can be made and holds parameters or buffers is in the list, and no other that can be made."""
    torch = pytest.importorskip("torch")
    listed = platform_data("layers")["hold_weights"]
    made = {}
    for name, kind in vars(torch.nn).items():
        if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
            continue
        for arguments in ARGUMENTS:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made[name] = kind(*arguments).state_dict()
            except (TypeError, ValueError, AttributeError, NotImplementedError, RuntimeError):
                continue
            break

    assert {name for name, held in made.items() if held} - set(listed) == {"RNNCellBase"} & set(made)
    assert not {name for name, held in made.items() if not held} & set(listed)
    assert len(set(made) & set(listed)) > 35

"""Python checks say when they may find something."""

from __future__ import annotations

import sys
import types

import pytest

from mpslint.core.finding import RuleError
from mpslint.rule.check import Gate, check_module, gate_of


@pytest.mark.parametrize("gate", [None, Gate(roles=("trainer",)), "cuda"], ids=["none", "without words", "no gate"])
def test_a_check_without_words_is_an_error(gate: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check whose files can't be told from others is refused where its rule is loaded."""
    module = types.ModuleType("mpslint.checks.forgetful")
    if gate is not None:
        module.GATE = gate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mpslint.checks.forgetful", module)
    check_module.cache_clear()
    with pytest.raises(RuleError, match=r"mpslint/checks/forgetful\.py: needs `GATE"):
        gate_of("forgetful")
    check_module.cache_clear()


def test_a_mistyped_word_of_a_gate_is_an_error() -> None:
    """What a Gate does not know ends the import of the check."""
    with pytest.raises(TypeError, match="file_word"):
        Gate(words=("cuda",), file_word=("torch",))  # type: ignore[call-arg]

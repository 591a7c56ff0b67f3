"""Whether autograd records what happens at a place: which managers and decorators are around it."""

from __future__ import annotations

from mpslint.facts.values import Context, Instance, Known, Symbol, Value

SWITCHES = ("no_grad", "inference_mode", "set_grad_enabled")
"""Managers and decorators that switch autograd, by the last part of their name."""


def has_gradients(context: Context) -> bool:
    """Return whether autograd is certainly on: no manager or decorator around a place may have switched it off."""
    return not any(_may_switch(manager) for manager in context.managers)


def lacks_gradients(context: Context) -> bool:
    """Return whether autograd is certainly off: a manager or decorator around a place has switched it off."""
    return any(_switches(manager) for manager in context.managers)


def _may_switch(manager: Value) -> bool:
    return _switches(manager) or not (isinstance(manager, (Instance, Symbol)) and manager.name)


def _switches(manager: Value) -> bool:
    is_one = isinstance(manager, (Instance, Symbol)) and manager.name.rsplit(".", 1)[-1] in SWITCHES
    return is_one and not _is_on(manager)


def _is_on(manager: Value) -> bool:
    """Return whether `set_grad_enabled(True)` is meant."""
    call = manager.call if isinstance(manager, Instance) else None
    first = call.arguments[0].value if call is not None and call.arguments else None
    return isinstance(first, Known) and first.value is True

"""What holds for all tensors that are made at a place: the default device and dtype, and whether graphs are kept."""

from __future__ import annotations

import ast

from mpslint.facts.values import UNKNOWN, Argument, Context, Instance, Known, Symbol, Value
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import Machine, dtype_of

DEFAULT_PLACE = ("default", "place")
DEFAULT_DTYPE = ("default", "dtype")
DEFAULT_GRAPH = ("default", "graph")
"""The slots of the started module that hold what the program sets."""


def default_place(m: Machine, node: ast.AST) -> Value:
    """Return the device on which a tensor is made that names none."""
    for manager in reversed(m.context.managers):
        if isinstance(manager, Known) and isinstance(manager.value, str) and manager.source:
            return manager  # `with torch.device("mps"):`
    found: Value | None = m.module.slots.get(DEFAULT_PLACE)
    return found if found is not None else Known(load_kinds().default_place, node)


def default_dtype(m: Machine, node: ast.AST) -> Value:
    """Return the dtype of real numbers for which none is named."""
    found: Value | None = m.module.slots.get(DEFAULT_DTYPE)
    return found if found is not None else Known(load_kinds().default_dtype, node)


def set_default(m: Machine, name: str, argument: Argument) -> None:
    """Carry out a call that sets the default device or dtype, or whether graphs are kept."""
    kinds = load_kinds()
    if name in kinds.default_device_setters:
        m.store.write(m.module.slots, DEFAULT_PLACE, argument.value)
    elif name in kinds.default_dtype_setters:
        dtype = dtype_of(argument.value)
        m.store.write(m.module.slots, DEFAULT_DTYPE, Known(dtype, argument.node) if dtype else UNKNOWN)
    else:
        m.store.write(m.module.slots, DEFAULT_GRAPH, argument.value)


def graph_switch(context: Context) -> bool | None:
    """Return whether the innermost manager or decorator that switches graphs keeps them; None where there is none."""
    names = load_kinds().without_graph
    for manager in reversed(context.managers):
        if isinstance(manager, Symbol) and manager.name in names:
            return False
        if isinstance(manager, Instance) and manager.call is not None and manager.call.names and manager.call.names[0] in names:
            given = next((one.value for one in (*manager.call.arguments, *manager.call.keywords.values())), None)
            return isinstance(given, Known) and given.value is True  # `set_grad_enabled(True)` keeps them
    return None


def is_without_graph(m: Machine) -> bool:
    """Return whether what is computed here keeps no graph."""
    is_kept = graph_switch(m.context)
    if is_kept is not None:
        return not is_kept
    default = m.module.slots.get(DEFAULT_GRAPH)
    return default is not None and not (isinstance(default, Known) and default.value is True)

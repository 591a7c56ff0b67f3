"""Where a library calls functions of the program by itself: because of their decorators, and for what holds them."""

from __future__ import annotations

from typing import Any

from mpslint.facts.values import Argument, Function, Instance, Value
from mpslint.program.machine import Walker
from mpslint.program.stubs.host import Host
from mpslint.program.stubs.library import library_of, run


def given_by_decorators(m: Walker, function: Function) -> dict[str, Value]:
    """Return what decorators (`@click.option("--bs", default=8)`, `@hydra.main(...)`) give a function's parameters, by name."""
    found = _run(m, "given_by_decorators", function) if _calls(function) else {}
    return {name: one.value for name, one in found.items()} if isinstance(found, dict) else {}


def start_commands(m: Walker, function: Function) -> None:
    """Walk the functions that are commands of one (`@click.group()`): that which the command line names, else all of them."""
    if _calls(function):
        _run(m, "start_commands", function)


def _calls(function: Function) -> bool:
    return any(isinstance(one, Instance) and one.call is not None for one in function.decorators)


def _run(m: Walker, name: str, function: Function) -> Any:
    return run(Host(m, None), library_of(m.stubs).module("_decorators").names[name], [Argument(function, None)], {})

"""Where a library calls functions of the program by itself: because of their decorators, and for an object that holds them."""

from __future__ import annotations

from typing import Any

from mpslint.facts.values import Argument, Function, Instance, Value
from mpslint.program.machine import Walker
from mpslint.program.stubs.host import Host
from mpslint.program.stubs.library import library_of, run

OPTION = ".option"
"""How the names of decorators end that give a parameter an option."""


def option_values(m: Walker, function: Function) -> dict[str, Value]:
    """Return what option decorators (`@click.option("--bs", default=8)`) give a function's parameters."""
    calls = [one.call for one in function.decorators if isinstance(one, Instance) and one.call is not None]
    options = [(list(one.arguments), dict(one.keywords)) for one in calls if one.name.endswith(OPTION)]
    found = _run(m, "option_values", options) if options else {}
    return {name: one.value for name, one in found.items()} if isinstance(found, dict) else {}


def first_parameter(m: Walker, function: Function) -> Value | None:
    """Return the object that the command line makes of the class of a function's first parameter; None for one of no such class."""
    found = _run(m, "first_parameter", Argument(function, None))
    return found.value if isinstance(found, Argument) else None


def stored_config(m: Walker, name: Value, function: Function) -> Value | None:
    """Return the configuration that the program noted under a name (`ConfigStore.instance().store(name="main", node=Main)`)."""
    found = _run(m, "stored", (Argument(name, None), Argument(function, None)), "hydra.core.config_store.ConfigStore")
    return found.value if isinstance(found, Argument) else None


def start_group(m: Walker, group: Instance) -> None:
    """Walk the functions that are commands of a group (`app = typer.Typer()`): the one that the first word names, else all of them."""
    belonging = [one for one in list(m.functions.values()) if any(_belongs(m, decorator, group) for decorator in one.decorators)]
    _run(m, "start_group", [(one.name, Argument(one, None)) for one in belonging])


def _belongs(m: Walker, decorator: Value, group: Instance) -> bool:
    if not (isinstance(decorator, Instance) and decorator.name in m.platform.commands):
        return False
    call = decorator.call
    return (call.receiver if call is not None and call.receiver is not None else decorator.owner) is group


def _run(m: Walker, name: str, given: Any, module: str = "_commands") -> Any:
    return run(Host(m, None), library_of(m.stubs).module(module).names[name], [given], {})

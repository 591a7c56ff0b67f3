"""What a stub may do with configurations, and with what they name: more functions of `stubs.host`."""

from __future__ import annotations

import re
from typing import Any

from mpslint.config.yaml_source import plain_value
from mpslint.facts.values import UNKNOWN, Argument, DictEntry, Instance, Items, Known, Mapping, Module, Symbol, Value, origin_of
from mpslint.program import environment
from mpslint.program.config_files import OBJECT, as_object
from mpslint.program.fields import entries_of
from mpslint.program.stubs.host import Host, at, functions_of, plain
from mpslint.program.stubs.language import StubObject
from mpslint.tensors.arguments import CallArguments

_PLAIN = re.compile(r"[^\[\]{}\"'#$&*!|>%@`,]*(?<!:)")
"""Text that is one plain value of YAML."""


def entries(host: Host, given: Any) -> dict[str, Argument] | None:
    """Return the entries of a dict, a configuration or an object of the program, None for anything else, and where there may be more."""
    value = given.value if isinstance(given, Argument) else None
    if isinstance(value, Instance) and (value.fallback or not (value.name == OBJECT or value.cls is not None)):
        return None
    return {key: Argument(one, origin_of(one)) for key, one in entries_of(value)} if isinstance(value, (Mapping, Instance)) else None


def is_config(host: Host, given: Any) -> bool:
    """Return whether a value is a configuration whose keys are attributes."""
    return isinstance(given, Argument) and isinstance(given.value, Instance) and given.value.name == OBJECT


def is_whole(host: Host, given: Any) -> bool:
    """Return whether an object has no other keys than are known."""
    value = given.instance if isinstance(given, StubObject) else given.value
    return isinstance(value, Instance) and not value.fallback


def config_object(host: Host, values: dict[str, Argument], is_all: bool = True) -> Argument:
    """Return a configuration with these keys, which may have others unless they are all."""
    made = Instance(OBJECT, slots={key: one.value for key, one in values.items()}, fallback="" if is_all else "another file")
    return Argument(made, host.call)


def dict_of(host: Host, values: dict[str, Argument], is_all: bool) -> Argument:
    """Return a dict of the program with these entries, which may have others unless they are all."""
    return Argument(Mapping({key: DictEntry(one.value, one.node) for key, one in values.items()}, is_open=not is_all), host.call)


def config_value(host: Host, text: str, word: Argument) -> Argument:
    """Return what a word sets a key of a configuration to, as YAML reads it; unknown for a reference, a list or a dict."""
    quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0] and text[0] not in text[1:-1] and "\\" not in text
    said = Known(text[1:-1]) if quoted else plain_value(text.strip()) if text.isprintable() and _PLAIN.fullmatch(text) else UNKNOWN
    return at(host, Argument(said, None), word)


def compose_config(host: Host, folder: str, name: str, overrides: list[Argument] | None = None) -> Argument | None:
    """Return the configuration that Hydra composes of a folder, with what is written over it, or by the command line; None where that
    isn't known."""
    found = host.m.project.compose_config(host.m, folder, name, overrides) if host.m.project is not None else None
    return Argument(as_object(found), None) if isinstance(found, Mapping) else None


def variables_in_file(host: Host, path: Any) -> dict[str, Argument]:
    """Return the variables that a file of the run sets (`.env`), by name; none of any other file."""
    said = plain(host, path)
    found = host.m.project.load_variables(host.m, said) if host.m.project is not None and isinstance(said, str) else ()
    return {one.name: Argument(one.value, host.call) for one in found}


def set_variable(host: Host, name: str, said: Argument, style: str) -> None:
    """Set a variable of the environment."""
    assert host.call is not None
    environment.write(host.m, Known(name), said.value, host.call, said.node or host.call, style)


def remember(host: Host, name: str, said: Argument) -> None:
    """Keep a value for the rest of the program under a name."""
    host.m.store.write(host.m.module.slots, ("stub", name), said.value)


def remembered(host: Host, name: str) -> Argument | None:
    """Return what was kept under a name, None where nothing was."""
    found = host.m.module.slots.get(("stub", name))
    return Argument(found, None) if found is not None else None


def is_complete(host: Host, given: Any) -> bool:
    """Return whether a list or dict of the program has no items that aren't known."""
    value = given.value if isinstance(given, Argument) else None
    return not value.open if isinstance(value, Items) else isinstance(value, Mapping) and not value.is_open


def named_by(host: Host, name: str) -> Argument:
    """Return what a dotted name means: a class or function of the project, else one of outside."""
    m, parts = host.m, name.split(".")
    for length in range(len(parts) - 1, 0, -1) if m.project is not None else ():
        module = m.project.load(m, ".".join(parts[:length]), 0) if m.project is not None else None
        if isinstance(module, Module):
            found: Value = module
            for part in parts[length:]:
                found = m.attribute(found, part, None)
            return Argument(found, None)
    return Argument(Symbol(m.platform.normalise(name)), None)


def call_value(host: Host, target: Argument, given: list[Argument], named: dict[str, Argument], is_open: bool) -> Argument:
    """Return what calling a class or a function, of the program or of outside, gives; its facts stand at the call."""
    assert host.call is not None
    by_name = {name: Argument(one.value, one.node, unpacked=True) for name, one in named.items()}
    value = host.m.calls.call_value(host.m, target.value, None, CallArguments(tuple(given), by_name, is_open), host.call)
    return Argument(value, origin_of(value))


def is_open(host: Host) -> bool:
    """Return whether the call has arguments that aren't known."""
    return host.arguments.is_open


FUNCTIONS = functions_of(__name__)
"""What a stub can import of these."""

"""Environment variables as Python sets and reads them."""

from __future__ import annotations

import ast
import posixpath

from mpslint.facts.facts import EnvironmentWrite
from mpslint.facts.joined import join
from mpslint.facts.values import UNKNOWN, DictEntry, Instance, Known, Mapping, Unknown, Value, is_weak, weakened
from mpslint.program.machine import Walker
from mpslint.tensors.arguments import CallArguments

ENVIRONMENT = "os.environ"
NOT_HERE = Unknown("environment")


def write(m: Walker, name: Value, value: Value, node: ast.AST, value_node: ast.AST, style: str = "python", is_seen: bool = True) -> None:
    """Record that an environment variable is set; in a copy (style `child`) it is set for processes that are started with that.

    What `os.putenv` sets isn't seen by `os.environ`.
    """
    if not (isinstance(name, Known) and isinstance(name.value, str)):
        return
    if is_seen and style in ("python", "dotenv"):
        m.store.write(m.module.slots, ("environment", name.value), value)
    if not m.is_silent:
        start, end = m.span_of(node)
        value_start, value_end = m.span_of(value_node)
        place = (start, end, value_start, value_end)
        m.facts.environment.append(EnvironmentWrite(name.value, value, *place, m.context, style, len(m.facts.imports)))


def read(m: Walker, name: Value | None, default: Value | None) -> Value:
    """Return what an environment variable holds: what the program set, else the default that the program gives."""
    if isinstance(name, Known):
        key = ("environment", name.value)
        if default is not None:
            return _or_default(m, key, weakened(default)) or weakened(default)
        return _or_default(m, key, NOT_HERE) or NOT_HERE
    return NOT_HERE


def _or_default(m: Walker, key: object, default: Value) -> Value | None:
    """Return what the program set a variable to, or its default where only some paths set it; None where none does."""
    value = m.module.slots.get(key)
    return join(value, default) if value is not None and (id(m.module.slots), key) in m.store.unsure else value


def call_os(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a function of `os` or of `os.environ` returns; None for those that say nothing about the environment."""
    positional = arguments.positional
    if name in ("os.putenv", "os.environ.setdefault", "os.environ.__setitem__") and len(positional) >= 2:
        value, value_node = positional[1].value, positional[1].node
        if name.endswith("setdefault") and isinstance(key := positional[0].value, Known):
            value = _or_default(m, ("environment", key.value), value) or value
        if value_node is not None:
            write(m, positional[0].value, value, node, value_node, is_seen=not name.endswith("putenv"))
        return value
    if name in ("os.getenv", "os.environ.get", "os.environ.pop") and positional:
        found = read(m, positional[0].value, arguments.get(1, "default"))
        if name.endswith("pop") and isinstance(one := positional[0].value, Known):
            m.store.delete(m.module.slots, ("environment", one.value))
        return found
    if name == "os.environ.clear":
        for slot in [slot for slot in m.module.slots if isinstance(slot, tuple) and slot[0] == "environment"]:
            m.store.delete(m.module.slots, slot)
        return Known(None, node)
    if name == "os.environ.copy":
        return Instance(ENVIRONMENT)
    if name == "os.environ.update":
        update(m, arguments, node)
        return Known(None, node)
    if name == "os.path.join":
        values = [argument.value for argument in positional]
        if values and all(isinstance(value, Known) and isinstance(value.value, str) for value in values):
            parts = (str(value.value) for value in values if isinstance(value, Known))
            return Known(posixpath.join(*parts), node, any(map(is_weak, values)))
        return UNKNOWN
    return None


def update(m: Walker, arguments: CallArguments, node: ast.Call) -> None:
    """Record `os.environ.update({...}, NAME="value")`."""
    for argument in arguments.positional:
        entries = argument.value.slots.items() if isinstance(argument.value, Mapping) else ()
        for key, entry in entries:
            if isinstance(entry, DictEntry) and entry.node is not None:
                write(m, Known(key), entry.value, entry.node, entry.node)
    for name, argument in arguments.keywords.items():
        if argument.keyword is not None:
            write(m, Known(name), argument.value, argument.keyword, argument.keyword.value)

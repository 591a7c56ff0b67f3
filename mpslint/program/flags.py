"""Flags that a program defines by calls, and reads anywhere as attributes of one object (`FLAGS.batch_size`), as absl has them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.values import COMMAND_LINE, Argument, Function, Instance, Items, Known, Module, Symbol, Value, is_weak, weakened
from mpslint.program.arguments import CallArguments
from mpslint.program.commandline import settled
from mpslint.program.machine import Walker
from mpslint.program.started import as_written, converted, named, spanning

HOLDER = "all flags"
"""The slot of the script's module that holds the object which all flags are attributes of."""
MOST_NESTED = 6
"""Configurations within one another whose values are weakened."""


def holder(m: Walker, name: str) -> Instance:
    """Return the object that all flags of the program are attributes of."""
    known = m.module.slots.get(HOLDER)
    if not isinstance(known, Instance):
        known = m.made(Instance(name, fallback="command line"))
        m.module.slots[HOLDER] = known
    return known


def define(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Note the flag that a call defines: what the command line says, else its default. Return the object that the call gives."""
    flag = arguments.get(0, "name")
    if not (isinstance(flag, Known) and isinstance(flag.value, str)):
        return COMMAND_LINE
    required = arguments.keywords.get("required")
    is_required = required is not None and not (isinstance(required.value, Known) and not required.value.value)
    default = COMMAND_LINE if is_required else arguments.get(1, "default") or Known(None, node)
    words = m.words()
    is_settled = words is not None and m.is_told_all() and _said(words, m.platform.file_of_flags) is None
    kind = m.platform.flag_makers.get(name)
    value = settled(default) if is_settled else weakened(default)
    said = _said(words, flag.value, kind == "builtins.bool") if words is not None else None
    if said is not None and kind == "builtins.bool":
        value = said.value if isinstance(said.value, Known) and isinstance(said.value.value, bool) else COMMAND_LINE
    elif said is not None:
        value = converted(said, Symbol(kind), default, said.node) if kind else COMMAND_LINE
    if name in m.platform.flag_files:
        value = _made_by_file(m, value, flag.value, m.platform.flag_files[name])
    m.store.write(holder(m, name).slots, flag.value, value)
    return m.made(Instance(name, slots={"value": value}, fallback="command line"))


def _said(words: Sequence[Argument], flag: str, is_switch: bool = False) -> Argument | None:
    """Return the word that gives a flag its value (the last one counts); for a switch, its value: `--x`, `--x=false`, `--nox`."""
    found = None
    for index, word in enumerate(words):
        text = word.value.value if isinstance(word.value, Known) else None
        if not isinstance(text, str) or not text.startswith("-"):
            continue
        name, equals, inline = text.lstrip("-").partition("=")
        if name == flag and equals:
            found = Argument(as_written(inline, word.node) if is_switch else Known(inline, word.node), word.node)
        elif name == flag and is_switch:
            found = Argument(Known(True, word.node), word.node)
        elif name == flag and index + 1 < len(words):
            found = Argument(words[index + 1].value, spanning(word.node, words[index + 1].node))
        elif is_switch and name == f"no{flag}":
            found = Argument(Known(False, word.node), word.node)
    return found


def _made_by_file(m: Walker, path: Value, flag: str, function: str) -> Value:
    """Return what a function of a file of the project makes (`configs/small.py`, `configs/all.py:small`), with what words say of it."""
    if m.project is None or not (isinstance(path, Known) and isinstance(path.value, str)):
        return COMMAND_LINE
    file, _, argument = path.value.partition(":")
    module = m.project.module_at(m, file)
    maker = module.slots.get(function) if isinstance(module, Module) else None
    if not isinstance(maker, Function):
        return COMMAND_LINE
    config = m.calls.call_function(m, maker, [Known(argument, path.origin)] if argument else [], {}, False, None)
    if not isinstance(config, Instance):
        return COMMAND_LINE
    words = m.words()
    if words is None or not m.is_told_all() or is_weak(path):
        _weaken(m, config, MOST_NESTED)
    for key, value in named(words or ()):
        first, *above = key.split(".")
        inner: Value = config
        for part in above[:-1]:
            inner = inner.slots.get(part, COMMAND_LINE) if isinstance(inner, Instance) else COMMAND_LINE
        if first == flag and above and isinstance(inner, Instance):
            m.store.write(inner.slots, above[-1], value)
    return config


def _weaken(m: Walker, config: Instance, left: int) -> None:
    """Mark every value of a configuration as one that the command line may change."""
    for key, value in list(config.slots.items()):
        if isinstance(value, Instance) and left:
            _weaken(m, value, left - 1)
        elif not isinstance(value, Items):
            m.store.write(config.slots, key, weakened(value))

"""Objects that a library builds of configuration files and the command line: `LightningCLI(Model, Data)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping as TypingMapping
from collections.abc import Sequence
from typing import Any

from mpslint.facts.values import UNKNOWN, Argument, Class, Function, Instance, Items, Known, Mapping, Symbol, Value, origin_of, weakened
from mpslint.program.arguments import CallArguments
from mpslint.program.called import record_call
from mpslint.program.composed import entries_of, named_by, on_top
from mpslint.program.config_files import OBJECT
from mpslint.program.machine import Walker
from mpslint.stubs import library as stubs

CLASS, ARGUMENTS, FILES = "class_path", "init_args", ("config", "c")


def build(m: Walker, name: str, arguments: CallArguments, node: ast.Call, own: Instance | None = None) -> Value:
    """Follow the calls that a library makes for the sections of its configuration; return the object that made them.

    What each section makes is a name of outside, or the parameter (`model_class`) that says it. `own` is an object of a class of the
    program's own, which may set defaults and link options.
    """
    words = m.words()
    sections, is_whole = _sections(m, m.platform.builder_hooks[name]["commands"]) if words is not None else ({}, False)
    defaults, links = _hooked(m, m.platform.builder_hooks[name], own) if own is not None else ({}, [])
    sections = _linked(on_top(defaults, sections), links)
    result = m.made(Instance(name))
    classes = [made for made in m.platform.builders[name].values() if "." not in made]
    for section, made in m.platform.builders[name].items():
        below = entries_of(sections.get(section, Instance(OBJECT))) or {}
        if "." in made:
            target: Value = Symbol(made)
            given_defaults = arguments.keywords.get(f"{section}_defaults")
            below = on_top(entries_of(given_defaults.value) or {} if given_defaults is not None else {}, below)
        else:
            target = arguments.get(classes.index(made), made) or UNKNOWN
        path, inner = below.get(CLASS), below.get(ARGUMENTS)
        if isinstance(path, Known):
            target, below = named_by(m, str(path.value)), (entries_of(inner) or {}) if inner is not None else {}
        if isinstance(target, (Symbol, Class)):
            values = {key: value if is_whole else weakened(value) for key, value in below.items()}
            given = {key: Argument(value, origin_of(value), unpacked=True) for key, value in values.items()}
            if "." in made and not isinstance(path, Known):
                record_call(m, (made,), "", None, CallArguments((), given, not is_whole), node, result)
            else:
                m.calls.call_value(m, target, None, CallArguments((), given, not is_whole), node)
    return result


def _hooked(m: Walker, words: TypingMapping[str, Any], own: Instance) -> tuple[dict[str, Value], list[tuple[str, str, bool]]]:
    """Return the defaults that a class of the program's own sets, and the options that it links: from, to, and whether as they are."""
    hook = own.cls.lookup(words["method"]) if own.cls is not None else None
    if not isinstance(hook, Function):
        return {}, []
    parser = Instance("")
    before = len(m.facts.calls)
    m.calls.call_function(m, hook, [own, parser], {}, False, None)
    defaults: dict[str, Value] = {}
    links = []
    for call in m.facts.calls[before:]:
        if call.receiver is not parser:
            continue
        if call.method == words["defaults"]:
            given = {key: one.value for key, one in call.keywords.items()}
            for argument in call.arguments:
                given.update(entries_of(argument.value) or {})
            for key, value in given.items():
                defaults = on_top(defaults, _below(key, value))
        elif call.method == words["links"] and len(call.arguments) > 1:
            source, target = call.arguments[0].value, call.arguments[1].value
            if isinstance(source, Known) and isinstance(target, Known):
                links.append((str(source.value), str(target.value), len(call.arguments) == 2 and not call.keywords))
            elif isinstance(target, Known):
                links.append(("", str(target.value), False))
    return defaults, links


def _linked(sections: dict[str, Value], links: Sequence[tuple[str, str, bool]]) -> dict[str, Value]:
    """Return sections in which options say what those say that they are linked to; not known where a function works it out."""
    for source, target, is_plain in links:
        value = _at(sections, source) if is_plain else None
        sections = on_top(sections, _below(target, value if value is not None else UNKNOWN))
    return sections


def _below(path: str, value: Value) -> dict[str, Value]:
    """Return a value below the keys of a dotted path."""
    first, *rest = path.split(".")
    for name in reversed(rest):
        value = Instance(OBJECT, slots={name: value})
    return {first: value}


def _at(sections: dict[str, Value], path: str) -> Value | None:
    """Return the value at a dotted path; None where nothing says one."""
    found: Value | None = Instance(OBJECT, slots=dict(sections))
    for name in path.split("."):
        below = entries_of(found) if found is not None else None
        found = below.get(name) if below is not None else None
    return found


def _sections(m: Walker, commands: Sequence[str]) -> tuple[dict[str, Value], bool]:
    """Return what files that the words name, and then the words, say of each section; and whether that is all."""
    assert m.project is not None
    given = stubs.named_words(m)
    is_whole = m.is_told_all()
    result: dict[str, Value] = {}
    file = next((given[name] for name in FILES if name in given), None)
    said = {str(word.value.value) for word in m.words() or () if isinstance(word.value, Known)}
    for path in file.values() if isinstance(file, Items) else [file] if file is not None else []:
        if isinstance(path, Known) and path.value in commands:
            continue  # `--config fit.yaml fit`
        found = m.project.load_config(m, str(path.value), False) if isinstance(path, Known) else None
        is_whole = is_whole and isinstance(found, Mapping)
        entries = entries_of(found) or {} if found is not None else {}
        result = on_top(result, entries)
        for command in said.intersection(commands):
            result = on_top(result, entries_of(entries[command]) or {} if command in entries else {})
    for key, value in given.items():
        if "." in key:
            result = on_top(result, _below(key, value))
    return result, is_whole

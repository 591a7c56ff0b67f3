"""Objects that a library builds of configuration files and the command line: `LightningCLI(Model, Data)`."""

from __future__ import annotations

import ast

from mpslint.facts.values import UNKNOWN, Argument, Class, Instance, Items, Known, Mapping, Symbol, Value, origin_of, weakened
from mpslint.program.arguments import CallArguments
from mpslint.program.called import record_call
from mpslint.program.composed import entries_of, named_by, on_top
from mpslint.program.config_files import OBJECT
from mpslint.program.machine import Walker
from mpslint.program.started import named

CLASS, ARGUMENTS, FILES = "class_path", "init_args", ("config", "c")


def build(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Follow the calls that a library makes for the sections of its configuration; return the object that made them.

    What each section makes is a name of outside, or the parameter (`model_class`) that says it.
    """
    words = m.project.words() if m.project is not None else None
    sections, is_whole = _sections(m) if words is not None else ({}, False)
    result = m.made(Instance(name))
    classes = [made for made in m.platform.builders[name].values() if "." not in made]
    for section, made in m.platform.builders[name].items():
        below = entries_of(sections.get(section, Instance(OBJECT))) or {}
        if "." in made:
            target: Value = Symbol(made)
            defaults = arguments.keywords.get(f"{section}_defaults")
            below = on_top(entries_of(defaults.value) or {} if defaults is not None else {}, below)
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


def _sections(m: Walker) -> tuple[dict[str, Value], bool]:
    """Return what files that the words name, and then the words, say of each section; and whether that is all."""
    assert m.project is not None
    given = dict(named(m.project.words() or ()))
    is_whole = m.project.is_told_all()
    result: dict[str, Value] = {}
    file = next((given[name] for name in FILES if name in given), None)
    for path in file.values() if isinstance(file, Items) else [file] if file is not None else []:
        found = m.project.load_config(m, str(path.value), False) if isinstance(path, Known) else None
        is_whole = is_whole and isinstance(found, Mapping)
        result = on_top(result, entries_of(found) or {} if found is not None else {})
    for key, value in given.items():
        *above, last = key.split(".")
        tree: Value = Instance(OBJECT, slots={last: value})
        for name in reversed(above[1:]):
            tree = Instance(OBJECT, slots={name: tree})
        if above:
            result = on_top(result, {above[0]: tree})
    return result, is_whole

"""Classes that are parsers of the command line: subclasses of one, and those whose own fields are the options (`class Args(Tap)`)."""

from __future__ import annotations

import ast

from mpslint.facts.values import COMMAND_LINE, Class, DictEntry, Instance, Known, Mapping, Value, method_of, weakened
from mpslint.program.arguments import CallArguments
from mpslint.program.commandline import OPTIONS, settled, switched_off, words_given
from mpslint.program.machine import Walker
from mpslint.program.started import named

PARSE = "parse_args"


def is_parser(m: Walker, cls: Class) -> bool:
    """Return whether objects of a class have the methods of a parser."""
    known = {*m.platform.argument_parsers, *m.platform.self_parsers}
    return not known.isdisjoint(cls.outside_bases())


def parse_itself(m: Walker, owner: Instance, method: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return an object that has parsed the command line into its own fields; None for any other object or method."""
    hooks = (
        next((m.platform.self_parsers[one] for one in owner.cls.outside_bases() if one in m.platform.self_parsers), None)
        if owner.cls
        else None
    )
    if hooks is None or owner.cls is None or method != PARSE:
        return None
    with m.told(words_given(m, arguments)):
        _read_fields(m, owner, owner.cls, hooks["before"])
    _call_hook(m, owner, hooks["after"])
    return owner


def _read_fields(m: Walker, owner: Instance, cls: Class, before: str) -> None:
    """Give an object the fields of its class as the command line says them; a switch that is on by default goes off where it is given."""
    _call_hook(m, owner, before)
    words = m.words()
    is_settled = words is not None and m.is_told_all()
    given = switched_off(dict(named(words))) if words is not None else {}
    options = owner.slots.get(OPTIONS)
    added = {key: one.value for key, one in options.slots.items() if isinstance(one, DictEntry)} if isinstance(options, Mapping) else {}
    for name in dict.fromkeys((*cls.all_fields(), *added)):
        default = cls.lookup(str(name)) or COMMAND_LINE
        default = added[name] if isinstance(added.get(name), Known) else default
        said = given.get(str(name))
        if said is None:
            said = settled(default) if is_settled else weakened(default)
        elif isinstance(said, Known) and isinstance(default, Known) and said.value is default.value is True:
            said = Known(False, said.origin)
        m.store.write(owner.slots, name, said)


def _call_hook(m: Walker, owner: Instance, name: str) -> None:
    """Walk a method that a class of the program may have for its library to call."""
    if (method := method_of(owner, name)) is not None:
        m.calls.call_function(m, method, [owner], {}, False, None)

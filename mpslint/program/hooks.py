"""Methods of a program's classes that a library calls: those that make the loaders of a Trainer."""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.facts.values import Call, Context, Function, Instance
from mpslint.program.functions import call_function
from mpslint.program.machine import Walker


def makers_for_trainers(m: Walker) -> Iterator[tuple[Function, Instance, Context]]:
    """Yield the methods that make the loaders of the program's Trainers, each with its object and the context of the Trainer's call.

    Those that the program calls itself, and that were walked for it, are left out.
    """
    for call in m.facts.calls:
        names = m.platform.loader_makers.get(call.name, ())
        source = loader_source(call) if names else None
        if source is None or source.cls is None:
            continue
        for method in map(source.cls.lookup, names):
            if isinstance(method, Function) and id(method.node) not in m.analysed:
                yield method, source, call.context


def walk_maker(m: Walker, maker: Function, source: Instance, context: Context) -> None:
    """Walk the body of a method as a Trainer calls it, in the context of the Trainer's call; what it writes is forgotten."""
    m.context = context
    m.store.begin()
    try:
        call_function(m, maker, [source], {}, False, None)
    finally:
        m.store.undo()
        m.context = Context()


def loader_source(call: Call) -> Instance | None:
    """Return the object that makes the loaders of a Trainer's call: the data that it is given, or the model where there is none."""
    data = [*call.arguments[1:], *(argument for name, argument in call.keywords.items() if name != "model")]
    given = data or [*call.arguments, *call.keywords.values()]
    one = given[0].value if len(given) == 1 and not call.is_open else None
    return one if isinstance(one, Instance) and one.cls is not None else None

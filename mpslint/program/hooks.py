"""Methods of a program's classes that a library calls: those that make the loaders of a Trainer, and its steps and those of its model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from mpslint.facts.values import UNKNOWN, Call, Class, Context, Function, Instance, Known, Symbol, Value
from mpslint.program.functions import call_function
from mpslint.program.machine import Walker
from mpslint.program.platform import Platform
from mpslint.program.walk import walk
from mpslint.tensors import libraries

CONSTRUCTORS = ("__init__", "__new__", "__post_init__")


def makers_for_trainers(m: Walker) -> Iterator[tuple[Function, Instance, Context]]:
    """Yield the methods that make the loaders of the program's Trainers, each with its object and the context of the Trainer's call.

    Those that the program calls itself, and that were walked for it, are left out.
    """
    for call in m.facts.calls:
        for maker, source in loader_makers(call, m.platform):
            if id(maker.node) not in m.analysed:
                yield maker, source, call.context


def steps_for_trainers(m: Walker) -> Iterator[tuple[Function, Instance, Context]]:
    """Yield the methods that the program's Trainers call on their models and on themselves, as `makers_for_trainers` does."""
    for call in m.facts.calls:
        of_model, of_trainer = (_steps_of(call, table) for table in (m.platform.model_steps, m.platform.trainer_steps))
        for owner, names in ((_model_of(call) if of_model else None, of_model), (call.result, of_trainer)):
            if isinstance(owner, Instance) and owner.cls is not None:
                steps = (owner.cls.lookup(name) for name in names)
                yield from ((one, owner, call.context) for one in steps if isinstance(one, Function) and id(one.node) not in m.analysed)


def _steps_of(call: Call, table: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the methods that a table has for a call, by the first of its names that is there."""
    return next((table[name] for name in call.names if name in table), ())


def walk_method(m: Walker, method: Function, receiver: Instance, context: Context) -> None:
    """Walk the body of a method as a Trainer calls it, in the context of the Trainer's call; what it writes is forgotten."""
    m.context = context
    given = method.node.args
    defaults = dict(zip(reversed(given.args), reversed(method.defaults), strict=False))
    # What is None unless it's given, such as labels, may be in a batch.
    batch: dict[str, Value] = {one.arg: UNKNOWN for one, value in defaults.items() if isinstance(value, Known) and value.value is None}
    with m.store.path():
        libraries.put_by_library(m, receiver)
        forget_unset(m, method, receiver)
        call_function(m, method, [receiver], batch, len(method.node.args.args) > 1, None)
    m.context = Context()


def forget_unset(m: Walker, method: Function, receiver: Instance) -> None:
    """Forget which attributes of an object are None that another method gives a value: who calls its methods may have called that."""
    cls = receiver.cls
    held = {**{name: value for one in reversed(cls.lineage()) for name, value in one.slots.items()}, **receiver.slots} if cls else {}
    unset = {name for name, value in held.items() if isinstance(value, Known) and value.value is None}
    for one in (one for own in cls.lineage() for one in own.slots.values()) if cls is not None and unset else ():
        if isinstance(one, Function) and one.node is not method.node and getattr(one.node, "name", "") not in CONSTRUCTORS:
            for name in unset & written_on_self(m, one):
                m.store.write(receiver.slots, name, UNKNOWN)


def written_on_self(m: Walker, method: Function) -> frozenset[str]:
    """Return the names of the attributes that a method writes to its object."""
    if method.node not in m.written:
        own = next((one.arg for one in method.node.args.args), None)
        nodes = (one for one in walk(method.node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
        m.written[method.node] = frozenset(one.attr for one in nodes if isinstance(one.value, ast.Name) and one.value.id == own)
    return m.written[method.node]


def loader_makers(call: Call, platform: Platform) -> Iterator[tuple[Function, Instance]]:
    """Yield the methods that a Trainer's call makes its loaders by, with their object; those aside that its model has no use for."""
    makers = platform.loader_makers.get(call.name)
    source = loader_source(call) if makers is not None else None
    if makers is None or source is None or source.cls is None:
        return
    model = _model_of(call)
    for name, step in makers.items():
        maker = source.cls.lookup(name)
        if isinstance(maker, Function) and not _lacks(model, step, call.name.split(".")[0]):
            yield maker, source


def _model_of(call: Call) -> Value | None:
    given = call.keywords.get("model") or (call.arguments[0] if call.arguments else None)
    return given.value if given is not None else None


def _lacks(model: Value | None, step: str, package: str) -> bool:
    """Return whether a model certainly has no method of a name: only classes of the program, and those of a package, are above it."""
    cls = model.cls if isinstance(model, Instance) else None
    if cls is None or cls.lookup(step) is not None:
        return False
    return all(isinstance(base, Class) or (isinstance(base, Symbol) and base.name.split(".")[0] == package) for base in cls.bases_above())


def loader_source(call: Call) -> Instance | None:
    """Return the object that makes the loaders of a Trainer's call: the data that it is given, or the model where there is none."""
    data = [*call.arguments[1:], *(argument for name, argument in call.keywords.items() if name != "model")]
    given = data or [*call.arguments, *call.keywords.values()]
    one = given[0].value if len(given) == 1 and not call.is_open else None
    return one if isinstance(one, Instance) and one.cls is not None else None

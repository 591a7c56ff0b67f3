"""Python text that a program executes out of another file of its project: `exec(open("configurator.py").read())`."""

from __future__ import annotations

import ast

from mpslint.facts.values import Instance, Items, Known, Mapping, Slots, Value, settled, weakened
from mpslint.program import effects
from mpslint.program.machine import Walker
from mpslint.program.texts import as_written
from mpslint.program.walk import called_name, walk

ENDING = ".py"
NAMES = "builtins.globals"
"""What the object goes by that holds the names of a module or of a class body as a dict does."""


def execute_file(m: Walker, node: ast.Call) -> Value:
    """Walk the file whose text `exec` is given, in the frame of the call; of a text that is not known, every constant may be set again.

    A file that sets names of the program by the words of the command line (`globals()[key] = ...`) is known by its text.
    """
    written = [one.value for one in walk(node) if isinstance(one, ast.Constant) and str(one.value).endswith(ENDING)]
    body = m.project.body(m, str(written[0])) if m.project is not None and len(written) == 1 else None
    if body is None:
        readers = {name.rpartition(".")[2] for name in (*m.platform.openers, *m.platform.path_openers)}
        is_read = any(called_name(one) in readers for one in walk(node))  # a file (`open(name).read()`) sets names
        if not is_read:
            evaluate_text(m)
        _forget(m, may_go=not is_read)
    else:
        m.execute_block(m, body)
        names = {one.id for statement in body for one in walk(statement) if isinstance(one, ast.Name)}
        if {"sys", "globals"} <= names:
            _override(m)
    return Known(None, node)


def names_of(m: Walker, function: str) -> Instance | None:
    """Return what `globals()`, `vars()` or `locals()` gives; None inside a function, where it is a copy."""
    frame = m.root if function == "globals" else m.frame
    return Instance(NAMES, slots=frame.slots) if frame is m.root or frame.is_class else None


def write_name(m: Walker, slots: Slots, name: Value, value: Value) -> None:
    """Carry out `globals()[name] = value`."""
    if isinstance(name, Known):
        m.store.write(slots, str(name.value), settled(value))
    else:
        m.store.lose(value)
        forget_names(m, slots)


def evaluate_text(m: Walker) -> None:
    """A text is evaluated that may change all that the names here stand for (`eval(text)`)."""
    effects.not_followed(m, [*m.frame.slots.values(), *m.root.slots.values()], does_all=True)


def _forget(m: Walker, may_go: bool = False) -> None:
    for slots in {id(one): one for one in (m.frame.slots, m.root.slots)}.values():
        forget_names(m, slots, may_go)


def forget_names(m: Walker, slots: Slots, may_go: bool = False) -> None:
    """Any of some names may be given another value, or be gone where they `may_go`."""
    for name in list(slots):
        _forget_name(m, slots, name)
        if may_go:
            m.store.unsure.add((id(slots), name))


def _forget_name(m: Walker, slots: Slots, name: str) -> None:
    """A name may be given any value: a constant that it has is its default, and of a list, a dict or an object nothing is known."""
    value = slots[name]
    if isinstance(value, Known):
        m.store.write(slots, name, weakened(value))
    elif isinstance(value, (Items, Mapping)) or (isinstance(value, Instance) and value.cls is not None):
        m.store.forget(slots, name)


def _override(m: Walker) -> None:
    """Carry out the words of the command line: the names of files to execute, and `--name=value` for names that the program has."""
    words = m.words()
    if words is None or not m.is_told_all():
        _forget(m)
    for word in words or ():
        text = str(word.value.value) if isinstance(word.value, Known) else ""
        name, equals, value = text.lstrip("-").partition("=")
        if text.startswith("--") and equals and name in m.frame.slots:
            m.bind(name, as_written(value, word.node))
        elif not equals and text.endswith(ENDING) and m.project is not None and (body := m.project.body(m, text)) is not None:
            m.execute_block(m, body)

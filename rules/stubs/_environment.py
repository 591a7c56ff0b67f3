"""Variables of the environment, as libraries read them: what the program set itself, else a default that the environment may change."""

from stubs._words import switch
from stubs.host import at, call_value, named_by, number, overridable, plain, unknown

NUMBERS = {"int": int, "float": float}


def variable(name, default, kind, is_whole_name=True):
    """Return a variable as a kind of value (`int`, `float`, `bool`, else a text), whose name may be the end of another one's; no default
    makes it unknown."""
    if name is None:
        return unknown
    found = call_value(named_by("os.getenv"), [name], {}, False) if is_whole_name else unknown
    said = plain(found, None)
    if not isinstance(said, str):
        return unknown if default is None else overridable(default)
    value = number(said, NUMBERS[kind]) if kind in NUMBERS else switch(said) if kind == "bool" else said
    return unknown if value is None else at(value, found)

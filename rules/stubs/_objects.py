"""Objects that the words of a command line make of classes: of the program's, by their fields, and of outside, by their parameters."""

from stubs._words import Given, named, switched_off
from stubs.host import (
    attribute,
    class_of,
    field_default,
    field_kind,
    field_notes,
    fields_of,
    finish,
    is_class,
    object_of,
    overridable,
    plain,
    set_attribute,
    unknown,
)


def filled(cls, classes, values, is_all, base=None, unnamed={}):
    """Return the object that values by name make of one of some classes; None for values stands for any. What belongs to no class of the
    program belongs to those of outside, whose fields that nothing names are what `unnamed` says."""
    if not is_class(cls):
        return unknown
    own = fields_of(cls)
    others = [name for one in classes if one is not cls for name in fields_of(one)]
    slots = {}
    for name in own:
        default = field_default(cls, name) if base is None or plain(base) is None else attribute(base, name, field_default(cls, name))
        if default is not None:
            slots[name] = default if values is not None and is_all else overridable(default)
    given = {name: as_value(value, cls, name) for name, value in (values or {}).items()}
    if values or not is_all:  # which may give it by another name
        slots.update({name: unknown for name in own if field_notes(cls, name, False)})
    slots.update({name: value for name, value in given.items() if name in own})
    keywords = {name: value for name, value in given.items() if name not in others}
    return object_of(cls, slots, keywords, values is not None, is_all, unnamed)


def as_value(value, cls, name):
    """Return what words, or a file, say of a field as a value of its kind."""
    return value.said(field_kind(cls, name)) if isinstance(value, Given) else value


def of_words(cls, words, is_all, prefix="", base=None):
    """Return the object of a class that words make, those for the objects in it included; their names may begin with a prefix."""
    values = None
    if words is not None:
        values = {name.removeprefix(prefix): value for name, value in switched_off(named(words)).items()}
    made = filled(cls, [cls], values, is_all, base)
    for name, value in (values or {}).items():
        *above, last = name.split(".")
        inner = made
        for key in above:
            inner = attribute(inner, key, unknown)
        if above:
            set_attribute(inner, last, as_value(value, class_of(inner), last))
    finish(made)
    return made

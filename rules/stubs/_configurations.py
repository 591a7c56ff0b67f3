"""Configurations of keys within keys, which are put on top of one another, and say what to call."""

from stubs.host import (
    call_value,
    config_object,
    entries,
    kind_of,
    named_by,
    overridable,
    plain,
    program_object,
    set_attribute,
    slots,
    unknown,
)


def on_top(below, above):
    """Return the keys of a configuration with those of another on top of them."""
    found = {**below}
    for key, value in above.items():
        inner = entries(value)
        old = entries(found.get(key))
        found[key] = value if inner is None else config_object(on_top(old or {}, inner))
    return found


def below(path, value):
    """Return a value below the keys of a dotted path."""
    first, *rest = path.split(".")
    for name in reversed(rest):
        value = config_object({name: value})
    return {first: value}


def as_default(value):
    """Return a value, or each in a configuration, as one that may be another."""
    inner = entries(value)
    return overridable(value) if inner is None else config_object({key: as_default(one) for key, one in inner.items()})


def all_overridable(config, left=6):
    """Mark every value of a configuration as one that the command line may change."""
    for key, value in slots(config).items() if left > 0 and kind_of(config) else []:
        if kind_of(value):
            all_overridable(value, left - 1)
        else:
            set_attribute(config, key, overridable(value))


def instantiated(config, given=(), named={}, is_open=False):
    """Return what a configuration says to call (`_target_`) gives; None where it doesn't say, or that isn't known."""
    values = entries(config)
    target = plain(values.get("_target_")) if values is not None else None
    if not isinstance(target, str):
        return None
    taken = {}
    for key, value in values.items():
        if not key.startswith("_"):
            inner = entries(value)
            made = instantiated(value) if inner is not None and "_target_" in inner else value
            taken[key] = unknown if made is None else made
    taken.update({key: value for key, value in named.items() if not key.startswith("_")})
    if plain(values.get("_partial_")) is True:
        return program_object("functools.partial", {})
    return call_value(named_by(target), given, taken, is_open)

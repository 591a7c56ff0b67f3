"""omegaconf.OmegaConf: what puts configurations on top of one another, reads words as one, and turns one into a dict."""

from stubs._configurations import as_default, on_top
from stubs._words import text
from stubs.host import (
    attribute,
    class_of,
    config_object,
    config_value,
    declined,
    dict_of,
    entries,
    field_default,
    fields_of,
    instantiate,
    is_config,
    is_open,
    is_own_class,
    is_whole,
    slots,
    words_in,
)


def merge(*configs):
    """Return a configuration with all that others say on top of it; where one of them isn't known, any value may be another."""
    found = {}
    is_all = not is_open()
    for config in configs:
        values = entries(config)
        if values is None:
            is_all = False
            found = {key: as_default(value) for key, value in found.items()}
        found = on_top(found, values or {})
    return config_object(found, is_all)


unsafe_merge = merge


def from_cli(args_list=None):
    """Return the configuration that the words make: `train.batch_size=4`."""
    words, is_all = words_in(args_list)
    found = {}
    for word in words or []:
        key, equals, said = (text(word) or "").partition("=")
        if equals:
            put(found, key.lstrip("-").split("."), config_value(said, word))
    return nested(found, words is not None and is_all)


def put(found, path, value):
    first, *rest = path
    if rest:
        if not isinstance(found.get(first), dict):
            found[first] = {}
        put(found[first], rest, value)
    else:
        found[first] = value


def nested(found, is_all):
    return config_object({key: nested(one, True) if isinstance(one, dict) else one for key, one in found.items()}, is_all)


def to_container(cfg=None, **more):
    return as_dict(cfg) if cfg is not None and is_config(cfg) else declined


to_object = to_container


def as_dict(config):
    return dict_of({key: as_dict(one) if is_config(one) else one for key, one in slots(config).items()}, is_whole(config))


def structured(obj=None, **more):
    """Return the configuration of a dataclass, or of an object of one."""
    made = instantiate(obj, {}, False, False) if obj is not None and is_own_class(obj) else obj
    cls = class_of(made)
    if not is_own_class(cls):
        return declined
    values = {name: attribute(made, name, field_default(cls, name)) for name in fields_of(cls)}
    return config_object({name: value for name, value in values.items() if value is not None})

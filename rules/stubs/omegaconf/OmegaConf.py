"""omegaconf.OmegaConf: what makes configurations, puts them on top of one another, reads words as one, and turns one into a dict."""

from stubs._configurations import all_overridable, as_default
from stubs._words import switch, text
from stubs.host import (
    at,
    attribute,
    class_of,
    config_object,
    config_value,
    declined,
    dict_of,
    entries,
    field_default,
    field_kind,
    fields_of,
    instantiate,
    is_config,
    is_known,
    is_open,
    is_own_class,
    is_whole,
    mark_incomplete,
    number,
    plain,
    set_attribute,
    slots,
    unknown,
    words_in,
)

KIND = "kind of"
"""The attribute of a configuration, with a key, that holds the kind of value that a class says of it."""
MISSING = "???"
DEEPEST = 15
"""Keys within one another that words name."""


def create(obj=None, *given, **more):
    """Return the configuration of a dict, of a dataclass, or of an object of one."""
    if obj is None or given or more:
        return config_object({}) if obj is None and not given and not more else config_object({}, False)
    if is_own_class(obj) or is_own_class(class_of(obj)):
        return structured(obj)
    if plain(obj, obj) is not obj:  # the text of a file, or nothing
        return config_object({}, False)
    values = entries(obj)
    return declined if values is None and not is_config(obj) else made_of(values if values is not None else slots(obj), values is not None)


def made_of(values, is_all=True):
    """Return a configuration with some values, as reading them gives them."""
    return config_object({key: as_held(value) for key, value in values.items()}, is_all)


def as_held(value):
    """Return a value as a configuration gives it: what is a reference, or missing, isn't known; a dict is a configuration, too."""
    said = plain(value, None)
    if isinstance(said, str):
        return unknown if "${" in said or said == MISSING else value
    inner = entries(value)
    return value if inner is None else value if is_config(value) else made_of(inner)


def merge(*configs):
    """Return a configuration with all that others say on top of it; where one of them isn't known, any value may be another."""
    found = config_object({})
    for config in configs:
        found = merged(found, config)
    if is_open():
        mark_incomplete(found)
    return found


def merged(below, above):
    """Return a configuration with another on top of it."""
    old = slots(below)
    new = entries(above)
    if new is None:
        found = config_object({key: as_default(value) for key, value in old.items()}, False)
        new = slots(above) if is_config(above) else {}
    else:
        found = config_object(old, is_whole(below))
    copy_kinds(below, found)
    put_on(found, new)
    copy_kinds(above, found)
    return found


def copy_kinds(source, target):
    for key in slots(source) if is_config(source) else []:
        kind = attribute(source, (KIND, key))
        if kind is not None:
            set_attribute(target, (KIND, key), kind)


def put_on(config, values):
    """Write values over those of a configuration, and so within its parts."""
    for key, value in values.items():
        held = attribute(config, key)
        is_inner = held is not None and is_config(held)
        if plain(value, "") == MISSING and held is not None:
            continue
        inner = entries(value) if is_inner else None
        if is_inner and (inner is not None or is_config(value)):
            set_attribute(config, key, merged(held, value))
        else:
            kind = attribute(config, (KIND, key))
            set_attribute(config, key, as_held(value) if kind is None else as_kind(value, plain(kind)))


def as_kind(value, kind):
    """Return a value as a field of a kind takes it."""
    said = plain(value, None)
    if said is None or kind == "typing.Any":
        return as_held(value) if kind == "typing.Any" or is_known(value) else unknown
    if isinstance(said, str) and "${" in said:
        return unknown
    if kind == "builtins.str":
        is_text = isinstance(said, str) and number(said, float) is None and said.lower() not in ("true", "false")
        return value if is_text else at(str(said), value) if not isinstance(said, str) else unknown
    if kind == "builtins.bool":
        found = said if isinstance(said, bool) else switch(said) if isinstance(said, str) and said not in ("t", "f") else None
    elif kind not in ("builtins.int", "builtins.float") or isinstance(said, bool):
        return unknown
    elif kind == "builtins.int":
        found = said if isinstance(said, int) else number(said, int) if isinstance(said, str) else None
    else:
        found = number(said, float) if isinstance(said, str) else float(said)
    return unknown if found is None else at(found, value)


def write(config, *others):
    """Put configurations over one that stays itself; what isn't known may change anything in it."""
    for other in others:
        values = entries(other)
        if values is None:
            all_overridable(config)
            mark_incomplete(config)
        put_on(config, values or {})


def unsafe_merge(*configs):
    for config in configs[:1]:
        if is_config(config):
            write(config, *configs[1:])
            return config
    return merge(*configs)


def update(cfg=None, key: plain = None, value=None, **more):
    if cfg is None or not is_config(cfg):
        return declined
    if isinstance(key, str) and not more and not is_open():
        found = {}
        put(found, key.split("."), unknown if value is None else value)
        write(cfg, nested(found, True))
    else:
        write(cfg, unknown)
    return at(None)


def from_cli(args_list=None):
    """Return the configuration that the words make: `train.batch_size=4`."""
    words, is_all = words_in(args_list)
    return of_words(words, is_all)


def from_dotlist(dotlist=None, **more):
    words, is_all = words_in(unknown if dotlist is None else dotlist)
    return of_words(words, is_all)


def of_words(words, is_all):
    found = {}
    for word in words or []:
        said = text(word)
        key, equals, value = (said or "").partition("=")
        is_deep = key.count(".") > DEEPEST
        is_all = is_all and said is not None and not is_deep
        if key and not is_deep:
            put(found, key.split("."), config_value(value, word) if equals else at(None, word))
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
    found = config_object({})
    for name in fields_of(cls):
        value = attribute(made, name, field_default(cls, name))
        is_inner = value is not None and is_own_class(class_of(value))
        set_attribute(found, name, unknown if value is None else structured(value) if is_inner else as_kind(value, field_kind(cls, name)))
        if not is_inner:
            set_attribute(found, (KIND, name), at(field_kind(cls, name)))
    return found

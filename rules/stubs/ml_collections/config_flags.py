"""ml_collections.config_flags: a flag names a file of Python whose `get_config` makes its value, and words say more of it."""

from stubs._configurations import all_overridable
from stubs._words import literals, named
from stubs.absl.flags import define
from stubs.host import at, attribute, call_with, function_in_file, is_overridable, plain, set_attribute, unknown


def DEFINE_config_file(name: plain = None, default=None, *given, required: plain = False, **more):
    return define("ml_collections.config_flags.DEFINE_config_file", "builtins.str", name, default, required, made_by_file)


def made_by_file(path, flag, words, is_all):
    """Return what `get_config` of a file makes (`configs/small.py`, `configs/all.py:small`), with what words say of it."""
    whole = plain(path)
    if not isinstance(whole, str):
        return unknown
    file, colon, argument = whole.partition(":")
    maker = function_in_file(file, "get_config")
    if maker is None:
        return unknown
    config = call_with(maker, {}, False, [at(argument, path)] if argument else [])
    if words is None or not is_all or is_overridable(path):
        all_overridable(config)
    for key, value in literals(named(words or [])).items():
        first, *above = key.split(".")
        inner = config
        for part in above[:-1]:
            inner = attribute(inner, part, unknown)
        if first == flag and above:
            set_attribute(inner, above[-1], value)
    return config

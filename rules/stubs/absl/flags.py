"""absl.flags: flags that calls define are attributes of one object anywhere in the program."""

from stubs._words import convert, literal, text
from stubs.host import at, overridable, plain, program_object, set_attribute, settled, shared, spanning, unknown, words_in

FILE_OF_FLAGS = "flagfile"


def define(maker, kind, name, default, required, read=None):
    """Note the flag that a call defines: what the command line says, else its default. Return the object that the call gives."""
    if not isinstance(name, str):
        return unknown
    words, is_all = words_in(None)
    is_switch = kind == "builtins.bool"
    value = unknown if required is not False else at(None) if default is None else default
    is_settled = words is not None and is_all and said(words, FILE_OF_FLAGS) is None
    value = settled(value) if is_settled else overridable(value)
    given = said(words or [], name, is_switch)
    if given is not None and is_switch:
        value = given if isinstance(plain(given), bool) else unknown
    elif given is not None:
        value = convert(given, kind, default, given) if kind else unknown
    if read is not None:
        value = read(value, name, words, is_all)
    set_attribute(shared("absl.flags.FLAGS"), name, value)
    return program_object(maker, {"value": value})


def said(words, flag, is_switch=False):
    """Return the word that gives a flag its value (the last one counts); for a switch, its value: `--x`, `--x=false`, `--nox`."""
    found = None
    for index, word in enumerate(words):
        whole = text(word) or ""
        if not whole.startswith("-"):
            continue
        name, equals, inline = whole.lstrip("-").partition("=")
        if name == flag and equals:
            found = literal(inline, word) if is_switch else at(inline, word)
        elif name == flag and is_switch:
            found = at(True, word)
        elif name == flag and index + 1 < len(words):
            found = spanning(word, words[index + 1])
        elif is_switch and name == f"no{flag}":
            found = at(False, word)
    return found


def DEFINE_string(name: plain = None, default=None, *given, required: plain = False, **more):
    return define("absl.flags.DEFINE_string", "builtins.str", name, default, required)


def DEFINE_enum(name: plain = None, default=None, *given, required: plain = False, **more):
    return define("absl.flags.DEFINE_enum", "builtins.str", name, default, required)


def DEFINE_integer(name: plain = None, default=None, *given, required: plain = False, **more):
    return define("absl.flags.DEFINE_integer", "builtins.int", name, default, required)


def DEFINE_float(name: plain = None, default=None, *given, required: plain = False, **more):
    return define("absl.flags.DEFINE_float", "builtins.float", name, default, required)


def DEFINE_bool(name: plain = None, default=None, *given, required: plain = False, **more):
    return define("absl.flags.DEFINE_bool", "builtins.bool", name, default, required)


def DEFINE_list(name: plain = None, default=None, *given, required: plain = False, **more):
    return define("absl.flags.DEFINE_list", None, name, default, required)


DEFINE_boolean = DEFINE_bool
DEFINE_multi_string = DEFINE_multi_integer = DEFINE_multi_float = DEFINE_spaceseplist = DEFINE_list

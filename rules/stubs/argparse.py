"""argparse: options are noted by name; parsing gives an object with what the words say of each, else with its default."""

from stubs._bags import Flat
from stubs._words import BOTH_WAYS, REST, STORED, Option, convert, parse
from stubs.host import (
    another,
    at,
    attribute,
    call_own,
    instantiate,
    is_open,
    is_own_class,
    items,
    listed,
    name_of,
    others,
    overridable,
    plain,
    program_object,
    set_attribute,
    settled,
    slots,
    state_of,
    table,
    unknown,
    words_in,
)

MISSING = "no default"
SHOWN = ("dest", "help", "metavar")
"""What of an action says nothing of a value."""
Namespace = Flat
ANY = "any option"


class ArgumentParser:
    """A parser, with the options of those that it is given as `parents`."""

    def __init__(self, *given, parents=(), argument_default=MISSING, allow_abbrev: plain = True, add_help: plain = True, **more):
        self.defaults = table()
        self.options = {}
        self.argument_default = argument_default
        self.has_commands = False  # whose options are kept with those of the parser
        self.doubtful = []  # options that are there twice, and so may be either
        self.actions = {}  # what the program got for each option, and may have changed
        if add_help is not False:
            self.actions["help"] = program_object("argparse.Action", {"dest": at("help")})
        self.has_other_sources = False  # beside the words: files, the environment
        self.reads_files = plain(more.get("fromfile_prefix_chars")) is not None
        self.is_abbreviated = allow_abbrev is not False
        self.parents = []  # and their parents
        for other in [one for one in [state_of(parent) for parent in items(parents)] if one is not None]:
            self.parents += [one for one in [other, *other.parents] if one not in self.parents]
            for name, value in other.defaults.items():
                self.defaults[name] = value
            self.options.update(other.options)
            self.actions.update(other.actions)
        self.whole = self  # a group has what it has, but for the object
        set_attribute(self, "_actions", listed(list(self.actions.values()), at(None)))

    def add_argument(self, *flags: plain, nargs=None, **more):
        is_positional = not [flag for flag in flags if isinstance(flag, str) and flag.startswith("-")]
        return add(self, flags, is_positional and plain(nargs, "*") not in ("?", "*"), nargs, **more)

    def add_option(self, *flags: plain, nargs=None, **more):
        return add(self, flags, False, nargs, **more)

    def add_argument_group(self, *given, **more):
        return another(self, "argparse.ArgumentParser")

    def add_mutually_exclusive_group(self, *given, **more):
        return another(self, "argparse.ArgumentParser")

    def add_subparsers(self, *given, **more):
        return another(self, "argparse.ArgumentParser")

    def add_parser(self, *given, **more):
        self.has_commands = True
        return another(self, "argparse.ArgumentParser")

    def set_defaults(self, **values):
        if is_open():
            self.doubtful += list(self.options)
        for name, value in values.items():
            for parser in [self, *[one for one in self.parents if name in one.options]]:
                parser.doubtful += [name] if parser.has_commands else []
                parser.defaults[name] = overridable(as_default(parser.options[name], value) if name in parser.options else value)
                if name in parser.options:
                    parser.options[name].is_left_none = False

    def parse_args(self, args=None, namespace=None, **more):
        return parsed(self, args, namespace)

    def parse_known_args(self, args=None, namespace=None, **more):
        return parsed(self, args, namespace), others()

    def parse_known_intermixed_args(self, args=None, namespace=None, **more):
        return parsed(self, args, namespace), others()


def add(
    parser,
    flags,
    is_always_given,
    nargs,
    dest: plain = None,
    action="store",
    default=MISSING,
    const=MISSING,
    type=None,
    required: plain = False,
    **more,
):
    """Note an option: its destination, and the value that it has when it isn't given."""
    flags = [flag for flag in flags if isinstance(flag, str)]
    made = program_object("argparse.Action", {})
    if not flags:
        return made
    dashed = [flag for flag in flags if flag.startswith("-")]
    long = [flag for flag in dashed if flag.startswith("--")]
    name = dest if isinstance(dest, str) else (long or flags)[0].lstrip("-").replace("-", "_")
    way = name_of(action) or plain(action, "one of its own")
    count = REST if name_of(nargs) == "argparse.REMAINDER" else plain(nargs)
    count = count if count is None or isinstance(count, (int, str)) else "*"
    default = parser.argument_default if default is MISSING else default
    off = [f"--no-{flag[2:]}" for flag in long] if way == BOTH_WAYS else []
    kind = "builtins.str" if plain(type) is None else type
    option = Option(tuple(dashed + off), kind, way, count, at(None) if const is MISSING else const)
    option.writes = written_by(action, name, const) if is_own_class(action) else []
    key = name
    while key in parser.options and not [flag for flag in flags if flag in parser.options[key].flags]:
        key += " "
    if name in parser.options and key == name:
        parser.doubtful.append(name)
    kept = parser.defaults.get(name)
    if kept is not None and name not in parser.options:  # said by `set_defaults`
        parser.defaults[name] = overridable(as_default(option, kept))
    before = parser.options.get(name)
    is_missing = default is MISSING or (not dashed and plain(default) is None)
    option.is_left_none = is_missing and way not in STORED and not is_always_given and name not in parser.defaults
    if key == name:
        if is_always_given or (dashed and required is not False):
            parser.defaults[name] = unknown
        elif not is_missing:
            parser.defaults[name] = overridable(as_default(option, default))
        elif way in STORED:
            parser.defaults[name] = overridable(at(not STORED[way]))
        elif name not in parser.defaults or before is not None:
            parser.defaults[name] = unknown
    parser.options[key] = option
    parser.actions[name] = made
    set_attribute(made, "dest", at(name))
    set_attribute(parser.whole, "_actions", listed(list(parser.actions.values()), at(None)))
    set_attribute(parser, "_group_actions", listed([*items(attribute(parser, "_group_actions", unknown)), made], at(None)))
    return made


def written_by(action, name, const):
    """Return which options an action of the program's own writes; all of them where that isn't known."""
    made = instantiate(action, {}, True, False)
    set_attribute(made, "dest", at(name))
    namespace = program_object("argparse.Namespace", {})
    call_own(made, "__call__", unknown, namespace, unknown, unknown)
    return list(slots(namespace)) or [ANY]


def as_default(option, value):
    """Return a default as parsing gives it: a text goes through the type of its option."""
    return convert(value, option.kind, None, value) if isinstance(plain(value), str) else value


def parsed(parser, args, namespace):
    """Return the object with the options: what the object had that is given, what words say, else the defaults."""
    words, is_all = words_in(args)
    is_all = is_all and not parser.has_other_sources
    if parser.reads_files:
        words, is_all = None, False
    found = dict(parser.defaults.items())
    for name, action in parser.actions.items():
        changed = {} if name not in parser.options else {key: value for key, value in slots(action).items() if key not in SHOWN}
        if plain(slots(action).get("dest"), None) != name:
            parser.doubtful.append(name)
        if "default" in changed and len(changed) == 1:
            found[name] = overridable(as_default(parser.options[name], changed["default"]))
            parser.options[name].is_left_none = False
        elif changed:
            parser.doubtful.append(name)
    held = slots(namespace)
    found.update(held)
    if is_all:
        for name, option in parser.options.items():
            if option.is_left_none and name not in held and not name.endswith(" "):
                found[name] = listed([], at(None)) if not option.flags and option.count in ("*", REST) else at(None)
        found = {name: settled(value) for name, value in found.items()}
    if words is not None:
        given = parse(words, parser.options, found, parser.is_abbreviated)
        found.update(given)
        written = [one for name in given if name in parser.options for one in parser.options[name].writes]
        found = {name: unknown if name in written or ANY in written else value for name, value in found.items()}
    found.update({name: unknown for name in parser.doubtful})
    return program_object("argparse.Namespace", found)

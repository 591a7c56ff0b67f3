"""argparse: options are noted by name; parsing gives an object with what the words say of each, else with its default."""

from stubs.host import another, at, items, name_of, options_object, others, overridable, plain, settled, slots, state_of, table, unknown, words_in
from stubs.words import BOTH_WAYS, STORED, Option, convert, parse

MISSING = "no default"


class ArgumentParser:
    """A parser, with the options of those that it is given as `parents`."""

    def __init__(self, *given, parents=(), **more):
        self.defaults = table()
        self.options = {}
        for parent in items(parents):
            other = state_of(parent)
            if other is not None:
                self.defaults.update(other.defaults)
                self.options.update(other.options)

    def add_argument(self, *flags: plain, nargs: plain = None, **more):
        is_positional = not [flag for flag in flags if isinstance(flag, str) and flag.startswith("-")]
        add(self, flags, is_positional and nargs not in ("?", "*"), nargs, **more)

    def add_option(self, *flags: plain, nargs: plain = None, **more):
        add(self, flags, False, nargs, **more)

    def add_argument_group(self, *given, **more):
        return another(self, "argparse.ArgumentParser")

    def add_mutually_exclusive_group(self, *given, **more):
        return another(self, "argparse.ArgumentParser")

    def add_subparsers(self, *given, **more):
        return another(self, "argparse.ArgumentParser")

    def add_parser(self, *given, **more):
        return another(self, "argparse.ArgumentParser")

    def set_defaults(self, **values):
        for name, value in values.items():
            self.defaults[name] = overridable(value)

    def parse_args(self, args=None, namespace=None, **more):
        return parsed(self, args, namespace)

    def parse_known_args(self, args=None, namespace=None, **more):
        return parsed(self, args, namespace), others()

    def parse_known_intermixed_args(self, args=None, namespace=None, **more):
        return parsed(self, args, namespace), others()


def add(
    parser, flags, is_always_given, nargs, dest: plain = None, action="store", default=MISSING, const=unknown, type=None,
    required: plain = False, **more
):
    """Note an option: its destination, and the value that it has when it isn't given."""
    flags = [flag for flag in flags if isinstance(flag, str)]
    if not flags:
        return
    dashed = tuple([flag for flag in flags if flag.startswith("-")])
    long = [flag for flag in dashed if flag.startswith("--")]
    name = dest if isinstance(dest, str) else (long or flags)[0].lstrip("-").replace("-", "_")
    way = name_of(action) or plain(action)
    count = nargs if nargs is None or isinstance(nargs, (int, str)) else "*"
    value = unknown
    if is_always_given or (dashed and required):
        pass
    elif default is not MISSING:
        value = convert(default, type, None, default) if type is not None and isinstance(plain(default), str) else default
    elif way in STORED:
        value = at(not STORED[way])
    elif way == "count":
        value = at(0)
    before = parser.options.get(name)
    if before is None or [flag for flag in flags if flag in before.flags]:
        parser.defaults[name] = overridable(value)
    off = tuple([f"--no-{flag[2:]}" for flag in long]) if way == BOTH_WAYS else ()
    parser.options[name] = Option(dashed + off, type, way, count, const)


def parsed(parser, args, namespace):
    """Return the object with the options: what the object had that is given, what words say, else the defaults."""
    said, is_all = words_in(args)
    found = dict(parser.defaults.items())
    found.update(slots(namespace))
    if is_all:
        found = {name: settled(value) for name, value in found.items()}
    if said is not None:
        found.update(parse(said, parser.options, found))
    return options_object(found)

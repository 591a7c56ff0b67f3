"""The words of a command line, as parsers take them and as programs without one do."""

from stubs.host import at, call, is_callable, listed, literal, name_of, number, plain, spanning, state_of, unknown

COLLECTING = ("append", "extend")
STORED = {"store_true": True, "store_false": False}
BOTH_WAYS = "argparse.BooleanOptionalAction"


NUMBERS = {"builtins.int": int, "builtins.float": float}


class Option:
    """An option, or with no flags a value without a name: how its text is converted, and how many words it takes."""

    def __init__(self, flags, kind=None, action="store", count=None, constant=unknown):
        self.flags = flags
        self.kind = kind
        self.action = action
        self.count = count
        self.constant = constant


def parse(words, options, defaults):
    """Return the values that some words give to options, by their destination: several with one have spaces behind it in their keys."""
    by_flag = {flag: name for name, option in options.items() for flag in option.flags}
    unnamed = [name for name, option in options.items() if not option.flags]
    found = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        said = text(word)
        if said is None or said == "--":
            continue
        if not is_flag(word):
            if unnamed:
                name = unnamed.pop(0)
                option = options[name]
                taken = values_of(words[index - 1 :], option.count)
                if isinstance(option.count, int) and len(taken) < option.count:
                    unnamed.insert(0, name)
                    continue
                index += len(taken) - 1
                found[name.strip()] = taken_by(option, defaults.get(name.strip()), word, taken)
            continue
        flag, equals, inline = said.partition("=")
        flag = meant(flag, by_flag)
        if flag not in by_flag and not said.startswith("--") and said[:2] in by_flag:
            flag, equals, inline = said[:2], "=", said[2:].removeprefix("=")
        if flag not in by_flag:
            continue
        option = options[by_flag[flag]]
        name = by_flag[flag].strip()
        if option.action != "store":
            if option.action in COLLECTING and not equals:
                index += len(values_of(words[index:], option.count))
            found[name] = switched(option, flag, word)
        else:
            taken = [at(inline, word)] if equals else values_of(words[index:], option.count)
            index += 0 if equals else len(taken)
            found[name] = taken_by(option, defaults.get(name), word, taken)
    return found


def text(word):
    """Return the text of a word, None where it isn't known."""
    said = plain(word)
    return said if isinstance(said, str) else None


def is_flag(word):
    """Return whether a word is a flag: `--x`, `-x`, but no negative number."""
    said = text(word)
    return said is not None and len(said) > 1 and said[0] == "-" and not said[1].isdigit() and said[1] != "."


def convert(word, kind, default, place):
    """Return a word as the type of an option makes it, at a place."""
    said, name, made_by = text(word), name_of(kind), state_of(kind)
    if said is None or (not name and made_by is None and plain(kind) is not None and not is_callable(kind)):
        return unknown
    if name == "builtins.str":
        return at(said, place)
    if made_by is not None:
        value = made_by.converted(said)
        return unknown if value is None else at(value, place)
    if name in NUMBERS:
        value = number(said, NUMBERS[name])
        return unknown if value is None else at(value, place)
    if plain(kind) is not None and not name:
        return at(call(kind, at(said, place)), place)
    if name or said.lower() in ("true", "false"):
        return literal(said, place)
    return at(like(plain(default), said), place)


def like(default, said):
    """Return an option's text as the type that its default has."""
    for kind in (int, float):
        if isinstance(default, kind) and not isinstance(default, bool):
            value = number(said, kind)
            return said if value is None else value
    return said


def meant(flag, known):
    """Return the flag that a beginning of one means, where only one begins so."""
    if flag in known or not flag.startswith("--"):
        return flag
    starting = [one for one in known if one.startswith(flag)]
    return starting[0] if len(starting) == 1 else flag


def run_of(words):
    """Return the words up to the next flag."""
    run = []
    for word in words:
        if is_flag(word):
            break
        run.append(word)
    return run


def values_of(words, count):
    """Return the words that an option takes which takes so many."""
    run = run_of(words)
    if count in ("*", "+"):
        return run
    return run[: count if isinstance(count, int) else 1]


def switched(option, flag, word):
    """Return what an option is whose flag alone says it."""
    if option.action in STORED:
        return at(STORED[option.action], word)
    if option.action == BOTH_WAYS:
        return at(not flag.startswith("--no-"), word)
    return at(option.constant, word) if option.action == "store_const" else unknown


def taken_by(option, default, word, values):
    """Return what an option is with the words that it takes."""
    if option.count not in (None, "?"):
        return listed([convert(one, option.kind, None, one) for one in values], word)
    if values:
        return convert(values[0], option.kind, default, spanning(word, values[0]))
    if option.constant is unknown:
        return at(plain(default) is not True, word)
    return at(option.constant, word)


def named(words):
    """Return the values of each `--name value`, `--name=value` and `--name` by name, for what takes any name without saying which.

    Names have underscores in place of dashes; a value is what its text says; `--no_name` is given as it is.
    """
    found = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not is_flag(word):
            continue
        flag, equals, inline = text(word).lstrip("-").partition("=")
        name = flag.replace("-", "_")
        if equals:
            found[name] = literal(inline, word)
            continue
        values = run_of(words[index:])
        index += len(values)
        while len(values) > 1 and text(values[-1]) is None:
            values.pop()
        if not values:
            found[name] = at(True, word)
        elif len(values) > 1:
            found[name] = listed([written(one, one) for one in values], word)
        else:
            found[name] = written(values[0], spanning(word, values[0]))
    return found


def written(word, place):
    """Return what a word says, at a place."""
    return unknown if text(word) is None else literal(text(word), place)


def unnamed(words):
    """Return the words before the first flag: values without a name."""
    return run_of(words)


def switched_off(values):
    """Return named values with `--no_x` as what it says of `x`."""
    off = {name[3:]: at(False, value) for name, value in values.items() if name.startswith("no_") and plain(value) is True}
    return {**off, **values}

"""The words of a command line, as parsers take them and as programs without one do."""

from stubs.host import (
    at,
    call,
    is_callable,
    is_flag,
    listed,
    literal,
    name_of,
    number,
    plain,
    python_literal,
    spanning,
    state_of,
    text,
    unknown,
)

COLLECTING = ("append", "extend")
STORED = {"store_true": True, "store_false": False}
BOTH_WAYS = "argparse.BooleanOptionalAction"


NUMBERS = {"builtins.int": int, "builtins.float": float, "click.INT": int, "click.FLOAT": float}
TEXTS = ("builtins.str", "click.STRING", "pathlib.Path")
SWITCH = "click.BOOL"
SWITCHES = (SWITCH, "distutils.util.strtobool")
LITERALS = ("ast.literal_eval",)
KINDS = ("builtins.int", "builtins.float", "builtins.str", "builtins.bool")
REST = "..."
LIST = "list of "
PYTHON = "python"


class Option:
    """An option, or with no flags a value without a name: how its text is converted, and how many words it takes."""

    def __init__(self, flags, kind=None, action="store", count=None, constant=unknown):
        self.flags = flags
        self.kind = kind
        self.action = action
        self.count = count
        self.constant = constant
        self.writes = []


def parse(words, options, defaults, is_abbreviated=True):
    """Return the values that some words give to options, by their destination: several with one have spaces behind it in their keys."""
    by_flag = {flag: name for name, option in options.items() for flag in option.flags}
    unnamed = [name for name, option in options.items() if not option.flags]
    counts = [options[name].count for name in unnamed]
    has_rest = len(counts) > 1 and counts[-1] == REST and [one for one in counts[:-1] if one not in (None, "?")] == []
    if len(unnamed) > 1 and not has_rest and [one for one in counts if one in ("?", "*", "+", REST)]:  # which takes what isn't told
        if REST in counts:
            return {name.strip(): unknown for name in options}
        named_only = parse(words, {name: one for name, one in options.items() if one.flags}, defaults, is_abbreviated)
        return {**named_only, **{name: unknown for name in unnamed}}
    has_numbers = [flag for flag in by_flag if is_number(flag)] != []  # then `-2` is a flag, too
    found = {}
    index = 0
    words = list(words)
    while index < len(words):
        word = words[index]
        index += 1
        said = text(word)
        if said is None:
            continue
        if said == "--":
            found.update({name.strip(): unknown for name in unnamed})
            break
        if not (is_flag(word) or (has_numbers and is_number(said))):
            while has_rest and len(unnamed) > 1:
                is_value = run_of(words[index - 1 : index], has_numbers) != []
                if not is_value and options[unnamed[0]].count is None:
                    break
                name = unnamed.pop(0)
                if is_value:
                    found[name.strip()] = taken_by(options[name], defaults.get(name.strip()), words[index - 1], [words[index - 1]])
                    index += 1
            if has_rest and len(unnamed) > 1:
                index -= 1
                continue
            if unnamed:
                name = unnamed.pop(0)
                option = options[name]
                taken = words[index - 1 :] if option.count == REST else values_of(words[index - 1 :], option.count, has_numbers)
                if option.count == REST and [one for one in taken if text(one) in ("--", None)]:
                    found[name.strip()] = unknown
                    break
                if isinstance(option.count, int) and len(taken) < option.count:
                    unnamed.insert(0, name)
                    continue
                index += len(taken) - 1
                found[name.strip()] = taken_by(option, defaults.get(name.strip()), word, taken)
            continue
        flag, equals, inline = said.partition("=")
        flag = meant(flag, by_flag) if is_abbreviated else flag
        if flag not in by_flag and not said.startswith("--") and said[:2] in by_flag:
            flag, equals, inline = said[:2], "=", said[2:].removeprefix("=")
        if flag not in by_flag:
            continue
        option = options[by_flag[flag]]
        name = by_flag[flag].strip()
        if option.action != "store":
            if inline and said[1] != "-":
                words.insert(index, at(f"-{inline}", word))  # `-xvf`
            if option.action in COLLECTING and not equals:
                index += len(values_of(words[index:], option.count, has_numbers))
            found[name] = switched(option, flag, word)
        else:
            taken = [at(inline, word)] if equals else values_of(words[index:], option.count, has_numbers)
            index += 0 if equals else len(taken)
            found[name] = taken_by(option, defaults.get(name), word, taken)
    return found


def convert(word, kind, default, place):
    """Return a word as the type of an option makes it, at a place."""
    said, name, made_by = text(word), name_of(kind), state_of(kind)
    if said is None or (not name and made_by is None and plain(kind) is not None and not is_callable(kind)):
        return unknown
    if made_by is not None:
        return said_at(made_by.converted(said), place)
    if name in NUMBERS:
        return said_at(number(said, NUMBERS[name]), place)
    if name in TEXTS:
        return at(said, place)
    if name in SWITCHES:
        return said_at(switch(said), place)
    if name == "builtins.bool":
        return at(said != "", place)
    if name in LITERALS:
        return python_literal(said, place)
    if name:
        return unknown
    if plain(kind) is not None:
        return at(call(kind, at(said, place)), place)
    value = switch(said) if isinstance(plain(default), bool) else None
    return at(like(plain(default), said) if value is None else value, place)


def said_at(value, place):
    return unknown if value is None else at(value, place)


def switch(said):
    """Return whether a text says yes or no, None where it says neither."""
    for answer, words in ((True, "true yes on t y 1"), (False, "false no off f n 0")):
        if said.lower() in words.split():
            return answer
    return None


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


def is_number(said):
    return said is not None and said.startswith("-") and number(said, float) is not None


def run_of(words, has_numbers=False):
    """Return the words up to the next flag."""
    run = []
    for word in words:
        if is_flag(word) or (has_numbers and is_number(text(word))):
            break
        run.append(word)
    return run


def values_of(words, count, has_numbers=False):
    """Return the words that an option takes which takes so many."""
    run = run_of(words, has_numbers)
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


class Given:
    """What words say under a name: the flag, and the words behind it; or that it is off (`--no-half`)."""

    def __init__(self, word, values, is_off=False):
        self.word = word
        self.values = values
        self.is_off = is_off

    def said(self, kind=""):
        """Return it as a kind of value: by the qualified name of a class, or of what a list holds; as its text says where there is none."""
        if self.is_off or not self.values:
            return at(not self.is_off, self.word)
        inner = kind.removeprefix(LIST)
        if len(self.values) > 1 or inner != kind:
            return listed([as_kind(one, inner, one) for one in self.values], self.word)
        return as_kind(self.values[0], kind, spanning(self.word, self.values[0]))


def as_kind(word, kind, place):
    """Return a word as a kind of value, which an annotation names: a switch has words of its own there."""
    if text(word) is None:
        return unknown
    if kind == PYTHON:
        return python_literal(text(word), place)
    return convert(word, SWITCH if kind == "builtins.bool" else kind, None, place) if kind in KINDS else literal(text(word), place)


def named(words):
    """Return what words say by name, for what takes any name without saying which: `--name value`, `--name=value`, `--name`.

    Names have underscores in place of dashes; `--no-name` is given as it is.
    """
    found = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not is_flag(word):
            continue
        flag, equals, inline = text(word).lstrip("-").partition("=")
        values = [at(inline, word)] if equals else run_of(words[index:])
        index += 0 if equals else len(values)
        while len(values) > 1 and text(values[-1]) is None:
            values.pop()
        found[flag.replace("-", "_")] = Given(word, values)
    return found


def unnamed(words):
    """Return the words before the first flag: values without a name."""
    return run_of(words)


def switched_off(given, prefix="no_", names=()):
    """Return what is given by name with `--no_x` as what it says of `x`, which is one of some names, or has no words behind it."""
    off = {}
    for name, one in given.items():
        bare = name.removeprefix(prefix)
        if name.startswith(prefix) and (bare in names or not one.values):
            off[bare] = Given(one.word, [], True)
    return {**off, **given}


def literals(given):
    """Return what is given by name as its text says."""
    return {name: one.said() for name, one in given.items()}

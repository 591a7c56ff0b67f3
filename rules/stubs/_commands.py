"""What calls functions with the words of a command line: by the names of their parameters, or by what words without a name say."""

from stubs._objects import of_words
from stubs._words import LIST, PYTHON, Given, Option, as_kind, named, parse, switched_off, text, unnamed
from stubs.host import (
    at,
    call_with,
    declined,
    functions_in,
    instantiate,
    is_function,
    is_own_class,
    overridable,
    parameters,
    plain,
    settled,
    unknown,
    words_in,
)

SPECIAL = ("multiple", "count", "nargs", "flag_value", "callback", "envvar", "prompt")
"""What makes an option of click another value than that of its word, or of its default."""


def start(*given, args=None, command=None, default=None, **more):
    """Call a function, or make an object of a class, as the command line says."""
    return started(target_in(given, more), args if args is not None else command, default)


def start_any(*given, args=None, command=None, default=None, **more):
    """The same for what calls one of several functions too, or a method, as the first word says."""
    return started_any(target_in(given, more), args if args is not None else command, False)


def start_python(*given, command=None, **more):
    """The same for what reads words as Python does."""
    return started_any(target_in(given, more), command, True)


def started_any(target, args, by_python):
    words, is_all = words_in(args)
    if target is not None and is_function(target):
        return start_function(target, words, is_all, by_python)
    return chosen(target, words, is_all, by_python)


def target_in(given, more):
    """Return what is called: the first argument, else the first function or class that is given by name."""
    for value in [*given[:1], *[one for one in more.values() if is_own_class(one) or is_function(one)]]:
        return value
    return None


def started(target, args, default):
    words, is_all = words_in(args)
    if target is not None and is_own_class(target):
        return made(target, words, is_all, default)
    if target is None or not is_function(target):
        return declined
    return start_function(target, words, is_all)


def made(cls, words, is_all, default=None, by_python=False):
    """Return the object of a class that the command line makes: by its own constructor, else of its fields."""
    taken = parameters(cls)
    if taken is None:
        return of_words(cls, words, is_all, "", default)
    return instantiate(cls, by_name(taken, words or [], by_python), words is None or not is_all)


def by_name(taken, words, by_python):
    """Return what words say by name of the parameters that take it, as their kinds have it, or as Python reads it."""
    kinds = {one["name"]: PYTHON if by_python else one["kind"] for one in taken}
    given = switched_off(named(words), "no" if by_python else "no_", list(kinds))
    is_any = [one for one in taken if one["by"] == "rest"]
    found = {}
    for name, one in given.items():
        meant = [other for other in kinds if by_python and len(name) == 1 and name not in kinds and other.startswith(name)]
        name = meant[0] if len(meant) == 1 else name
        if name in kinds or is_any:
            kind = kinds.get(name, "")
            found[name] = (one if one.is_off or not takes_one(kind) else Given(one.word, one.values[:1])).said(kind)
    return found


def takes_one(kind):
    """Return whether a parameter of a kind takes one word."""
    return kind != "" and not kind.startswith(LIST)


def without_names(words, taken, by_python):
    """Return the words that are no flags, and no values of those."""
    kinds = {one["name"]: PYTHON if by_python else one["kind"] for one in taken}
    found = unnamed(words)
    for name, one in named(words).items():
        if name not in kinds and name.removeprefix("no").removeprefix("_") in kinds:
            found = found + one.values
        elif takes_one(kinds.get(name, "")):
            found = found + one.values[1:]
    return found


def chosen(target, words, is_all, by_python):
    """Call what the first word names of a class, an object, a dict or (without any) the module; each of them where no word is known."""
    whole = made(target, words, is_all, None, by_python) if target is not None and is_own_class(target) else target
    functions = functions_in(whole)
    if functions is None:
        return declined
    first = unnamed(words or [])[:1]
    name = (text(first[0]) or "").replace("-", "_") if first else ""
    if name in functions:
        functions = {name: functions[name]}
        words = [word for word in words if word is not first[0]]
    for function in functions.values():
        start_function(function, words if len(functions) == 1 else None, is_all, by_python)
    return whole


def start_function(function, words, is_all, by_python=False):
    """Call a function with what words give its parameters; None for words that aren't known."""
    taken = parameters(function)
    changed = {one["name"]: unknown for one in taken if one["is_changed"]}
    if words is None:
        return call_with(function, {**objects(taken, {}, None, is_all), **changed}, True)
    own = {one["name"]: Option(tuple(one["flags"]), one["kind"] or None) for one in taken if one["flags"]}
    given = {**parse(words, own, {}), **by_name(taken, words, by_python)}
    free = [one for one in taken if one["by"] == "position" and one["name"] not in given]
    rest = without_names(words, taken, by_python)
    for one, word in zip(free, rest, strict=False):
        given[one["name"]] = as_kind(word, PYTHON if by_python else one["kind"], word)
    return call_with(function, {**objects(taken, given, words, is_all), **given, **changed}, not is_all or len(rest) > len(free))


def objects(taken, given, words, is_all):
    """Return the objects that the command line makes for parameters whose classes have fields, and that nothing else gives."""
    needed = [one for one in taken if one["class"] is not None and one["is_required"] and one["name"] not in given]
    return {one["name"]: of_words(one["class"], words, is_all, f"{one['name']}.") for one in needed}


def start_group(functions):
    """Call the functions that are commands of a group: the one that the first word names, else all of them."""
    words, is_all = words_in(None)
    first = unnamed(words or [])[:1]
    if len(functions) > 1 and first and text(first[0]) is not None:
        functions = [one for one in functions if one[0].replace("_", "-") == text(first[0]).replace("_", "-")]
        words = [word for word in words if word is not first[0]]
    for _, function in functions:
        start_function(function, words if len(functions) == 1 else None, is_all)


def first_parameter(function):
    """Return the object that the command line makes of the class of a function's first parameter; None for one of no such class."""
    words, is_all = words_in(None)
    for one in parameters(function)[:1]:
        return of_words(one["class"], words, is_all) if one["class"] is not None else None


def option_values(decorators):
    """Return what option decorators (`@click.option("--bs", default=8)`) give a function's parameters: what is said, else defaults."""
    found = {}
    options = {}
    for given, named_ones in decorators:
        texts = [one for one in map_plain(given) if isinstance(one, str)]
        flags = [part for one in texts if one.startswith("-") for part in one.split("/")]
        long = [flag for flag in flags if flag.startswith("--")]
        bare = [one for one in texts if not one.startswith("-")]
        if not bare and not long:
            continue
        name = bare[0] if bare else long[0].lstrip("-").replace("-", "_")
        pairs = [one.split("/") for one in texts if "/" in one]
        is_switch = "is_flag" in named_ones or pairs
        is_special = [one for one in SPECIAL if one in named_ones]
        found[name] = unknown if is_special else named_ones.get("default", at(False) if is_switch else unknown)
        off = tuple([pair[1] for pair in pairs])
        way = "count" if "count" in named_ones else "append" if is_special else "store_true" if is_switch else "store"
        options[name] = Option(tuple([flag for flag in flags if flag not in off]), named_ones.get("type"), way)
        if off:
            options[f"{name} "] = Option(off, None, "store_false")
    words, is_all = words_in(None)
    found = {name: settled(value) if words is not None and is_all else overridable(value) for name, value in found.items()}
    if words is not None:
        found.update({name.strip(): value for name, value in parse(words, options, found).items()})
    return found


def map_plain(values):
    return [plain(one) for one in values]

"""What calls functions with the words of a command line: by the names of their parameters, or by what words without a name say."""

from stubs._objects import of_words
from stubs._options import options
from stubs._words import LIST, PYTHON, Given, Option, as_kind, named, parse, switched_off, text, unnamed
from stubs.host import (
    call_with,
    declined,
    functions_in,
    instantiate,
    is_function,
    is_own_class,
    parameters,
    plain,
    unknown,
    words_in,
)

CHANGERS = ("callback", "default_factory", "envvar", "parser", "click_type", "clamp")
"""What makes an option of typer another value than that of its word."""


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
    changed = {one["name"]: unknown for one in taken for _, _, more in one["notes"] for key in CHANGERS if key in more}
    if words is None:
        return call_with(function, {**objects(taken, {}, None, is_all), **changed}, True)
    own = {one["name"]: Option(tuple(flags_of(one)), one["kind"] or None) for one in taken if flags_of(one)}
    given = {**parse(words, own, {}), **by_name(taken, words, by_python), **options(function, words, is_all)}
    free = [one for one in taken if one["by"] == "position" and one["name"] not in given]
    rest = without_names(words, taken, by_python)
    for one, word in zip(free, rest, strict=False):
        given[one["name"]] = as_kind(word, PYTHON if by_python else one["kind"], word)
    return call_with(function, {**objects(taken, given, words, is_all), **given, **changed}, not is_all or len(rest) > len(free))


def flags_of(parameter):
    """Return the flags that the notes of a parameter name."""
    texts = [one for _, given, _ in parameter["notes"] for one in [plain(value, None) for value in given] if isinstance(one, str)]
    return [flag for one in texts if one.startswith("-") for flag in one.split("/")[0].split(" ")]


def objects(taken, given, words, is_all):
    """Return the objects that the command line makes for parameters whose classes have fields, and that nothing else gives."""
    needed = [one for one in taken if one["class"] is not None and one["is_required"] and one["name"] not in given]
    return {one["name"]: of_words(one["class"], words, is_all, f"{one['name']}.") for one in needed}

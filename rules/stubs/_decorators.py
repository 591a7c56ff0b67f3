"""What decorators of libraries do with a function of the program: they give its parameters values, or have something hold it as a command
that the words of the command line name."""

from stubs._commands import flags_of, start_function
from stubs._objects import of_words
from stubs._options import described, options
from stubs._words import text
from stubs.host import compose_config, decorators_of, held_by, is_flag, is_function, made_by, parameters, plain, unknown, words_in
from stubs.hydra.core.config_store.ConfigStore import stored

TYPED = ("draccus.wrap", "pyrallis.wrap")
COMPOSED = "hydra.main"
GROUP = "group"
FIRST = "callback"
OTHERWISE = "default"
HELD = ("command", GROUP, FIRST, OTHERWISE, "add_command", "add_typer")
ENDINGS = ("_command", "_cmd", "_group", "_grp")
"""What click takes from the end of a function's name."""


def given_by_decorators(function):
    """Return what decorators give the parameters of a function, by name: options, and what its first one is."""
    words, is_all = words_in(None)
    at = place_of(commands_of(function), words, function)
    found = options(function, words if at is None or words is None else words[:at], is_all)
    for decorator in decorators_of(function):
        called, _, named = made_by(decorator)
        if called in TYPED or called == COMPOSED:
            for first in (parameters(function) or [])[:1]:
                value = composed(function, named) if called == COMPOSED else of_first(first, words, is_all)
                found.update({first["name"]: value} if value is not None else {})
    return found


def of_first(first, words, is_all):
    return of_words(first["class"], words, is_all) if first["class"] is not None else None


def composed(function, named):
    """Return the configuration that Hydra composes of files for a function, else the one that the program notes."""
    folder, name = [plain(named.get(one), None) for one in ("config_path", "config_name")]
    if isinstance(folder, str) and isinstance(name, str):
        return compose_config(folder, name)
    return stored((named.get("config_name", unknown), function))


def start_commands(function):
    """Call the commands of a function that is a group, which was called with what stands in front of their names."""
    words, is_all = words_in(None)
    if [one for one in decorators_of(function) if made_by(one)[0].split(".")[-1] == GROUP]:
        start_held(commands_of(function), words, is_all, function)


def commands_of(holder):
    """Return what something holds as commands: the name of each, what it is, and the way in which it is held."""
    found = []
    for way, held, own, given, named in held_by(holder):
        if way in HELD:
            said = named.get("name", given[0] if given else None)
            for decorator in decorators_of(held) if said is None and way == "add_command" else []:
                called, given, named = made_by(decorator)
                if called.split(".")[-1] in HELD:
                    said = named.get("name", given[0] if given else said)
            found.append((plain(said, "") if said is not None else own, held, way))
    return found


def place_of(held, words, first):
    """Return where the name of a command stands among words, in front of which only what `first` takes can stand; None for nowhere."""
    taking = []
    if first is not None:
        written = described(first)[1]
        taking = [flag for one in written.values() if one.action == "store" for flag in one.flags]
        for one in parameters(first) or [] if not written else []:
            taking = taking + ([] if one["kind"] == "builtins.bool" else [f"--{one['name'].replace('_', '-')}", *flags_of(one)])
    for index, word in enumerate(words or []):
        is_value = index > 0 and text(words[index - 1]) in taking
        if not is_flag(word) and not is_value:
            return index if text(word) is not None and [one for one in held if is_name(text(word), one[0])] else None
    return None


def is_name(word, name):
    names = [name, *[name.removesuffix(ending) for ending in ENDINGS]]
    return word in names or word in [one.replace("_", "-").lower() for one in names]


def start_held(held, words, is_all, group=None, left=9):
    """Call what something holds that runs first, then the command that words name; each of them where no words are known."""
    first = [value for _, value, way in held if way == FIRST]
    commands = [one for one in held if one[2] not in (FIRST, OTHERWISE)]
    if len(commands) == 1 and len(held) == 1 and group is None and is_function(commands[0][1]):
        return start(commands[0][1], words, is_all, left)
    at = place_of(commands, words, (first or [None])[0] if group is None else group)
    for value in first:
        start_function(value, words if words is None or at is None else words[:at], is_all)
    for name, value, way in [one for one in held if one[2] != FIRST]:
        if words is None or (at is None and not is_all):
            start(value, None, is_all, left)
        elif at is not None and is_name(text(words[at]), name):
            start(value, words[at + 1 :], is_all, left)
        elif at is None and way == OTHERWISE:
            start(value, words, is_all, left)


def start(value, words, is_all, left):
    if is_function(value):
        start_function(value, words, is_all)
        held = commands_of(value)
        if held and left:
            start_held(held, words, is_all, value, left - 1)
    elif left:
        start_held(commands_of(value), words, is_all, None, left - 1)

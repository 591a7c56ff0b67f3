"""What decorators of click give the parameters of a function: `@click.option("--bs", default=8)`, `@click.argument("path")`."""

from stubs._words import Option, parse
from stubs.host import at, decorators_of, is_known, items, kind_of, made_by, overridable, plain, refuse, settled, slots, state_of, unknown

CHOICE = "click.Choice"
RANGES = ("click.IntRange", "click.FloatRange")
SPECIAL = ("multiple", "count", "flag_value", "callback", "envvar", "prompt")
"""What makes an option of click another value than that of its word, or of its default."""


def options(function, words, is_all):
    """Return the options, and the values without a name, of a function: what words say, else defaults."""
    defaults, taken = described(function)
    found = {name: settled(value) if words is not None and is_all else overridable(value) for name, value in defaults.items()}
    if words is not None:
        found.update({name.strip(): value for name, value in parse(words, taken, found).items()})
    return found


def described(function):
    """Return the defaults of a function's options, and what each takes, by name."""
    found = {}
    taken = {}
    is_mapped = [one for one in decorators_of(function) if "default_map" in slots(made_by(one)[2].get("context_settings"))] != []
    for decorator in decorators_of(function):
        called, given, named = made_by(decorator)
        if is_mapped:
            named = {**named, "default": unknown}
        elif kind_of(named.get("type")) in RANGES and is_known(named.get("default")):
            held = state_of(named["type"]).converted(str(plain(named["default"])))
            named = {**named, "default": unknown if held is None else at(held, named["default"])}
        elif kind_of(named.get("type")) == CHOICE and "default" in named:
            words = [plain(one, None) for one in items(state_of(named["type"]).choices)]
            if words and [one for one in words if not isinstance(one, str)] == []:
                refuse(at(f"^({'|'.join(words)})$", named["type"]), named["default"])
        texts = [one for one in [plain(one) for one in given] if isinstance(one, str)]
        is_special = [one for one in SPECIAL if one in named] != []
        if called.endswith(".argument") and texts:
            count = plain(named.get("nargs"))
            found[texts[0]] = unknown if is_special else named.get("default", unknown)
            taken[texts[0]] = Option((), named.get("type", "builtins.str"), "store", "*" if count == -1 else count)
        elif called.endswith(".option"):
            flags = [part for one in texts if one.startswith("-") for part in one.split("/")]
            long = [flag for flag in flags if flag.startswith("--")]
            bare = [one for one in texts if not one.startswith("-")]
            if not bare and not long:
                continue
            name = bare[0] if bare else long[0].lstrip("-").replace("-", "_")
            pairs = [one.split("/") for one in texts if "/" in one]
            is_switch = "is_flag" in named or pairs
            is_special = is_special or "nargs" in named
            found[name] = unknown if is_special else named.get("default", at(False) if is_switch else unknown)
            off = tuple([pair[1] for pair in pairs])
            way = "count" if "count" in named else "append" if is_special else "store_true" if is_switch else "store"
            taken[name] = Option(tuple([flag for flag in flags if flag not in off]), named.get("type"), way)
            if off:
                taken[f"{name} "] = Option(off, None, "store_false")
    return found, taken

"""decouple: `config("BATCH", default=8, cast=int)` is the environment's BATCH, else what a file says, else the default; each is cast."""

from stubs._environment import variable
from stubs._words import switch
from stubs.dotenv import FILE
from stubs.host import at, call, is_callable, name_of, number, plain, unknown, variables_in_file

NUMBERS = {"builtins.int": int, "builtins.float": float}


def config(option=None, default=None, cast=None):
    return made(variable(option, variables_in_file(FILE).get(plain(option), default), ""), cast)


class Config:
    def __init__(self, *given, **more):
        self.is_made = True

    def __call__(self, option=None, default=None, cast=None):
        return config(option, default, cast)

    def get(self, option=None, default=None, cast=None):
        return config(option, default, cast)


class AutoConfig(Config):
    pass


def made(value, cast):
    """Return what casting a value gives."""
    if cast is None:
        return value
    kind, said = name_of(cast), plain(value, None)
    if not isinstance(said, (str, int, float)):
        return unknown
    if kind in NUMBERS:
        found = number(str(said), NUMBERS[kind])
    elif kind == "builtins.bool":
        found = False if said == "" else switch(str(said))
    elif kind == "builtins.str":
        found = str(said)
    else:
        return unknown if kind or not is_callable(cast) else at(call(cast, value), value)
    return unknown if found is None else at(found, value)

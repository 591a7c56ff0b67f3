"""typer: a function becomes a command line; a Typer calls the functions that it holds by its decorators."""

from stubs._commands import start as run
from stubs._decorators import commands_of, start_held
from stubs.host import declined, words_in


class Typer:
    keeps_nothing = True

    def __call__(self, *given, **more):
        words, is_all = words_in(None)
        start_held(commands_of(self), words, is_all)
        return declined

"""simple_parsing: argparse, whose options are the fields of classes, too."""

from stubs._commands import start as parse
from stubs._objects import of_words
from stubs.argparse import ArgumentParser as Parser
from stubs.host import is_own_class, plain, words_in


class ArgumentParser(Parser):
    def add_arguments(self, cls=None, dest: plain = None, default=None, **more):
        add_class(self, cls, dest, default)


def add_class(parser, cls, name, default):
    """Note the options that the fields of a class are, and the destination of the object that they make."""
    words, is_all = words_in(None)
    if is_own_class(cls) and isinstance(name, str):
        parser.defaults[name] = of_words(cls, words, is_all, f"{name}.", default)

"""jsonargparse: argparse, whose options are the parameters of classes, too."""

from stubs._commands import start_any as CLI
from stubs._commands import start_any as auto_cli
from stubs.argparse import ArgumentParser as Parser
from stubs.host import plain
from stubs.simple_parsing import add_class


class ArgumentParser(Parser):
    def add_arguments(self, cls=None, nested_key: plain = None, default=None, **more):
        add_class(self, cls, nested_key, default)

    def add_class_arguments(self, theclass=None, nested_key: plain = None, default=None, **more):
        add_class(self, theclass, nested_key, default)

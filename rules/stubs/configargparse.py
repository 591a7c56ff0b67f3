"""configargparse: argparse, with shorter names."""

from stubs.argparse import ArgumentParser as Parser
from stubs.argparse import add
from stubs.host import plain


class ArgumentParser(Parser):
    def add(self, *flags: plain, nargs=None, **more):
        add(self, flags, False, nargs, **more)

    def add_arg(self, *flags: plain, nargs=None, **more):
        add(self, flags, False, nargs, **more)


ArgParser = ArgumentParser

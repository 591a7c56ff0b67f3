"""optparse: as argparse, but parsing gives the other words, too."""

from stubs.argparse import ArgumentParser, add, parsed
from stubs.host import at, others, plain


class OptionParser(ArgumentParser):
    def add_option(self, *flags: plain, default=None, **more):
        add(self, flags, False, None, default=at(None) if default is None else default, **more)

    def parse_args(self, args=None, values=None):
        return parsed(self, args, values), others()

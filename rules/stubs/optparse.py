"""optparse: as argparse, but parsing gives the other words, too."""

from stubs.argparse import ArgumentParser, parsed
from stubs.host import others


class OptionParser(ArgumentParser):
    def parse_args(self, args=None, values=None):
        return parsed(self, args, values), others()

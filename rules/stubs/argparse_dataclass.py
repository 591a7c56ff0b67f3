"""argparse_dataclass: a parser of one dataclass."""

from stubs.class_parsers import ClassParser as ArgumentParser

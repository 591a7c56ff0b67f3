"""argparse_dataclass: a parser of one dataclass."""

from stubs._class_parsers import ClassParser as ArgumentParser

"""pydantic_argparse: a parser of one model."""

from stubs._class_parsers import ClassParser as ArgumentParser

"""pydantic_argparse: a parser of one model."""

from stubs.class_parsers import ClassParser as ArgumentParser

"""pyrallis: the words make an object of a dataclass."""

from stubs.commands import start as parse

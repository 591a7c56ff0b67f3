"""pyrallis: the words make an object of a dataclass."""

from stubs._commands import start as parse

"""chz: the words make an object of a class, or call a function."""

from stubs._commands import start as entrypoint
from stubs._commands import start as nested_entrypoint

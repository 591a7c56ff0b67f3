"""fire: a function, class, object or dict becomes a command line."""

from stubs._commands import start_python as Fire

"""fire: a function, class, object or dict becomes a command line."""

from stubs.commands import start_any as Fire

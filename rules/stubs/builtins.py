"""builtins: a class of the program that is a dict; Python's own dicts are dicts."""

from stubs._bags import Entries


class dict(Entries):
    is_base_only = True

"""typing: a class of the program that is a dict with names."""

from stubs._bags import Entries


class TypedDict(Entries):
    is_base_only = True

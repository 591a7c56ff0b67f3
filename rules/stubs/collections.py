"""collections: a class of the program that is such a dict."""

from stubs._bags import Checked, Entries


class OrderedDict(Entries):
    is_base_only = True


class UserDict(Checked):
    is_base_only = True

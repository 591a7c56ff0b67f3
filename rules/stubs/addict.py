"""addict: a dict of attributes, in which what is missing is another such dict."""

from stubs._bags import Bag


class Dict(Bag):
    is_closed = False

"""munch.Munch: what makes one of a dict."""

from stubs._bags import from_dict


def fromDict(d=None, *given, **more):
    return from_dict("munch.Munch", d)

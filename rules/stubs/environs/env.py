"""environs.env: the reader that environs makes itself."""

from stubs._environment import variable


def str(name=None, default=None, subcast=None, **more):
    return variable(name, default, "")


def int(name=None, default=None, subcast=None, **more):
    return variable(name, default, "int")


def float(name=None, default=None, subcast=None, **more):
    return variable(name, default, "float")


def bool(name=None, default=None, subcast=None, **more):
    return variable(name, default, "bool")

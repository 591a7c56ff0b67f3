"""click: what its types make of a word, and what a group calls. Its options are read where a function is called (`_decorators`)."""

from stubs.host import number, plain
from stubs.typer import Typer as Group


class Choice:
    def __init__(self, choices=None, *given, **more):
        self.choices = choices

    def converted(self, said):
        return said


class Path(Choice):
    pass


class IntRange(Choice):
    kind = int

    def __init__(self, min=None, max=None, min_open=None, max_open=None, clamp: plain = False):
        self.least = None if min is None else plain(min)
        self.most = None if max is None else plain(max)
        self.is_clamped = clamp is not False

    def converted(self, said):
        found = number(said, self.kind)
        if found is None or not self.is_clamped:
            return found
        for bound in (self.least, self.most):
            if bound is not None and not isinstance(bound, (int, float)):
                return None
        if self.least is not None and found < self.least:
            return self.least
        return self.most if self.most is not None and found > self.most else found


class FloatRange(IntRange):
    kind = float

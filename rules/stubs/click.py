"""click: what its types make of a word. Its options are read where a function is called (`commands.option_values`)."""

from stubs.host import number


class Choice:
    def __init__(self, *given, **more):
        pass

    def converted(self, said):
        return said


class Path(Choice):
    pass


class IntRange(Choice):
    def converted(self, said):
        return number(said, int)


class FloatRange(Choice):
    def converted(self, said):
        return number(said, float)

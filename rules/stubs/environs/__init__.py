"""environs: `env.int("BATCH", 8)` is the environment's BATCH as a whole number, else the default as it is given."""

from stubs._environment import variable
from stubs.dotenv import FILE, load_dotenv


class Env:
    def __init__(self, *given, **more):
        self.is_whole = not given and not [name for name in more if name in ("prefix", "expand_vars")]

    def __call__(self, name=None, default=None, subcast=None, **more):
        return variable(name, default, "", self.is_whole)

    def str(self, name=None, default=None, subcast=None, **more):
        return variable(name, default, "", self.is_whole)

    def int(self, name=None, default=None, subcast=None, **more):
        return variable(name, default, "int", self.is_whole)

    def float(self, name=None, default=None, subcast=None, **more):
        return variable(name, default, "float", self.is_whole)

    def bool(self, name=None, default=None, subcast=None, **more):
        return variable(name, default, "bool", self.is_whole)

    def read_env(self, path=FILE, *given, **more):
        return load_dotenv(path)

    def prefixed(self, *given, **more):
        """From here on a name may be the end of another one."""
        self.is_whole = False
        return self


class FileAwareEnv(Env):
    def __init__(self, *given, **more):
        self.is_whole = False


def env(name=None, default=None, subcast=None, **more):
    return variable(name, default, "")

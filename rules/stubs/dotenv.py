"""dotenv: the variables of a file."""

from stubs.host import dict_of, plain, set_variable, unknown, variables_in_file

FILE = ".env"


def load_dotenv(dotenv_path=FILE, *given, **more):
    for name, value in variables_in_file(dotenv_path).items():
        set_variable(name, value, "dotenv")
    return unknown


def dotenv_values(dotenv_path=FILE, *given, **more):
    return dict_of(variables_in_file(dotenv_path), False)


def set_key(dotenv_path=None, key_to_set: plain = None, value_to_set=None, *given, **more):
    if isinstance(key_to_set, str) and value_to_set is not None:
        set_variable(key_to_set, value_to_set, "python")
    return unknown

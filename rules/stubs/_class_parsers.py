"""Parsers that turn the words of a command line, a file or a dict into objects of the classes that they are given."""

from stubs._objects import filled
from stubs._words import named, switched_off
from stubs.host import (
    entries,
    entries_in_file,
    finish,
    is_class,
    is_complete,
    items,
    name_of,
    others,
    plain,
    program_object,
    slots,
    words_in,
)


class ClassParser:
    """A parser of classes: what it is given by position or by name."""

    unnamed = {}

    def __init__(self, dataclass_types=None, **more):
        first = dataclass_types
        for value in more.values():
            if first is None and is_class(value):
                first = value
        self.classes = items(first) or ([first] if first is not None else [])

    def parse_args_into_dataclasses(
        self, args=None, return_remaining_strings: plain = False, look_for_args_file=None, args_filename=None, args_file_flag=None
    ):
        is_told = args_filename is None and args_file_flag is None
        made = self.made(args) if is_told else self.of_values(None, False)
        return tuple(made + ([others()] if return_remaining_strings is not False else []))

    def parse_known_args(self, args=None, **more):
        return tuple(self.made(args))

    def parse_args(self, args=None, **more):
        return one_object(self.made(args))

    def parse_typed_args(self, args=None, **more):
        return one_object(self.made(args))

    def parse_args_and_config(self, args=None, **more):
        words, is_all = words_in(args)
        values = given_by(words)
        if values is not None and "config" in values:
            below = entries_in_file(values["config"].said())
            values = {**below, **values} if below is not None else None
        return tuple(self.of_values(values, is_all))

    def parse_json_file(self, json_file=None, **more):
        return self.of_file(json_file, more)

    def parse_yaml_file(self, yaml_file=None, **more):
        return self.of_file(yaml_file, more)

    def parse_dict(self, args=None, **more):
        return self.of_entries(entries(args) if is_complete(args) else None)

    def of_file(self, path, more):
        for value in more.values():
            path = path if path is not None else value
        return self.of_entries(entries_in_file(path))

    def of_entries(self, values):
        """Return the objects of what a file or dict says; beside one that isn't known, the same script parses its command line."""
        if values is None:
            return tuple([self.read_otherwise(cls) for cls in self.classes])
        return tuple(self.of_values(values, True))

    def read_otherwise(self, cls):
        return program_object(name_of(cls), {}) if name_of(cls) else filled(cls, self.classes, None, False)

    def made(self, args):
        words, is_all = words_in(args)
        return self.of_values(given_by(words), is_all)

    def of_values(self, values, is_all):
        made = [filled(cls, self.classes, values, is_all, None, self.unnamed) for cls in self.classes]
        for one in made:
            finish(one)
        return made


def given_by(words):
    """Return what words say by name, None where they aren't known."""
    return None if words is None else switched_off(named(words))


def one_object(made):
    """Return one object with the fields of all."""
    values = {name: value for one in made for name, value in slots(one).items()}
    return made[0] if len(made) == 1 else program_object("argparse.Namespace", values)

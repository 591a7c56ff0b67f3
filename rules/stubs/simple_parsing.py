"""simple_parsing: argparse, whose options are the fields of classes, too: by their names alone, those of objects in an object included."""

from stubs._commands import start
from stubs._objects import as_value, filled, of_words
from stubs._words import named, switched_off
from stubs.argparse import ArgumentParser as Parser
from stubs.host import attribute, class_of, fields_of, finish, is_own_class, plain, set_attribute, unknown, words_in


def parse(config_class=None, *given, args=None, default=None, **more):
    """Return the object of a class that the words make."""
    if config_class is None or not is_own_class(config_class):
        return start(config_class, args=args, default=default)
    words, is_all = words_in(args)
    return flat(config_class, words, is_all and not more, default)


def flat(cls, words, is_all, default):
    """Return the object of a class that words make which name fields, however deep they lie; of those that several have, any."""
    given = switched_off(named(words or []))
    made = filled(cls, [cls], None if words is None else given, is_all, default)
    below(made, given, fields_of(cls), words is not None and is_all)
    finish(made)
    return made


def below(made, given, taken, is_all):
    """Write what words say into the objects of an object; a name that was taken before isn't theirs alone."""
    for name in fields_of(class_of(made)):
        inner = attribute(made, name)
        if inner is not None and is_own_class(class_of(inner)):
            own = fields_of(class_of(inner))
            for key in own:
                if key in given or not is_all or f"{name}.{key}" in given:
                    is_own = key in given and key not in taken and is_all
                    set_attribute(inner, key, as_value(given[key], class_of(inner), key) if is_own else unknown)
            below(inner, given, [*taken, *own], is_all)


class ArgumentParser(Parser):
    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self.classes = {}
        self.is_flat = not [name for name in more if name in ("conflict_resolution", "argument_generation_mode", "nested_mode")]

    def add_arguments(self, cls=None, dest: plain = None, default=None, prefix=None, **more):
        if is_own_class(cls) and isinstance(dest, str):
            words, is_all = words_in(None)
            fields = fields_of(cls)
            is_shared = [name for one in self.classes.values() for name in one if name in fields]
            is_told = self.is_flat and prefix is None and not is_shared
            self.defaults[dest] = flat(cls, words if is_told else None, is_all, default)
            self.classes[dest] = fields

    def parse_args(self, args=None, namespace=None, **more):
        if args is not None:
            for name in self.classes:
                self.defaults[name] = unknown
        return super().parse_args(args, namespace, **more)


def add_class(parser, cls, name, default):
    """Note the options that the fields of a class are, and the destination of the object that they make."""
    words, is_all = words_in(None)
    if is_own_class(cls) and isinstance(name, str):
        parser.defaults[name] = of_words(cls, words, is_all, f"{name}.", default)

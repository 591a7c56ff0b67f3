"""tap: an object of a class whose fields are the options parses the command line into itself."""

from stubs._commands import start as tapify
from stubs._words import named, switched_off
from stubs.argparse import ArgumentParser
from stubs.host import (
    at,
    attribute,
    call_own,
    class_of,
    entries,
    field_default,
    field_kind,
    fields_of,
    has_own,
    is_complete,
    is_known,
    overridable,
    plain,
    set_attribute,
    settled,
    unknown,
    words_in,
)


class Tap(ArgumentParser):
    def parse_args(self, args=None, **more):
        words, is_all = words_in(args)
        call_own(self, "configure")
        given = switched_off(named(words or []))
        cls = class_of(self)
        added = dict(self.defaults.items())
        names = fields_of(cls)
        for name, option in self.options.items():
            for flag in option.flags:
                alias = flag.lstrip("-").replace("-", "_")
                if alias in given:
                    given[name] = given[alias]
        for name in [*names, *[one for one in added if one not in names]]:
            default = field_default(cls, name)
            default = unknown if default is None else default
            default = added[name] if is_known(added.get(name)) else default
            said = given[name].said(field_kind(cls, name)) if name in given else None
            if said is None:
                said = settled(default) if words is not None and is_all else overridable(default)
            elif plain(said) is True and plain(default) is True:
                said = at(False, said)
            set_attribute(self, name, said)
        call_own(self, "process_args")
        return self

    def from_dict(self, args_dict=None, **more):
        values = entries(args_dict)
        if values is None or not is_complete(args_dict):
            return self.load()
        for name in [*fields_of(class_of(self)), *values]:
            if name in values:
                set_attribute(self, name, values[name])
            elif attribute(self, name) is None:
                default = field_default(class_of(self), name)
                set_attribute(self, name, unknown if default is None or has_own(self, "configure") else default)
        return self

    def load(self, *given, **more):
        for name in fields_of(class_of(self)):
            set_attribute(self, name, unknown)
        return self


TypedArgumentParser = Tap

"""configparser: an object of sections, whose values are texts."""

from stubs._words import switch
from stubs.host import at, attribute, entries, entries_in_file, mark_incomplete, number, plain, set_attribute, unknown


class ConfigParser:
    def read(self, filenames=None, *given, **more):
        found = entries_in_file(filenames)
        for name, section in (found or {}).items():
            set_attribute(self, name, section)
        if found is None:
            mark_incomplete(self)
        return unknown

    def get(self, section: plain = None, option: plain = None, **more):
        return asked(self, section, option, more, str)

    def getint(self, section: plain = None, option: plain = None, **more):
        return asked(self, section, option, more, int)

    def getfloat(self, section: plain = None, option: plain = None, **more):
        return asked(self, section, option, more, float)

    def getboolean(self, section: plain = None, option: plain = None, **more):
        return asked(self, section, option, more, bool)


RawConfigParser = SafeConfigParser = ConfigParser


def asked(parser, section, option, more, kind):
    """Return what a section says of an option, as a kind of value."""
    held = entries(attribute(parser, section)) if isinstance(section, str) and isinstance(option, str) else None
    value = (held or {}).get(option.lower()) if held is not None else None
    said = plain(value)
    if value is None or more or not isinstance(said, (str, int, float)):
        return unknown
    found = switch(str(said)) if kind is bool else str(said) if kind is str else number(str(said), kind)
    return unknown if found is None else at(found, value)

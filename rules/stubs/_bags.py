"""Objects that hold settings as attributes or entries: made of keywords, or of a dict, and put on top of one another."""

from stubs._configurations import all_overridable
from stubs.host import (
    at,
    attribute,
    class_of,
    declined,
    entries_in_file,
    has_own,
    is_complete,
    is_dict,
    is_open,
    is_own_class,
    is_whole,
    items,
    kind_of,
    mark_incomplete,
    overridable,
    plain,
    program_object,
    set_attribute,
    slots,
    unknown,
)

OTHER = "another file"


class Entries:
    """What any dict does, and an object of a class of the program that is one."""

    keeps_nothing = True
    is_closed = True
    """Whether it raises for what it doesn't hold."""
    nests = False

    def __init__(self, *given, **named):
        take(self, given, named)

    def update(self, *given, **named):
        take(self, given, named)
        return at(None)


class Flat(Entries):
    """Objects in which a dict stays a dict."""

    def get(self, key: plain = None, default=None):
        """Return the value under a key, or the default."""
        held = attribute(self, key) if isinstance(key, str) else None
        if held is not None:
            return held
        if not isinstance(key, str) or not is_whole(self) or is_own_class(class_of(self)):
            return declined
        return at(None) if default is None else default

    def pop(self, key: plain = None, default=None):
        held = self.get(key, default)
        if isinstance(key, str) and attribute(self, key) is not None:
            set_attribute(self, key, unknown)
        return held

    def copy(self, *given, **more):
        return copied(self)

    clone = deepcopy = copy_and_resolve_references = copy


class Bag(Flat):
    """Objects in which a dict becomes such an object, too."""

    nests = True

    def merge_from_file(self, *given, **more):
        """Put another configuration over this one: a file's by its path, or an object's; of any other, each value may be another."""
        first = given[0] if given else None
        found = entries_in_file(first)
        if found is None and kind_of(first):
            found = slots(first)
        if found is None:
            all_overridable(self)
        put(self, found or {})
        return at(None)

    merge_from_list = merge_from_other_cfg = merge_update = update_from_flattened_dict = merge_from_file


def take(bag, given, named):
    """Write what a call gives into a bag; what isn't known may be anything from then on."""
    initial = [named["initial_dictionary"]] if "initial_dictionary" in named else []
    for value in [*given[:1], *initial]:
        found = slots(value)
        for key, one in found.items():
            set_attribute(bag, key, nested(bag, one))
        if not is_complete(value) or items(value):
            forget(bag, found)
    named = {key: value for key, value in named.items() if key != "initial_dictionary"}
    for key, value in named.items():
        set_attribute(bag, key, nested(bag, value))
    if is_open():
        forget(bag, named)


def nested(bag, value):
    """Return a value as a bag holds it."""
    if not bag.nests or not is_dict(value) or is_own_class(class_of(bag)):
        return value
    return from_dict(kind_of(bag), value)


def from_dict(kind, value):
    """Return an object of a kind that holds the entries of a dict, those of the dicts in it included; of what is none, any."""
    if value is None or not is_dict(value):
        return program_object(kind, {}, OTHER)
    return named_bag(kind, slots(value), is_complete(value))


def named_bag(kind, values, is_all=True):
    found = {key: from_dict(kind, one) if is_dict(one) else one for key, one in values.items()}
    return program_object(kind, found, "" if is_all and not is_open() else OTHER)


def forget(bag, kept):
    """From here on every entry but those that were just given may be another."""
    for key, value in slots(bag).items():
        if key not in kept:
            set_attribute(bag, key, overridable(value))
    mark_incomplete(bag)


def put(bag, values):
    """Write values over those of a bag, and so within its parts."""
    for key, value in values.items():
        inner = attribute(bag, key)
        if inner is not None and kind_of(inner) and (is_dict(value) or kind_of(value)):
            put(inner, slots(value))
        else:
            set_attribute(bag, key, value)


def copied(bag):
    found = {key: copied(value) if kind_of(value) == kind_of(bag) else value for key, value in slots(bag).items()}
    return program_object(kind_of(bag), found, "" if is_whole(bag) else OTHER)


class Checked(Entries):
    """A dict whose entries may go through a method of the program's."""

    def __init__(self, *given, **named):
        take(self, given, named)
        if has_own(self, "__setitem__"):
            forget(self, {})

    def update(self, *given, **named):
        take(self, given, named)
        if has_own(self, "__setitem__"):
            forget(self, {})
        return at(None)

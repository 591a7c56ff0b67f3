"""The configurations of OpenMMLab: files of Python or YAML that lie on top of those that `_base_` names."""

from stubs._bags import Bag, named_bag, put
from stubs._configurations import all_overridable, below
from stubs.host import (
    at,
    declined,
    dict_of,
    entries,
    entries_in_file,
    is_complete,
    is_dict,
    is_overridable,
    items,
    mark_incomplete,
    names_in_file,
    plain,
    slots,
)

CONFIG = "mmengine.config.Config"
BASE = "_base_"
DELETE = "_delete_"
DEEPEST = 8


class Config(Bag):
    def merge_from_dict(self, options=None, *given, **more):
        """Put values over this one; a key may be a dotted path."""
        found = entries(options)
        if found is None:
            all_overridable(self)
            mark_incomplete(self)
        for key, value in (found or {}).items():
            put(self, slots(named_bag(CONFIG, below(key, value))))
        return at(None)


def fromfile(filename=None, *given, **more):
    """Return the configuration of a file, whose values may be others where the path is a default."""
    found = read(filename, 0)
    if found is None:
        return declined
    values, is_all = found
    made = named_bag(CONFIG, values, is_all)
    if is_overridable(filename):
        all_overridable(made)
    return made


def read(path, depth):
    """Return what a file says with those below it, and whether that is all; None for a file that isn't known."""
    said = plain(path, None)
    if not isinstance(said, str) or depth > DEEPEST:
        return None
    own = names_in_file(said) if said.endswith(".py") else entries_in_file(path)
    if own is None:
        return None
    values, is_all = {}, True
    for base in bases(own):
        name = plain(base, None)
        found = None
        if isinstance(name, str) and "::" not in name:
            found = read(at(f"{said.rpartition('/')[0]}/{name}" if "/" in said else name, path), depth + 1)
        more, is_whole = ({}, False) if found is None else found
        values, is_all = {**values, **more}, is_all and is_whole
    own = {key: value for key, value in own.items() if key != BASE and not key.startswith("__")}
    return over(values, own), is_all


def bases(own):
    """Return the paths of the files that a file lies on top of."""
    said = own.get(BASE)
    if said is None:
        return []
    return [said] if isinstance(plain(said, None), str) else items(said) if is_complete(said) else [said]


def over(below, above):
    """Return values with others on top of them, dict by dict, unless one takes the place of another."""
    found = {**below}
    for key, value in above.items():
        held, own = found.get(key), slots(value) if is_dict(value) else None
        if own is not None and held is not None and is_dict(held) and DELETE not in own:
            found[key] = dict_of(over(slots(held), own), is_complete(held) and is_complete(value))
        elif own is not None and DELETE in own:
            found[key] = dict_of({name: one for name, one in own.items() if name != DELETE}, is_complete(value))
        else:
            found[key] = value
    return found

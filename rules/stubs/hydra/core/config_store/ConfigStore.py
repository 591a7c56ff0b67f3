"""hydra.core.config_store.ConfigStore: configurations that the program notes by name, one of which `hydra.main` gives a function."""

from stubs._configurations import all_overridable
from stubs._objects import of_words
from stubs._words import text
from stubs.host import another, at, class_of, fields_of, is_own_class, number, parameters, plain, remember, remembered, unknown, words_in
from stubs.omegaconf.OmegaConf import nested, put, structured, write

STORED = "stored configuration "
SPECIAL = ("true", "false", "null", "nan", "inf")


class Store:
    def store(self, name: plain = None, node=None, group: plain = None, **more):
        if isinstance(name, str) and group is None:
            remember(STORED + name.removesuffix(".yaml"), unknown if node is None or more else node)
        return at(None)


def instance():
    return another(Store(), "hydra.core.config_store.ConfigStore")


def stored(asked):
    """Return what a function gets for the name of a configuration: of one that isn't noted here, perhaps an object of the class that the
    function asks for; unknown where nothing says."""
    name, function = asked
    if not isinstance(plain(name, None), str):
        return unknown
    node = remembered(STORED + plain(name).removesuffix(".yaml"))
    if node is None:
        return perhaps_an_object(function)
    cls = class_of(node) if not is_own_class(node) else node
    words, is_all = words_in(None)
    values = None if not is_own_class(cls) or "defaults" in fields_of(cls) else said(words or [])
    if values is None:
        return unknown
    found = structured(node)
    if words is None or not is_all:
        all_overridable(found)
    write(found, nested(values, True))
    return found


def perhaps_an_object(function):
    for one in (parameters(function) or [])[:1]:
        return unknown if one["class"] is None else of_words(one["class"], None, False)
    return unknown


def said(words):
    """Return what words say by dotted name (`bs=8`, `+x=3`, `~x`); None where one of them chooses the configuration, or several runs."""
    found = {}
    for word in words:
        whole = text(word)
        if whole is None or whole.startswith("-"):
            return None
        key, equals, value = whole.partition("=")
        is_bare = (
            value.replace("_", "a").replace("-", "a").replace("/", "a").replace(".", "a").isidentifier() or number(value, float) is not None
        )
        is_other = value.lower() in SPECIAL and value not in ("true", "false")
        put(found, key.lstrip("+~").split("."), at(value, word) if equals and is_bare and not is_other and key[:1] != "~" else unknown)
    return found

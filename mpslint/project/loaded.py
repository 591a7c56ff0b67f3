"""The configuration files that a Python text loads by a path that it writes, and those that Hydra composes."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from mpslint.config.sections import ENDINGS as SECTIONED
from mpslint.config.sections import read_sections
from mpslint.config.shell import MISSING
from mpslint.config.yaml_source import read_yaml_source
from mpslint.core.folders import absolute, folder_of, names_in
from mpslint.core.outside import is_file
from mpslint.core.record import record
from mpslint.facts.entries import ConfigMapping, ConfigNode, ConfigScalar, ConfigSequence
from mpslint.facts.values import Known
from mpslint.project.resolve import folders_above, is_inside, project_folder

ENDINGS = (".yaml", ".yml", ".json", *SECTIONED)
LARGEST = 200_000
"""Characters of a configuration file of a run; a larger one holds data."""
MOST_NODES = 100_000
"""Values of such a file."""
MOST_COMPOSED = 40
"""Files that one composition reads."""

MOST_ROUNDS = 4
"""Times that defaults lists override what others choose."""
_OWN_FLAGS = {"--config-name": "name", "-cn": "name", "--config-path": "folder", "-cp": "folder"}
_PATH = re.compile(r"""["']([^"'\n{}%*<>|]{1,200}\.(?:ya?ml|json|toml|ini|cfg))["']""")
_BEFORE = r"""(?:["']([\w./-]+)["']\)? *[,/] *)?f?["']([\w./-]*/)?([\w.-]*)"""
_TEMPLATE = re.compile(_BEFORE + r"""\{([^{}"'\n]*)\}([\w.-]*\.(?:ya?ml|toml))["']""")
_JOINED = re.compile(_BEFORE + r"""["'] *\+ *([\w.]+) *\+ *["']([\w.-]*\.(?:ya?ml|toml))["']""")
_DOTENV = re.compile(
    r"""\b(?:load_dotenv\(|dotenv_values\(|read_env\(|(?:from|import) decouple\b|env_file["']? *[=:])"""
    r"""(?:[^()"'\n]*["']([^"'\n{}]{1,200})["'])?"""
)
MOST_NAMED = 12
"""Configuration files of a folder of which a program reads the one that it is told; a folder with more holds a collection."""
_COMPOSED = re.compile(r"@(?:hydra\.)?main\(([^)]*)\)")
_INITIALIZED = re.compile(r"\binitialize\(([^)]*)\)")
_BY_CALL = re.compile(r"\bcompose\(([^)]*)\)")
_OVERRIDE = re.compile(r"""["']([\w+~@./-]+=[^"'\n]*)["']""")
_TARGET = re.compile(r"""^[ \t-]*["']?(?:_target_|class_path)["']?[ \t]*:[ \t]*["']?([\w.]+)""", re.MULTILINE)
_ARGUMENT = re.compile(r"""\b(config_path|config_name)\s*=\s*["']([^"'\n]{1,200})["']""")
_PACKAGE = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\n)*?[ \t]*#[ \t]*@package[ \t]+([\w.]+)")

TextOf = Callable[[str], str | None]
"""The text of a file by its absolute path; None for one that cannot be read."""


@record(frozen=True, slots=True)
class Composed:
    """A file that Hydra composes a configuration of, and the keys below which its own keys come."""

    file: str
    package: tuple[str, ...]


def paths_in(text: str) -> tuple[str, ...]:
    """Return the paths of configuration files that a Python text writes, and of the variables that it loads."""
    configs = _PATH.findall(text) if any(ending in text for ending in ENDINGS) else ()
    variables = [written or ".env" for written in _DOTENV.findall(text)] if "env" in text or "decouple" in text else ()
    return tuple(dict.fromkeys((*configs, *variables)))


@record(frozen=True, slots=True)
class PathTemplate:
    """What a program puts the path of a configuration file together of: `f"conf/{args.name}.yaml"`."""

    folder: str
    """With a slash at its end."""
    beginning: str
    chosen: str
    """The expression between the two."""
    end: str


def templates_in(text: str) -> tuple[PathTemplate, ...]:
    """Return what a Python text puts the paths of configuration files together of, where it says in which folder or how they begin."""
    if not any(ending in text for ending in (".yaml", ".yml", ".toml")):
        return ()
    found = []
    for match in (*_TEMPLATE.finditer(text), *_JOINED.finditer(text)):
        outer, inner, beginning, chosen, end = (part or "" for part in match.groups())
        folder = f"{outer.rstrip('/')}/{inner}" if outer and not inner.startswith("/") else inner
        if folder or beginning:
            found.append(PathTemplate(folder, beginning, chosen.strip(), end))
    return tuple(dict.fromkeys(found))


def named_by(template: PathTemplate, importer: str, script: str) -> tuple[str, ...]:
    """Return the files that have such a name, by their paths in the folder that is written; none where there are many."""
    folder, beginning, end = template.folder, template.beginning, template.end
    own = os.path.normpath(absolute(folder_of(script)))
    outermost = project_folder(own)
    for base in dict.fromkeys([own, os.path.dirname(importer), *folders_above(own, outermost)]):
        place = os.path.normpath(os.path.join(base, folder))
        names = names_in(place) if is_inside(place, outermost) else ()
        found = sorted(name for name in names if name.startswith(beginning) and name.endswith(end) and len(name) > len(beginning + end))
        if found:
            return tuple(folder + name for name in found) if len(found) <= MOST_NAMED else ()
    return ()


def composed_in(text: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return the folder, the name and the overrides of each configuration that a Python text has Hydra compose."""
    if "hydra" not in text:
        return ()
    found = [dict(_ARGUMENT.findall(call)) for call in _COMPOSED.findall(text)]
    whole = [(one["config_path"], one["config_name"], ()) for one in found if len(one) == 2]
    folders = [one["config_path"] for call in _INITIALIZED.findall(text) if "config_path" in (one := dict(_ARGUMENT.findall(call)))]
    for call in _BY_CALL.findall(text) if folders else ():
        named = dict(_ARGUMENT.findall(call))
        whole += [(folder, named["config_name"], tuple(_OVERRIDE.findall(call))) for folder in folders if "config_name" in named]
    return tuple(whole)


def targets_in(text: str) -> tuple[str, ...]:
    """Return the dotted names of what a configuration file says to call."""
    return tuple(dict.fromkeys(_TARGET.findall(text)))


def find_file(path: str, importer: str, script: str) -> str | None:
    """Return the file of the project that a path means, which a file of a run writes: beside either, or from a folder above the script."""
    own = os.path.normpath(absolute(folder_of(script)))
    outermost = project_folder(own)
    if os.path.isabs(path):
        return path if is_inside(os.path.normpath(path), outermost) and is_file(path) else None
    for folder in dict.fromkeys([own, os.path.dirname(importer), *folders_above(own, outermost)]):
        found = os.path.normpath(os.path.join(folder, path))
        if is_inside(found, outermost) and is_file(found):
            return found
    return None


@record(frozen=True, slots=True)
class Overrides:
    """What the words of a command line change of a configuration that Hydra composes."""

    choices: Mapping[str, str]
    """What is chosen of each group, by its path (`model`, `model/encoder`)."""
    added: tuple[str, ...] = ()
    """The groups among them that no defaults list has to name (`+experiment=small`)."""
    values: tuple[tuple[str, str, int], ...] = ()
    """The keys that are set, with the text of the value and the number of the word."""
    name: str = ""
    """The configuration that is composed in place of the one that the code names."""
    folder: str = ""
    """The folder that it lies in, in place of the one that the code names."""


NOTHING = Overrides({})


def overrides_in(words: Sequence[str], folder: str) -> Overrides:
    """Return what the words of a command line say of a configuration whose groups are folders below `folder`."""
    chosen: dict[str, str] = {}
    added: list[str] = []
    values: list[tuple[str, str, int]] = []
    own = {"name": "", "folder": ""}
    is_value = ""
    for number, word in enumerate(words):
        flag, equals, text = word.partition("=")
        if flag in _OWN_FLAGS:
            is_value = "" if equals else _OWN_FLAGS[flag]
            own[_OWN_FLAGS[flag]] = text
        elif is_value:
            own[is_value], is_value = word, ""
        elif (equals or word.startswith("~")) and not word.startswith("-"):
            key, text = flag.lstrip("+~"), MISSING if flag.startswith("~") else text
            group = key.partition("@")[0]
            if "." not in key and os.path.isdir(os.path.join(folder, group)):
                chosen[group] = text
                added += [group] if flag.startswith("+") else []
            else:
                values.append((key, text, number))
    return Overrides(chosen, tuple(added), tuple(values), own["name"], own["folder"])


def composition(folder: str, name: str, text_of: TextOf, overrides: Overrides = NOTHING) -> tuple[Composed, ...]:
    """Return the files of a configuration that Hydra composes, in the order in which later ones count for more; none if one is missing."""
    chosen = dict(overrides.choices)
    for _ in range(MOST_ROUNDS):
        composer = _Composer(os.path.normpath(folder), text_of, chosen)
        is_whole = composer.compose(composer.root, overrides.name or name, (), [])
        for group in overrides.added:
            place = os.path.join(composer.root, group)
            is_whole = is_whole and composer.compose(place, chosen[group], tuple(group.split("/")), [])
        if not is_whole:
            return ()
        if chosen.items() >= composer.overridden.items():
            return tuple(composer.found)
        chosen = {**composer.overridden, **chosen}
    return ()


@record(eq=False)
class _Composer:
    """Reads the defaults lists of a configuration."""

    root: str
    text_of: TextOf
    choices: Mapping[str, str]
    found: list[Composed] = field(default_factory=list)
    overridden: dict[str, str] = field(default_factory=dict)
    """What the defaults lists choose of groups that others name (`override /model: large`)."""

    def compose(self, folder: str, name: str, package: tuple[str, ...], above: list[str], is_optional: bool = False) -> bool:
        """Add a file and those of its defaults list; return whether all of them are there."""
        file = os.path.normpath(os.path.join(folder, name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"))
        text = self.text_of(file)
        if text is None or file in above or len(self.found) >= MOST_COMPOSED:
            return is_optional
        header = _PACKAGE.match(text)
        if header is not None:
            package = () if header[1] == "_global_" else tuple(header[1].split("."))
        own = Composed(file, package)
        for item in _defaults_list(text) if "defaults" in text else ():
            if isinstance(item, ConfigScalar) and isinstance(item.value, Known):
                if item.value.value == "_self_":
                    self.found.append(own)
                elif not self._named(str(item.value.value), folder, package, [*above, file]):
                    return False
            elif isinstance(item, ConfigMapping):
                if not all(self._chosen(key, chosen, folder, package, [*above, file]) for key, chosen in _choices(item)):
                    return False
            else:
                return False
        if own not in self.found:
            self.found.append(own)
        return True

    def _named(self, name: str, folder: str, package: tuple[str, ...], above: list[str]) -> bool:
        """Add a file that a defaults list names by itself."""
        name, _, target = name.partition("@")
        below = (part for part in target.split(".") if part not in ("", "_here_"))
        inner = () if target == "_global_" else (*package, *below)
        return self.compose(self.root if name.startswith("/") else folder, name.lstrip("/"), inner, above)

    def _chosen(self, key: str, chosen: str | None, folder: str, package: tuple[str, ...], above: list[str]) -> bool:
        """Add the file that is chosen of a group."""
        words = key.split()
        group, _, target = words[-1].partition("@")
        place = os.path.normpath(os.path.join(self.root if group.startswith("/") else folder, group.strip("/")))
        path = os.path.relpath(place, self.root)
        if "override" in words[:-1]:
            if chosen is not None and not path.startswith("hydra"):
                self.overridden[path] = chosen
            return True
        chosen = self.choices.get(path, chosen)
        if group.startswith("hydra/") or chosen in (None, "null"):
            return True
        inner = tuple(part for part in target.split(".") if part != "_here_") if target else tuple(group.strip("/").split("/"))
        inner = () if target == "_global_" else (*package, *inner)
        return self.compose(place, str(chosen), inner, above, "optional" in words[:-1])


@functools.lru_cache(maxsize=128)
def _defaults_list(text: str) -> Sequence[ConfigNode]:
    """Return the items of the defaults list of a configuration file; the runs of a project ask for it again and again."""
    mapping = first_mapping(text)
    defaults = mapping.entries.get("defaults") if mapping is not None else None
    return defaults.node.items if defaults is not None and isinstance(defaults.node, ConfigSequence) else ()


def _choices(item: ConfigMapping) -> Iterator[tuple[str, str | None]]:
    """Yield each group of an item of a defaults list with what is chosen from it; None for nothing."""
    for key, entry in item.entries.items():
        value = entry.value.value if isinstance(entry.value, Known) else None
        yield key, None if value is None else str(value)


def first_mapping(text: str, path: str = "") -> ConfigMapping | None:
    """Return what a configuration file holds, read by the name of its path; None for one that holds something else, or cannot be read."""
    if len(text) > LARGEST:
        return None
    config = read_sections(text, path.endswith(".toml")) if path.endswith(SECTIONED) else read_yaml_source(text)
    only = config.mappings[0] if len(config.mappings) == 1 and not config.problem else None
    return only if only is not None and _is_bounded(only) else None


def _is_bounded(mapping: ConfigMapping) -> bool:
    """Return whether a mapping stays small where each alias is what it stands for: a few lines can hold billions of values."""
    waiting: list[ConfigNode] = [mapping]
    for _ in range(MOST_NODES):
        if not waiting:
            return True
        node = waiting.pop()
        if isinstance(node, ConfigMapping):
            waiting += [entry.node for entry in node.entries.values()]
        elif isinstance(node, ConfigSequence):
            waiting += node.items
    return False

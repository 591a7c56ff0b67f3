"""The configuration files that a Python text loads by a path that it writes, and those that Hydra composes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from mpslint.config.yaml_source import read_yaml_source
from mpslint.core.folders import absolute, folder_of
from mpslint.core.record import record
from mpslint.facts.entries import ConfigMapping, ConfigScalar, ConfigSequence
from mpslint.facts.values import Known
from mpslint.project.resolve import folders_above, project_folder

ENDINGS = (".yaml", ".yml", ".json")
LARGEST = 200_000
"""Characters of a configuration file of a run; a larger one holds data."""
MOST_COMPOSED = 40
"""Files that one composition reads."""

_PATH = re.compile(r"""["']([^"'\n{}%*<>|]{1,200}\.(?:ya?ml|json))["']""")
_COMPOSED = re.compile(r"@(?:hydra\.)?main\(([^)]*)\)")
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
    """Return the paths of configuration files that a Python text writes."""
    if not any(ending in text for ending in ENDINGS):
        return ()
    return tuple(dict.fromkeys(_PATH.findall(text)))


def composed_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return the folder and the name of each configuration that a Python text has Hydra compose."""
    if "hydra" not in text:
        return ()
    found = (dict(_ARGUMENT.findall(call)) for call in _COMPOSED.findall(text))
    return tuple((one["config_path"], one["config_name"]) for one in found if len(one) == 2)


def find_file(path: str, importer: str, script: str) -> str | None:
    """Return the file of the project that a path means, which a file of a run writes: beside either, or from a folder above the script."""
    own = os.path.normpath(absolute(folder_of(script)))
    outermost = project_folder(own)
    inside = os.path.join(outermost, "")
    if os.path.isabs(path):
        return path if path.startswith(inside) and os.path.isfile(path) else None
    for folder in dict.fromkeys([own, os.path.dirname(importer), *folders_above(own, outermost)]):
        found = os.path.normpath(os.path.join(folder, path))
        if found.startswith(inside) and os.path.isfile(found):
            return found
    return None


def composition(folder: str, name: str, text_of: TextOf) -> tuple[Composed, ...]:
    """Return the files of a configuration that Hydra composes, in the order in which later ones count for more; none if one is missing."""
    found: list[Composed] = []
    is_whole = _compose(folder, name, (), found, text_of, [])
    return tuple(found) if is_whole else ()


def _compose(
    folder: str, name: str, package: tuple[str, ...], found: list[Composed], text_of: TextOf, above: list[str], is_optional: bool = False
) -> bool:
    """Add a file and those of its defaults list; return whether all of them are there."""
    file = os.path.normpath(os.path.join(folder, name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"))
    text = text_of(file)
    if text is None or file in above or len(found) >= MOST_COMPOSED:
        return is_optional
    header = _PACKAGE.match(text)
    if header is not None:
        package = () if header[1] == "_global_" else tuple(header[1].split("."))
    own = Composed(file, package)
    mapping = first_mapping(text)
    defaults = mapping.entries.get("defaults") if mapping is not None else None
    items = defaults.node.items if defaults is not None and isinstance(defaults.node, ConfigSequence) else []
    for item in items:
        if isinstance(item, ConfigScalar) and isinstance(item.value, Known):
            if item.value.value == "_self_":
                found.append(own)
            elif not _compose(folder, str(item.value.value), package, found, text_of, [*above, file]):
                return False
        elif isinstance(item, ConfigMapping):
            for key, chosen in _choices(item):
                words = key.split()
                group, _, target = words[-1].partition("@")
                if "override" in words[:-1] or group.startswith("hydra/") or chosen is None:
                    continue
                inner = tuple(target.split(".")) if target else tuple(part for part in group.strip("/").split("/"))
                inner = () if target == "_global_" else (*package, *inner)
                place = os.path.join(folder, group.strip("/"))
                if not _compose(place, chosen, inner, found, text_of, [*above, file], "optional" in words[:-1]):
                    return False
        else:
            return False
    if own not in found:
        found.append(own)
    return True


def _choices(item: ConfigMapping) -> Iterator[tuple[str, str | None]]:
    """Yield each group of an item of a defaults list with what is chosen from it; None for nothing."""
    for key, entry in item.entries.items():
        value = entry.value.value if isinstance(entry.value, Known) else None
        if value is not None and not isinstance(value, str):
            value = str(value)
        yield key, value


def first_mapping(text: str) -> ConfigMapping | None:
    """Return what a configuration file holds; None for one that holds something else, or cannot be read."""
    if len(text) > LARGEST:
        return None
    config = read_yaml_source(text)
    return config.mappings[0] if len(config.mappings) == 1 and not config.problem else None

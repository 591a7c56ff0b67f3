"""Where the knowledge lies (`rules/`), and how one file of it is read: among others what a setting does on a Mac, by version
(`rules/platform/behaviours/`), and the configurations of published checkpoints (`rules/platform/models/`).

A checkout reads the YAML files. A wheel holds them compiled instead (`_catalogue.py`, written when it was built), which starts faster.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mpslint.core.finding import ReadError, RuleError
from mpslint.core.outside import read_text
from mpslint.core.record import record
from mpslint.core.versions import Version, VersionRange

DEEPEST = 100
"""Levels of a YAML file."""
_PACKAGE = Path(__file__).parents[1]
DOES = ("works", "raises", "ignored", "wrong")
_KEYS = {"versions", "does", "text"}
TASKS = "tasks"


@functools.lru_cache(maxsize=1)
def rules_folder() -> Path:
    """Return the folder of the rules: the checkout's own when mpslint runs from one, else where the names of the compiled files lie."""
    checkout = _PACKAGE.parent / "rules"
    if (checkout / "platform").is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return checkout
    return _PACKAGE / "rules"


@functools.lru_cache(maxsize=2)
def _of_wheel(module: str) -> Mapping[str, Any]:
    """Return what was written into a module when the wheel was built; nothing in a checkout."""
    if rules_folder() != _PACKAGE / "rules":
        return {}
    try:
        data: Mapping[str, Any] = importlib.import_module(f"mpslint.{module}").DATA
    except ModuleNotFoundError:
        return {}
    return data


def _catalogue() -> Mapping[str, Any]:
    """Return the compiled knowledge by path below `rules/`."""
    return _of_wheel("_catalogue")


def _held(path: Path) -> Any:
    """Return what the compiled knowledge has for a file; None for any other file."""
    catalogue = _catalogue()
    name, folder = path.as_posix(), f"{rules_folder().as_posix()}/"
    return catalogue.get(name[len(folder) :]) if catalogue and name.startswith(folder) else None


def shipped_words() -> tuple[bytes, ...]:
    """Return what `rule.frameworks.compiled_words` returned when the wheel was built; nothing in a checkout."""
    return tuple(_of_wheel("_words").get("frameworks", ()))


def compiled(folder: Path) -> dict[str, Any]:
    """Return what every YAML file below a folder holds, by its path there."""
    stubs = {path.relative_to(folder).as_posix(): read_text(path) for path in sorted(folder.rglob("*.py"))}
    return {path.relative_to(folder).as_posix(): parse_yaml_file(path) for path in sorted(folder.rglob("*.yaml"))} | stubs


def read_yaml(path: Path) -> Any:
    """Return what a knowledge file holds. Raises RuleError naming the file and the line when it is not YAML."""
    held = _held(path)
    return parse_yaml_file(path) if held is None else held


def compiled_id(path: Path) -> str | None:
    """Return the id of a rule that the wheel holds compiled, without reading more of it; None for any other file."""
    held = _held(path)
    return held["id"] if held is not None else None


def yaml_text(data: Any) -> str:
    """Return plain data as YAML: keys in their order, the innermost lists and mappings on one line."""
    import yaml

    return str(yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=140))


def parse_yaml_file(path: Path) -> Any:
    """Return what a YAML file holds. Raises RuleError naming the file and the line when it is not YAML."""
    try:
        return parse_yaml(read_text(path), str(path), is_ours=path.is_relative_to(rules_folder()))
    except ReadError as error:
        raise RuleError(str(error)) from None


def parse_yaml(text: str, path: str, is_ours: bool = False) -> Any:
    """Return what a YAML text holds. Raises RuleError naming its file and the line when it is not YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if not is_ours and _nests_too_deeply(yaml.parse(text, Loader=loader)):
            raise RuleError(f"{path}: not valid YAML: it nests too deeply")
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise RuleError(f"{path}{line}: not valid YAML: {problem}") from None
    except ValueError as error:  # a number of 5,000 digits, the 31st of February
        raise RuleError(f"{path}: not valid YAML: {error}") from None
    except RecursionError:
        raise RuleError(f"{path}: not valid YAML: it nests too deeply") from None


def _nests_too_deeply(events: Iterable[Any]) -> bool:
    """Return whether collections stand in collections so deeply that libyaml, which counts nothing, would end the process."""
    depth = 0
    for event in events:
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > DEEPEST:
            return True
    return False


def parse_toml(text: str, decimal: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return what a TOML text holds, with `decimal` of each number that has a point. Raises ValueError, which says where it is not TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data: dict[str, Any] = tomllib.loads(text, parse_float=decimal)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    return data


def knowledge_files(folder: str) -> Iterator[Path]:
    """Yield the YAML files of one folder below `rules/`, by name."""
    catalogue = _catalogue()
    if not catalogue:
        yield from sorted((rules_folder() / folder).glob("*.yaml"))
        return
    for name in catalogue:
        parent, _, _ = name.rpartition("/")
        if parent == folder:
            yield rules_folder() / name


def stub_files(own: Iterable[Path] = ()) -> Mapping[str, Path]:
    """Return the shipped stubs (`rules/stubs/`) by the dotted name of the library, or of the part of one, that each stands for.

    Those of a user's `own` folders take the place of shipped ones.
    """
    folder, catalogue = rules_folder() / "stubs", _catalogue()
    paths = [rules_folder() / name for name in catalogue if name.endswith(".py")] if catalogue else own_files(folder, ".py")
    found = [(folder, path) for path in paths] + [(place, path) for place in own for path in own_files(place, ".py")]
    return {".".join(path.relative_to(above).with_suffix("").parts).removesuffix(".__init__"): path for above, path in found}


def read_stub(path: Path) -> str:
    """Return the text of a stub. Raises ReadError where it can't be read."""
    held = _held(path)
    return read_text(path) if held is None else str(held)


def rule_files() -> Iterator[Path]:
    """Yield the files of the shipped rules, `rules/<subject>/<ID>-<name>.yaml`: only their names begin with an id."""
    catalogue = _catalogue()
    paths = [rules_folder() / name for name in catalogue] if catalogue else sorted(rules_folder().glob("*/*.yaml"))
    yield from (path for path in paths if path.name[:3].isupper() and path.name[3:4].isdigit())


def schema_text(name: str) -> str:
    """Return the JSON schema of a kind of file that users write, as `tools/make_schemas.py` made it: `mpslint` (configuration), `rule`."""
    return read_text(rules_folder().parent / "schemas" / f"{name}.schema.json")


def own_files(place: Path, ending: str = ".yaml") -> list[Path]:
    """Return the files at a place where a user's rules lie: the file itself, or those of a folder and of the folders in it; stubs lie
    three folders deep at most, as the parts of a library do."""
    deepest = 2 if ending == ".yaml" else 4
    return [place] if place.is_file() else sorted(path for depth in range(deepest) for path in place.glob("*/" * depth + f"*{ending}"))


@functools.lru_cache(maxsize=1)
def knowledge_digest() -> str:
    """Return a digest of every knowledge file: what was found under one may not hold under another.

    An installed mpslint changes with its version; of a checkout the code counts too.
    """
    import hashlib

    files = sorted(_PACKAGE.glob("_catalogue.py"))
    if rules_folder() != _PACKAGE / "rules" or not files:
        files = sorted([*rules_folder().rglob("*.yaml"), *rules_folder().rglob("*.py"), *_PACKAGE.rglob("*.py")])
    digest = hashlib.blake2b(digest_size=16)
    for path in files:
        stat = path.stat()
        digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


@functools.lru_cache(maxsize=64)
def platform_data(name: str) -> Any:
    """Return what `rules/platform/NAME.yaml` holds. Raises RuleError when there is no such file or it is not YAML."""
    return read_yaml(rules_folder() / "platform" / f"{name}.yaml")


def sets_of(name: str) -> dict[str, Any]:
    """Return the same with each list as a set, for a file of which many a key says what belongs to something."""
    return {key: frozenset(value) if isinstance(value, list) else value for key, value in platform_data(name).items()}


def given_fields(cls: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that a mapping gives, by name: a list as a tuple, and one word as well where words are asked for."""
    given = {name: data[name] for name in cls.__annotations__ if name in data}
    for name, value in given.items():
        is_word = isinstance(value, str) and cls.__annotations__[name] == "tuple[str, ...]"
        given[name] = (value,) if is_word else tuple(value) if isinstance(value, list) else value
    return given


@record(frozen=True, slots=True, eq=False)
class Behaviour:
    """What happens in some versions: it works, raises, is ignored, or computes something wrong; `text` names versions as `{package}`."""

    versions: VersionRange
    does: str
    text: str


@functools.lru_cache(maxsize=64)
def load_behaviours(name: str) -> tuple[Behaviour, ...]:
    """Return the list that `FILE.way.what` names (`precision.trainer.fp16`). Raises RuleError for an unknown name or a bad entry."""
    file, *keys = name.split(".")
    path = rules_folder() / "platform" / "behaviours" / f"{file}.yaml"
    found = read_yaml(path)
    for key in keys:
        if not isinstance(found, Mapping) or key not in found:
            raise RuleError(f"{path}: there is no {name!r}")
        found = found[key]
    rows = []
    for row in found:
        if set(row) - {"source"} != _KEYS or row["does"] not in DOES:
            raise RuleError(f"{path}: {name}: each entry has `versions`, `does` (one of {', '.join(DOES)}) and `text`: {row}")
        rows.append(Behaviour(VersionRange.parse(row["versions"]), row["does"], row["text"]))
    if not rows or rows[-1].does != "works" or any(row.does == "works" for row in rows[:-1]):
        raise RuleError(f"{path}: {name}: the last entry, and no other, says what works")
    return tuple(rows)


def behaviour_in(name: str, versions: Mapping[str, Version]) -> Behaviour:
    """Return what holds in these versions; a range about a package without a version doesn't match. Raises as `load_behaviours` does."""
    rows = load_behaviours(name)
    return next((row for row in rows if row.versions.matches(versions)), rows[-1])


@functools.cache
def _families() -> tuple[Mapping[str, Any], ...]:
    files = [path for path in knowledge_files("platform/models") if path.stem != TASKS]
    return tuple(family for path in files for family in read_yaml(path).values())


@functools.lru_cache(maxsize=64)
def configuration_of(name: str) -> Mapping[str, Any] | None:
    """Return the configuration of a checkpoint in the table, None when it is not there; its organisation does not matter."""
    wanted = name.rsplit("/", 1)[-1].lower()
    for family in _families():
        for checkpoint, values in family["checkpoints"].items():
            if checkpoint.lower() == wanted:
                return {**family["defaults"], **values}
    return None


def parameters_of(checkpoint: str) -> float | None:
    """Return how many million parameters a checkpoint has, from the table or from its own name; None where neither says."""
    known = platform_data("model_sizes")
    name = checkpoint.rstrip("/").rsplit("/", 1)[-1]
    if name in known["parameters"]:
        return float(known["parameters"][name])
    found = re.search(known["named"], name)
    return float(found.group(1)) * (1000 if found.group(2) in "bB" else 1) if found is not None else None

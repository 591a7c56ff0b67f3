"""What can't be installed on a Mac of what a project asks for: packages and builds for Linux and Windows only."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpslint.core.finding import MpslintError, ReadError
from mpslint.core.folders import names_in, remembered
from mpslint.core.knowledge import parse_toml, parse_yaml, platform_data
from mpslint.core.versions import VersionRange, parse_version
from mpslint.target.manifests import table_of
from mpslint.target.packages import canonical
from mpslint.target.pins import conda_environments, outer_requirements, project_requirements, text_of
from mpslint.target.requirement import ADDRESS, CONDA, INDEX, OLD, PIP, PLAIN, POETRY, PYTHON, UV, Uninstallable, holds_on_a_mac

_COMMENT = re.compile(r"(?:^|\s)#")


@remembered(maxsize=64)
def uninstallable(root: Path) -> tuple[Uninstallable, ...]:
    """Return what can't be installed on a Mac of what a project asks for; nothing where another file serves a Mac."""
    data, names = platform_data("pin_files")["uninstallable"], names_in(str(root))
    spare = [name for glob in data["instead"] for name in fnmatch.filter(names, glob)]
    if any(not _found_in(root, name) for name in spare):
        return ()
    is_locked = any(name in names for name in data["locks"])
    is_project = any(name in names and _names_packages(root / name, how) for name, how in data["others"].items())
    files = [(name, how) for name, how in data["files"].items() if name in names and (how == "toml" or not is_locked)]
    files = [(name, how) for name, how in files if how != "toml" or _names_packages(root / name, data["listed"])]
    if not files and not is_locked and not is_project:
        alternatives = _alternatives(root, data)
        found = [_found_in(root, name) for name in alternatives]
        return found[0] if found and all(found) and not _is_installed_otherwise(root, alternatives) else ()
    if len(files) > 1 or is_project:
        files = [(name, how) for name, how in files if how != "conda"]
    return tuple(found for name, how in files for found in _uninstallable_of(root / name, how))


def _alternatives(root: Path, data: Mapping[str, Any]) -> list[str]:
    """Return the files that fit globs, some of which name a folder, and the conda environments of any name."""
    found = []
    for glob in data["alternatives"]:
        folder, _, pattern = glob.rpartition("/")
        found += [f"{folder}/{name}" if folder else name for name in sorted(fnmatch.filter(names_in(str(root / folder)), pattern))]
    folders = [folder for folder in data["conda_folders"] if folder in names_in(str(root))]
    found += conda_environments(str(root))
    found += [f"{folder}/{name}" for folder in folders for name in conda_environments(str(root / folder))]
    return list(dict.fromkeys(found))


def _names_packages(path: Path, mark: str) -> bool:
    """Return whether a text of a project has a mark of what it asks for; one that can't be read may have it."""
    try:
        return re.search(mark, text_of(path)) is not None
    except (ReadError, OSError):
        return True


def _is_installed_otherwise(root: Path, files: Sequence[str]) -> bool:
    """Return whether the project around it, or a script or README that names none of some files, installs packages, which may well work."""
    asked = [one for one in project_requirements(root) if one.name != PYTHON]
    sources = {one.source for one in asked if one.command or one.source.endswith((".md", ".rst"))}
    names = "|".join(re.escape(Path(file).name) for file in files)
    return bool(outer_requirements(root)) or not all(_names_packages(root / source, rf"(?<![\w.-])(?:{names})(?!\w)") for source in sources)


def _found_in(root: Path, name: str) -> tuple[Uninstallable, ...]:
    return tuple(_uninstallable_of(root / name, "conda" if name.endswith((".yml", ".yaml")) else "lines"))


def _uninstallable_of(path: Path, how: str) -> Iterator[Uninstallable]:
    try:
        text = text_of(path)
        lines = [_COMMENT.split(line, maxsplit=1)[0] for line in text.splitlines()]
        for one in _READERS[how](text):
            line = one.line or next((number for number, line in enumerate(lines, 1) if _asks(line, one)), 1)
            yield replace(one, path=str(path), line=line, text=lines[line - 1].rstrip())
    except (MpslintError, ReadError, OSError, ValueError, TypeError, RecursionError):
        return  # a file that cannot be read says nothing


def _asks(line: str, one: Uninstallable) -> bool:
    """Return whether a line of a TOML or YAML file, whose readers tell no lines, asks for what can't be installed."""
    key = one.instead if one.way in (POETRY, UV) else ""
    return re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=|\[.*\.{re.escape(key)}\s*\]", line) is not None if key else one.text in line


def uninstallable_in(text: str) -> Iterator[Uninstallable]:
    """Yield the lines of a requirements file that pip can't install on a Mac, each with its number."""
    for number, line in enumerate(text.splitlines(), 1):
        found = _judged(_COMMENT.split(line, maxsplit=1)[0])
        if found is not None:
            yield replace(found, line=number)


def _judged(line: str) -> Uninstallable | None:
    """Return what a requirement asks for, on a Mac, that has no build for it; None for any other, and for what pip reads nowhere."""
    wanted, _, marker = line.strip().partition(";")
    data = platform_data("pin_files")["uninstallable"]
    if re.search(data["invalid"], wanted) or not holds_on_a_mac(marker.strip()):
        return None
    written = wanted.strip()
    written = written.rsplit("/", 1)[-1] if written.endswith(".whl") else written  # of an address the name of the file
    old = _old(wanted, written)
    if old is not None or not _has_no_build(wanted):
        return replace(old, text=line) if old is not None else None
    plain = _plain(wanted)
    if plain and not _has_no_build(plain) and _old(plain, "") is None:
        return Uninstallable(written, PLAIN, plain, text=line)
    return Uninstallable(written, INDEX if wanted.startswith("-") else ADDRESS if wanted.endswith(".whl") else PIP, text=line)


def _name(wanted: str) -> str:
    """Return the package of a requirement as the index spells it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[(=<>!~@;]", wanted.strip(), maxsplit=1)[0]).lower()


def _has_no_build(wanted: str) -> bool:
    """Return whether a requirement without its marker names a package or a build for other systems."""
    data = platform_data("pin_files")["uninstallable"]
    is_named = any(fnmatch.fnmatchcase(_name(wanted), glob) for glob in data["names"])
    return is_named or any(re.search(mark, wanted) for mark in data["builds"])


def _old(wanted: str, written: str) -> Uninstallable | None:
    """Return a pin of a release that has no wheel for a Mac, where a later one has, and that can't easily be built."""
    match = re.match(r"[\w.-]+\s*(?:\[[^\]]*\])?\s*\(?\s*={2,3}\s*(\d[\w.]*)(?![\w.*])", wanted.strip())
    row = _older_than(_name(wanted), match.group(1), "sourceless") if match is not None else None
    return Uninstallable(written, OLD, f"{_name(wanted)}>={row['first']}", row["why"]) if row is not None else None


def _older_than(name: str, pinned: str, what: str) -> Mapping[str, Any] | None:
    """Return what is known of a release of a package that is older than the first one for a Mac; None for one that isn't."""
    version = parse_version(pinned)
    if version is None:
        return None
    rows: Sequence[Mapping[str, Any]] = platform_data("pin_files")["uninstallable"][what]
    return next((row for row in rows if VersionRange.parse(row["pins"]).matches({name: version})), None)


def _plain(wanted: str) -> str:
    """Return the pin of a release without the local version, or the address, that is for other systems; '' without one."""
    found = (re.search(mark, wanted) for mark in platform_data("pin_files")["uninstallable"]["plain"])
    return next((f"{match['name']}=={match['version']}" for match in found if match is not None), "")


def _of_toml(text: str) -> Iterator[Uninstallable]:
    """Yield the same of a pyproject.toml: of its own dependencies, and of Poetry's and uv's tables."""
    data, known = parse_toml(text), platform_data("pin_files")["uninstallable"]
    project, tool = table_of(data, "project"), table_of(data, "tool")
    listed = project.get("dependencies")
    for line in listed if isinstance(listed, list) else ():
        found = _judged(line) if isinstance(line, str) else None
        if found is not None:
            yield found
    poetry, uv = table_of(tool, "poetry"), table_of(tool, "uv")
    tables_of = ((POETRY, table_of(poetry, "dependencies"), poetry.get("source")), (UV, table_of(uv, "sources"), uv.get("index")))
    for way, tables, indexes in tables_of:
        for name, written in tables.items():
            rows = written if isinstance(written, list) else [written]
            for address in (_address(row, indexes) for row in rows if isinstance(row, dict) and _is_for_a_mac(row)):
                if address and any(re.search(mark, f"{name} @ {address}") for mark in (*known["builds"], known["indexes"])):
                    yield Uninstallable(f"{name} from {address.rstrip('/').rsplit('/', 1)[-1]}", way, name)


def _address(row: Mapping[str, Any], indexes: Any) -> str:
    """Return where a dependency comes from: its own address, or that of the index it names."""
    name = row.get("source") or row.get("index")
    named = [one for one in indexes if isinstance(one, dict) and one.get("name") == name] if isinstance(indexes, list) and name else []
    return str(row.get("url") or (named[0].get("url", "") if named else ""))


def _is_for_a_mac(row: Mapping[str, Any]) -> bool:
    markers = [str(row[key]) for key in ("marker", "markers") if row.get(key)]
    return (
        row.get("platform") in (None, "darwin")
        and all(holds_on_a_mac(marker) for marker in markers)
        and not any(row.get(key) for key in ("optional", "extra", "group"))
    )


def _of_conda(text: str) -> Iterator[Uninstallable]:
    """Yield the same of a conda environment file, with its pip part."""
    data = parse_yaml(text, "")
    rows = data.get("dependencies") if isinstance(data, dict) else None
    for row in rows if isinstance(rows, list) else ():
        lines = row.get("pip") if isinstance(row, dict) else None
        yield from filter(None, (_judged(line) for line in lines or () if isinstance(line, str)))
        old = _older_than_conda_builds(row) if isinstance(row, str) else None
        if old is not None:
            yield old
        elif isinstance(row, str) and _is_of_another_system(row):
            yield Uninstallable(row, CONDA, text=row)


def _is_of_another_system(row: str) -> bool:
    """Return whether a line of a conda environment names a package, or a build of one, that there is not for a Mac."""
    data = platform_data("pin_files")["uninstallable"]
    name = re.split(r"[\s=<>!~\[]", row.rsplit("::", 1)[-1], maxsplit=1)[0]
    return any(fnmatch.fnmatchcase(name, glob) for glob in data["conda"]) or re.search(data["conda_builds"], row) is not None


def _older_than_conda_builds(row: str) -> Uninstallable | None:
    """Return a line of a conda environment that pins a release before conda's first build for Apple silicon (`pytorch=1.7.0`)."""
    match = re.match(r"([\w.-]+)\s*={1,3}\s*(\d[\d.]*)(?![\w*])", row.rsplit("::", 1)[-1].strip())
    found = _older_than(canonical(match.group(1)), match.group(2), "conda_old") if match is not None else None
    return Uninstallable(row, OLD, found["first"], found["why"], text=row) if found is not None else None


_READERS: Mapping[str, Callable[[str], Iterator[Uninstallable]]] = {"lines": uninstallable_in, "toml": _of_toml, "conda": _of_conda}

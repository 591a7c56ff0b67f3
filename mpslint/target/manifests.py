"""Versions in the files that declare what a project needs, and in its lock files: read as data, whatever they are; nothing is run."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.knowledge import parse_toml, parse_yaml, platform_data
from mpslint.core.outside import parse_json
from mpslint.target.packages import canonical, is_known
from mpslint.target.requirement import PYTHON, Requirement, holds_on_a_mac, requirement, requirements
from mpslint.target.specifier import admitting, from_conda, from_poetry

_CONDA = re.compile(r"\s*(?:[\w./:-]+::)?([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)")
_DEPENDENCIES = re.compile(r"^dependencies[ \t]*:\s*(?:#[^\n]*\n\s*)*(?:\[|-[ \t]+(?!(?!pip[ \t]*:)[\w-]+[ \t]*:\s))", re.MULTILINE)
"""A list whose first row is no table but that of pip; charts and other manifests list tables."""
_OF_CONDA = re.compile(r"^(?:channels|name|prefix)[ \t]*:", re.MULTILINE)
_ADDRESS = re.compile(r"\s*[\w+]+://")
_SETUP_KEYS = ("install_requires", "extras_require", "tests_require", "setup_requires", "dependencies")
_MAC_TARGETS = ("osx-arm64", "osx", "unix")
_TABLE = re.compile(r"^\[\[packages?\]\][ \t]*$", re.MULTILINE)
_NAME = re.compile(r'^name\s*=\s*"([^"]+)"', re.MULTILINE)
_PYTHON = re.compile(r'^(?:requires-python|python-versions|requires_python)\s*=\s*"([^"]+)"', re.MULTILINE)
_CONDA_FILE = re.compile(r"/(osx-arm64|noarch|linux-64|osx-64)/([A-Za-z][\w.-]*?)-(\d[^-/\s]*)-[^-/\s]+\.(?:conda|tar\.bz2)")
_WHEEL_FILE = re.compile(r"/([A-Za-z][\w.]*?)-(\d[^-/\s]*)(?:-[\w.]+-[\w.]+-([\w.]+)\.whl|\.tar\.gz)")


def pyproject(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what pyproject.toml asks for: its dependencies, extras and groups, and the tables of Poetry, PDM, uv, Rye, Hatch and pixi."""
    data = parse_toml(text)
    project, tool = table_of(data, "project"), table_of(data, "tool")
    if isinstance(project.get("requires-python"), str):
        yield Requirement(PYTHON, project["requires-python"], source)
    for name, written in table_of(tool, "uv", "sources").items():
        yield from (one for one in _written(name, written, source, python) if one.spec or one.commit)
    own = list(requirements(project.get("dependencies"), source, python))
    yield from own
    for group, lines in (*table_of(project, "optional-dependencies").items(), *table_of(data, "dependency-groups").items()):
        found = requirements(lines, source, python)
        yield from (one for one in found if not _is_elsewhere(str(group)) or one.name not in {other.name for other in own})
    lists = [table_of(tool, "uv").get("dev-dependencies"), table_of(tool, "rye").get("dev-dependencies")]
    lists += table_of(tool, "pdm", "dev-dependencies").values()
    lists += [table_of(one).get(key) for one in table_of(tool, "hatch", "envs").values() for key in ("dependencies", "extra-dependencies")]
    for lines in lists:
        yield from requirements(lines, source, python)
    for key in ("constraint-dependencies", "override-dependencies"):
        for one in requirements(table_of(tool, "uv").get(key), source, python):
            yield Requirement(one.name, one.spec, one.source, is_constraint=True, commit=one.commit)
    yield from _poetry(table_of(tool, "poetry"), source, python)
    yield from _pixi(table_of(tool, "pixi"), source, python)


def _is_elsewhere(group: str) -> bool:
    """Return whether an extra or a group of dependencies is for another machine, such as that of the tests."""
    words = platform_data("pin_files")["elsewhere"]
    return any(word in words for word in re.split(r"[-_.\d]+", group.lower()))


def table_of(data: Any, *keys: str) -> Mapping[str, Any]:
    """Return a table within tables; an empty one where there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _poetry(poetry: Mapping[str, Any], source: str, python: str) -> Iterator[Requirement]:
    groups = [table_of(group).get("dependencies") for group in table_of(poetry, "group").values()]
    for table in (poetry.get("dependencies"), *groups, poetry.get("dev-dependencies")):
        for name, written in table_of({"": table}, "").items():
            yield from _written(name, written, source, python, from_poetry)


def _written(name: str, written: Any, source: str, python: str, translate: Any = str) -> Iterator[Requirement]:
    """Yield the requirement of a key: `"^2.1"`, `{version = "^2.1", markers = "..."}`, `{git = "...", tag = "v1"}`, or a list of these."""
    for one in written if isinstance(written, list) else [written]:
        row = one if isinstance(one, dict) else {"version": one}
        platform = {"darwin": "", "linux": "sys_platform == 'linux'", "win32": "sys_platform == 'win32'"}.get(str(row.get("platform")), "")
        markers = [str(marker) for marker in (row.get("markers"), row.get("marker"), platform) if marker]
        if not (is_known(name) or canonical(name) == PYTHON) or not all(holds_on_a_mac(marker, python) for marker in markers):
            continue
        state = row.get("tag") or row.get("rev") or row.get("ref") or ""
        address = row.get("url") or row.get("path") or (f"git+{row['git']}@{state}" if "git" in row else "")
        found = requirement(f"{name} @ {address}", source, python) if "://" in str(address) or ".whl" in str(address) else None
        spec = translate(str(row.get("version") or "*"))
        if found is not None:
            yield found
        elif admitting(spec) is not None:
            yield Requirement(canonical(name), "" if spec == "*" else spec, source)


def pipfile(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what a Pipfile asks for."""
    data = parse_toml(text)
    version = table_of(data, "requires").get("python_full_version") or table_of(data, "requires").get("python_version")
    if version:
        yield Requirement(PYTHON, f"=={version}.*", source)
    for section in ("packages", "dev-packages"):
        for name, written in table_of(data, section).items():
            yield from _written(name, written, source, python)


def pixi(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what pixi.toml asks for on Apple silicon."""
    yield from _pixi(parse_toml(text), source, python)


def _pixi(data: Mapping[str, Any], source: str, python: str) -> Iterator[Requirement]:
    for part in (data, *map(table_of, table_of(data, "feature").values())):
        targets = [table_of(part, "target", name) for name in _MAC_TARGETS]
        for table in (*targets, part):
            for name, written in table_of(table, "dependencies").items():
                yield from _written(name, written, source, python, from_conda)
            for name, written in table_of(table, "pypi-dependencies").items():
                yield from _written(name, written, source, python)


def conda(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what a conda environment file asks for, with its pip part."""
    data = parse_yaml(text, source)
    rows = data.get("dependencies") if isinstance(data, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            yield from requirements(row.get("pip"), source, python)
        elif isinstance(row, str):
            yield from conda_package(row, source)


def conda_by_content(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield the same of a YAML file of any name, if it has the keys of a conda environment."""
    if is_conda_environment(text):
        yield from conda(text, source, python)


def is_conda_environment(text: str) -> bool:
    """Return whether YAML has the keys of a conda environment."""
    return _DEPENDENCIES.search(text) is not None and _OF_CONDA.search(text) is not None


def conda_package(written: str, source: str) -> Iterator[Requirement]:
    """Yield the requirement of one of conda's: `pytorch=2.1`, `conda-forge::python=3.10`, `pytorch>=2,<3`."""
    match = _CONDA.fullmatch(written.split("#")[0].strip())
    if match is not None and (is_known(match.group(1)) or match.group(1) == PYTHON):
        spec = from_conda(match.group(2)) if match.group(2) else ""
        if admitting(spec) is not None:
            yield Requirement(canonical(match.group(1)), spec, source)


def setup_cfg(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what setup.cfg asks for."""
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    if parser.has_option("options", "python_requires"):
        yield Requirement(PYTHON, parser.get("options", "python_requires"), source)
    lists = [parser.get("options", key) for key in _SETUP_KEYS if parser.has_option("options", key)]
    lists += [lines for _, lines in (parser.items("options.extras_require") if parser.has_section("options.extras_require") else ())]
    for lines in lists:
        yield from requirements(re.split(r"[\n;](?=\s*[A-Za-z][\w.-]*\s*(?:[=<>!~\[]|$))", lines), source, python)


def setup_py(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield the requirements in setup.py: what is written in lists, dictionaries and strings there; nothing of it is run."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "python_requires" and isinstance(node.value, ast.Constant):
            yield Requirement(PYTHON, str(node.value.value), source)
        if isinstance(node, ast.keyword) and node.arg in _SETUP_KEYS:
            yield from requirements(_strings(node.value), source, python)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            found = requirements(_strings(node), source, python)
            yield from (one for one in found if one.spec)


def _strings(node: ast.AST) -> Iterator[str]:
    """Yield the strings in a list, each line of a longer one by itself; an address without a name is of `dependency_links`, which pip
    ignores."""
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield from (line for line in one.value.splitlines() if not _ADDRESS.match(line))


def python_version(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield the Python of `.python-version` and `runtime.txt`."""
    match = re.match(r"(?:python-|cpython-)?(\d+\.\d+)(\.\d+)?", text.strip())
    if match is not None:
        yield Requirement(PYTHON, f"=={match.group()[match.start(1) :]}" if match.group(2) else f"=={match.group(1)}.*", source)


def cog(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what a cog.yaml installs."""
    build = table_of(parse_yaml(text, source), "build")
    version = build.get("python_version")
    if version:
        yield Requirement(PYTHON, f"=={version}.*", source)
    for key in ("python_packages", "run"):
        yield from requirements(build.get(key), source, python)


def toml_lock(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what uv.lock, poetry.lock, pdm.lock and pylock.toml resolved to.

    A lock file may hold megabytes; only the tables of known packages are parsed.
    """
    starts = [match.start() for match in _TABLE.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        name = _NAME.search(text, start, end)
        if name is None or not is_known(name.group(1)):
            continue
        table = parse_toml(_alone(text[start:end]))
        row = (table.get("package") or table["packages"])[0]
        if "version" in row and _is_for_a_mac(row, python):
            yield Requirement(canonical(row["name"]), f"=={row['version']}", source, is_locked=True)
    at_the_end = text.find("\n[metadata]", starts[-1] if starts else 0)
    said = _PYTHON.search(text[: starts[0]] if starts else text) or (_PYTHON.search(text, at_the_end) if at_the_end >= 0 else None)
    if said is not None:
        yield Requirement(PYTHON, from_poetry(said.group(1)), source)


def _alone(table: str) -> str:
    """Return a table of an array with its subtables, without the tables of the file that come after the last one."""
    return re.split(r"^\[(?!\[?packages?\b)", table, maxsplit=1, flags=re.MULTILINE)[0]


def _is_for_a_mac(row: dict[str, Any], python: str) -> bool:
    marker = row.get("marker") or row.get("markers") or ""
    if isinstance(marker, dict):  # Poetry 2 writes one for each group
        marker = " or ".join(f"({one})" for one in marker.values() if isinstance(one, str))
    forks = row.get("resolution-markers") or ()
    return holds_on_a_mac(str(marker), python) and (not forks or any(holds_on_a_mac(str(one), python) for one in forks))


def pipfile_lock(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what Pipfile.lock resolved to."""
    data = parse_json(text)
    version = data.get("_meta", {}).get("requires", {}).get("python_version")
    if version:
        yield Requirement(PYTHON, f"=={version}.*", source)
    for name, row in [*data.get("default", {}).items(), *data.get("develop", {}).items()]:
        if is_known(name) and row.get("version") and holds_on_a_mac(row.get("markers", ""), python):
            yield Requirement(canonical(name), str(row["version"]), source, is_locked=True)


def pixi_lock(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what pixi.lock resolved to for Apple silicon, where it did, else for whichever platform it names first."""
    found: dict[str, dict[str, str]] = {}
    for platform, name, version in _CONDA_FILE.findall(text):
        found.setdefault(canonical(name), {}).setdefault(platform, version)
    for name, version, tags in _WHEEL_FILE.findall(text):
        found.setdefault(canonical(name), {}).setdefault(
            "osx-arm64" if "macosx" in tags and "arm64" in tags else "any", version.split("+")[0]
        )
    for name, versions in found.items():
        if is_known(name) or name == PYTHON:
            version = next((versions[one] for one in ("osx-arm64", "noarch", "any") if one in versions), next(iter(versions.values())))
            yield Requirement(name, f"=={version}", source, is_locked=True)


def conda_lock(text: str, source: str, python: str) -> Iterator[Requirement]:
    """Yield what conda-lock resolved to, for Apple silicon first."""
    rows = [row for row in parse_yaml(text, source).get("package", ()) if isinstance(row, dict) and "version" in row]
    for row in sorted(rows, key=lambda row: row.get("platform") != "osx-arm64"):
        name = canonical(str(row.get("name", "")))
        if is_known(name) or name == PYTHON:
            yield Requirement(name, f"=={row['version']}", source, is_locked=True)

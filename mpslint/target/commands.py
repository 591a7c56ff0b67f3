"""Versions in the commands that install packages: in notebooks, shell scripts, Dockerfiles and Python that calls pip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from mpslint.core.knowledge import parse_toml, platform_data
from mpslint.target.manifests import conda_package
from mpslint.target.requirement import ASSUMED_PYTHON, PYTHON, Requirement, requirement, requirements

_CONTINUED = re.compile(r"\\\r?\n[ \t]*(?:#[^\n]*\n[ \t]*)*")
_COMMAND = re.compile(
    r"""(?<![\w.-])(?P<tool>pip3?(?:\.\d+)?|uv|conda|mamba|micromamba|poetry|pdm|rye|pipenv|pixi)["']?(?:,?\s|,(?=["']))[^\n;|&]*?"""
    r"""(?<![\w-])["']?(?P<verb>install|add|create)["']?(?=[\s,]|$)(?P<rest>[^\n]*)"""
)
_WORD = re.compile(r"""(?:"[^"\n]*"|'[^'\n]*'|[^\s"'])+""")
_BRACKETS = re.compile(r"""^[\[(,]+|(?<=["'])[\]),]+$|[),]+$""")
"""Those of a list or a call in Python around a word, and not those of an extra: `trl[peft]`."""
_BETWEEN_STRINGS = re.compile(r"""(?<=["'])\s*,\s*(?=["'])""")
"""A comma between two strings of a list in Python; where a shell reads the line, quotes stand anywhere in a word."""
_UPGRADES = ("-U", "--upgrade", "--upgrade-package", "-P")
_WITH_VALUE = re.compile(
    r"-[cCifretn]$|--(?:index-url|extra-index-url|find-links|requirement|constraint|channel|target|name|prefix|index|group|python|platform)$"
)
_END = re.compile(r"\s#|\s(?:&&|\|\||;|\|)|;(?=\s*\w+\s)|&&|\s[12&]?>>?\s*(?=[/&$A-Za-z{])")
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_PROMPT = re.compile(r"^[ \t>*-]*(?:\d+\.[ \t]+)?`{0,2}\$?[ \t]*|`+[ \t]*$|`+(?=[\s,.;:)])", re.MULTILINE)
"""What stands around a command in a README: prompts, bullets, and the marks of code."""
_SCRIPT = re.compile(r"^# /// script[ \t]*\r?\n((?:#(?: .*)?\r?\n)+?)# ///[ \t]*$", re.MULTILINE)


def commands(text: str, source: str, python: str = ASSUMED_PYTHON) -> Iterator[Requirement]:
    """Yield what the install commands of a text ask for: `pip install torch==2.3.0`, `conda install pytorch=2.1`, `uv add ...`."""
    number = 0
    for line in _CONTINUED.sub(" ", text).splitlines():
        if ("install" not in line and "add" not in line and "create" not in line) or line.lstrip().startswith(("#", "echo ", "//")):
            continue
        match = _COMMAND.search(line)
        while match is not None:
            rest = _until_end(match.group("rest"))
            number += 1
            yield from (replace(one, command=number) for one in _installed(match.group("tool"), rest, source, python))
            # A line may join commands: `pip install uv && uv pip install torch`; what follows `||` runs only where the first one fails.
            end = match.start("rest") + len(rest)
            match = _COMMAND.search(line, end) if not line[end:].lstrip().startswith("||") else None


def versions_in_commands(text: str, source: str, python: str = ASSUMED_PYTHON) -> Iterator[Requirement]:
    """Yield what the install commands of a README ask for in one version.

    Not those of which it shows several, one a platform, and not what a line installs to run tests.
    """
    tests = re.compile(platform_data("pin_files")["tests"])
    lines = (line for line in _CONTINUED.sub(" ", _PROMPT.sub("", text)).splitlines() if not tests.search(line))
    found = [replace(one, command=0) for one in commands("\n".join(lines), source, python) if one.spec]
    asked = {name: {one.spec.partition("+")[0] for one in found if one.name == name} for name in {one.name for one in found}}
    yield from (one for one in found if len(asked[one.name]) == 1)


def _until_end(rest: str) -> str:
    """Return a command up to where the next one or a comment begins; within quotes, a `;` stands before the marker of a requirement."""
    quoted = [match.span() for match in _QUOTED.finditer(rest)]
    ends = (match.start() for match in _END.finditer(rest) if not any(start < match.start() < end for start, end in quoted))
    return rest[: next(ends, len(rest))]


def _installed(tool: str, rest: str, source: str, python: str) -> Iterator[Requirement]:
    is_conda = "conda" in tool or tool in ("mamba", "micromamba")
    found: list[Requirement] = []
    upgrades = skip = False
    for word in _words(rest):
        if skip or word.startswith("-"):
            upgrades = upgrades or (not skip and word in _UPGRADES)
            skip = not skip and _WITH_VALUE.match(word) is not None
        elif is_conda:
            found += conda_package(word, source)
        else:
            one = requirement(word, source, python)
            found += [one] if one is not None else []
    for one in found:
        yield Requirement(one.name, one.spec, one.source, is_fresh=upgrades and not one.spec)


def _words(rest: str) -> Iterator[str]:
    """Yield the arguments of a command, also those of a list in Python; `torch >= 2.1, < 3` is one."""
    joined = re.sub(r"\s*([=<>!~]=?=?)\s*(?=\d)", r"\1", rest) if re.search(r"\w\s+[=<>!~]=\s*\d|[=<>!~]=\s+\d", rest) else rest
    joined = re.sub(r"(?<=\d)\s*,\s*(?=[<>!~=])", ",", joined)
    for match in _WORD.finditer(_BETWEEN_STRINGS.sub(" ", joined)):
        word = _QUOTED.sub(lambda quoted: quoted.group()[1:-1], _BRACKETS.sub("", match.group())).strip()
        if word:
            yield word


def script_header(text: str, source: str) -> Iterator[Requirement]:
    """Yield what the inline metadata of a script (`# /// script`) asks for."""
    match = _SCRIPT.search(text) if "# /// script" in text else None
    if match is None:
        return
    try:
        data = parse_toml("\n".join(line[2:] for line in match.group(1).splitlines()))
    except ValueError:
        return
    if isinstance(data.get("requires-python"), str):
        yield Requirement(PYTHON, data["requires-python"], source)
    yield from requirements(data.get("dependencies"), source)


def asserted(text: str, source: str) -> Iterator[Requirement]:
    """Yield the versions under which alone a program gets past its assertions: `assert torch.__version__ == "1.13.1"`."""
    for pattern in platform_data("pin_files")["asserts"] if "require" in text or "__version__" in text else ():
        for match in re.finditer(pattern, text, re.MULTILINE):
            said = match.groupdict()
            version = said["exact"] if said.get("exact") else f"{said['beginning']}.*"
            yield from requirements([f"{said['name']}=={version}"], source)

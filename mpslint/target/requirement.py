"""One requirement of a project, as pip writes it in a line of a file, a list or a command."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpslint.core.record import record
from mpslint.target.packages import canonical, is_known
from mpslint.target.specifier import admitting

PYTHON = "python"
ASSUMED_PYTHON = "3.12"
"""What markers are asked about where a project doesn't say which Python it runs on."""

_LINE = re.compile(
    r"\s*[\"']?([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:\(([^()]*)\)|(@\s*\S.*|[=<>!~^][^;#]*)?)\s*(?:[;#].*)?[\"']?\s*", re.DOTALL
)
_EXPORTED = re.compile(r"([A-Za-z][\w.-]*)=(\d[\w.]*)=[\w.]+")
"""`pytorch=2.1.0=py3.10_0`, a line of `conda list --export`."""
_MARKER = re.compile(r";([^#]*)")
_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTIONS = re.compile(r"\s(?:--[a-z]|-[fi]\s).*$|\s*\\\s*$")
"""pip takes few of them behind a requirement, but `torch==2.0.1 --index-url ...` is clear to read."""
_WHEEL = re.compile(r"(?:^|[/\s])([A-Za-z][\w.]*?)-(\d[^-/\s]*)-[\w.]+-[\w.]+-[\w.]+\.whl")
_ARCHIVE = re.compile(r"/([A-Za-z][\w.-]*?)(?:\.git)?(?:@|/archive/(?:refs/tags/)?|/releases/download/)v?(\d+(?:\.\d+)+)")
"""`git+https://github.com/huggingface/transformers@v4.49.0-Gemma-3`: the release that a tag of the repository names."""

_COMMIT = re.compile(r"(?:/([A-Za-z][\w.-]*?)(?:\.git)?@|/([A-Za-z][\w.-]*)/archive/)([0-9a-f]{7,40})(?=$|[\s#;&\"']|\.(?:zip|tar\.gz)\b)")
"""The same at a commit, which tells no version: `git+https://github.com/unslothai/unsloth.git@65b8975`."""
_BRANCH = re.compile(r"git\+(?:ssh://git@)?[^@#;\s\"']+(?:@(?:main|master|HEAD))?(?=$|[\s#;\"'])")
"""The same at its newest state."""


@record(frozen=True, slots=True)
class Requirement:
    """What a place of a project says about one package."""

    name: str
    """As the knowledge calls the package; `python` for the interpreter."""
    spec: str
    """A specifier as pip writes it; '' where any release will do."""
    source: str
    """The file, cell or variable that says it."""
    is_constraint: bool = False
    """It limits the package, if something else asks for it."""
    is_locked: bool = False
    """It is what a lock file resolved to."""
    is_fresh: bool = False
    """The newest release is installed, whatever was there (`pip install -U`)."""
    commit: str = ""
    """The beginning of the hash of the commit that is installed, of which no version is known."""
    is_branch: bool = False
    """The newest state of a repository is installed, which is newer than its last release."""
    command: int = 0
    """Which of the install commands of its text asks for it, from 1 on; 0 where none does."""


PIP, CONDA = "pip", "conda"
POETRY, UV = "poetry", "uv"
"""Tables of pyproject.toml that name where a package comes from."""
PLAIN, OLD, INDEX, ADDRESS = "plain", "old", "index", "address"
"""Of pip: a release that has a wheel without its local version, one before the first wheel, an option of a whole file, and a wheel."""


@record(frozen=True, slots=True)
class Uninstallable:
    """Something that a project asks for and that no Mac can install."""

    written: str
    """The requirement, of an address the name of the file."""
    way: str = PIP
    """How it is asked for, and so what to write instead."""
    instead: str = ""
    """The requirement that a Mac can install, of one that is plain or old."""
    why: str = ""
    """Why an old one can't be built from source."""
    path: str = ""
    """The file that asks for it; '' where there is none."""
    line: int = 0
    """Where, from 1; 0 where nothing tells."""
    text: str = ""
    """That line, without its comment."""


def requirement(line: str, source: str, python: str = ASSUMED_PYTHON) -> Requirement | None:
    """Return the requirement that a line writes; None for one of a package that the knowledge doesn't cover, or for another platform."""
    text = _OPTIONS.sub("", _COMMENT.sub("", line)).strip()
    text = text[1:-1] if text[:1] in ("'", '"') and text[-1:] == text[:1] else text
    if not text or (text.startswith("-") and not text.startswith("-e")):
        return None
    if "://" in text or ".whl" in text:
        return _from_address(text, source, python)
    exported = _EXPORTED.fullmatch(text)
    if exported is not None:
        name = canonical(exported.group(1))
        return Requirement(name, f"=={exported.group(2)}", source) if is_known(name) or name == PYTHON else None
    match = _LINE.fullmatch(text)
    if match is None or not is_known(match.group(1)) or not holds_on_a_mac(_marker(text), python):
        return None
    spec = (match.group(2) or match.group(3) or "").strip().rstrip(",\"'").strip()
    return Requirement(canonical(match.group(1)), spec, source) if admitting(spec) is not None else None


def requirements(lines: object, source: str, python: str = ASSUMED_PYTHON) -> Iterator[Requirement]:
    """Yield the requirements that lines write; none of what is no list of lines."""
    for line in lines if isinstance(lines, (list, Iterator)) else ():
        found = requirement(str(line), source, python)
        if found is not None:
            yield found


def _from_address(text: str, source: str, python: str) -> Requirement | None:
    """Return the requirement of an address: a wheel or a tag says the version, a commit doesn't, a branch is some newer state than
    the last release."""
    named = re.match(r"([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*@(?:\s|\S*://)", text)
    address = re.sub(r"%2[Bb]", "+", text)
    found = _WHEEL.search(address) or _ARCHIVE.search(address)
    commit = _COMMIT.search(address) if found is None else None
    unnamed = found.group(1) if found is not None else (commit.group(1) or commit.group(2)) if commit is not None else ""
    name = named.group(1) if named is not None else unnamed
    if not is_known(name) or not holds_on_a_mac(_marker(text.split("://")[-1]), python):
        return None
    spec = f"=={found.group(2)}" if found is not None else ""
    is_branch = not spec and commit is None and _BRANCH.search(address) is not None
    return Requirement(canonical(name), spec, source, commit=commit.group(3)[:7] if commit is not None else "", is_branch=is_branch)


def _marker(text: str) -> str:
    match = _MARKER.search(text)
    return match.group(1).strip() if match is not None else ""


def holds_on_a_mac(marker: str, python: str = ASSUMED_PYTHON) -> bool:
    """Return whether an environment marker (`sys_platform == "darwin"`) holds on Apple silicon; what can't be read holds."""
    if not marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    full = python if python.count(".") > 1 else f"{python}.0"
    environment = {
        "sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64", "os_name": "posix", "extra": "",
        "implementation_name": "cpython", "platform_python_implementation": "CPython", "implementation_version": full,
        "python_version": ".".join(python.split(".")[:2]), "python_full_version": full, "platform_release": "", "platform_version": "",
    }  # fmt: skip
    try:
        return "extra" in marker or Marker(marker).evaluate(environment)
    except (InvalidMarker, UndefinedEnvironmentName, ValueError):
        return True

"""Which releases a version specifier admits: as pip, Poetry and conda write one.

`packaging` reads the first kind too, but loading it takes as long as checking a script. It also keeps builds and pre-releases apart, which
the tables of releases don't hold: `2.1.0+cu118` is 2.1.0 here, and `< 5.0.0.dev0` is `< 5`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mpslint.core.versions import COMPARE, Version

Admits = Callable[[Version], bool]

_CLAUSE = re.compile(
    r"\s*(===|==|!=|>=|<=|~=|=|>|<)?\s*v?(\d{1,18}(?:\.\d{1,18}){0,9})(\.\*|\*)?"
    r"((?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview|dev)[-_.]?\d*)*)((?:[-_.]?post\d*)?(?:\+[\w.]*)?)\s*",
    re.IGNORECASE,
)
_EXACT = re.compile(r"\s*={1,3}\s*v?(\d[\w.+!-]{0,60})\s*$")
_POETRY = re.compile(r"(\^|~(?!=))\s*v?(\d{1,18}(?:\.\d{1,18}){0,9})([\w.+-]*)")
_BARE = re.compile(r"(?<![\w.*+<>=!~^])(?<![<>=!~^]\s)v?\d[\w.*+-]*")
_ANY = ("", "*", "latest", "any")


def admitting(spec: str) -> Admits | None:
    """Return what says whether a specifier admits a release (`>=2.1,<2.5`, alternatives between `|`); None for a text that is none."""
    alternatives = [_conjunction(part) for part in re.split(r"\|\|?", spec)]
    known = [one for one in alternatives if one is not None]
    if len(known) < len(alternatives):
        return None
    return known[0] if len(known) == 1 else lambda release: any(admits(release) for admits in known)


def _conjunction(spec: str) -> Admits | None:
    if spec.strip() in _ANY:
        return lambda release: True
    clauses = [_clause(part) for part in spec.split(",") if part.strip()]
    known = [one for one in clauses if one is not None]
    return (lambda release: all(admits(release) for admits in known)) if len(known) == len(clauses) else None


def _clause(text: str) -> Admits | None:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        return None
    sign, number, star, before, _ = match.groups()
    parts = tuple(int(part) for part in number.split("."))
    bound = shortened(parts)
    if star:
        return _begins_with(parts, is_not=sign == "!=") if sign in ("==", "!=", "=", None) else _compared(sign, bound)
    if before:  # a bound between two releases: `<= 5.0rc1` is `< 5`, and no release is equal to it
        sign = {"<=": "<", ">": ">=", "==": "none", "===": "none", "=": "none", None: "none", "!=": "all"}.get(sign, sign)
    if sign == "~=":
        compatible = _begins_with(parts[:-1] or parts)
        return lambda release: shortened(release) >= bound and compatible(release)
    return _compared(sign, bound)


def _compared(sign: str | None, bound: Version) -> Admits:
    if sign in ("all", "none"):
        return lambda release: sign == "all"
    holds = COMPARE.get(sign or "") or COMPARE["=="]
    return lambda release: holds(shortened(release), bound)


def _begins_with(parts: Version, is_not: bool = False) -> Admits:
    return lambda release: ((release + (0,) * len(parts))[: len(parts)] == parts) is not is_not


def shortened(version: Version) -> Version:
    """Return a version without zeros at its end, as which 2.1 and 2.1.0 are the same."""
    while version and not version[-1]:
        version = version[:-1]
    return version


def exact_version(spec: str) -> str | None:
    """Return the one version that a specifier names, a build or pre-release of it too; None where it names none or more than one."""
    match = _EXACT.match(spec)
    return match.group(1) if match is not None and not match.group(1).endswith("*") else None


def from_poetry(spec: str) -> str:
    """Return a constraint of Poetry's as pip writes it: `^2.1` is `>=2.1,<3`, `~2.1` is `>=2.1,<2.2`, a bare `2.1` is `==2.1`."""
    spec = _POETRY.sub(lambda match: f">={match.group(2)}{match.group(3)},<{_next(match.group(1), match.group(2))}", spec)
    return re.sub(r"(?<=[\w*])\s+(?=[<>=!~])", ",", _BARE.sub(lambda match: f"=={match.group()}", spec))  # Poetry also takes blanks


def _next(sign: str, number: str) -> str:
    """Return the first version that a caret or tilde no longer admits."""
    parts = [int(part) for part in number.split(".")]
    first_that_counts = next((index for index, part in enumerate(parts) if part), len(parts) - 1)
    position = min(1, len(parts) - 1) if sign == "~" else first_that_counts
    return ".".join(map(str, [*parts[:position], parts[position] + 1]))


def from_conda(spec: str) -> str:
    """Return a version of conda's as pip writes it: `=2.1` and `2.1.*` are `==2.1.*`, a build after it is left out."""
    spec = spec.strip()
    single = re.fullmatch(r"=?\s*([\d.]+)(\.?\*)?(\s*=\s*\S+|\s+\w\S*)?", spec)
    if single is not None and (spec.startswith("=") or single.group(2)) and not (spec.startswith("==") or single.group(3)):
        return f"=={single.group(1).rstrip('.')}.*"
    if single is not None and not spec.startswith("=="):  # `2.1.0`, and with a build, which is of one version: `2.1.0=py3.10_0`
        return f"=={single.group(1)}"
    exact = re.fullmatch(r"==\s*([\w.+]+?)(?:\s*=\s*\S+|\s+\S+)?", spec)
    return f"=={exact.group(1)}" if exact is not None else re.sub(r"(?<=\d)\s*=[\w.*]+\s*$", "", spec)

"""Versions, and the ranges of them that rules speak about: `torch >= 2.8, accelerate < 1.11`.

Numbers are compared on as many parts as the range writes: 2.13.1 is `<= 2.13`, is `== 2.13` and is not `> 2.13`.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from mpslint.core.finding import RuleError
from mpslint.core.grouped import grouped
from mpslint.core.record import record

Version = tuple[int, ...]
Said = tuple[str, str, str]
"""What a report says of a package or of the Mac: its name, its version in words, and where that was read."""

MOST_CORNERS = 20_000
"""Combinations of versions that two rules are compared in: a stranger's rule may name many packages."""
_RELEASE = re.compile(r"\s*v?(\d{1,18}(?:\.\d{1,18}){0,9})(?!\.?\d)")
"""Bounded, as a stranger may write a million digits."""
_TERM = re.compile(r"\s*([A-Za-z][\w.-]*)\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")
COMPARE: dict[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def parse_version(text: str) -> Version | None:
    """Return the release numbers at the start of `text` (`2.13.0+cpu` is (2, 13, 0)), or None when there are none."""
    match = _RELEASE.match(text)
    return tuple(map(int, match.group(1).split("."))) if match else None


def format_version(version: Version) -> str:
    """Return `2.13.0` for (2, 13, 0)."""
    return ".".join(map(str, version))


@record(frozen=True, slots=True)
class VersionRange:
    """A conjunction of comparisons such as `torch >= 2.8, accelerate < 1.11`; no comparison matches everything."""

    terms: tuple[tuple[str, str, Version], ...] = ()

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Return the range that `text` writes. Raises RuleError, naming the part that is wrong."""
        terms = []
        for part in filter(str.strip, text.split(",")):
            match = _TERM.fullmatch(part)
            if match is None:
                raise RuleError(f"bad version range {part.strip()!r}: write it as 'torch >= 2.8, accelerate < 1.11'")
            package, compare, number = match.groups()
            terms.append((package.lower(), compare, tuple(int(n) for n in number.split("."))))
        return cls(tuple(terms))

    def matches(self, versions: Mapping[str, Version]) -> bool:
        """Return whether every comparison holds; a package without a version never matches."""
        return all(
            package in versions and COMPARE[compare]((versions[package] + (0,) * len(number))[: len(number)], number)
            for package, compare, number in self.terms
        )

    @property
    def packages(self) -> tuple[str, ...]:
        """Return the packages that the range compares, in the order written."""
        return tuple(dict.fromkeys(package for package, _, _ in self.terms))

    @property
    def least(self) -> dict[str, Version]:
        """Return the lowest versions of the range, for the packages that it bounds from below."""
        return {package: number for package, compare, number in self.terms if compare in (">=", "==")}

    def __str__(self) -> str:
        return ", ".join(f"{package} {compare} {format_version(number)}" for package, compare, number in self.terms)


def corners(ranges: Iterable[VersionRange]) -> Iterator[dict[str, Version]]:
    """Yield combinations of versions that tell ranges apart, up to MOST_CORNERS: each bound, and its neighbour on the other side."""
    values: dict[str, set[Version]] = {}
    for package, compare, bound in (term for one in ranges for term in one.terms):
        *head, last = bound
        below = (*head, last - 1, 99) if last else (*head[:-1], max(head[-1] - 1, 0), 99) if head else (0,)
        beside = {below} if compare in ("<", ">=") else {(*head, last + 1)} if compare in ("<=", ">") else {below, (*head, last + 1)}
        values.setdefault(package, set()).update(beside, {bound})
    combined = itertools.product(*(sorted(found) for found in values.values()))
    return (dict(zip(values, chosen, strict=True)) for chosen in itertools.islice(combined, MOST_CORNERS))


def in_words(said: Iterable[Said]) -> str:
    """Return versions on one line, grouped by where they were read."""
    groups = grouped((source, words) for _, words, source in said)
    return "; ".join(f"{', '.join(words)} ({source})" for source, words in groups.items())

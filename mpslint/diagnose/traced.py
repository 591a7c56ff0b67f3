"""The versions that a traceback gives away: the lines at which some functions of a package call on differ from release to release."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version, parse_version
from mpslint.diagnose.frames import frames_above
from mpslint.diagnose.log import Log


@record(frozen=True, slots=True)
class TracedLine:
    """A line at which tracebacks stand: the end of its file's path, its function, and its number by release."""

    path: str
    function: str
    numbers: Mapping[Version, int]

    @property
    def package(self) -> str:
        """The package that it lies in."""
        return self.path.partition("/")[0]


def versions_traced(log: Log, offset: int) -> dict[str, Version]:
    """Return the minor version of each package of which all known lines in the traceback that ends at `offset` are those of one."""
    fitting: dict[str, set[Version]] = {}
    for frame in frames_above(log, offset):
        for line in _lines():
            if frame.function == line.function and frame.path.endswith(f"/{line.path}"):
                found = {version[:2] for version, number in line.numbers.items() if number == frame.line}
                fitting[line.package] = fitting.get(line.package, found) & found
    return {package: next(iter(found)) for package, found in fitting.items() if len(found) == 1}


@functools.lru_cache(maxsize=1)
def _lines() -> tuple[TracedLine, ...]:
    found = []
    for place, row in platform_data("traced_lines").items():
        path, _, function = place.partition(":")
        numbers = ((parse_version(str(release)), number) for release, number in row["lines"].items())
        found.append(TracedLine(path, function, {version: number for version, number in numbers if version is not None}))
    return tuple(found)

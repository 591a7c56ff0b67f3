"""How far the knowledge reaches: its date, the newest versions that it covers, and how much of it there is."""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.core.knowledge import knowledge_files, platform_data, read_yaml, rule_files
from mpslint.core.versions import format_version
from mpslint.target.packages import newest_versions


def reach() -> Iterator[tuple[str, str]]:
    """Yield what a person asks about the knowledge, and the answer."""
    operators = platform_data("operators")
    yield "knowledge of", str(platform_data("versions")["date"])
    yield "rules", str(sum(1 for _ in rule_files()))
    yield "operators", str(len({name for key in ("first", "never") for name in _names(operators.get(key, ()))}))
    yield "messages", str(sum(len(read_yaml(path)) for path in knowledge_files("messages")))
    for name, version in newest_versions().items():
        yield f"newest {name}", format_version(version)


def _names(entry: object) -> Iterator[str]:
    """Yield the names in a list, or in the lists of a mapping."""
    if isinstance(entry, dict):
        for part in entry.values():
            yield from _names(part)
    elif isinstance(entry, list):
        yield from map(str, entry)

"""A change that came with a patch release isn't said of the minor release, whose first patch lacks it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from mpslint.core.knowledge import parse_yaml_file, rules_folder

# As in "transformers/masking_utils.py, 4.53.1 to 5.24 (find_packed_sequence_indices), absent in 4.53.0".
FIRST_PATCH = re.compile(r"\b(?P<minor>\d+\.\d+)\.[1-9]\d*\b[^;]*\babsent in (?P=minor)\.\d")


def entries() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each rule and each message by its id."""
    for file in sorted(rules_folder().glob("*/*.yaml")):
        if file.name.startswith("MPS") or file.parent.name == "messages":
            read = parse_yaml_file(file)
            yield from ((entry["id"], entry) for entry in (read if isinstance(read, list) else [read]) if "id" in entry)


def patched(entry: Mapping[str, Any]) -> set[str]:
    """Return the minor releases of which, as the entry's sources say, a later patch brought something."""
    return {found["minor"] for source in entry.get("sources", ()) for found in FIRST_PATCH.finditer(source)}


@pytest.mark.parametrize("entry", [pytest.param(entry, id=name) for name, entry in entries() if patched(entry)])
def test_what_a_patch_brought_is_not_said_of_its_minor(entry: Mapping[str, Any]) -> None:
    """Of 1.2.1, with a source "1.2.1 to 1.9 (...), absent in 1.2.0", neither a condition nor a text says 1.2."""
    said = {key: value for key, value in entry.items() if key not in ("examples", "texts", "sources")}
    assert [minor for minor in patched(entry) if re.search(rf"(?<![\d.]){re.escape(minor)}(?!\.?\d)", str(said))] == []

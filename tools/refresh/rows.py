"""Edits of the hand-kept tables, line by line: a bound is replaced or a row added, and everything else stays as it was written."""

from __future__ import annotations

import re


def with_bound(text: str, owner: str, name: str, old: str, new: str) -> str | None:
    """Return the text with another `exists` in the row of a name below its owner; None where the row can't be edited by a program."""
    block = _block(text, owner)
    if block is None:
        return None
    row = re.compile(rf"^  {re.escape(name)}: *(?:&\w+ *)?\{{?\s*exists: \"({re.escape(old)})\"", re.MULTILINE)
    found = row.search(text, *block)
    return None if found is None else f"{text[: found.start(1)]}{new}{text[found.end(1) :]}"


def with_row(text: str, owner: str, name: str, exists: str) -> str:
    """Return the text with one more row at the end of the rows of an owner, which must be there."""
    block = _block(text, owner)
    if block is None:
        raise ValueError(f"{owner} is not in the table")
    end = len(text[: block[1]].rstrip("\n"))
    return f'{text[:end]}\n  {name}: {{exists: "{exists}"}}{text[end:]}'


def _block(text: str, owner: str) -> tuple[int, int] | None:
    """Return where the rows of an owner start and end."""
    head = re.compile(rf"^{re.escape(owner)}:[^\n]*\n", re.MULTILINE).search(text)
    if head is None:
        return None
    after = re.compile(r"^\S", re.MULTILINE).search(text, head.end())
    return head.end(), after.start() if after is not None else len(text)

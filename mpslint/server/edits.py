"""New bytes of a file or notebook as edits of the texts that an editor holds: only what differs."""

from __future__ import annotations

import difflib
import itertools
import operator
from collections.abc import Sequence

from lsprotocol import types

from mpslint.server.part import TextPart, lines_of
from mpslint.server.snapshot import Snapshot


def workspace_edit(snapshot: Snapshot, data: bytes, with_versions: bool) -> types.WorkspaceEdit:
    """Return the edit that gives a snapshot other bytes; with versions, an editor refuses it for a text that has changed meanwhile."""
    changed = [
        (part, edits_between(part, new)) for part, new in zip(snapshot.parts, snapshot.texts_of(data), strict=True) if new != part.text
    ]
    if not with_versions:
        return types.WorkspaceEdit(changes={part.uri: edits for part, edits in changed})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(part.uri, part.version), edits) for part, edits in changed
        ]
    )


def edits_between(part: TextPart, new: str) -> list[types.TextEdit]:
    """Return the edits that make a text another one, in order."""
    before, after = lines_of(part.text), lines_of(new)
    first = _alike(before, after)
    last = _alike(before[first:][::-1], after[first:][::-1])
    before_middle, after_middle = before[first : len(before) - last], after[first : len(after) - last]
    starts = list(itertools.accumulate(map(len, before_middle), initial=sum(map(len, before[:first]))))
    changes = difflib.SequenceMatcher(None, before_middle, after_middle, autojunk=False).get_opcodes()
    return [
        _edit(part, starts[i], "".join(before_middle[i:j]), "".join(after_middle[k:m])) for tag, i, j, k, m in changes if tag != "equal"
    ]


def _edit(part: TextPart, start: int, old: str, new: str) -> types.TextEdit:
    """Return the edit of some lines, without what they begin and end with in common; the two halves of a line end stay together."""
    head = _alike(old, new)
    head -= old[:head].endswith("\r")
    tail = _alike(old[head:][::-1], new[head:][::-1])
    tail -= old[len(old) - tail :].startswith("\n") and "\r" in (old[head : len(old) - tail][-1:], new[head : len(new) - tail][-1:])
    return types.TextEdit(part.range(start + head, start + len(old) - tail), new[head : len(new) - tail])


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many items, or characters, two sequences begin with in common."""
    return sum(itertools.takewhile(bool, map(operator.eq, one, other)))

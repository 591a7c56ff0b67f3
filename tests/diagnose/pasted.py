"""The texts that people pasted, which the catalogue's messages name in `texts:`."""

from __future__ import annotations

from dataclasses import dataclass

from mpslint.core.knowledge import knowledge_files, read_yaml
from mpslint.diagnose.catalogue import Message, catalogue


@dataclass(frozen=True)
class SeenText:
    """A text as somebody saw it, where it was seen, and the verdict that its numbers must give."""

    text: str
    source: str
    verdict: str


def pasted() -> list[tuple[Message, SeenText]]:
    """Return each text with its message."""
    known = catalogue().messages
    entries = [entry for path in knowledge_files("messages") for entry in read_yaml(path) if "id" in entry]
    texts = [(known[entry["id"]], one) for entry in entries for one in entry["texts"]]
    return [(message, SeenText(one["text"].strip(), one["source"], one.get("verdict", ""))) for message, one in texts]

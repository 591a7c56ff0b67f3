"""Programs, walked as the Mac would run them."""

from __future__ import annotations

from mpslint.facts.events import TensorEvent
from mpslint.settings.evidence import gather_evidence
from mpslint.source.reader import read
from mpslint.target.target import default_target


def events_of(code: str) -> list[TensorEvent]:
    """Return the events of a program."""
    document = read("train.py", code.encode())
    return gather_evidence(document, document.python, default_target(), True).facts.events

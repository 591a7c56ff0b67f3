"""Programs, walked as the Mac would run them."""

from __future__ import annotations

from mpslint.facts.events import TensorEvent
from mpslint.facts.facts import Facts
from mpslint.facts.values import Value
from mpslint.settings.evidence import gather_evidence
from mpslint.source.reader import read
from mpslint.target.target import default_target


def facts_of(code: str) -> Facts:
    """Return what is seen of a program."""
    document = read("train.py", code.encode())
    return gather_evidence(document, document.python, default_target(), True).facts


def events_of(code: str) -> list[TensorEvent]:
    """Return the events of a program, without what layers are given that needs no gradient: sound programs give that, too."""
    return [event for event in facts_of(code).events if event.kind != "frozen"]


def names_of(code: str) -> dict[str, Value]:
    """Return what a program's names are at its end."""
    return dict(facts_of(code).frames[0].slots)

"""Commands of shell scripts that start a training through a program that macOS lacks: `taskset -c 0-3 python train.py`.

A check because it parts a command from the command that is its argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.config.shell import may_train
from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Known
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first word of each such command; option `trains`: what the words that it starts hold where they train."""
    missing, trains = platform_data("shell")["starters"], re.compile(options["trains"])
    for command in evidence.facts.commands:
        words = [str(one.value.value) if isinstance(one.value, Known) else "" for one in command.given]
        if not words or words[0] not in missing or _is_provided(words[0], command.given[-1].span.end, evidence.document.text):
            continue
        first = next((index for index, word in enumerate(words) if may_train(word)), None)
        if first is not None and any(trains.search(word) for word in words[first:]):
            start = command.given[0].span.start
            started = " ".join(word for word in words[first : first + 2] if word)
            yield Match(Span(start, command.given[0].span.end), {"written": words[0], "started": started})


def _is_provided(word: str, end: int, text: str) -> bool:
    """Return whether a script defines such a command itself, or has another one for where it fails (`taskset ... || python train.py`)."""
    own = rf"^[ \t]*(?:function[ \t]+{word}\b|{word}[ \t]*\(\)|alias[ \t]+{word}=)"
    return re.search(own, text, re.MULTILINE) is not None or re.compile(r"[ \t]*(?:\\\r?\n[ \t]*)?\|\|").match(text, end) is not None

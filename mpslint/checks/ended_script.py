"""Shell scripts that `set -e` ends at a command that macOS lacks, before they start the training: `nvidia-smi`, `apt-get install`.

A check because it compares a command with the lines of the script that come after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.config.shell import SHELLS, may_train
from mpslint.core.finding import Span
from mpslint.facts.values import Known
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the command that ends a script.

    Options: `trains`, what a line below it that starts a training holds; `scripts`, what the name of a shell script that does so holds.
    """
    for name in (one.given[0] for one in evidence.facts.commands if one.ends and one.given):
        later = (line for line in evidence.document.text[name.span.end :].splitlines() if re.search(options["trains"], line))
        started = next((words for line in later if (words := line.split()) and _starts(words, options["scripts"])), None)
        if started and isinstance(name.value, Known):
            yield Match(Span(name.span.start, name.span.end), {"written": name.value.value, "started": " ".join(started[:2])})


def _starts(words: Sequence[str], scripts: str) -> bool:
    """Return whether a line starts Python, a launcher of it, or a shell script of such a name."""
    script = words[1] if words[0] in SHELLS and len(words) > 1 else words[0]
    return may_train(words[0]) or (script.endswith(".sh") and re.search(scripts, script.rpartition("/")[2]) is not None)

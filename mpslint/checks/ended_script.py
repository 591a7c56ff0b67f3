"""Shell scripts that `set -e` ends at a command that macOS lacks, before they start the training: `nvidia-smi`, `apt-get install`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.config.shell import STARTERS
from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.facts.facts import Command
from mpslint.facts.values import Known
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

STOPS = re.compile(r"-\w*e\w*|errexit")
"""What turns on `set -e`."""
BEFORE = re.compile(r"^[ \t]*(?:sudo[ \t]+(?:-\w+[ \t]+)*)?$")
AFTER = re.compile(r"[ \t]*(?:[\d&]*>+[ \t]*[&\w./\"-]*[ \t]*)*;?[ \t]*(?:#.*)?$", re.MULTILINE)
"""The rest of the line of a command that nothing else is joined to: `> gpu.log 2>&1`."""

GATE = Gate(words=("set -e", "set -o", "set -u", "set -x"))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the last command that a Mac gets to, where it fails; option `trains`: what a line that starts a training holds."""
    commands, text = evidence.facts.commands, evidence.document.text
    if not commands or not any(_words(one)[:1] == ["set"] and any(map(STOPS.fullmatch, _words(one)[1:])) for one in commands):
        return
    last = commands[-1]
    name, start, end = "".join(_words(last)[:1]), last.span.start, last.given[-1].span.end if last.given else last.span.end
    line = text.rfind("\n", 0, start) + 1
    if name not in platform_data("shell")["missing"] or not BEFORE.match(text[line:start]) or not AFTER.match(text, end):
        return
    later = (one for one in text[end:].splitlines() if re.search(options["trains"], one))
    started = next((words for one in later if (words := one.split()) and STARTERS.fullmatch(words[0])), None)
    if started:
        yield Match(Span(start, last.given[0].span.end), {"written": name, "started": " ".join(started[:2])})


def _words(command: Command) -> list[str]:
    return [str(one.value.value) if isinstance(one.value, Known) else "" for one in command.given]

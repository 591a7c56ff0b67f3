"""Install commands of a notebook that pip cannot carry out on a Mac, and then installs nothing of the whole line.

A check because pip's own syntax is read in the text of shell lines, of which no fact is kept.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.versions import VersionRange, parse_version
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Document

INSTALL = re.compile(r"(?m)^[ \t]*(?:[!%][ \t]*)?(?:python3? -m |uv )?pip3? (?:-[\w-]+ )*install (?:\\\r?\n|[^\n])*")
"""An install command with the lines it goes on in."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield what stops each install command, once for the same reason.

    Options: `requirements`, packages by name with what is wrong, with `versions` where that holds for these only, and with `by_dependency`
    where another package that they bring stops pip; `marks`, patterns.
    """
    document = evidence.document
    for snippet in document.snippets:
        if not _is_sure(document, snippet.span.start):
            continue
        for command in INSTALL.finditer(snippet.text):
            offset = snippet.span.start + command.start()
            for what, stops in itertools.groupby(_stops(command.group(), options), key=lambda stop: stop[2]):
                spans = [Span(offset + start, offset + end) for start, end, _ in stops]
                written = "`, `".join(document.text[span.start : span.end] for span in spans)
                yield Match(spans[0], {"written": written, "what": what})


def _is_sure(document: Document, start: int) -> bool:
    """Return whether a shell line stands at the left margin, under no condition."""
    line = document.line_at(start)
    return not document.text[document.line_starts[line - 1] : start].strip("!% \t") and document.line_text(line)[:1] not in (" ", "\t")


def _stops(command: str, options: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
    """Yield where a command asks for what pip cannot install, and why that is."""
    for mark in options["marks"]:
        for found in re.finditer(mark["pattern"], command):
            yield found.start(), found.end(), mark["what"]
    for row in options["requirements"]:
        if row.get("by_dependency") and "--no-deps" in command:
            continue
        name = re.sub(r"[-_.]", "[-_.]", row["name"])
        for found in re.finditer(rf"(?<![\w./=@+-]){name}(?:\[[\w,-]*\])?(?:==([\d.]+))?(?![\w./-]|\s*;\s*(?:sys_|platform))", command):
            version = parse_version(found.group(1) or "")
            if "versions" not in row or (version and VersionRange.parse(row["versions"]).matches({row["name"]: version})):
                yield found.start(), found.end(), row["what"]

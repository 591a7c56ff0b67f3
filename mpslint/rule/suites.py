"""Files that are not meant to train on a Mac, such as a test suite: `suites` of `rules/platform/elsewhere.yaml`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.source.document import Document, Kind


@record(frozen=True)
class Suite:
    """Why a file, or the job that it starts, doesn't train on a Mac, and the place that tells so."""

    span: Span
    says: str
    """What a report says of it; '' for nothing."""
    is_judged: bool
    """Whether rules are asked about the file all the same: only what it starts runs elsewhere."""


def is_suite(document: Document) -> bool:
    """Return whether a file is none that trains on a Mac, such as a test suite."""
    return (suite := suite_of(document)) is not None and not suite.is_judged


def suite_of(document: Document) -> Suite | None:
    """Return what tells that a file doesn't train on a Mac, by `suites` of `rules/platform/elsewhere.yaml`; None for nothing."""
    kind = {Kind.PYTHON: "", Kind.NOTEBOOK: "notebooks"}.get(document.kind, "configs")
    path, text = document.path.replace("\\", "/"), document.text
    for suite in platform_data("elsewhere")["suites"]:
        if kind and not suite.get(kind, False):
            continue
        if "words" in suite and not any(word in text for word in suite["words"]):
            continue
        if "path" in suite and re.search(suite["path"], path) is None:
            continue
        found = re.search(suite.get("text", ""), text, re.MULTILINE)
        if found is None or ("uncalled" in suite and not _are_uncalled(re.findall(suite["uncalled"], text, re.MULTILINE), text)):
            continue
        return Suite(Span(*found.span()), suite.get("says", ""), suite.get("judged", False))
    return None


def _are_uncalled(functions: Sequence[str], text: str) -> bool:
    """Return whether there are functions of these names, and none of them is named where it is not defined."""
    return bool(functions) and not any(re.search(rf"(?<!def )\b{name}\b", text) for name in functions)

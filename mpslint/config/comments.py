"""Files that are not Python -> where their comments stand, as whoever reads such a file would say: each format by its own rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from mpslint.config.dockerfile import dockerfile_comments
from mpslint.config.makefile import makefile_comments
from mpslint.config.services import workflow_steps
from mpslint.config.shell_comments import shell_comments
from mpslint.config.yaml_source import yaml_comments
from mpslint.core.finding import Span
from mpslint.source.document import Kind

_ENV_VALUE = r"[ \t]*'(?:\\.|[^'\\])*'|[ \t]*\"(?:\\.|[^\"\\])*\"|(?![ \t]*['\"#])"
_ENV_LINE = re.compile(
    rf"^[ \t]*(?:(?:export[ \t]+)?[\w.-]+[ \t]*=(?:{_ENV_VALUE})(?:[^\r\n#]|(?<!\s)#)*)?(?:(?<!\S)(?P<comment>#[^\r\n]*))?",
    re.MULTILINE | re.DOTALL,
)
"""A line of a `.env` file; a value in quotes may hold several."""


def comments_in(text: str, kind: Kind) -> list[Span]:
    """Return the place of every comment of a text, in order; what may be a value, a string or a script's text is none."""
    return list(_READERS[kind](text))


def _env_comments(text: str) -> Iterator[Span]:
    """Yield those of a `.env` file: lines of their own, and what follows a value and a blank."""
    for line in _ENV_LINE.finditer(text):
        if line["comment"] is not None:
            yield Span(*line.span("comment"))


def _yaml_comments(text: str) -> Iterator[Span]:
    """Yield those of YAML, and those of the scripts that the steps of a workflow are."""
    found = list(yaml_comments(text))
    for step, _ in workflow_steps(text):
        start = text.rfind("\n", 0, step.start) + 1
        script = text[start : step.end]
        if start == step.start:  # a block, not the end of a line
            indent = script[: len(script) - len(script.lstrip(" "))]
            found += [Span(start + span.start, start + span.end) for span in shell_comments(script, indent)]
    yield from sorted(found)


_READERS: dict[Kind, Callable[[str], Iterable[Span]]] = {
    Kind.SHELL: shell_comments,
    Kind.ENV: _env_comments,
    Kind.YAML: _yaml_comments,
    Kind.JSON: yaml_comments,
    Kind.DOCKERFILE: dockerfile_comments,
    Kind.MAKEFILE: makefile_comments,
}

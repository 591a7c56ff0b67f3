"""Text of strangers, shown without obeying it: a terminal, a browser or a CI log must not act on what a file or its name holds."""

from __future__ import annotations

import os
import re

_ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls (but tab and line feed), marks of direction, line and paragraph separators, and letters that nobody sees."""
_COMMAND = re.compile(r"^(\s*):(?=:)", re.MULTILINE)
"""How a line begins that GitHub Actions takes for a command: `::error::`. The older form, `##[error]`, counts anywhere in a line."""


def inert_lines(text: str) -> str:
    """Return a text of several lines with every active character as an escape that shows it: `\\x1b`, `\\u202e`."""
    return text if text.isascii() and text.isprintable() else _ACTIVE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def inert(text: str) -> str:
    """Return a text that stays on one line, with every active character as an escape that shows it."""
    return inert_lines(text).replace("\n", "\\n")


def inert_json(text: str) -> str:
    """Return JSON that means the same, with every active character as JSON's own escape."""
    return _ACTIVE.sub(lambda match: json_escape(match[0]), text)


def json_text(data: object, indent: int | None = 2) -> str:
    """Return data as such JSON; what JSON has no form for, such as a date of YAML, as text."""
    import json

    return inert_json(json.dumps(data, indent=indent, ensure_ascii=False, default=str))


def html_text(text: str) -> str:
    """Return a text as HTML shows it, in an element or in a quoted attribute."""
    from html import escape

    return escape(inert_lines(text))


def json_escape(letter: str) -> str:
    """Return a letter as JSON escapes it: in two halves beyond the first 65,536."""
    return "".join(f"\\u{half:04x}" for half in memoryview(letter.encode("utf-16-le", "surrogatepass")).cast("H"))


def without_commands(text: str) -> str:
    """Return lines none of which GitHub Actions takes for a command."""
    return _COMMAND.sub(r"\1\\x3a", text).replace("##[", "#\\x23[") if "::" in text or "##[" in text else text


def is_in_actions() -> bool:
    """Return whether a runner of GitHub Actions reads what is printed."""
    return os.environ.get("GITHUB_ACTIONS") == "true"

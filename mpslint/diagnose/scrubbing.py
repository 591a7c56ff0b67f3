"""Take out of a text what nobody else should read: secrets, names in paths, addresses.

How these look is in rules/platform/secrets.yaml.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from mpslint.core.knowledge import platform_data

Replacement = str | Callable[[re.Match[str]], str]

_SHORT_NAME = 6
"""A name shorter than this, such as `al`, is taken out only where a path or an assignment holds it alone."""

_LONG_RUN = re.compile(r"[^\s]{600,}|[^\S\n]{600,}")
"""A run of characters that no log of a training needs: it is counted, so that no pattern has to go over it again and again."""


def scrub(text: str, names: tuple[str, ...] = (), home: str = "") -> str:
    """Return the text without secrets, addresses and names of people in paths; `names` and the `home` folder go wherever they stand.

    Scrubbing a scrubbed text changes nothing.
    """
    text = _LONG_RUN.sub(lambda match: f"<{len(match[0])} characters>", text)
    if len(home) > 1:
        text = re.sub(rf"(?<![\w/]){re.escape(home)}(?![\w-])", "~", text)
    for pattern, replacement in _scrubbers():
        text = pattern.sub(replacement, text)
    for name in sorted(filter(None, names), key=len, reverse=True):
        around = r"(?<![\w<]){}(?![\w>])" if len(name) >= _SHORT_NAME else r"(?<=[/\\=@]){}(?=[/\\:\s\"'@]|$)"
        text = re.sub(around.format(re.escape(name)), "<name>", text, flags=re.IGNORECASE)
    return text


@functools.lru_cache(maxsize=1)
def _scrubbers() -> tuple[tuple[re.Pattern[str], Replacement], ...]:
    known = platform_data("secrets")
    prefixes = sorted((re.escape(prefix) for group in known["prefixes"].values() for prefix in group), key=len, reverse=True)
    parts = {**known, **known["parts"], "prefixes": prefixes, "forms": [*known["forms"].values()]}

    def filled(part: str | list[str]) -> str:
        return _NAMED.sub(lambda match: filled(parts[match[1]]), part if isinstance(part, str) else "|".join(part))

    found = ((re.compile(filled(find)), put) for find, *put in known["scrubbed"])
    return tuple((pattern, _put(pattern, *put)) for pattern, put in found)


def _put(pattern: re.Pattern[str], text: str = "") -> Replacement:
    """Return what is written in place of what a pattern finds."""
    if "kept" in pattern.groupindex:
        return lambda match: match["kept"] or text
    if "drawn" in pattern.groupindex:
        return lambda match: match[0] if len(_CHANGES.findall(match[0])) < _OF_WORDS * len(match[0]) else text
    return text or _value_hidden


_NAMED = re.compile(r"\{([a-z_]+)\}")
_CHANGES = re.compile(r"(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[a-z\d])|(?<=\d)(?=[A-Za-z])")
_OF_WORDS = 0.42
"""The share of places at which letters, capitals and digits change, up to which a run is made of words; of what is drawn it's 0.62."""


def _value_hidden(match: re.Match[str]) -> str:
    """Return the name, and the value's quotes with nothing of it between; a value that only names another is left."""
    value = match[0][len(match[1]) :]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match[1]}{quote}<token>{quote}"

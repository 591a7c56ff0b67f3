"""Take out of a text what nobody else should read: secrets, names in paths, addresses.

How these look is in rules/platform/secrets.yaml.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from mpslint.core.knowledge import platform_data

Replacement = str | Callable[[re.Match[str]], str]
Scrubber = tuple[str, Replacement]
"""What is found, and what is written in its place."""

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
    scrubbers = (*_by_form(known), *_by_name(known), *_by_program(known["programs"]), *_of_persons(known), *_of_places(known["places"]))
    return tuple((re.compile(find), put) for find, put in scrubbers)


def _of_places(known: list[tuple[str, str]]) -> Iterator[Scrubber]:
    """Yield what takes out who and where somebody is by its form; what a pattern calls `kept` stays."""
    for find, put in known:
        yield find, functools.partial(_unless_kept, put) if "(?P<kept>" in find else put


def _unless_kept(put: str, match: re.Match[str]) -> str:
    return match["kept"] or put


def _by_form(known: dict[str, Any]) -> tuple[Scrubber, ...]:
    """Return what takes out secrets that show by how they look."""
    prefixes = sorted((re.escape(prefix) for group in known["prefixes"].values() for prefix in group), key=len, reverse=True)
    addresses = "|".join(known["addresses"])
    return (
        (
            r"-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY[^-]{0,10}-----[\s\S]*?(?:-----END[ A-Z0-9_-]{0,60}-----|\Z)",
            "<private key>",
        ),
        (
            r"(?m)(?:^[ \t]*[A-Za-z0-9+/=]{20,}[ \t]*\n)*^.*-----END[ A-Z0-9_-]{0,60}PRIVATE KEY.{0,10}-----",
            "<private key>",
        ),
        (r"\b(ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\S{1,30}) AAAA[A-Za-z0-9+/=]{20,}(?: \S+)?", r"\1 <key>"),
        (rf"(?i)(?:https?://)?(?:{addresses})[^\s\"'<>]*", "<secret address>"),
        (rf"(?<![\w.~-])(?:{'|'.join(known['forms'].values())})(?![\w-])", "<token>"),
        (
            rf"(?<![\w-])(?:{'|'.join(prefixes)})(?:(?=[A-Za-z0-9_.~+/=-]*[0-9A-Z])[A-Za-z0-9_.~+/=-]{{12,}}|[a-z_-]{{20,}})",
            "<token>",
        ),
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,})?", "<token>"),
        (r"(?<![\w:])\d{8,10}:AA[\w-]{30,}", "<token>"),
        (r"(?i)\b(bearer)(\s+)[\w.~+/=-]{8,}", r"\1\2<token>"),
        (r"(?i)\b(basic|digest|negotiate)(\s+)(?=[^\s\"']*[\d=+/])[\w.~+/=-]{8,}", r"\1\2<token>"),
        (r"(?im)^(.*\b(?:set-)?cookie\"?\s*[:=]\s*).*$", r"\1<cookie>"),
        (r"(?i)(\b(?:curl|wget)\b[^\n]{0,300}?\s(?:-u|--user|--proxy-user)[ =]?)(?:\"[^\"\n]*\"|'[^'\n]*'|\S+)", r"\1<user>"),
        (
            r"(?i)(\b(?:machine\s+\S+|default)(?=\s+(?:login|password|account)\s))(?:\s+(?:login|password|account)\s+(?!<)\S+)+",
            r"\1 <user>",
        ),
        (r"(?i)([a-z][a-z0-9+.-]{1,20}://)[^\s/@:]{0,100}(?::[^\s/@]{0,200})?@", r"\1<user>@"),
        (
            r"(?i)(https?://[^\s?\"'<>]+\?)(?!<query>)(?!(?:(?:"
            + _OPEN_QUERY
            + r")(?:&|&amp;|(?=[\s\"'<>)\]#]|$)))+(?:[\s\"'<>)\]#]|$))[^\s\"'<>]*=[^\s\"'<>]*",
            r"\1<query>",
        ),
        (
            _KEPT_HASHES + r"|(?<![\w/-])(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})(?![\w-])",
            functools.partial(_unless_kept, "<token>"),
        ),
        (_MIXED, _unless_words),
    )


_OPEN_QUERY = r"(?:download|library|tab|q|page|per_page|limit|offset|ref|revision|rev|v|version|format|lang|branch|path)=[\w.%+-]{0,24}"
"""A part of an address that opens nothing."""
_KEPT_HASHES = (
    r"(?P<kept>(?i:commit|revision|rev|sha\d{0,3}|md5|hash|digest|checksum|snapshots?|blobs?|tree|git|HEAD|build|etag|run|fingerprint|uuid"
    r"|checked out|from|parent|object|merge|version)"
    r"[ \w]{0,12}[\s:=/@\"'(]{1,4}[0-9a-f]{32,64}"
    r"|@[0-9a-f]{40}(?![0-9a-f])|\b(?:MD5|SHA\d+) ?\([^)\n]{1,200}\) ?= ?[0-9a-f]{32,64}"
    r"|(?m:^)[ \t]*[0-9a-f]{32,64}(?:  | \*|\t)(?=\S)|[0-9a-f]{40}\.{2,3}[0-9a-f]{40})"
)
"""A hash that says what it is of: a version or a file, not a key."""
_MIXED = (
    r"(?<![\w/.+<-])(?!_Z|0x)(?=(?:[A-Za-z+]*\d){3})(?=(?:[A-Za-z\d+]*?[A-Z]){3})(?=(?:[A-Za-z\d+]*?[a-z]){3})"
    r"[A-Za-z0-9+]{32,}(?:/[A-Za-z0-9+]+)*={0,2}(?![\w/.(:-])"
)
"""A long run of letters and digits that is no word: not a mangled symbol of C++ and no part of a path."""


_CHANGES = re.compile(r"(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[a-z\d])|(?<=\d)(?=[A-Za-z])")
_OF_WORDS = 0.42
"""The share of places at which letters, capitals and digits change, up to which a run is made of words; of what is drawn it's 0.62."""


def _unless_words(match: re.Match[str]) -> str:
    return match[0] if len(_CHANGES.findall(match[0])) < _OF_WORDS * len(match[0]) else "<token>"


def _by_name(known: dict[str, Any]) -> tuple[Scrubber, ...]:
    """Return what takes out secrets that show by the name in front of them; a pad_token or max_new_tokens is none."""
    parts, wholes = "|".join(known["names"]), "|".join(known["whole_names"])
    name = rf"(?<![\w-])(?:[\w-]{{0,40}}(?:{parts})(?:[_-][\w-]{{0,20}})?|(?:{wholes}))"
    option = (
        rf"--?(?:(?:[a-z0-9]+[-_]){{0,3}}(?:{parts})|(?:{wholes}|{'|'.join(known['option_names'])}))(?:[-_](?!file|path|env|name|type)\w+)?"
    )
    code = rf"(?:[a-z_]+\.)*(?:{parts}|{wholes})(?![^\s,)])|[a-z_.]+\([a-z_\"', ]*\)"
    nothing = rf"(?!<|(?:None|True|False|null|true|false)\b|{code})"
    schemes = r"(?:token|bot|api-?key|bearer|basic)\s+(?=[^\s<])"
    given = nothing + r"(?:\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'|[^\s\"',;}&(\\][^\s\"',;}&]{2,300})"
    return (
        (rf"(?i)({name}\\?[\"']?\]?\s{{0,3}}(?:=>|:=|[=:])\s{{0,3}}(?:{schemes})?\\?){given}", _value_hidden),
        (rf"(?i)(\b(?:name|key)[:=]\s*[\"']?{name}[\"']?\s+value[:=]\s*){given}", _value_hidden),
        (rf"(?i)(\blogin\([^()\n]{{0,80}}?\bkey=){given}", _value_hidden),
        (rf"(?i)(<({name})>)[^<\n]+(?=</\2>)", r"\1<token>"),
        (rf"(?i)((?:\bsetx|\bset(?:\s-\w+|(?=\s\w+[_-]))|\bsetenv|%env|(?-i:\bENV))\s{name}\s+){given}", _value_hidden),
        (rf"(?i)(\\?[\"']{name}\\?[\"']\s*,\s*){given}", _value_hidden),
        (rf"(?im)((?:^|(?<=[\s\"'\[,])){option}(?:[ =]|\\?[\"'],?\s{{0,3}})\s{{0,3}}){given}", _value_hidden),
        (r"(\b[A-Z][A-Z0-9_]*_(?:KEY|PASS|PWD|PW|SECRET|TOKEN|AUTH|PAT)[\"']?\]?\s{0,2}[=:]\s{0,2})" + given, _value_hidden),
        (r"(?i)((?:\\?[\"']key\\?[\"']\s*:\s*\\?[\"']|(?<!\S)--key[ =]))(?!<)[A-Za-z0-9+/=_-]{16,}", r"\1<token>"),
    )


def _by_program(programs: dict[str, str]) -> Iterator[Scrubber]:
    """Yield what takes out the passwords that some programs take behind a short option."""
    for program, option in programs.items():
        yield rf"(\b(?:{program})\b(?:[^\n]{{0,300}}?\s)?\s?{option})(?![<\s])(?:\"[^\"\n]*\"|'[^'\n]*'|\S+)", r"\1<token>"


def _of_persons(known: dict[str, Any]) -> tuple[Scrubber, ...]:
    """Return what takes out who or where somebody is, by the name in front of it."""
    variables, keys, starts = ("|".join(known[name]) for name in ("variables", "keys", "lines"))
    value = r"(?!<)(?:\"[^\"\n]+\"|'[^'\n]+'|[^\s\"',;]+)"
    return (
        (rf"((?<![\w-])(?:{variables})=){value}", r"\1<name>"),
        (rf"(?i)((?<![\w-])(?:user|username|logname|hostname)=){value}", r"\1<name>"),
        (rf"(?i)(\\?([\"'])(?:{keys})\\?\2\s{{0,3}}[:=]\s{{0,3}}\\?([\"']))(?!<)[^\"'\n\\]{{1,200}}", r"\1<name>"),
        (rf"(?m)^([ \t]*(?:{starts})[ \t]*:[ \t]+)(?!<).+$", r"\1<name>"),
        (rf"(?i)(\b(?:{'|'.join(known['phrases'])})\s+)(?!<)\S+", r"\1<name>"),
        (r"\b((?:uid|gid|groups)=\d+\()[^)\n]+", r"\1<name>"),
        (r"(?<=torchinductor_)(?!<)[^/\s\"']+", "<name>"),
    )


def _value_hidden(match: re.Match[str]) -> str:
    """Return the name, and the value's quotes with nothing of it between; a value that only names another is left."""
    value = match[0][len(match[1]) :]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match[1]}{quote}<token>{quote}"

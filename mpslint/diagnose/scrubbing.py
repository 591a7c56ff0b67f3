"""Take out of a text what nobody else should read: secrets, names in paths, addresses.

How secrets look is in rules/platform/secrets.yaml.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from mpslint.core.knowledge import platform_data

_SHORT_NAME = 6
"""A name shorter than this, such as `al`, is taken out only where a path or an assignment holds it alone."""

_LONG_RUN = re.compile(r"[^\s]{600,}|[^\S\n]{600,}")
"""A run of characters that no log of a training needs: it is counted, so that no pattern has to go over it again and again."""

_Scrubber = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


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
def _scrubbers() -> tuple[_Scrubber, ...]:
    known = platform_data("secrets")
    return (*_by_form(known), *_by_name("|".join(known["names"])), *_WHO_AND_WHERE)


def _by_form(known: dict[str, dict[str, list[str]]]) -> tuple[_Scrubber, ...]:
    """Return what takes out secrets that show by how they look."""
    prefixes = sorted((re.escape(prefix) for group in known["prefixes"].values() for prefix in group), key=len, reverse=True)
    addresses = "|".join(known["addresses"])
    return (
        (
            re.compile(r"-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY[^-]{0,10}-----[\s\S]*?(?:-----END[ A-Z0-9_-]{0,60}-----|\Z)"),
            "<private key>",
        ),
        (
            re.compile(r"(?:^[ \t]*[A-Za-z0-9+/=]{20,}[ \t]*\n)*^.*-----END[ A-Z0-9_-]{0,60}PRIVATE KEY.{0,10}-----", re.MULTILINE),
            "<private key>",
        ),
        (re.compile(r"\b(ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\S{1,30}) AAAA[A-Za-z0-9+/=]{20,}(?: \S+)?"), r"\1 <key>"),
        (re.compile(rf"(?i)(?:https?://)?(?:{addresses})[^\s\"'<>]*"), "<secret address>"),
        (
            re.compile(rf"(?<![\w-])(?:{'|'.join(prefixes)})(?:(?=[A-Za-z0-9_.~+/=-]*[0-9A-Z])[A-Za-z0-9_.~+/=-]{{12,}}|[a-z_-]{{20,}})"),
            "<token>",
        ),
        (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,})?"), "<token>"),
        (re.compile(r"(?<![\w:])\d{8,10}:AA[\w-]{30,}"), "<token>"),
        (re.compile(r"(?i)\b(bearer)(\s+)[\w.~+/=-]{8,}"), r"\1\2<token>"),
        (re.compile(r"(?i)\b(basic|digest|negotiate)(\s+)(?=[^\s\"']*[\d=+/])[\w.~+/=-]{8,}"), r"\1\2<token>"),
        (re.compile(r"(?i)^(.*\b(?:set-)?cookie\"?\s*[:=]\s*).*$", re.MULTILINE), r"\1<cookie>"),
        (
            re.compile(r"(?i)(\b(?:curl|wget)\b[^\n]{0,300}?\s(?:-u|--user|--proxy-user)[ =]?)(?:\"[^\"\n]*\"|'[^'\n]*'|\S+)"),
            r"\1<user>",
        ),
        (re.compile(r"(?i)(\bmachine\s+\S+\s+login\s+)\S+(\s+password\s+)\S+"), r"\1<user>\2<token>"),
        (re.compile(r"(?i)([a-z][a-z0-9+.-]{1,20}://)[^\s/@:]{0,100}(?::[^\s/@]{0,200})?@"), r"\1<user>@"),
        (re.compile(r"(?i)(https?://[^\s?\"'<>]+\?)(?!<query>)[^\s\"'<>]*=[^\s\"'<>]*"), r"\1<query>"),
        (re.compile(_KEPT_HASHES + r"|(?<![\w/-])(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})(?![\w-])"), _unless_kept),
        (re.compile(_MIXED), "<token>"),
    )


_KEPT_HASHES = (
    r"(?P<kept>(?i:commit|revision|rev|sha\d{0,3}|md5|hash|digest|checksum|snapshots?|blobs?|tree|git|HEAD|build)"
    r"[ \w]{0,12}[\s:=/@\"'(]{1,4}[0-9a-f]{32,64})"
)
"""A hash that says what it is of: a version, not a key."""
_MIXED = (
    r"(?<![\w/.+<-])(?!_Z|0x)(?=(?:[A-Za-z+]*\d){3})(?=(?:[A-Za-z\d+]*?[A-Z]){3})(?=(?:[A-Za-z\d+]*?[a-z]){3})"
    r"[A-Za-z0-9+]{32,}(?:/[A-Za-z0-9+]+)*={0,2}(?![\w/.(:-])"
)
"""A long run of letters and digits that is no word: not a mangled symbol of C++ and no part of a path."""


def _unless_kept(match: re.Match[str]) -> str:
    return match["kept"] or "<token>"


def _by_name(names: str) -> tuple[_Scrubber, ...]:
    """Return what takes out secrets that show by the name in front of them; a pad_token or max_new_tokens is none."""
    name = rf"[\w-]{{0,40}}(?:{names})(?:[_-][\w-]{{0,20}})?"
    given = r"(?!<|(?:None|True|False|null|true|false)\b)(?:\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'|[^\s\"',;}&\\][^\s\"',;}&]{2,300})"
    words = r"(?=[^\s]*[\d\W_])[^\s\"',;}]{4,200}|\"[^\"\n]{3,200}\"|'[^'\n]{3,200}'"
    return (
        (re.compile(rf"(?i)((?<![\w-]){name}\\?[\"']?\s{{0,3}}(?:=>|:=|[=:])\s{{0,3}}){given}"), _value_hidden),
        (re.compile(rf"(?i)(\\?[\"']{name}\\?[\"']\s*,\s*){given}"), _value_hidden),
        (re.compile(rf"(?i)((?:^|\s)--?(?:{names}|pass|passwd)(?:-\w+)?[ =]+)(?!<)(?:{words}|\S{{3,200}})", re.MULTILINE), r"\1<token>"),
        (re.compile(r"(\b[A-Z][A-Z0-9_]*_(?:KEY|PASS|PWD|PW|SECRET|TOKEN|AUTH)[\"']?\s{0,2}[=:]\s{0,2})" + given), _value_hidden),
        (re.compile(r"(?i)(\\?[\"']key\\?[\"']\s*:\s*\\?[\"'])(?!<)[A-Za-z0-9+/=_-]{16,}"), r"\1<token>"),
    )


def _value_hidden(match: re.Match[str]) -> str:
    """Return the name, and the value's quotes with nothing of it between; a value that only names another is left."""
    value = match[0][len(match[1]) :]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match[1]}{quote}<token>{quote}"


_HOMES = r"(?:/(?:[\w.-]+/){0,3}home\d*|/Users|/var/folders/home)/(?!Shared\b|runner\b)"
_WHO_AND_WHERE: tuple[_Scrubber, ...] = (
    (re.compile(rf"{_HOMES}(?:[^/\n:\"'`<>|]{{1,64}}(?=/)|[^/\s:\"'`<>|]{{1,64}})"), "~"),
    (
        re.compile(r"(?i)(?:\b[A-Z]:|/[a-z])[\\/]{1,2}Users[\\/]{1,2}(?!Public\b)(?:[^\\/\n:\"'<>|]{1,64}(?=[\\/])|[^\\/\s:\"'<>|]{1,64})"),
        "~",
    ),
    (re.compile(r"(?<![\w\\:])\\\\{1,3}[\w.-]{1,64}(?=\\)"), r"\\\\<host>"),
    (re.compile(r"/private/var/folders/[\w+]{2}/[\w+]{10,64}|/var/folders/[\w+]{2}/[\w+]{10,64}"), "<temporary>"),
    (re.compile(r"/(?:Volumes|media/[^/\s]+)/(?!<volume>)[^/\n:\"']{1,64}"), "/Volumes/<volume>"),
    (re.compile(r"(?im)^((?:From|To|Cc|Author|Committer|Signed-off-by|Co-authored-by):\s*)[^<\n]*<[^>\n]*>"), r"\1<mail>"),
    (re.compile(r"[\w.+%-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"), "<mail>"),
    (re.compile(r"(?<![\w.])[\w.-]{1,32}@[\w-]{1,64}(?=[\s:]|$)", re.MULTILINE), "<user>@<host>"),
    (
        re.compile(r"(?i)(?<![\w.-])(?:[\w-]+\.)*(?:[a-z0-9]+-[\w-]+\.local|[\w-]+\.(?:internal|intranet|corp|lan|localdomain))(?![\w-])"),
        "<host>",
    ),
    (re.compile(r"(?<![\w.])(?!127\.0\.0\.1\b|0\.0\.0\.0\b)(?:\d{1,3}\.){3}\d{1,3}(?![\w.])"), "<address>"),
    (re.compile(r"(?i)(?<![\w:.])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![\w:])"), "<address>"),
    (re.compile(r"(?i)(?<![\w:.])(?=[0-9a-f:]*\d)(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?:%\w+)?(?![\w:])"), "<address>"),
    (re.compile(r"(?i)(?<![\w:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:-])"), "<address>"),
)

"""Take out of a text what nobody else should read: names in paths, tokens, addresses."""

from __future__ import annotations

import re

_KEPT_IF_SHORT = 6

_SCRUBBERS: tuple[tuple[re.Pattern[str], str], ...] = (
    # Secrets that show by their form.
    (re.compile(r"\b(?:hf|gh[pousr]|glpat|github_pat|pypi|xox[abprs])[-_][A-Za-z0-9_-]{16,}"), "<token>"),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}"), "<token>"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"), "<token>"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"), r"\1 <token>"),
    # Secrets that show by the name in front of them; a pad_token or max_new_tokens is none.
    (
        re.compile(
            r"(?i)([\w-]{0,40}(?:(?:hf|hub|access|auth|api|refresh|secret|github|gh|wandb|session)[_-]?token"
            r"|(?<![\w-])token|api[_-]?key|secret|passw(?:or)?d|credential|authorization)(?:[_-][\w-]{0,20})?[\"']?"
            r"\s{0,3}[=:]\s{0,3}[\"']?)(?!<token>)[^\s\"',;}]{4,200}"
        ),
        r"\1<token>",
    ),
    (re.compile(r"([a-z][a-z0-9+.-]{1,20}://)[^\s/@:]{1,100}(?::[^\s/@]{1,200})?@"), r"\1<user>@"),
    # Who and where.
    (
        re.compile(r"(?:/Users|/home)/(?!Shared\b|runner\b)[^/\s:\"'`<>|]{1,64}|[A-Za-z]:\\Users\\[^\\\s:\"'<>|]{1,64}"),
        "~",
    ),
    (re.compile(r"/private/var/folders/[\w+]{2}/[\w+]{10,64}|/var/folders/[\w+]{2}/[\w+]{10,64}"), "<temporary>"),
    (re.compile(r"/Volumes/[^/\n:\"']{1,64}"), "/Volumes/<volume>"),
    (re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"), "<mail>"),
    (re.compile(r"(?<![\w.])[\w.-]{1,32}@[\w-]{1,64}(?=[\s:])"), "<user>@<host>"),
    (re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])"), "<address>"),
)


def scrub(text: str, names: tuple[str, ...] = ()) -> str:
    """Return the text without tokens, addresses and names of people in paths; `names` go wherever they stand.

    Scrubbing a scrubbed text changes nothing.
    """
    for pattern, replacement in _SCRUBBERS:
        text = pattern.sub(replacement, text)
    for name in names:
        # A short name such as `al` would take parts of words and numbers with it.
        if len(name) >= _KEPT_IF_SHORT:
            text = re.sub(rf"(?<![\w<]){re.escape(name)}(?![\w>])", "<name>", text)
    return text

"""What says who or where somebody is, by its form: paths of homes, mail, names of hosts and addresses."""

from __future__ import annotations

import re
from collections.abc import Callable

Scrubber = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
"""What is found, and what is written in its place."""

_VERSION = (
    r"(?P<kept>(?:Requirement already satisfied[^\n]{1,300}\(|[=<>~!]=|\bversion:?|\b[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+)"
    r"\s*v?\d{1,3}(?:\.\d{1,3}){3})"
)
"""Four numbers that are a version: of a package or of what says so."""
_OF_NOBODY = r"(?:127\.\d+\.\d+\.\d+|0\.0\.0\.0|255\.255\.\d+\.\d+|192\.0\.2\.\d+|198\.51\.100\.\d+|203\.0\.113\.\d+)"
"""Addresses of the machine itself, of masks and of documentation (RFC 5737)."""
_HOMES = r"(?<!:/)(?:/(?:[\w.-]+/){0,3}(?:homes?\d*|users\d*)|/Users|/var/folders/home)/(?!Shared\b|runner\b)"
WHO_AND_WHERE: tuple[Scrubber, ...] = (
    (re.compile(rf"{_HOMES}(?:[^/\n:\"'`<>|]{{1,64}}(?=/)|[^/\s:\"'`<>|]{{1,64}})"), "~"),
    (
        re.compile(
            r"(?i)(?:\b[A-Z]:|/[a-z]|\\\\[\w.<>-]+)[\\/]{1,2}Users[\\/]{1,2}(?!Public\b)(?:[^\\/\n:\"'<>|]{1,64}(?=[\\/])|[^\\/\s:\"'<>|]{1,64})"
        ),
        "~",
    ),
    (re.compile(r"(?<![\w\\:])\\\\{1,3}[\w.-]{1,64}(?=\\)"), r"\\\\<host>"),
    (re.compile(r"/private/var/folders/[\w+]{2}/[\w+]{10,64}|/var/folders/[\w+]{2}/[\w+]{10,64}"), "<temporary>"),
    (re.compile(r"/(?:Volumes|media/[^/\s]+)/(?!<volume>)[^/\n:\"']{1,64}"), "/Volumes/<volume>"),
    (re.compile(r"(?im)^((?:From|To|Cc|Author|Committer|Signed-off-by|Co-authored-by):\s*)[^<\n]*<[^>\n]*>"), r"\1<mail>"),
    (re.compile(r"(?<![\w~/.)\]])~[A-Za-z_][\w.-]*(?=/)"), "~"),
    (re.compile(r"(?i)\bmailto:(?!<)[^\s\"'<>?]+"), "mailto:<mail>"),
    (re.compile(r"(?i)[\w.+%-]{1,64}(?:@|%40)[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"), "<mail>"),
    (re.compile(r"(?<![\w.])[\w.-]{1,32}(?<!\.git)@[\w-]{1,64}(?=[\s:]|$)", re.MULTILINE), "<user>@<host>"),
    (
        re.compile(r"(?i)(?<![\w.-])(?:[\w-]+\.)*(?:[a-z0-9]+-[\w-]+\.local|[\w-]+\.(?:internal|intranet|corp|lan|localdomain))(?![\w-])"),
        "<host>",
    ),
    (
        re.compile(rf"{_VERSION}|(?<![\w.-])(?!{_OF_NOBODY}\b)(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?![\w.-])"),
        lambda match: match["kept"] or "<address>",
    ),
    (re.compile(r"(?i)(?<![\w:.])(?!2001:0?db8:)(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![\w:])"), "<address>"),
    (
        re.compile(r"(?i)(?<![\w:.])(?!2001:0?db8:)(?=[0-9a-f:]*\d)(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?:%\w+)?(?![\w:])"),
        "<address>",
    ),
    (re.compile(r"(?i)(?<![\w:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:-])"), "<address>"),
)

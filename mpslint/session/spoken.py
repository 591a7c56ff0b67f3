"""Which packages a file speaks of, so that their versions are said of it: those that it uses, not folders and words of the same name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpslint.core.knowledge import platform_data
from mpslint.project.imports import imports_of
from mpslint.project.resolve import locate, search_folders
from mpslint.source.document import Document, Kind
from mpslint.source.files import STANDARD_INPUT
from mpslint.target.packages import canonical

_BY_NAME = re.compile(r"import(?:_module|orskip|__)\([ \t]*[\"'](\w+)")
_COMMENT = re.compile(r"(?:^|\s)#.*", re.MULTILINE)
_WORD = re.compile(r"(?<![\w./-])(\w[\w-]*\w)(?![\w/-]|\s*:|=(?!=))")
"""A word by itself, or the head of a dotted name: no part of a path, no key and no option."""


def spoken_of(document: Document) -> tuple[str, ...]:
    """Return the packages whose versions are said of a file, by `rules/platform/packages.yaml`; the first of all where it uses none."""
    said = platform_data("packages")["said"]
    named = {canonical(name) for name in _used_in(document)}
    if not named.isdisjoint(said["brings"]):
        named.update(said["brought"])
    return tuple(name for name in said["order"] if name in named) or tuple(said["order"][:1])


def _used_in(document: Document) -> Iterator[str]:
    """Yield the packages that a file imports, but for modules of the project, and those that its commands and settings name."""
    if document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):
        yield from _WORD.findall(_COMMENT.sub("", document.text))
        return
    for snippet in document.snippets:
        yield from _WORD.findall(_COMMENT.sub("", snippet.text))
    folders = search_folders(document.path) if document.path != STANDARD_INPUT else ()
    said = platform_data("packages")["said"]["order"]
    for name in sorted(_imported_in(document.code)):
        if canonical(name) in said and locate(name, folders) is None:
            yield name


def _imported_in(code: str) -> set[str]:
    """Return the first part of the name of each module that code imports."""
    return {*_BY_NAME.findall(code), *(one.module.partition(".")[0] for one in imports_of(code) if not one.level)}

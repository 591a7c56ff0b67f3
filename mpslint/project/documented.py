"""The commands by which a project's README says that its scripts are started, as far as they name configuration files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from mpslint.core.finding import ReadError
from mpslint.core.folders import names_in
from mpslint.core.outside import LARGEST_SETTINGS, read_file, tree_around
from mpslint.facts.values import Known
from mpslint.project.launch import Launch, launches_in
from mpslint.project.loaded import ENDINGS, find_file
from mpslint.source.document import Kind
from mpslint.source.reader import read

MOST_DOCUMENTED = 3
"""Commands of one script that are followed; a longer list repeats one with other files."""
_README = re.compile(r"readme(?:\.(?:md|markdown|rst|txt))?", re.IGNORECASE)
_BLOCK = re.compile(r"^([ \t]*)(```|~~~)[^\n]*\n(.*?)^[ \t]*\2", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`\n]*\bpython[\d.]* [^`\n]+)`(?!`)")
_PROMPT = re.compile(r"^[ \t]*(?:\$|>|%|(?:\([\w.-]+\)[ \t]*)?\$)[ \t]+", re.MULTILINE)
_CLONED = re.compile(r"^[ \t]*(?:git clone|cd)\b[^\n]*", re.MULTILINE)


def commands_in(folders: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each script that the READMEs of some folders start with configuration files, and the words that say with which."""
    for folder in folders:
        for name in names_in(folder):
            if _README.fullmatch(name):
                path = os.path.join(folder, name)
                yield from ((one.script, words) for one in _launches(path) if (words := _config_words(one, path)))


def _launches(path: str) -> Iterator[Launch]:
    """Yield the commands of a README that start scripts of the project: those of its blocks of code, and those in a sentence."""
    try:
        text = read_file(path, LARGEST_SETTINGS, tree_around(os.path.dirname(path))).decode("utf-8", "replace")
    except ReadError:
        return
    if ".py" not in text and " -m " not in text:
        return
    blocks = [match[3] for match in _BLOCK.finditer(text)]
    for block in (*blocks, *_INLINE.findall(_BLOCK.sub("", text))):
        if "python" in block or "launch" in block or "torchrun" in block:
            plain = _PROMPT.sub("", block)
            # What is cloned there is this project, whatever its folder is called here.
            plain = _CLONED.sub("", plain) if "git clone" in plain else plain
            yield from launches_in(read(path, plain.encode("utf-8", "surrogateescape"), Kind.SHELL), path)


def _config_words(launch: Launch, path: str) -> tuple[str, ...]:
    """Return the words of a command up to the last one that names a configuration file, of the options only those that do."""
    texts = [str(one.value.value) if isinstance(one.value, Known) else "" for one in launch.given]
    kept: list[str] = []
    is_config = False
    for before, text in zip(["", *texts], texts, strict=False):
        value = text.partition("=")[2] if text.startswith("-") else text
        named = value.endswith(ENDINGS) and find_file(value, path, launch.script) is not None
        if named and text == value and before.startswith("-") and "=" not in before:
            kept.append(before)
        if named or not (text.startswith("-") or before.startswith("-") or is_config):
            kept.append(text)
        is_config = is_config or named
    return tuple(kept) if is_config and "" not in kept else ()

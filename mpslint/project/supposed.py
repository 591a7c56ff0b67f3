"""The configuration files that a script may be started with: as the project's README says, or where nothing in the project says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from mpslint.core.finding import ReadError
from mpslint.core.folders import names_in
from mpslint.core.outside import LARGEST_SETTINGS, leads_out, read_file, tree_around
from mpslint.facts.values import Known
from mpslint.project.launch import Launch, launches_in
from mpslint.project.loaded import ENDINGS, TextOf, find_file, first_mapping
from mpslint.project.resolve import project_folder
from mpslint.source.document import Kind
from mpslint.source.reader import read

MOST_CONFIGS = 3
"""Files that a script is supposed to start with, those first whose keys it asks for most."""
MOST_READ = 60
"""Files that are looked into for one script."""
FEWEST_KEYS = 2
ENOUGH_KEYS = 0.6
"""Of the keys of such a file, the share that the program has to name."""
_OPTION = re.compile(r"""\b(?:add_argument|option|argument)\(\s*((?:["'][\w-]+["']\s*,\s*)*["'][\w-]+["'])([^()]*)""")
_NAME = re.compile(
    r"""["']((?:--)?(?:[a-z]+[_-])?(?:config|conf|cfg|yaml|yml|params|hparams|settings)(?:[_-](?:file|path|filename|yaml|json))?)["']"""
)
_OTHER = re.compile(
    r"""\b(?:type\s*=\s*(?:float|int|bool)|choices\s*=|action\s*=|default\s*=\s*(?!None\b|["']["']))|\b(?:model|deepspeed|ds|tokenizer)[_-]"""
)
_FIRST_WORD = re.compile(r"\b(?:open|load\w*|read\w*|Path)\(\s*sys\.argv\[1\]")
_FOLDER = re.compile(r"conf|cfg|param|setting|option|recipe|experiment|ya?ml", re.IGNORECASE)
_WORD = re.compile(r"\w+")
MOST_DOCUMENTED = 3
"""Commands of one script that are followed; a longer list repeats one with other files."""
_README = re.compile(r"readme(?:\.(?:md|markdown|rst|txt))?", re.IGNORECASE)
_BLOCK = re.compile(r"^([ \t]*)(```|~~~)[^\n]*\n(.*?)^[ \t]*\2", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`\n]*\bpython[\d.]* [^`\n]+)`(?!`)")
_PROMPT = re.compile(r"^[ \t]*(?:\$|>|%|(?:\([\w.-]+\)[ \t]*)?\$)[ \t]+", re.MULTILINE)
_CLONED = re.compile(r"^[ \t]*(?:git clone|cd)\b[^\n]*", re.MULTILINE)


def config_flag(text: str) -> tuple[str, ...] | None:
    """Return the option by which a script has to be told its configuration file, `()` for its first word; None where it has a default."""
    if "argv[1]" in text and _FIRST_WORD.search(text) is not None:
        return ()
    if "argument(" not in text and "option(" not in text:
        return None
    for call in _OPTION.finditer(text):
        name = _NAME.search(call[1])
        if name is not None and _OTHER.search(call[0]) is None:
            return (name[1],) if name[1].startswith("--") else ()
    return None


def named_options(text: str) -> tuple[str, ...]:
    """Return the options without a default by which a script is told something, without their dashes."""
    if "argument(" not in text and "option(" not in text:
        return ()
    plain = (call[1] for call in _OPTION.finditer(text) if _OTHER.search(call[0]) is None)
    return tuple(name.replace("-", "_") for names in plain for name in re.findall(r"""["']--([\w-]+)["']""", names))


def configs_for(script: str, program: str, text_of: TextOf) -> tuple[str, ...]:
    """Return the configuration files near a script that have mostly keys which its program names, by their absolute paths."""
    words = frozenset(_WORD.findall(program))
    found: list[tuple[float, str]] = []
    for path in _near(script):
        mapping = first_mapping(text_of(path) or "", path)
        keys = list(mapping.entries) if mapping is not None else []
        named = sum(key in words for key in keys)
        if named >= FEWEST_KEYS and named >= ENOUGH_KEYS * len(keys):
            found.append((-named / len(keys), path))
    return tuple(path for _, path in sorted(found)[:MOST_CONFIGS])


def _near(script: str) -> Iterator[str]:
    """Yield the files beside a script and at the top of its project, and those of the folders there that are named after configuration."""
    own = os.path.dirname(script)
    outermost = project_folder(own)
    waiting = [(folder, 0) for folder in dict.fromkeys((own, outermost))]
    left = MOST_READ
    for folder, depth in waiting:
        for name in sorted(names_in(folder)):
            path = os.path.join(folder, name)
            if os.path.islink(path) and (leads_out(path, outermost) or os.path.isdir(path)):
                continue  # nobody said that what lies outside belongs to the project, and a folder is read where it lies
            if name.endswith(ENDINGS) and not name.startswith("."):
                left -= 1
                if left < 0:
                    return
                yield path
            elif depth < 2 and (depth or _FOLDER.search(name)) and "." not in name and os.path.isdir(path):
                waiting.append((path, depth + 1))


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

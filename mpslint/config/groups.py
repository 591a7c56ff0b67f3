"""The commands of a file in any language that starts programs, in the groups that one shell runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mpslint.config.makefile import recipes_in
from mpslint.config.services import workflow_steps
from mpslint.config.shell import command_of, read_shell
from mpslint.config.shell_words import Shell, Word
from mpslint.config.yaml_source import read_yaml_source
from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.facts.entries import ConfigMapping, ConfigScalar, ConfigSequence
from mpslint.facts.facts import Command
from mpslint.facts.values import Known
from mpslint.source.document import Document, Kind, SnippetKind, Spawned

_COMMENT = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\")|//[^\n]*|/\*.*?\*/", re.DOTALL)
_NOT_BLANK = re.compile(r"[^\r\n]")
_PLACEHOLDER = re.compile(r"\$\{[^{}]*\}")
OWN_FOLDERS = re.compile(r"\$\{(?:workspaceFolder|workspaceRoot|fileDirname|relativeFileDirname)(?::[^{}]*)?\}/?")
DEBUGGER_FILE = "launch.json"
WORKFLOWS = ".github/workflows/"


@record(frozen=True, slots=True)
class Group:
    """Commands that one shell runs, one after the other."""

    commands: Sequence[Command]
    folder: str = ""
    """Where it begins, as the file says it."""
    is_lasting: bool = False
    """The folder that it goes to is that of the groups after it too."""


def groups_in(document: Document, offset: int = 0) -> Iterator[Group]:
    """Yield the commands of a file, of a Python program those that it starts; `offset` is where the file begins in a joined text."""
    text = document.text
    if document.kind is Kind.SHELL:
        yield Group(read_shell(text, offset).commands)
    elif document.kind is Kind.MAKEFILE:
        for facts in recipes_in(text, offset)[1]:
            yield Group(facts.commands)
    elif document.kind is Kind.JSON:
        yield from _of_debugger(text, offset)
    elif document.kind is Kind.YAML:
        for span, folder in workflow_steps(text):
            yield Group(read_shell(text[span.start : span.end], offset + span.start).commands, folder)
    for one in document.spawned:
        yield from _of_python(one, document, offset)
    for snippet in document.snippets:
        if snippet.kind is not SnippetKind.ENV:
            lasting = snippet.kind is SnippetKind.FOLDER
            yield Group(read_shell(snippet.text, offset + snippet.span.start).commands, is_lasting=lasting)


def _of_python(one: Spawned, document: Document, offset: int) -> Iterator[Group]:
    if one.is_shell:
        yield Group(read_shell(one.words[0].raw, offset + one.words[0].start).commands, one.folder)
        return
    place = Span(offset + one.span.start, offset + one.span.end)
    words = [Word(word.text, word.raw, offset + word.start, place, word.is_weak) for word in one.words]
    command = command_of(words, Shell(document.python, offset))
    if command is not None:
        yield Group((command,), one.folder)


def _of_debugger(text: str, offset: int) -> Iterator[Group]:
    """Yield the command of each configuration of an editor's `launch.json` that starts Python."""
    keys = platform_data("launchers")["debuggers"]
    plain = _COMMENT.sub(lambda match: match[1] or _NOT_BLANK.sub(" ", match[0]), text)
    shell = Shell(plain, offset)
    for root in read_yaml_source(plain).mappings:
        listed = root.get("configurations")
        for one in listed.node.items if listed is not None and isinstance(listed.node, ConfigSequence) else ():
            if (
                not isinstance(one, ConfigMapping)
                or one.text_at("type", plain) not in keys["types"]
                or one.text_at("request", plain) == keys["attaching"]
            ):
                continue
            of_mac = one.mapping(keys["of_mac"])
            program, module = (_word(_having(key, of_mac, one), key, shell) for key in (keys["program"], keys["module"]))
            started = program or module
            if started is None:
                continue
            first = Word("python", "python", started.start, started.place)
            flag = [Word("-m", "-m", started.start, started.place)] if program is None else []
            words = _having(keys["words"], of_mac, one).get(keys["words"])
            command = command_of([first, *flag, started, *(_words(words.node, shell) if words is not None else ())], shell)
            if command is not None:
                yield Group((command,), OWN_FOLDERS.sub("", _having(keys["folder"], of_mac, one).text_at(keys["folder"], plain)))


def _having(key: str, of_mac: ConfigMapping | None, mapping: ConfigMapping) -> ConfigMapping:
    """Return where a configuration says something for a Mac: in the part for it, else in the whole."""
    return of_mac if of_mac is not None and of_mac.get(key) is not None else mapping


def _word(mapping: ConfigMapping, key: str, shell: Shell) -> Word | None:
    entry = mapping.get(key)
    return _scalar(entry.node, shell) if entry is not None and isinstance(entry.node, ConfigScalar) else None


def _words(node: object, shell: Shell) -> Iterator[Word]:
    """Yield the words of a list, or of a text that a shell would split."""
    if isinstance(node, ConfigSequence):
        yield from (_scalar(one, shell) for one in node.items if isinstance(one, ConfigScalar))
    elif isinstance(node, ConfigScalar):
        place = node.inside(shell.text)
        for words in Shell(shell.text[place.start : place.end], shell.offset + place.start).commands():
            yield from words


def _scalar(node: ConfigScalar, shell: Shell) -> Word:
    """Return a scalar as a word, as far as it can be known: without the folder that an editor puts before it."""
    place = node.inside(shell.text)
    raw = shell.text[place.start : place.end]
    own = OWN_FOLDERS.match(raw)
    start, raw = (place.start + own.end(), raw[own.end() :]) if own is not None else (place.start, raw)
    is_known = isinstance(node.value, Known) or own is not None
    text = raw if is_known and "\\" not in raw and not _PLACEHOLDER.search(raw) else None
    return Word(text, raw, shell.offset + start, Span(shell.offset + place.start, shell.offset + place.end))

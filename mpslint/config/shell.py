"""Shell text -> the environment variables it sets and the commands it runs, each word with its place.

It reads what launch scripts and notebooks hold: words, quotes, comments, continuation lines, `NAME=value`, `export`, `$NAME` of the same
text. What it cannot know (command substitution, unset variables, here documents) is Unknown.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mpslint.finding import Span
from mpslint.program.facts import Command, EnvironmentWrite, Flag
from mpslint.program.values import UNKNOWN, Known, Value
from mpslint.source.document import Snippet, SnippetKind

_TOKEN = re.compile(
    r"(?P<blank>[ \t]+|\\\r?\n)|(?P<end>\r?\n|;|&&|\|\||[|&()])|(?P<redirect>\d*(?:<<-?|>>|[<>])&?)|(?P<comment>#[^\r\n]*)"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^()]*\)|\$\{[^}]*\}|`[^`]*`|[^\s;&|()<>\\'\"`])+)|(?P<other>.)",
    re.DOTALL,
)
_PIECE = re.compile(r"\\(.)|'([^']*)'|\"((?:\\.|[^\"\\])*)\"|([^\\'\"]+)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_NOT_KNOWN = re.compile(r"\$\(|`|\$\{[^}]*[^\w}]|\{\{|\{\w+\}")
_DOTENV = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(\"[^\"\r\n]*\"|'[^'\r\n]*'|[^#\r\n]*?)[ \t]*(?:#.*)?(?=\r?\n|$)")
EXPORTERS = frozenset({"export", "declare", "typeset", "setenv"})
PREFIXES = frozenset({"env", "nohup", "time", "sudo", "exec", "then", "do", "else", "!"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command: its text as the shell would pass it (None when not known), and its place."""

    text: str | None
    raw: str
    start: int

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self.start, self.start + len(self.raw))


@dataclass(slots=True)
class ShellFacts:
    """What a shell text does, as far as rules ask."""

    environment: list[EnvironmentWrite] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)


def read_shell(text: str, offset: int = 0, style: str = "shell") -> ShellFacts:
    """Return what a shell text does; `offset` is where it begins in the Document.

    `style` says what its variables reach: `shell` (the rest of a script), `lost` (a notebook's `!` line, whose shell ends with it).
    """
    facts = ShellFacts()
    variables: dict[str, str | None] = {}
    for words in _commands(text, offset, variables):
        _read_command(words, facts, variables, style)
    return facts


def read_dotenv(text: str) -> ShellFacts:
    """Return the variables that a `.env` file sets."""
    facts = ShellFacts()
    position = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        match = re.match(
            r"[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(\"[^\"\r\n]*\"|'[^'\r\n]*'|[^#\r\n]*?)[ \t]*(?:#.*)?(?=\r?\n|$)", line
        )
        if match is not None:
            raw = match.group(2)
            text_value = raw[1:-1] if raw[:1] in "\"'" and raw[:1] else raw
            start = position + match.start(1)
            value_start, value_end = position + match.start(2), position + match.end(2)
            known: Value = Known(text_value) if "$" not in text_value else UNKNOWN
            facts.environment.append(EnvironmentWrite(match.group(1), known, start, value_end, value_start, value_end, style="dotenv"))
        position += len(line)
    return facts


def read_magic(text: str, offset: int) -> ShellFacts:
    """Return the variable that `%env NAME=value` or `%env NAME value` sets; `text` is what follows the magic's name."""
    facts = ShellFacts()
    match = re.match(r"[ \t]*([A-Za-z_]\w*)[ \t]*(?:=|[ \t])[ \t]*(\S.*?)[ \t]*$", text)
    if match is not None:
        raw = match.group(2)
        value: Value = UNKNOWN if "$" in raw or "{" in raw else Known(raw.strip("\"'"))
        start, end = offset + match.start(1), offset + match.end(2)
        facts.environment.append(EnvironmentWrite(match.group(1), value, start, end, offset + match.start(2), end, style="magic"))
    return facts


def read_snippets(snippets: Sequence[Snippet]) -> ShellFacts:
    """Return what the shell lines and environment magics of a notebook do."""
    facts = ShellFacts()
    for snippet in snippets:
        if snippet.kind is SnippetKind.ENV:
            facts.environment += read_magic(snippet.text, snippet.span.start).environment
        elif snippet.kind is SnippetKind.SHELL:
            found = read_shell(snippet.text, snippet.span.start)
            facts.commands += found.commands
            for write in found.environment:
                is_used = any(command.span.start > write.start for command in found.commands)
                facts.environment.append(write if is_used or write.style == "inline" else dataclasses.replace(write, style="lost"))
    return facts


def _commands(text: str, offset: int, variables: dict[str, str | None]) -> Iterator[list[Word]]:
    """Yield the words of each command. A here document is left out."""
    words: list[Word] = []
    position = 0
    here: str | None = None
    skip_next = False
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            break
        kind, raw = token.lastgroup, token.group()
        position = token.end()
        if kind == "end":
            yield words
            words = []
            if here is not None and "\n" in raw:
                end = re.compile(rf"^[ \t]*{re.escape(here)}[ \t]*$", re.MULTILINE).search(text, position)
                position, here = (end.end() if end else len(text)), None
        elif kind == "redirect":
            skip_next = True
            here = "" if raw.startswith("<<") or raw.endswith("<<") else here
        elif kind == "word":
            if skip_next:
                here = raw.strip("'\"") if here == "" else here
                skip_next = False
            else:
                words.append(Word(_expanded(raw, variables), raw, offset + token.start()))
        elif kind == "comment" and words and text[token.start() - 1] not in " \t\n":
            words.append(Word(raw, raw, offset + token.start()))
    yield words


def _expanded(raw: str, variables: dict[str, str | None]) -> str | None:
    """Return a word with its quotes taken off and its variables put in; None when one of them is not known."""
    parts = []
    for escaped, single, double, plain in _PIECE.findall(raw):
        if escaped:
            parts.append("" if escaped in "\r\n" else escaped)
        elif single or (not double and not plain):
            parts.append(single)
        else:
            text = double or plain
            if _NOT_KNOWN.search(text):
                return None
            for braced, bare in _VARIABLE.findall(text):
                if variables.get(braced or bare) is None:
                    return None
            parts.append(_VARIABLE.sub(lambda match: str(variables[match.group(1) or match.group(2)]), text))
    return "".join(parts)


def _read_command(words: Sequence[Word], facts: ShellFacts, variables: dict[str, str | None], style: str) -> None:
    """Note what one command does: assignments, exports, or a program with its flags."""
    rest = list(words)
    leading: list[Word] = []
    while rest and (_ASSIGNMENT.match(rest[0].raw) or rest[0].raw in PREFIXES):
        word = rest.pop(0)
        if _ASSIGNMENT.match(word.raw):
            leading.append(word)
    exported = bool(rest) and rest[0].raw in EXPORTERS
    if exported:
        leading += [word for word in rest[1:] if _ASSIGNMENT.match(word.raw)]
    for word in leading:
        name = word.raw.partition("=")[0]
        value = word.text.partition("=")[2] if word.text is not None else None
        variables[name] = value
        inline = bool(rest) and not exported
        facts.environment.append(_write(word, name, value, "inline" if inline else style))
    if rest and not exported:
        facts.commands.append(_command(rest))


def _write(word: Word, name: str, value: str | None, style: str) -> EnvironmentWrite:
    start = word.start + len(name) + 1
    known: Value = UNKNOWN if value is None else Known(value)
    return EnvironmentWrite(name, known, word.span.start, word.span.end, start, word.span.end, style=style)


def _command(words: Sequence[Word]) -> Command:
    """Return a command with its flags: `--name value`, `--name=value`, `--name`."""
    plain: list[str] = []
    flags: dict[str, Flag] = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.raw.startswith("--") or len(word.raw) < 3:
            plain.append(word.text or word.raw)
            continue
        name, equals, _ = word.raw[2:].partition("=")
        key = name.replace("-", "_")
        if equals:
            text = word.text.partition("=")[2] if word.text is not None else None
            value_span = Span(word.start + len(name) + 3, word.span.end)
            flags[key] = Flag(UNKNOWN if text is None else Known(text), word.span, value_span)
        elif index < len(words) and not words[index].raw.startswith("--"):
            following = words[index]
            index += 1
            value: Value = UNKNOWN if following.text is None else Known(following.text)
            flags[key] = Flag(value, Span(word.start, following.span.end), following.span)
        else:
            flags[key] = Flag(Known(True), word.span, None)
    return Command(tuple(plain), flags, Span(words[0].start, words[-1].span.end))

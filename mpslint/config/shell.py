"""Shell text -> the environment variables it sets and the commands it runs, each with its place."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from mpslint.config.shell_branches import PREFIXES, Branches
from mpslint.config.shell_words import ASSIGNMENT, CONTINUED, Allowance, Shell, Variable, Word
from mpslint.config.variables import variable
from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.facts.facts import Command, EnvironmentWrite, Flag, Given
from mpslint.facts.values import UNKNOWN, Known, Value
from mpslint.source.document import Snippet, SnippetKind

_DOTENV = re.compile(
    r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(\"[^\"\r\n]*\"|'[^'\r\n]*'|[^#\r\n]*?)[ \t]*(?:#.*)?(?=\r?\n|\Z)", re.MULTILINE
)
EXPORTERS = frozenset({"export", "declare", "typeset", "setenv", "local", "readonly"})
SHELLS = frozenset({"bash", "sh", "zsh"})
"""`bash -c "python train.py"` runs a command that is a word."""
ASSIGNED = re.compile(r"([a-z_]\w*)=")
"""The beginning of a word that assigns a value to a name."""
SHORT = re.compile(r"-([A-Za-z])=?(?!-)")
"""The beginning of an option of one letter, up to a value that stands with it."""
QUOTED = re.compile(r"""(['"])((?:(?!\1)(?:[^\\]|\\\r?\n))+)\1""")
"""A word in quotes in which nothing is escaped but line ends."""
MISSING = "???"
"""What stands for a value that is not known, as in OmegaConf."""


@record(slots=True)
class ShellFacts:
    """What a shell text does, as far as rules ask."""

    environment: list[EnvironmentWrite] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)


def read_shell(text: str, offset: int = 0) -> ShellFacts:
    """Return what a shell text does; `offset` is where it begins in the Document."""
    return _read(Shell(text, offset))


def _read(shell: Shell) -> ShellFacts:
    facts = follow(shell)
    if re.search(platform_data("elsewhere")["queue"], shell.text, re.MULTILINE):
        facts.commands.clear()
    return facts


def follow(shell: Shell) -> ShellFacts:
    """Return what a shell text does, with the variables that it has before."""
    shell.variables = {**of_system(), **shell.variables}
    reader, branches = _ShellReader(shell), Branches(shell)
    for words in shell.commands():
        taken = branches.command(words)
        reader.read(shell.noted(taken))
        if branches.has_failed:
            if (printer := branches.printer(taken)) is not None:
                reader.read([printer])
            reader.facts.commands[-1:] = [dataclasses.replace(one, ends=True) for one in reader.facts.commands[-1:]]
            break
    return reader.facts


@functools.lru_cache(maxsize=1)
def of_system() -> Mapping[str, Variable]:
    """Return the variables that a shell on a Mac has before any script."""
    return {name: Variable(text) for name, text in platform_data("shell")["variables"].items()}


def command_of(words: Sequence[Word], shell: Shell) -> Command | None:
    """Return the command of words that are one each, as a list in another language gives them; None for no words."""
    return _command(_unwrapped(list(words)), shell) if words else None


def of_one_line(found: ShellFacts) -> ShellFacts:
    """Return what a shell does that ends with its line: variables that no later command of the line has are lost."""
    kept = ShellFacts(commands=found.commands)
    for write in found.environment:
        is_used = any(command.span.start > write.start for command in found.commands)
        kept.environment.append(write if is_used or write.style == "inline" else dataclasses.replace(write, style="lost"))
    return kept


def read_dotenv(text: str) -> ShellFacts:
    """Return the variables that a `.env` file sets."""
    facts = ShellFacts()
    for match in _DOTENV.finditer(text):
        raw = match.group(2)
        value = raw[1:-1] if raw[:1] in "\"'" and raw[:1] else raw
        facts.environment.append(variable(match.group(1), value, match.start(1), match.span(2)))
    return facts


def read_magic(text: str, offset: int) -> ShellFacts:
    """Return the variable that `%env NAME=value` or `%env NAME value` sets; `text` is what follows the magic's name."""
    match = re.match(r"[ \t]*([A-Za-z_]\w*)[ \t]*(?:=|[ \t])[ \t]*(\S.*?)[ \t]*$", text)
    if match is None:
        return ShellFacts()
    raw = match.group(2)
    value: Value = UNKNOWN if "$" in raw or "{" in raw else Known(raw.strip("\"'"))
    start, end = offset + match.start(1), offset + match.end(2)
    return ShellFacts([EnvironmentWrite(match.group(1), value, start, end, offset + match.start(2), end, style="magic")])


def read_snippets(snippets: Sequence[Snippet], names: Callable[[Snippet], Mapping[str, Variable]] = lambda snippet: {}) -> ShellFacts:
    """Return what the shell lines and environment magics of a notebook do; `names` are the variables of Python that a line takes."""
    facts, allowance = ShellFacts(), Allowance()
    for snippet in snippets:
        if snippet.kind is SnippetKind.ENV:
            facts.environment += read_magic(snippet.text, snippet.span.start).environment
        elif snippet.kind is SnippetKind.SHELL:
            given = names(snippet)
            shell = Shell(snippet.text, snippet.span.start, dict(given), takes_braces=bool(given), allowance=allowance)
            found = of_one_line(_read(shell))
            facts.commands += found.commands
            facts.environment += found.environment
    return facts


@record(slots=True)
class _ShellReader:
    """Notes what the commands of one shell text do."""

    shell: Shell
    facts: ShellFacts = field(default_factory=ShellFacts)
    held: dict[str, EnvironmentWrite] = field(default_factory=dict)
    """Variables that are set but not exported yet."""
    exports_all: bool = False
    exported: dict[str, Flag] = field(default_factory=dict)
    """What later commands find in the environment."""

    def read(self, words: Sequence[Word]) -> None:
        """Note one command: assignments, exports, or a program with its flags."""
        rest, known = list(words), len(self.facts.environment)
        leading: list[Word] = []
        is_text = False  # `eval "$COMMAND"`
        while rest and (ASSIGNMENT.match(rest[0].raw) or rest[0].raw in PREFIXES or rest[0].raw == "eval"):
            word = rest.pop(0)
            is_text = is_text or word.raw == "eval"
            if ASSIGNMENT.match(word.raw):
                leading.append(word)
        exported = bool(rest) and rest[0].raw in EXPORTERS
        if exported:
            self._export(rest[1:])
        for word in leading:
            self._assign(word, "inline" if rest and not exported else "", is_exported=False)
        if rest and not exported:
            self.exports_all = self.exports_all or [word.raw for word in rest[:3]] in (["set", "-a"], ["set", "-o", "allexport"])
            before = {**self.exported, **{f"${write.name}": _flag_of(write) for write in self.facts.environment[known:]}}
            inside = self._inside(rest, is_text)
            if inside is not None:
                outside, self.shell = self.shell, inside
                for inner in inside.commands():
                    self.read(inner)
                self.shell = outside
                return
            command = _command(_unwrapped(rest), self.shell)
            is_open = command.script is not None and command.script.given[0].value is UNKNOWN  # `$ARGS train.py` may say anything
            self.facts.commands.append(dataclasses.replace(command, variables=before) if before and not is_open else command)
        else:
            self.exported.update({f"${write.name}": _flag_of(write) for write in self.facts.environment[known:]})

    def _inside(self, words: Sequence[Word], is_text: bool) -> Shell | None:
        """Return the text that a command runs, where that is one word: `eval "$COMMAND"`, `bash -c "python train.py"`."""
        is_shell = len(words) > 2 and words[0].raw in SHELLS and words[1].raw == "-c"
        given = words[2:3] if is_shell else words if is_text else ()
        match = QUOTED.fullmatch(given[0].raw) if len(given) == 1 and given[0].place == given[0].span else None
        return self.shell.inside(Span(*match.span(2)), given[0]) if match is not None else None

    def _export(self, words: Sequence[Word]) -> None:
        for word in words:
            if ASSIGNMENT.match(word.raw):
                self._assign(word, "", is_exported=True)
            elif word.raw in self.held:
                self.facts.environment.append(self.held.pop(word.raw))

    def _assign(self, word: Word, style: str, is_exported: bool) -> None:
        match = ASSIGNMENT.match(word.raw)
        assert match is not None
        name, is_append = match.group(1), bool(match.group(2))
        variable = self.shell.variable_of(word)
        if is_append:
            old = self.shell.variables.get(name)
            texts = (old.text if old is not None else None), variable.text
            joined = None if None in texts else "".join(map(str, texts))
            words = (*(old.words if old is not None else ()), *variable.words)
            variable = dataclasses.replace(variable, text=joined, words=words, span=None)
        if not style:
            self.shell.assign(name, variable, is_append)
        start = word.start + match.end()
        known: Value = UNKNOWN if variable.text is None else Known(variable.text, weak=variable.weak)
        write = EnvironmentWrite(name, known, word.span.start, word.span.end, start, word.span.end, style=style or "shell")
        if style or is_exported or self.exports_all:
            self.facts.environment.append(write)
        else:
            self.held[name] = write


def _flag_of(write: EnvironmentWrite) -> Flag:
    """Return what a variable says to a command that looks for it."""
    return Flag(write.value, Span(write.start, write.end), Span(write.value_start, write.value_end))


def _unwrapped(words: list[Word]) -> list[Word]:
    """Return a command without what starts it in some environment (`uv run`, `poetry run`)."""
    if words[0].raw not in platform_data("launchers")["runners"]:
        return words
    first = next((index for index, word in enumerate(words[1:], 1) if word.text and may_train(word.text)), None)
    return words[first:] if first is not None else words


def may_train(program: str) -> bool:
    """Return whether a program of a command may run a training."""
    return re.fullmatch(platform_data("launchers")["starters"], program) is not None


def _command(words: Sequence[Word], shell: Shell) -> Command:
    """Return a command with its flags; what a launcher starts is a command of its own."""
    head = " ".join(word.text or word.raw for word in words[:3])
    if not re.match(platform_data("launchers")["launchers"], head):
        return _plain_command(words, shell)
    split = _script_at(words)
    if split is None:
        return _plain_command(words, shell, is_launcher=True)
    script = _plain_command(words[split:], shell)
    return dataclasses.replace(_plain_command(words[:split], shell, is_launcher=True), script=script)


def _script_at(words: Sequence[Word]) -> int | None:
    """Return the index of the word with which the script of a launcher begins, or None."""
    is_value = False
    second = words[1].text if len(words) > 1 else None
    first = 3 if second == "-m" else 2 if second == "launch" else 1
    for index, word in enumerate(words[first:], first):
        if word.text is not None and word.text.endswith(".py"):
            return index
        if word.raw.startswith("-"):
            name = word.raw.lstrip("-").replace("-", "_")
            if name in ("m", "module") and index + 1 < len(words):
                return index + 1
            is_value = "=" not in word.raw and name not in platform_data("launchers")["switches"]
        elif not is_value:
            return index
        else:
            is_value = False
    return None


def _plain_command(words: Sequence[Word], shell: Shell, is_launcher: bool = False) -> Command:
    """Return a command with its flags: `--name value`, `--name=value`, `--name`; and with what is written `name=value`."""
    plain: list[str] = []
    flags: dict[str, Flag] = {}
    assigned: dict[str, Flag] = {}
    index = 0
    while index < len(words):
        word = words[index]
        before = _end_before(words, index, shell)
        index += 1
        if is_launcher and (short := SHORT.match(word.raw)) is not None and short[1] in platform_data("launchers")["short"]:
            key, value = platform_data("launchers")["short"][short[1]], word.after(short.end(), (word.text or "")[short.end() :] or None)
            if short.end() == len(word.raw) and index < len(words):
                value = words[index]
                index += 1
            span = Span(word.start, max(value.span.end, word.span.end))
            flags[key] = _flag(value, span, shell, before)
            continue
        if not word.raw.startswith("--") or len(word.raw) < 3:
            plain.append(word.text or word.raw)
            if (named := ASSIGNED.match(word.raw)) is not None:
                value = word.after(named.end(), word.text[named.end() :] if word.text is not None else None)
                assigned[named[1]] = _flag(value, word.span, shell, before)
            continue
        name, equals, _ = word.raw[2:].partition("=")
        key = name.replace("-", "_")
        if equals:
            text = word.text.partition("=")[2] if word.text is not None else None
            flags[key] = _flag(word.after(len(name) + 3, text), word.span, shell, before)
        elif (
            index < len(words)
            and not words[index].raw.startswith("--")
            and not (is_launcher and key in platform_data("launchers")["switches"])
        ):
            value = words[index]
            index += 1
            span = Span(word.start, value.span.end) if value.start > word.start else word.span
            flags[key] = Flag(_known(value), span, value.span, value.origin, before)
        else:
            flags[key] = Flag(Known(True), word.span, None, None, before)
    given = tuple(one for word in words for one in _given(word))
    return Command(tuple(plain), flags, Span(words[0].place.start, words[-1].place.end), assigned=assigned, given=given)


def _flag(value: Word, span: Span, shell: Shell, before: int) -> Flag:
    return Flag(_known(value), span, value.span, shell.origin(value.raw, value.start), before)


def _given(word: Word) -> Iterator[Given]:
    """Yield a word as a program gets it; one with a name and a value that is not known as that name and something."""
    name, equals, _ = word.raw.partition("=")
    if word.text is not None or not equals or "$" in name:
        yield Given(_known(word), word.span)
    elif name.startswith("-"):
        yield Given(Known(name), Span(word.start, word.start + len(name)))
        yield Given(UNKNOWN, word.span)
    else:
        yield Given(Known(f"{name}={MISSING}"), word.span)


def _known(word: Word) -> Value:
    return UNKNOWN if word.text is None else Known(word.text, weak=word.weak)


def _end_before(words: Sequence[Word], index: int, shell: Shell) -> int:
    """Return where the word before ends, when nothing but blanks and line ends lie between; else where the word itself begins."""
    start = words[index].start
    if index == 0:
        return start
    end = words[index - 1].span.end
    between = shell.text[end - shell.offset : start - shell.offset] if end <= start else "x"
    return end if CONTINUED.fullmatch(between) else start

"""Which commands of a shell text a Mac runs: the branches of `if`, `case`, `&&` and `||` whose tests ask for the system or what it has.

A test is decided only by values that are certain. What an undecided one leads to counts as what may run.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from fnmatch import fnmatchcase

from mpslint.config.shell_words import UNSET, Shell, Word
from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record

LOOPS = frozenset({"for", "select", "while", "until", "{"})
PREFIXES = frozenset({"env", "nohup", "sudo", "exec", "command", "nice", "caffeinate", "-E", "-x"})
"""Words before the command that they start; some are its options."""
CLOSERS = frozenset({"fi", "done", "}", "esac"})
FINDERS = frozenset({"command", "which", "type", "hash"})
"""Commands that fail where there is no program of the name that they are given."""
FILE_TESTS = frozenset({"-e", "-f", "-d", "-r", "-x", "-s", "-c", "-L"})
PRINTERS = frozenset({"echo", "printf"})
_DECIDED = {"true": True, ":": True, "false": False}
_COUNTED: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq, "-ne": operator.ne, "-gt": operator.gt, "-ge": operator.ge, "-lt": operator.lt, "-le": operator.le
}  # fmt: skip
_STOPS = re.compile(r"(-)\w*e\w*|(\+)\w*e\w*")
"""`set -e`, `set -euo pipefail` and `set +e`."""
_OUTPUT = re.compile(r"""\w+=("?)(?:\$\(|(`))\s*(?P<name>[\w-]+)(?P<rest>(?:[^|;&\n`()]|>&|\|(?!\|))*)(?(2)`|\))\1""")
"""An assignment of what a command prints: it fails where the command does."""


@record(frozen=True, slots=True)
class _Around:
    """What the blocks around a place say together; it is kept, since a text may nest them as deeply as it likes."""

    runs: bool | None = True
    is_of_choices: bool = True
    is_asked: bool = False
    undecided: int = 0
    """How many of them don't certainly run."""


@record(slots=True)
class _Block:
    """A block of the text that is open."""

    is_choice: bool = False
    """It is an `if`, a `case` or what `&&` and `||` lead to, rather than a loop or a function."""
    is_asked: bool = False
    """What is being read is the test of an `if`."""
    runs: bool | None = None
    """Whether a Mac runs the part of it that is being read."""
    was_taken: bool | None = False
    """Whether it runs a part before that one."""
    subject: Word | None = None
    """The word of a `case`."""
    awaits_pattern: bool = False
    matches: bool | None = False
    """Whether one of the patterns that are parted by `|` fits."""
    around: _Around = _Around()

    def within(self) -> _Around:
        """Return what this block and those around it say together."""
        around = self.around
        return _Around(
            all_of((around.runs, self.runs)),
            around.is_of_choices and self.is_choice,
            around.is_asked or self.is_asked,
            around.undecided + (self.runs is not True),
        )


@record(slots=True)
class Branches:
    """The blocks around each command of a text, in its order."""

    shell: Shell
    blocks: list[_Block] = field(default_factory=list)
    joiner: str = ""
    """What stands between the command before and this one."""
    status: bool | None = None
    """Whether the command before succeeds."""
    printed: str | None = None
    """What the command before prints into this one, where that is known."""
    has_exited: bool = False
    has_failed: bool = False
    """It ended at a command that fails."""
    may_have_ended: bool = False
    """A command that may run ends the text without an error: `exec`, or `exit` without a number."""
    own: set[str] = field(default_factory=set)
    """Names of commands that the text defines itself: functions and aliases."""
    stops_at_failure: bool = False
    """`set -e` is on."""
    fails_with_any: bool = False
    """`set -o pipefail` is on: a pipe fails where any command of it does."""
    is_in_test: bool = False
    """A `[[` is open: what it joins by `&&` and `||` comes as several commands."""

    def command(self, words: Sequence[Word]) -> list[Word]:
        """Return a command without the words that open and close blocks; nothing where a Mac doesn't run it."""
        joiner, ending = self.joiner, self.shell.ending
        if not words and joiner in ("&&", "||", "|"):
            return []  # the command goes on in the next line
        self.joiner = ending
        if words and words[0].raw != "esac" and self.blocks and self.blocks[-1].awaits_pattern:
            self._pattern(self.blocks[-1], words[-1], ending)
            return []
        if ending == "(" and len(words) == 1:  # `name() {`
            self.own.add(words[0].raw)
        rest, negated = self._opened(list(words), joiner)
        runs = self._runs(joiner) if len(rest) == len(words) else True
        reached = self._is_reached()
        if rest:
            self._judge(rest, runs, negated, joiner)
        if rest and reached is not False and runs is not False:
            is_certain = bool(reached and runs) and self._around().is_of_choices
            self._note_end(rest, is_certain, is_plain=not negated and ending in ("", ";", ";;"))
        if ending == ";;" and self.blocks and self.blocks[-1].subject is not None:
            self.blocks[-1].awaits_pattern = True
        self._tell()
        return rest if reached is not False and runs is not False else []

    def _note_end(self, words: Sequence[Word], is_certain: bool, is_plain: bool) -> None:
        """Note whether the text ends with a command that runs: `exit`, `exec`, or one that fails after `set -e`."""
        texts = [word.raw for word in words]
        is_replaced = texts[0] == "exec" and len(texts) > 1
        self.may_have_ended = self.may_have_ended or is_replaced or texts in (["exit"], ["exit", "0"])
        if texts[0] == "alias":
            self.own |= {text.partition("=")[0] for text in texts[1:]}
        if not is_certain:
            return
        if texts[0] == "set":
            found = [match for text in texts[1:] if (match := _STOPS.fullmatch(text)) is not None]
            self.stops_at_failure = bool(found[-1][1]) if found else self.stops_at_failure or "errexit" in texts
            self.fails_with_any = "+o" not in texts if "pipefail" in texts else self.fails_with_any
        is_failure = is_plain and self.stops_at_failure and self.status is False and not self.is_in_test
        self.has_failed = is_failure and not self.may_have_ended and not self._around().is_asked
        self.has_exited = self.has_failed or is_replaced or texts[0] == "exit"

    def _tell(self) -> None:
        """Tell the shell what the assignments to come are worth."""
        self.shell.depth = self._around().undecided
        self.shell.is_skipped = self._is_reached() is False

    def _around(self) -> _Around:
        return self.blocks[-1].within() if self.blocks else _Around()

    def _open(self, block: _Block) -> None:
        block.around = self._around()
        self.blocks.append(block)

    def _is_reached(self) -> bool | None:
        return False if self.has_exited else self._around().runs

    def _runs(self, joiner: str) -> bool | None:
        """Return whether a command runs after the one before it in a list."""
        return self.status if joiner == "&&" else opposite(self.status) if joiner == "||" else True

    def _opened(self, rest: list[Word], joiner: str) -> tuple[list[Word], bool]:
        """Return what follows the words that open, divide and close blocks, and whether its result is turned round."""
        negated = False
        while rest:
            raw = rest[0].raw
            block = self.blocks[-1] if self.blocks else _Block()
            if raw == "if":
                self._open(_Block(True, is_asked=True, runs=True))
            elif raw == "then":
                block.is_asked = False
                block.runs = all_of((opposite(block.was_taken), self.status))
                block.was_taken = any_of((block.was_taken, self.status))
            elif raw in ("elif", "else"):
                block.is_asked = raw == "elif"
                block.runs = opposite(block.was_taken)
            elif raw == "case":
                subject = rest[1] if len(rest) > 1 else rest[0]
                self._open(_Block(True, subject=subject, awaits_pattern=True))
                if len(rest) > 3:
                    self._pattern(self.blocks[-1], rest[-1], self.shell.ending)
                return [], False
            elif raw == "{" and joiner in ("&&", "||"):
                self._open(_Block(True, runs=self._runs(joiner)))
            elif raw in LOOPS:
                self._open(_Block())
                if raw in ("for", "select") and len(rest) > 1:
                    self.shell.variables[rest[1].raw] = UNSET
                    return [], False
            elif raw in CLOSERS:
                if raw != "}" or block.runs is None:
                    self.status = None  # what ran last isn't certain
                del self.blocks[-1:]
            elif raw == "function":
                self.own |= {word.raw for word in rest[1:2]}
                if rest[-1].raw == "{":
                    self._open(_Block())
                return [], False
            elif raw == "!":
                negated = not negated
            elif raw not in ("do", "time"):
                break
            rest = rest[1:]
        return rest, negated

    def _pattern(self, block: _Block, pattern: Word, ending: str) -> None:
        """Read a pattern of a `case`, which ends with `)`, or with `|` where there are others."""
        subject = block.subject
        fits: bool | None = True if pattern.raw == "*" else None
        if fits is None and subject is not None and subject.text is not None and not subject.weak and pattern.text is not None:
            fits = fnmatchcase(subject.text, pattern.text)
        block.matches = any_of((block.matches, fits))
        if ending != "|":
            block.runs = all_of((opposite(block.was_taken), block.matches))
            block.was_taken = any_of((block.was_taken, block.matches))
            block.matches, block.awaits_pattern = False, False
        self._tell()

    def _judge(self, words: Sequence[Word], runs: bool | None, negated: bool, joiner: str) -> None:
        """Note whether a command succeeds, as far as it runs."""
        found = self._succeeds(words, joiner)
        found = opposite(found) if negated else found
        if runs is None and found is not (joiner == "||"):
            found = None
        if runs is not False and self._is_reached() is not False:
            self.status = found
        self.printed = _printed(words)

    def printer(self, words: Sequence[Word]) -> Word | None:
        """Return the name of the command that decides whether an assignment of its output fails; None for other commands."""
        match = _OUTPUT.fullmatch(words[0].raw) if len(words) == 1 else None
        if match is None or ("|" in match["rest"] and not self.fails_with_any):
            return None
        start = words[0].start + match.start("name")
        return Word(match["name"], match["name"], start, Span(start, start + len(match["name"])))

    def _succeeds(self, words: Sequence[Word], joiner: str) -> bool | None:
        """Return whether a command succeeds on a Mac; None where that isn't certain."""
        while len(words) > 1 and words[0].raw in PREFIXES - FINDERS:
            words = words[1:]
        printer = self.printer(words)
        words = [printer] if printer is not None else words
        name, last = words[0].text or words[0].raw, words[-1].text
        missing = platform_data("shell")["missing"]
        if self.is_in_test or name in ("[", "[[", "test"):
            self.is_in_test = (self.is_in_test or name == "[[") and last != "]]"
            inner = [word for word in words if word.text not in ("[[", "]]", "[", "]")]
            return _holds(inner[1:] if name == "test" else inner)
        if name in _DECIDED:
            return _DECIDED[name]
        if name in missing or (name in FINDERS and last in missing):
            return None if {name, last} & self.own else False
        if name == "grep" and joiner == "|" and self.printed is not None and last is not None:
            return re.search(re.escape(last), self.printed, re.IGNORECASE) is not None
        return None


def _holds(words: Sequence[Word]) -> bool | None:
    """Return what the words of a test come to; None where that isn't certain."""
    if words and words[0].raw == "!":
        return opposite(_holds(words[1:]))
    texts = [None if word.weak else word.text for word in words]
    if len(texts) == 1:
        return None if texts[0] is None else bool(texts[0])
    if len(texts) == 2 and texts[1] is not None:
        asked, text = texts
        if asked in ("-n", "-z"):
            return bool(text) is (asked == "-n")
        is_absent = not text or text.startswith(tuple(platform_data("shell")["absent"]))
        return False if asked in FILE_TESTS and is_absent else None
    if len(texts) == 3:
        left, sign, right = texts
        return _compared(left, sign or "", right) if left is not None and right is not None else None
    return None


def _compared(left: str, sign: str, right: str) -> bool | None:
    if sign in ("=", "==", "!="):
        return fnmatchcase(left, right) is (sign != "!=")
    if sign in _COUNTED and left.strip().isdecimal() and right.isdecimal():
        return _COUNTED[sign](int(left), int(right))
    if sign == "=~" and re.fullmatch(r"\^?[\w.-]+(?:\.?\*)?\$?", right):
        return re.search(right, left) is not None
    return None


def _printed(words: Sequence[Word]) -> str | None:
    texts = [word.text for word in words]
    if texts[0] in PRINTERS and None not in texts:
        return " ".join(str(text) for text in texts[1:])
    outputs: dict[str, str] = platform_data("shell")["outputs"]
    return outputs.get(" ".join(map(str, texts)))


def opposite(value: bool | None) -> bool | None:
    """Return the opposite of what is known."""
    return None if value is None else not value


def all_of(values: Iterable[bool | None]) -> bool | None:
    """Return whether all of some hold; None where that isn't known."""
    found = list(values)
    return False if False in found else None if None in found else True


def any_of(values: Iterable[bool | None]) -> bool | None:
    """Return whether one of some holds; None where that isn't known."""
    return opposite(all_of(map(opposite, values)))

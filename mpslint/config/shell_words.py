"""Shell text -> the words of its commands, each with its place, variables of the same text put in.

It reads what launch scripts and notebooks hold: quotes, comments, continuation lines, here documents, arrays, `$NAME` and
`${NAME:-default}`. What only the shell can know (command substitution, unset variables) is None; it never fails on any text.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record

_TOKEN = re.compile(
    r"(?P<blank>[ \t]+|\\\r?\n)|(?P<end>\r?\n|;;?|&&|\|\||[|&()])|(?P<redirect>\d*(?:<<<|<<-?|>>|[<>])&?)|(?P<comment>#[^\r\n]*)"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\(\((?:[^()]|\([^()]*\))*\)\)|\$\((?:[^()]|\([^()]*\))*\)"
    r"|\$\{(?:[^{}]|\{[^{}]*\})*\}|`[^`]*`|[^\s;&|()<>\\'\"`])+)|(?P<other>.)",
    re.DOTALL,
)
_PIECE = re.compile(r"\\(.)|'([^']*)'|\"((?:\\.|[^\"\\])*)\"|([^\\'\"]+)", re.DOTALL)
_NAME = r"[A-Za-z_]\w*"
ASSIGNMENT = re.compile(rf"({_NAME})(\+?)=")
_WHOLE = re.compile(rf"\$(?:({_NAME})|\{{({_NAME})(?:\[[@*]\])?\}})")
_REFERENCE = re.compile(rf"\$(?:({_NAME})|\{{({_NAME}|\d+)(?::?[-=]((?:[^{{}}$`\\\"]|\$\w+)*))?\}})")
_DEFAULT = re.compile(rf"\"?\$\{{({_NAME}):?=([^{{}}]*)\}}\"?")
_NOT_KNOWN = re.compile(r"\$[\w@*#?!({\[-]|`|\{\{|\{\w+\}")
CONTINUED = re.compile(r"(?:[ \t]|\\\r?\n)*")
LONGEST_TEXT = 10_000
MOST_WORDS = 500
"""Of a variable; beyond that it is not known."""
MOST_PUT_IN = 2_000_000
ROOM_OF_WORD = 30
"""Characters that count for a word of a variable."""
_BRACED = re.compile(rf"(?<!\$)\{{({_NAME})\}}")
"""How the `!` lines of a notebook write a variable of Python, beside `$NAME`."""
_PRINTED = re.compile(r"\x00?\$\((?:shell )?([^()`]*)\)|`([^`]*)`")
"""A command whose output is put in; make writes `$(shell ...)`, and its `$$(...)` stands as NUL and `$(...)`."""
ARITHMETIC = re.compile(r"\$\(\(((?:[^()]|\([^()]*\))*)\)\)")
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$?\b([A-Za-z_]\w*)")
_PLAIN = re.compile(r"[\d\s+\-*/%()]+")
LARGEST = 1 << 63


@record(frozen=True, slots=True)
class Word:
    """A word of a command: its text as the shell would pass it (None when not known), and where that text stands."""

    text: str | None
    raw: str
    start: int
    place: Span
    """Where it stands in the command: at `$ARGS`, when the text stands in `ARGS="..."`."""
    weak: bool = False
    """It rests on a default that the environment may change."""
    origin: Span | None = None
    """The text of the one variable, or default, that the whole word is."""

    @property
    def span(self) -> Span:
        """Where its text stands."""
        return Span(self.start, self.start + len(self.raw))

    def after(self, count: int, text: str | None) -> Word:
        """Return what is left of the word without its first characters."""
        return replace(self, text=text, raw=self.raw[count:], start=self.start + count)


@record(frozen=True, slots=True)
class Variable:
    """What is known of a shell variable: its text, and the words that it makes where it stands without quotes."""

    text: str | None
    words: tuple[Word, ...] = ()
    weak: bool = False
    span: Span | None = None
    """Where its whole text stands, where it stands in one piece."""

    def bounded(self) -> Variable:
        """Return it, or one that is not known where it is longer than any that is meant: variables that hold each other twice over grow."""
        return UNSET if len(self.text or "") > LONGEST_TEXT or len(self.words) > MOST_WORDS else self


UNSET = Variable(None)


@record(slots=True)
class Allowance:
    """How many characters of variables may still be put into a text; a stranger's may hold a long one thousands of times."""

    left: int = MOST_PUT_IN

    def holds(self, characters: int) -> bool:
        """Take so much of it, and return whether there was as much."""
        self.left -= characters
        return self.left >= 0


@record(slots=True)
class Shell:
    """One shell text while it is read."""

    text: str
    offset: int = 0
    variables: dict[str, Variable] = field(default_factory=dict)
    depth: int = 0
    """How many blocks are open of which it isn't certain that they run."""
    is_skipped: bool = False
    """What is read doesn't run on a Mac."""
    ending: str = ""
    """What ends the command that was yielded last."""
    uses: Counter[str] | None = None
    takes_braces: bool = False
    """Whether `{NAME}` stands for a variable, too."""
    allowance: Allowance = field(default_factory=Allowance)

    def commands(self) -> Iterator[list[Word]]:
        """Yield the words of each command; what a command assigns must be noted (`assign`) before the next one is asked for."""
        words: list[Word] = []
        position, skip_next = 0, False
        here: str | None = None
        while (token := _TOKEN.match(self.text, position)) is not None:
            kind, raw, start = token.lastgroup, token.group(), token.start()
            position = token.end()
            if kind == "end":
                self.ending = raw.strip("\r\n")
                yield words
                words = []
                if here and "\n" in raw:
                    position = self._after_here_document(here, position)
                    here = None
            elif kind == "redirect":
                skip_next = True
                here = "" if raw.strip("0123456789&") in ("<<", "<<-") else here
            elif kind == "word" and skip_next:
                here = raw.strip("'\"\\") if here == "" else here
                skip_next = False
            elif kind == "word" and raw.endswith("=") and ASSIGNMENT.fullmatch(raw) and self.text[position : position + 1] == "(":
                position = self._array(raw, position)
            elif kind == "word" or (kind == "comment" and words and self.text[start - 1] not in " \t\n"):
                words += self.expand(raw, start)
        self.ending = ""
        yield words

    def words(self) -> Iterator[Word]:
        """Yield the words of a text that is a part of a command."""
        return self._split(self.text, self.offset)

    def _after_here_document(self, name: str, position: int) -> int:
        end = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*\r?$", re.MULTILINE).search(self.text, position)
        return end.end() if end is not None else len(self.text)

    def _array(self, raw: str, position: int) -> int:
        """Note `NAME=(word word)` and return where it ends."""
        items: list[Word] = []
        position += 1
        while (token := _TOKEN.match(self.text, position)) is not None:
            position = token.end()
            if token.group() == ")":
                break
            if token.lastgroup == "word":
                items += self.expand(token.group(), token.start())
        name = raw.rstrip("+=")
        known = self.variables.get(name)
        before = known.words if raw.endswith("+=") and known is not None else ()
        self.assign(name, Variable(None, (*before, *items)), is_append=raw.endswith("+="))
        return position

    def assign(self, name: str, variable: Variable, is_append: bool = False) -> None:
        """Note a variable. One that a branch sets again is no longer known after it."""
        if self.is_skipped:
            return
        variable = variable.bounded()
        if self.depth and name in self.variables and not is_append:
            self.variables[name] = UNSET
        else:
            self.variables[name] = replace(variable, weak=True) if self.depth else variable

    def expand(self, raw: str, start: int) -> list[Word]:
        """Return the words that one word of the text makes: several, or none, for an unquoted variable or an array."""
        place = Span(self.offset + start, self.offset + start + len(raw))
        written, raw = raw, _BRACED.sub(r"${\1}", raw) if self.takes_braces else raw
        whole = _WHOLE.fullmatch(raw.removeprefix('"').removesuffix('"') if "[@]" in raw else raw)
        variable = self.variables.get(whole.group(1) or whole.group(2)) if whole is not None else None
        if (
            variable is not None
            and (variable.words or variable.text == "" or "[" in raw)
            and self.allowance.holds(ROOM_OF_WORD * len(variable.words))
        ):
            return [replace(word, place=place, weak=word.weak or variable.weak) for word in variable.words]
        text, weak = self.value(raw)
        return [Word(text, written, place.start, place, weak, self.origin(raw, place.start))]

    def value(self, raw: str) -> tuple[str | None, bool]:
        """Return what a piece of text is to a command, and whether that rests on a default."""
        parts: list[str] = []
        weak = False
        for escaped, single, double, plain in _PIECE.findall(raw):
            if escaped:
                parts.append("" if escaped in "\r\n" else escaped)
            elif single or not (double or plain):
                parts.append(single)
            else:
                text, is_weak = self._substituted(double or plain)
                if text is None:
                    return None, False
                parts.append(re.sub(r"\\\r?\n", "", text) if double else text)
                weak = weak or is_weak
        return "".join(parts), weak

    def _substituted(self, text: str, depth: int = 3) -> tuple[str | None, bool]:
        if "$" not in text and "`" not in text and "{" not in text:
            return text, False
        pieces: list[str] = []
        position, weak = 0, False
        text = _PRINTED.sub(_printed, text)
        if "$((" in text:
            computed_text, weak = self._computed(text)
            if computed_text is None:
                return None, False
            text = computed_text
        for match in _REFERENCE.finditer(text):
            bare, braced, default = match.groups()
            variable = self.variables.get(bare or braced, UNSET)
            found, is_weak = variable.text, variable.weak
            if found is None and default is not None and (bare or braced) not in self.variables and depth:
                found, is_weak = self._substituted(default, depth - 1)[0], True
            if found is None or not self.allowance.holds(len(found)):
                return None, False
            pieces += [text[position : match.start()], found]
            position, weak = match.end(), weak or is_weak
        rest = [*pieces[::2], text[position:]]
        return (None, False) if any(_NOT_KNOWN.search(piece) for piece in rest) else ("".join([*pieces, text[position:]]), weak)

    def _computed(self, text: str) -> tuple[str | None, bool]:
        """Return a text with the numbers that its arithmetic comes to, None where one is not known, and whether one rests on a default."""
        numbers = [computed(match[1], self._text_of) for match in ARITHMETIC.finditer(text)]
        if any(number is None for number, _ in numbers):
            return None, False
        left = iter(numbers)
        return ARITHMETIC.sub(lambda match: str(next(left)[0]), text), any(is_weak for _, is_weak in numbers)

    def _text_of(self, name: str) -> tuple[str | None, bool]:
        variable = self.variables.get(name, UNSET)
        return variable.text, variable.weak

    def origin(self, raw: str, start: int) -> Span | None:
        """Return where the text of a word that is one reference stands: in the assignment of the variable, or in its default."""
        inner = raw[1:-1] if raw[:1] == '"' == raw[-1:] and len(raw) > 1 else raw
        match = _REFERENCE.fullmatch(inner)
        if match is None:
            return None
        name, default = match.group(1) or match.group(2), match.group(3)
        if name in self.variables:
            return self.variables[name].span if self._uses_of(name) == 1 else None
        if not default or "$" in default:
            return None
        begin = start + raw.index(inner) + match.start(3)
        return Span(begin, begin + len(default))

    def _uses_of(self, name: str) -> int:
        """Return how often a variable is read, without `NAME=${NAME:-default}`."""
        if self.uses is None:
            self.uses = Counter(re.findall(rf"\$\{{?({_NAME})", self.text))
            self.uses.subtract(re.findall(rf"\b({_NAME})=\"?\$\{{\1\b", self.text))
        return self.uses[name]

    def variable_of(self, word: Word) -> Variable:
        """Return the variable that an assignment (`NAME="..."`, as one word) makes."""
        raw = word.raw.partition("=")[2]
        start = word.start + len(word.raw) - len(raw)
        text, weak = self.value(raw)
        quote = raw[:1] if raw[:1] in ("'", '"') and raw[-1:] == raw[:1] and len(raw) > 1 else ""
        inner = raw[len(quote) : len(raw) - len(quote)]
        if quote == "'" and "$" in inner:
            return Variable(text)  # the words of `$NAME` are those of the text as it is, which is seldom meant
        is_flag = inner.startswith("--")
        words = tuple(self._split(inner, start + len(quote))) if quote or "$" in inner or is_flag else ()
        span = Span(start + len(quote), start + len(quote) + len(inner)) if text == inner else self.origin(raw, start)
        if word.place != word.span:
            span, words = None, ()
        return Variable(text, words if len(words) != 1 or text is None or is_flag else (), weak, span)

    def unquoted(self, raw: str, start: int, is_weak: bool) -> Variable:
        """Return the variable that a text without quotes around it makes, which begins at an index of the whole text."""
        text, weak = self.value(raw)
        words = tuple(self._split(raw, self.offset + start))
        span = Span(self.offset + start, self.offset + start + len(raw)) if text == raw else None
        return Variable(text, words, weak or is_weak, span)

    def _split(self, inner: str, start: int) -> Iterator[Word]:
        """Yield the words inside the text of a variable, each at its place there."""
        position = 0
        while (token := _TOKEN.match(inner, position)) is not None:
            position = token.end()
            if token.lastgroup == "word":
                begin = start - self.offset + token.start()
                yield from self.expand(token.group(), begin)
            elif token.lastgroup not in ("blank", "comment") and token.group().strip():
                return

    def inside(self, place: Span, word: Word) -> Shell:
        """Return the text that stands at a place of a word, to be read with the variables of this one."""
        self._uses_of("")  # they are counted in the whole text
        return replace(self, text=word.raw[place.start : place.end], offset=word.start + place.start)

    def _default(self, word: Word) -> None:
        """Note the variable that a word gives a value, unless the text has set it."""
        match = _DEFAULT.fullmatch(word.raw)
        if match is not None and match[1] not in self.variables:
            start = word.start + match.start(2)
            text, _ = self.value(match[2])
            self.variables[match[1]] = Variable(text, weak=True, span=Span(start, start + len(match[2])) if text == match[2] else None)

    def noted(self, rest: list[Word]) -> list[Word]:
        """Return a command; nothing for one that only says what variables are, which is noted."""
        if rest and rest[0].raw == ":":  # `: ${BATCH:=16}` gives a variable that is not set a value
            for word in rest[1:]:
                self._default(word)
            return []
        if rest and rest[0].raw in ("read", "unset", "mapfile", "readarray", "getopts"):
            self.variables.update({word.raw: UNSET for word in rest[1:]})
            return []
        return rest


def _printed(match: re.Match[str]) -> str:
    """Return what a command prints on a Mac, or the command as it is written."""
    command, *filters = (match[1] if match[1] is not None else match[2]).replace("2>/dev/null", "").split("|")
    words, data = command.split(), platform_data("shell")
    if words[:1] and words[0] in data["missing"] and all(filters):  # `||` leaves an empty one
        counts = [" ".join(one.split()) in ("wc -l", "wc -w", "grep -c .") for one in filters]
        return "" if not filters else "0" if counts == [True] else match[0]
    if filters:
        return match[0]
    if words[-1:] and words[-1] in data["missing"] and words[0] in ("command", "which"):
        return ""
    found: str = data["outputs"].get(" ".join(words), match[0])
    return found


def _divided(left: int, right: int) -> int:
    """Return a quotient rounded towards zero, as C does."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divided,
    ast.Mod: lambda left, right: left - right * _divided(left, right),
}


def computed(expression: str, value_of: Callable[[str], tuple[str | None, bool]]) -> tuple[int | None, bool]:
    """Return the number that an expression comes to, None where that is not known, and whether it rests on a default.

    `value_of` gives the text of a variable, and whether that is a default.
    """
    is_weak = False
    pieces: list[str] = []
    position = 0
    for match in _VARIABLE.finditer(expression):
        text, weak = value_of(match[1] or match[2])
        if text is None or not re.fullmatch(r"-?[0-9]{1,18}", text):
            return None, False
        pieces += [expression[position : match.start()], f"({text})"]
        position, is_weak = match.end(), is_weak or weak
    plain = "".join([*pieces, expression[position:]])
    if _PLAIN.fullmatch(plain) is None or len(plain) > 500:
        return None, False
    try:
        return _number(ast.parse(plain.strip(), mode="eval").body), is_weak
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return None, False


def _number(node: ast.expr) -> int:
    """Return the number of a part of an expression. Raises ValueError for what the shell computes otherwise."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _number(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        result = _OPERATORS[type(node.op)](_number(node.left), _number(node.right))
        if abs(result) < LARGEST:
            return result
    raise ValueError(ast.dump(node))

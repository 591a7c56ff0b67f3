"""Writes the expressions of the programs that `stateful_programs` compares, and the names that they use."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

QUESTIONS = ("torch.backends.mps.is_available()", "torch.cuda.is_available()", "sys.platform == 'darwin'", "platform.machine() == 'arm64'")
WORDS = ("a", "b", "key", "Mixed Case", "", "x-y", "7", "a,b,c", " pad ")
KEYS = ("'a'", "'b'", "'c'", "1")
ATTRIBUTES = ("size", "name", "rate", "items")


@dataclass
class Scope:
    """The names that a place can use, by what they hold."""

    names: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in ("int", "str", "list", "dict", "obj")})
    functions: list[tuple[str, int]] = field(default_factory=list)
    """Functions with how many numbers they take."""
    in_function: bool = False
    in_loop: bool = False
    depth: int = 0

    def inner(self, *, in_function: bool | None = None, in_loop: bool | None = None) -> Scope:
        """Return the scope of a block."""
        return Scope(
            {kind: list(names) for kind, names in self.names.items()},
            list(self.functions),
            self.in_function if in_function is None else in_function,
            self.in_loop if in_loop is None else in_loop,
            self.depth + 1,
        )


class Expressions:
    """Writes expressions: each method returns one of a kind, or adds a line."""

    def __init__(self, seed: int, statements: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = ["import torch", "import sys", "import platform"]
        self.indent = 0
        self.count = 0
        self.left = statements
        self.classes: list[str] = []
        self.globals: list[str] = []

    # -- small verbs

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def one_of(self, *choices: Callable[[], str]) -> str:
        """Return what one of several makes: the others are not made."""
        return self.random.choice(choices)()

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def define(self, scope: Scope, kind: str) -> str:
        """Write an assignment to a new name, and note it."""
        value = self.of_kind(scope, kind)
        name = self.new({"int": "n", "str": "s", "list": "xs", "dict": "d", "obj": "o"}[kind])
        self.line(f"{name} = {value}")
        scope.names[kind].append(name)
        return name

    def name(self, scope: Scope, kind: str) -> str:
        """Return a name that holds a kind, or a literal where there is none."""
        names = scope.names[kind]
        if names:
            return self.random.choice(names)
        return {
            "int": "3",
            "str": '"s"',
            "list": "[1, 2]",
            "dict": "{'a': 1}",
            "obj": f"{self.pick(*self.classes)}(1)" if self.classes else "3",
        }[kind]

    def probes(self, scope: Scope) -> None:
        for kind, names in scope.names.items():
            for name in self.random.sample(names, min(len(names), 3)):
                self.probe_of(name, kind)

    def probe_of(self, name: str, kind: str) -> None:
        form = {"list": f"list({name})", "dict": f"dict({name})", "obj": f"{name}.{self.pick(*ATTRIBUTES[:3])}"}.get(kind, name)
        if kind == "list" and self.chance(0.4):
            form = self.pick(f"len({name})", f"{name}[-1]", f"{name}[0]", f"1 in {name}", f"not {name}", f"{name}[1:]", f"sum({name})")
        if kind == "dict" and self.chance(0.4):
            form = self.pick(
                f"len({name})", f"{name}.get('a')", f"'b' in {name}", f"list({name}.values())", f"bool({name})", f"list({name})"
            )
        if kind == "obj" and self.chance(0.4):
            form = self.pick(
                f"{name}.total()", f"len({name}.items)", f"hasattr({name}, 'extra')", f"getattr({name}, 'extra', 5)", f"{name}.size"
            )
        self.line(f"probe({form})")

    # -- expressions

    def of_kind(self, scope: Scope, kind: str, depth: int = 0) -> str:
        writers: dict[str, Callable[[Scope, int], str]] = {
            "int": self.number,
            "str": self.text,
            "list": self.list_of,
            "dict": self.dict_of,
            "obj": self.object_of,
            "bool": self.test,
        }
        return writers[kind](scope, depth)

    def number(self, scope: Scope, depth: int = 0) -> str:
        if depth > 2 or self.chance(0.3):
            return self.pick(str(self.random.randint(-3, 9)), self.name(scope, "int"), self.name(scope, "int"))
        inner = depth + 1
        n, m = self.number(scope, inner), self.number(scope, inner)
        xs, d, o = self.name(scope, "list"), self.name(scope, "dict"), self.name(scope, "obj")
        forms = [
            lambda: f"({n} {self.pick('+', '-', '*')} {m})",
            lambda: f"({n} {self.pick('//', '%')} {self.random.choice([2, 3, -4])})",
            lambda: f"len({self.pick(xs, d, self.name(scope, 'str'))})",
            lambda: f"{xs}[{self.random.randint(-1, 1)}]",
            lambda: f"{d}.get({self.pick(*KEYS)}, {n})",
            lambda: f"{d}['a']",
            lambda: f"({n} if {self.test(scope, inner)} else {m})",
            lambda: f"{self.pick('max', 'min')}({n}, {m})",
            lambda: f"abs({n})",
            lambda: f"sum({xs})",
            lambda: f"int('{self.random.randint(0, 40)}')",
            lambda: f"({n} or {m})",
            lambda: f"({n} and {m})",
        ]
        if scope.functions:
            function, size = self.random.choice(scope.functions)
            forms += [lambda: f"{function}({', '.join(self.number(scope, max(inner, 2)) for _ in range(size))})"] * 3
        if scope.names["obj"]:
            forms += [
                lambda: f"{o}.size",
                lambda: f"{o}.total()",
                lambda: f"{o}.grow({n})",
                lambda: f"getattr({o}, 'size')",
                lambda: f"getattr({o}, 'extra', {m})",
                lambda: f"{o}.doubled",
                lambda: f"{o}.rate",
            ]
        if self.chance(0.06):
            return "unknown()"
        return self.random.choice(forms)()

    def test(self, scope: Scope, depth: int = 0) -> str:
        inner = depth + 1
        if depth > 2:
            return self.pick("True", "False", f"{self.name(scope, 'int')} > 2")
        n, m = self.number(scope, inner), self.number(scope, inner)
        forms = [
            lambda: f"{n} {self.pick('<', '<=', '==', '!=', '>')} {m}",
            lambda: f"{self.number(scope, 3)} < {n} <= {m}",
            lambda: f"{n} in {self.name(scope, 'list')}",
            lambda: f"{self.pick(*KEYS)} {self.pick('in', 'not in')} {self.name(scope, 'dict')}",
            lambda: f"{self.name(scope, 'dict')}.get({self.pick(*KEYS)}) is {self.pick('None', 'not None')}",
            lambda: f"not {self.name(scope, 'list')}",
            lambda: f"isinstance({self.name(scope, self.pick('int', 'list', 'dict', 'str'))}, {self.pick('int', 'list', 'dict', 'str')})",
            lambda: f"{self.text(scope, 3)} == {self.text(scope, 3)}",
            lambda: f"({self.test(scope, inner)} {self.pick('and', 'or')} {self.test(scope, inner)})",
            lambda: f"not {self.test(scope, inner)}",
            lambda: self.pick(*QUESTIONS),
            lambda: f"{self.name(scope, 'list')} == {self.name(scope, 'list')}",
        ]
        if scope.names["obj"]:
            o, p = self.name(scope, "obj"), self.name(scope, "obj")
            forms += [lambda: f"hasattr({o}, 'extra')", lambda: f"{o} is {p}", lambda: f"isinstance({o}, {self.pick(*self.classes)})"]
        if self.chance(0.12):
            return "unknown()"
        return self.random.choice(forms)()

    def text(self, scope: Scope, depth: int = 0) -> str:
        if depth > 2 or self.chance(0.4):
            return self.pick(repr(self.pick(*WORDS)), self.name(scope, "str"))
        s, n = self.text(scope, depth + 1), self.number(scope, depth + 1)
        return self.one_of(
            lambda: f"({s} + {self.text(scope, depth + 1)})",
            lambda: f"f'{{{self.name(scope, 'int')}}}-{{{self.name(scope, 'str')}}}'",
            lambda: f"{s}.{self.pick('upper', 'lower', 'strip', 'title')}()",
            lambda: f"{s}[{self.random.randint(0, 2)}:]",
            lambda: f"{s}.replace('a', 'b')",
            lambda: f"str({n})",
            lambda: f"','.join(str(one) for one in {self.name(scope, 'list')})",
            lambda: f"('%s:%d' % ({s}, {self.name(scope, 'int')}))",
            lambda: f"'{{}}/{{}}'.format({s}, {self.name(scope, 'int')})",
            lambda: f"({s} if {self.test(scope, depth + 1)} else {self.name(scope, 'str')})",
        )

    def list_of(self, scope: Scope, depth: int = 0) -> str:
        xs, inner = self.name(scope, "list"), depth + 1
        if depth > 1 or self.chance(0.3):
            return f"[{', '.join(self.number(scope, 3) for _ in range(self.random.randint(0, 3)))}]"
        return self.one_of(
            lambda: xs,
            lambda: f"[{self.number(scope, inner)}, {self.number(scope, inner)}]",
            lambda: f"list(range({self.random.randint(0, 4)}))",
            lambda: f"[one + {self.number(scope, 3)} for one in {xs}]",
            lambda: f"[one for one in {xs} if one > {self.number(scope, 3)}]",
            lambda: f"[*{xs}, {self.number(scope, inner)}]",
            lambda: f"sorted({xs})",
            lambda: f"{xs}[{self.random.randint(0, 1)}:{self.random.randint(1, 3)}]",
            lambda: f"({xs} + {self.name(scope, 'list')})",
            lambda: f"list({self.name(scope, 'dict')}.values())",
            lambda: f"{xs}.copy()",
            lambda: f"[key for key, value in {self.name(scope, 'dict')}.items() if value]",
            lambda: f"list(one * 2 for one in {xs})",
            lambda: f"[2] * {self.random.randint(0, 3)}",
            lambda: f"list(map(abs, {xs}))",
            lambda: f"list(reversed({xs}))",
            lambda: f"[a + b for a, b in zip({xs}, {self.name(scope, 'list')})]",
            lambda: f"[i * one for i, one in enumerate({xs})]",
        )

    def dict_of(self, scope: Scope, depth: int = 0) -> str:
        d, inner = self.name(scope, "dict"), depth + 1
        if depth > 1 or self.chance(0.4):
            return f"{{'a': {self.number(scope, inner)}, {self.pick(*KEYS)}: {self.number(scope, inner)}}}"
        return self.one_of(
            lambda: d,
            lambda: f"{{**{d}, 'b': {self.number(scope, inner)}}}",
            lambda: f"dict(a={self.number(scope, inner)}, c={self.number(scope, inner)})",
            lambda: f"dict({d})",
            lambda: f"{d}.copy()",
            lambda: f"{{str(one): one for one in {self.name(scope, 'list')}}} | {{'a': 1}}",
            lambda: f"({d} | {{'c': {self.number(scope, inner)}}})",
            lambda: f"{{key: value for key, value in {d}.items() if key != 'b'}} | {{'a': 2}}",
        )

    def object_of(self, scope: Scope, depth: int = 0) -> str:
        if not self.classes:
            return "3"
        made = f"{self.pick(*self.classes)}({self.number(scope, 3)})"
        return self.pick(made, made, self.name(scope, "obj"))

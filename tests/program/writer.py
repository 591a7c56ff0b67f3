"""Writes the programs with state that `stateful_programs` compares."""

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


class Writer:
    """Writes one program: each method adds lines, or returns an expression of a kind."""

    def __init__(self, seed: int, statements: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = ["import torch", "import sys", "import platform"]
        self.indent = 0
        self.count = 0
        self.left = statements
        self.classes: list[str] = []
        self.globals: list[str] = []

    def program(self) -> str:
        """Return the whole program."""
        scope = Scope()
        for kind in ("int", "str", "list", "dict", "int", "list"):
            self.define(scope, kind)
            if kind in ("list", "dict"):  # enough in it that most of what follows can be done
                self.line(f"{scope.names[kind][-1]}" + (".extend([4, 2, 5])" if kind == "list" else ".update(a=3)"))
        self.globals = list(scope.names["int"])
        for _ in range(self.random.randint(1, 2)):
            self.write_class(scope)
        self.define(scope, "obj")
        while self.left > 0:
            self.statement(scope)
        self.probes(scope)
        return "\n".join(self.lines) + "\n"

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

    def block(self, header: str, scope: Scope, most: int = 3) -> None:
        """Write a header and a few statements below it."""
        self.line(header)
        self.indent += 1
        for _ in range(self.random.randint(1, most)):
            self.statement(scope)
        self.indent -= 1

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

    # -- statements

    def statement(self, scope: Scope) -> None:
        self.left -= 1
        simple = (
            self.assign,
            self.assign,
            self.change_list,
            self.change_dict,
            self.change_object,
            self.unpack,
            self.probe,
            self.call,
            self.augment,
            self.aside,
        )
        nested = (self.branch, self.branch, self.for_loop, self.while_loop, self.try_block, self.function, self.with_block, self.generator)
        writers = (*simple, *simple, *nested) if scope.depth < 3 and self.left > 0 else simple
        self.random.choice(writers)(scope)
        if self.chance(0.3):
            self.probe(scope)

    def assign(self, scope: Scope) -> None:
        kind = self.pick("int", "int", "str", "list", "dict", "obj")
        names = scope.names[kind]
        if names and self.chance(0.6):
            self.line(f"{self.random.choice(names)} = {self.of_kind(scope, kind)}")
        elif self.chance(0.15) and len(names) > 1:
            self.line(f"{self.random.choice(names)} = {self.random.choice(names)} = {self.of_kind(scope, kind)}")
        else:
            self.define(scope, kind)

    def augment(self, scope: Scope) -> None:
        target = self.pick(
            self.name(scope, "int"), f"{self.name(scope, 'dict')}['a']", f"{self.name(scope, 'list')}[0]", f"{self.name(scope, 'obj')}.size"
        )
        if target[0].isalpha() and "(" not in target:
            self.line(f"{target} {self.pick('+=', '-=', '*=')} {self.number(scope, 1)}")
        else:
            self.define(scope, "int")

    def change_list(self, scope: Scope) -> None:
        xs, n = self.name(scope, "list"), self.number(scope, 1)
        self.line(
            self.pick(
                f"{xs}.append({n})",
                f"{xs}.append({n})",
                f"{xs}.extend({self.list_of(scope, 2)})",
                f"{xs}.insert({self.random.randint(0, 2)}, {n})",
                f"{xs} += [{n}]" if xs[0].isalpha() else f"{xs}.append(1)",
                f"{xs}.reverse()",
                f"{xs}.sort()",
                f"{xs}[0:1] = [{n}, {self.number(scope, 2)}]",
                f"{xs}[0] = {n}",
                f"{xs}.pop()",
                f"del {xs}[0]",
                f"{xs}.clear()",
                f"{xs}.remove({n})",
            )
        )

    def change_dict(self, scope: Scope) -> None:
        d, key, n = self.name(scope, "dict"), self.pick(*KEYS), self.number(scope, 1)
        self.line(
            self.pick(
                f"{d}[{key}] = {n}",
                f"{d}[{self.text(scope, 2)}] = {n}",
                f"{d}.update({{{key}: {n}}})",
                f"{d}.update(b={n})",
                f"{d}.setdefault({key}, {n})",
                f"{d}.pop({key}, None)",
                f"del {d}[{key}]",
                f"{d}[{key}] += {n}",
            )
        )

    def change_object(self, scope: Scope) -> None:
        if not scope.names["obj"]:
            self.define(scope, "int")
            return
        o, n = self.name(scope, "obj"), self.number(scope, 1)
        self.line(
            self.pick(
                f"{o}.{self.pick('size', 'size', 'extra')} = {n}",
                f"setattr({o}, {self.pick(repr('size'), repr('extra'))}, {n})",
                f"{o}.items.append({n})",
                f"{o}.items = {self.name(scope, 'list')}",
                f"{self.pick(*self.classes)}.rate = {n}",
                f"{self.pick(*self.classes)}.shared.append({n})",
                f"delattr({o}, 'extra')" if self.chance(0.2) else f"{o}.extra = {n}",
                f"{o}.grow({n})",
                f"{o}.doubled = {n}" if self.chance(0.3) else f"{o}.shared.append({n})",
                f"{o}.bump({n})",
            )
        )

    def unpack(self, scope: Scope) -> None:
        first, second = self.new("n"), self.new("n")
        if len(scope.names["int"]) > 1 and self.chance(0.3):
            a, b = self.random.sample(scope.names["int"], 2)
            self.line(f"{a}, {b} = {b}, {a}")
            return
        if self.chance(0.4):
            rest = self.new("xs")
            self.line(f"{first}, *{rest} = {self.pick(self.name(scope, 'list'), f'[{self.number(scope, 1)}, {self.number(scope, 1)}]')}")
            scope.names["list"].append(rest)
        else:
            self.line(f"{first}, {second} = {self.number(scope, 1)}, {self.number(scope, 1)}")
            scope.names["int"].append(second)
        scope.names["int"].append(first)

    def probe(self, scope: Scope) -> None:
        kind = self.pick("int", "str", "list", "dict", "obj", "bool")
        if kind == "bool":
            self.line(f"probe({self.test(scope)})")
        elif scope.names[kind] and self.chance(0.8):
            self.probe_of(self.name(scope, kind), kind)
        else:
            self.line(f"probe({self.number(scope)})")

    def call(self, scope: Scope) -> None:
        self.line(self.number(scope, 0))

    def aside(self, scope: Scope) -> None:
        """Write one of the rarer statements."""
        names = scope.names["int"]
        if scope.in_function and self.chance(0.4):
            self.line(f"return {self.number(scope, 1)}")
        elif scope.in_loop and self.chance(0.6):
            self.line(self.pick("break", "continue"))
        elif self.chance(0.2) and names:
            self.line(f"if ({self.random.choice(names)} := {self.number(scope, 1)}) > 2: probe({self.random.choice(names)})")
        elif self.chance(0.1) and len(names) > 3:
            self.line(f"del {names.pop()}")
        elif self.chance(0.3):
            self.line(f"raise {self.pick('ValueError', 'KeyError', 'RuntimeError')}('x')" if scope.depth > 1 else "pass")
        else:
            name = self.new("f")
            self.line(f"{name} = lambda a, b={self.number(scope, 2)}: a + b + {self.name(scope, 'int')}")
            scope.functions.append((name, 1))

    def branch(self, scope: Scope) -> None:
        self.block(f"if {self.test(scope)}:", scope.inner())
        if self.chance(0.3):
            self.block(f"elif {self.test(scope)}:", scope.inner())
        if self.chance(0.5):
            self.block("else:", scope.inner())

    def for_loop(self, scope: Scope) -> None:
        inner = scope.inner(in_loop=True)
        one, other = self.new("n"), self.new("n")
        inner.names["int"].append(one)
        xs = self.name(scope, "list")
        header = self.pick(
            f"for {one} in range({self.random.randint(0, 4)}):",
            f"for {one} in {self.list_of(scope, 2)}:",
            f"for {one} in list({xs}):",
            f"for {other}, {one} in {self.name(scope, 'dict')}.items():"
            if self.chance(0.5)
            else f"for {other}, {one} in enumerate(list({xs})):",
            f"for {one}, {other} in zip(list({xs}), range(3)):",
        )
        self.block(header, inner)
        if self.chance(0.15):
            self.block("else:", scope.inner())

    def while_loop(self, scope: Scope) -> None:
        counter = self.new("i")
        self.line(f"{counter} = 0")
        is_endless = self.chance(0.3)
        self.line("while True:" if is_endless else f"while {counter} < {self.random.randint(1, 4)}:")
        self.indent += 1
        self.line(f"{counter} += 1")
        if is_endless:
            self.line(f"if {counter} > {self.random.randint(1, 4)}: break")
        inner = scope.inner(in_loop=True)
        for _ in range(self.random.randint(1, 3)):
            self.statement(inner)
        self.indent -= 1
        if self.chance(0.15):
            self.block("else:", scope.inner())

    def try_block(self, scope: Scope) -> None:
        self.block("try:", scope.inner())
        if self.chance(0.8):
            caught = self.pick("Exception", "ValueError", "(KeyError, IndexError)", "LookupError", "ZeroDivisionError", "AttributeError")
            self.block(f"except {caught}:", scope.inner(), 2)
            if self.chance(0.3):
                self.block("except Exception as error:", scope.inner(), 2)
            if self.chance(0.3):
                self.block("else:", scope.inner(), 2)
            if self.chance(0.3):
                self.block("finally:", scope.inner(), 2)
        else:
            self.block("finally:", scope.inner(), 2)

    def function(self, scope: Scope) -> None:
        name, size = self.new("f"), self.random.randint(0, 2)
        parameters = [self.new("n") for _ in range(size)]
        inner = scope.inner(in_function=True, in_loop=False)
        extra = ""
        if self.chance(0.25):
            extra = self.new("xs")
            inner.names["list"].append(extra)
        written = [*parameters, *([f"{extra}=[]"] if extra else [])]
        if self.chance(0.15):
            self.line(f"@{self.decorator(scope)}")
        self.line(f"def {name}({', '.join(written)}):")
        self.indent += 1
        outer = [one for one in scope.names["int"] if one not in self.globals]
        own = self.random.sample(self.globals, min(len(self.globals), 1)) if self.chance(0.5) else []
        if own:
            self.line(f"global {own[0]}")
        if outer and scope.in_function and self.chance(0.5):
            own.append(self.random.choice(outer))
            self.line(f"nonlocal {own[-1]}")
        inner.names["int"] = [*parameters, *own]
        local = self.new("n")
        self.line(f"{local} = {self.pick(*parameters, *self.globals, '1')}")
        inner.names["int"].append(local)
        for kind in ("str", "list", "dict", "obj"):
            inner.names[kind] = [self.alias(kind, one) if one != extra else one for one in inner.names[kind][-2:]]
        if extra:
            self.line(f"{extra}.append({local})")
        for _ in range(self.random.randint(1, 4)):
            self.statement(inner)
        self.line(f"return {self.number(inner, 1)}")
        self.indent -= 1
        scope.functions.append((name, size))

    def alias(self, kind: str, name: str) -> str:
        """Write a local name for what an outer name holds, so that assigning to it makes no outer name unreadable."""
        local = self.new({"str": "s", "list": "xs", "dict": "d", "obj": "o"}[kind])
        self.line(f"{local} = {name}")
        return local

    def decorator(self, scope: Scope) -> str:
        name = self.new("deco")
        calls = self.new("n")
        self.line(f"{calls} = 0")
        self.line(f"def {name}(function):")
        self.line("    def wrapper(*args, **kwargs):")
        self.line(f"        global {calls}" if not scope.in_function else f"        nonlocal {calls}")
        self.line(f"        {calls} += 1")
        self.line("        return function(*args, **kwargs)")
        self.line("    return wrapper")
        return name

    def with_block(self, scope: Scope) -> None:
        if not scope.names["obj"]:
            return self.assign(scope)
        held = self.new("o")
        inner = scope.inner()
        inner.names["obj"].append(held)
        self.block(f"with {self.name(scope, 'obj')} as {held}:", inner)
        return None

    def generator(self, scope: Scope) -> None:
        name, made = self.new("g"), self.new("xs")
        xs = self.name(scope, "list")
        if self.chance(0.4):
            self.line(f"{name} = (one + 1 for one in {xs})")
        else:
            self.line(f"def make{name}(limit):")
            self.line("    for one in range(limit):")
            if self.chance(0.4):
                self.line(f"        {xs}.append(one)" if xs[0].isalpha() else "        pass")
            self.line("        yield one * 2")
            self.line(f"{name} = make{name}({self.random.randint(0, 3)})")
        if self.chance(0.3):
            self.line(f"probe(next({name}, None))")
        self.line(f"{made} = list({name})")
        if self.chance(0.6):
            self.line(f"probe(list({name}))")
        scope.names["list"].append(made)

    def write_class(self, scope: Scope) -> None:
        name = self.new("C")
        base = self.random.choice(self.classes) if self.classes and self.chance(0.6) else ""
        self.line(f"class {name}({base}):" if base else f"class {name}:")
        self.indent += 1
        if not base or self.chance(0.5):
            self.line(f"rate = {self.random.randint(0, 5)}")
        if not base or self.chance(0.3):
            self.line("shared = []")
        if not base or self.chance(0.5):
            self.line("def __init__(self, size):")
            if base:
                self.line("    super().__init__(size + 1)")
            else:
                self.line("    self.size = size")
                self.line(f"    self.items = {self.pick('[]', 'list(range(2))', '[size]')}")
                self.line(f"    self.name = {self.pick(repr('n'), 'str(size)')}")
        if not base or self.chance(0.4):
            self.line("def total(self):")
            self.line(f"    return {self.pick('self.size + self.rate', 'sum(self.items) + self.size', 'len(self.shared) + self.rate')}")
        if not base or self.chance(0.4):
            self.line("def grow(self, by):")
            self.line(f"    {self.pick('self.size += by', 'self.items.append(by)', 'self.shared.append(by)')}")
            self.line(f"    return {self.pick('self.size', 'len(self.items)', 'self')}" if not base else "    return super().grow(by)")
        if not base:
            self.line("@property")
            self.line("def doubled(self):")
            self.line("    return self.size * 2")
            self.line("@doubled.setter")
            self.line("def doubled(self, value):")
            self.line("    self.size = value")
            self.line("@classmethod")
            self.line("def bump(cls, by):")
            self.line("    cls.rate += by")
            self.line("    return cls.rate")
            self.line("def __enter__(self):")
            self.line(f"    {self.pick('self.size += 1', 'pass')}")
            self.line("    return self")
            self.line("def __exit__(self, *error):")
            self.line("    self.size -= 1")
            self.line(f"    return {self.pick('False', 'False', 'True')}")
        self.indent -= 1
        self.classes.append(name)

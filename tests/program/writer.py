"""Writes the programs with state that `stateful_programs` compares: their statements, blocks and classes."""

from __future__ import annotations

from tests.program.expressions_of_programs import KEYS, Expressions, Scope


class Writer(Expressions):
    """Writes one program: each method adds lines."""

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

    def block(self, header: str, scope: Scope, most: int = 3) -> None:
        """Write a header and a few statements below it."""
        self.line(header)
        self.indent += 1
        for _ in range(self.random.randint(1, most)):
            self.statement(scope)
        self.indent -= 1

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

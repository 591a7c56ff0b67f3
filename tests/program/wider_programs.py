"""What programs with state do more rarely, for `stateful_programs`: iterators, views, patterns, special methods, copies, closures."""

from __future__ import annotations

from tests.program.expressions_of_programs import Scope
from tests.program.writer import Writer

WIDER = 0.35
"""The share of statements that are such."""
IMPORTS = ("import contextlib", "import copy", "import functools")
SPECIAL_METHODS = (
    ("def __len__(self):", "    self.size += 1", "    return 2"),
    ("def __bool__(self):", "    self.items.append(1)", "    return True"),
    ("def __iter__(self):", "    self.size += 1", "    return iter(self.items)"),
    ("def __getitem__(self, key):", "    self.size += 1", "    return key"),
    ("def __setitem__(self, key, value):", "    self.items.append(value)"),
    ("def __contains__(self, one):", "    self.shared.append(one)", "    return True"),
    ("def __eq__(self, other):", "    self.size += 1", "    return True"),
    ("def __add__(self, other):", "    self.size += 1", "    return self.size"),
    ("def __iadd__(self, other):", "    self.size += other", "    return self"),
    ("def __str__(self):", "    self.size += 1", "    return 'text'"),
    ("def __call__(self, by=1):", "    self.size += by", "    return self.size"),
    ("def __getattr__(self, name):", "    if name != 'extra':", "        raise AttributeError(name)", "    return 4"),
    ("@staticmethod", "def plus(a, b=[]):", "    b.append(a)", "    return len(b)"),
    ("@property", "def taken(self):", "    self.size += 1", "    return self.size"),
)


class WiderWriter(Writer):
    """Writes programs that use more of the language."""

    def __init__(self, seed: int, statements: int) -> None:
        super().__init__(seed, statements)
        self.lines += IMPORTS
        self.iterators: list[str] = []
        self.views: list[str] = []
        self.nested: list[str] = []

    def statement(self, scope: Scope) -> None:
        if not self.chance(WIDER):
            super().statement(scope)
            return
        self.left -= 1
        simple = (self.use_iterator, self.use_iterator, self.make_iterator, self.use_view, self.change_part, self.nest, self.with_effects)
        simple += (self.take_apart, self.special, self.copy, self.loop_target, self.through_dict)
        nested = (self.match, self.closure, self.loop_over_iterator, self.swallow, self.once, self.managed, self.default_dict)
        self.random.choice((*simple, *nested) if scope.depth < 3 and self.left > 0 else simple)(scope)

    def write_class(self, scope: Scope) -> None:
        """Write a class, sometimes one that derives from two and adds nothing, sometimes one with special methods."""
        if len(self.classes) > 1 and self.chance(0.4):
            name, (first, second) = self.new("C"), self.random.sample(self.classes, 2)
            self.lines += ["try:", f"    class {name}({first}, {second}):", f"        rate = {self.random.randint(0, 5)}"]
            self.lines += ["except TypeError:", f"    {name} = {first}"]
            self.classes.append(name)
            return
        super().write_class(scope)
        for method in self.random.sample(SPECIAL_METHODS, self.random.randint(0, 3)):
            self.lines += [f"    {line}" for line in method]
        if self.chance(0.5) and len(self.classes) < 3:
            self.write_class(scope)

    # -- iterators and views

    def make_iterator(self, scope: Scope) -> None:
        xs, d, name = self.name(scope, "list"), self.name(scope, "dict"), self.new("it")
        made = self.pick(
            f"iter({xs})",
            f"zip({xs}, {self.name(scope, 'list')})",
            f"enumerate({xs})",
            f"reversed({xs})",
            f"map(abs, {xs})",
            f"(one + {self.number(scope, 3)} for one in {xs})",
            f"iter({d})",
            f"iter({d}.items())",
            f"filter(None, {xs})",
        )
        self.line(f"{name} = {made}")
        if not scope.in_function:
            self.iterators.append(name)

    def use_iterator(self, scope: Scope) -> None:
        if not self.iterators:
            self.make_iterator(scope)
            return
        it = self.random.choice(self.iterators)
        self.line(
            self.pick(
                f"probe(next({it}, None))",
                f"probe(list({it}))",
                f"{self.new('xs')} = list({it})",
                f"probe(1 in {it})",
                f"probe(sum(1 for _ in {it}))",
                f"{self.new('it')} = {it}; next({it}, 0)",
                f"{self.name(scope, 'list')}.extend(list({it})[:2])" if scope.names["list"] else f"next({it}, 3)",
            )
        )

    def use_view(self, scope: Scope) -> None:
        if self.views and self.chance(0.7):
            view = self.random.choice(self.views)
            self.line(self.pick(f"probe(len({view}))", f"probe(list({view}))", f"probe('a' in {view})", f"probe(bool({view}))"))
            return
        name = self.new("v")
        self.line(f"{name} = {self.name(scope, 'dict')}.{self.pick('keys', 'values', 'items')}()")
        if not scope.in_function:
            self.views.append(name)

    def loop_over_iterator(self, scope: Scope) -> None:
        if not self.iterators:
            self.make_iterator(scope)
            return
        one = self.new("e")
        inner = scope.inner(in_loop=True)
        self.block(f"for {one} in {self.random.choice(self.iterators)}:", inner, 2)
        self.line(f"probe({self.pick(*self.iterators)} is None)")

    # -- lists, dicts and what is in them

    def change_part(self, scope: Scope) -> None:
        xs, n, ys = self.name(scope, "list"), self.number(scope, 2), self.name(scope, "list")
        if xs[0] == "[":
            return self.assign(scope)
        self.line(
            self.pick(
                f"{xs}[{self.random.randint(0, 2)}:] = {ys}",
                f"{xs}[:{self.random.randint(0, 2)}] = []",
                f"{xs}[::2] = [{n}] * len({xs}[::2])",
                f"del {xs}[{self.random.randint(0, 1)}:{self.random.randint(1, 3)}]",
                f"del {xs}[::2]",
                f"{xs}[-1:] += [{n}]",
                f"{xs} *= {self.random.randint(0, 2)}",
                f"{xs}[0], {xs}[-1] = {xs}[-1], {n}",
                f"{xs}[:] = sorted({ys}, key=lambda one: -one)",
                f"{xs}[len({ys}) % 2] -= {n}",
            )
        )
        return None

    def nest(self, scope: Scope) -> None:
        """Write a list or dict of lists, or change one that is in one."""
        xs = self.name(scope, "list")
        if not self.nested or scope.in_function or self.chance(0.4):
            name = self.new("w")
            self.line(f"{name} = {self.pick(f'[{xs}, [1]]', f'[{xs}] * 2', '[[0] for _ in range(2)]', f'[{xs}, {xs}.copy()]')}")
            if scope.in_function:
                self.line(f"{name}[0].append(7)")
            else:
                self.nested.append(name)
            return
        w = self.random.choice(self.nested)
        self.line(
            self.pick(
                f"{w}[0].append({self.number(scope, 3)})",
                f"{w}[-1] += [{self.number(scope, 3)}]",
                f"{w}[1][0] = 8",
                f"{w}[0] = {xs}",
                f"{w}.append({w}[0])",
                f"probe(list({w}[0]))",
                f"probe([len(one) for one in {w}])",
                f"del {w}[0][0]",
                f"{w}[0], {w}[1] = {w}[1], {w}[0]",
            )
        )

    def take_apart(self, scope: Scope) -> None:
        xs, a, b, rest = self.name(scope, "list"), self.new("n"), self.new("n"), self.new("xs")
        self.line(
            self.pick(
                f"{a}, *{rest}, {b} = {xs}, {self.number(scope, 3)}, 4",
                f"({a}, {b}), *{rest} = [({self.number(scope, 3)}, 2), 3]",
                f"*{rest}, {a}, {b} = [*{xs}, 1, 2]",
                f"{a} = {b} = {self.number(scope, 2)}; {rest} = [{a}]",
                f"[{a}, {b}], {rest} = '{self.random.randint(10, 99)}', {xs}",
                f"{a}, {b} = {{'k': 1, 'l': 2}}; {rest} = [{a}]",
            )
        )
        scope.names["list"].append(rest)

    def with_effects(self, scope: Scope) -> None:
        """Write a comprehension that changes something."""
        xs, ys, d, o = self.name(scope, "list"), self.name(scope, "list"), self.name(scope, "dict"), self.name(scope, "obj")
        made = self.new("xs")
        self.line(
            f"{made} = "
            + self.pick(
                f"[{o}.grow(one) for one in {xs}]",
                f"[{d}.update({{str(one): one}}) or one for one in {xs}]",
                f"[{ys}.append(one) or len({ys}) for one in {xs}[:3]]",
                f"list({d}.setdefault('b', one) for one in {xs} if one > 1)",
                f"[({self.new('n')} := one) for one in {xs}]",
                f"[one for one in {xs} if {d}.pop('a', None)]",
                f"[inner for one in [{xs}, {ys}] for inner in one]",
                f"list({{key: {o}.grow(1) for key in 'ab'}}.values())",
                f"[{xs}.pop() for _ in range(min(2, len({xs})))]",
            )
        )
        scope.names["list"].append(made)

    def copy(self, scope: Scope) -> None:
        kind = self.pick("list", "dict", "obj")
        made = self.new({"list": "xs", "dict": "d", "obj": "o"}[kind])
        source = self.pick(*self.nested) if kind == "list" and self.nested and not scope.in_function else self.name(scope, kind)
        self.line(f"{made} = copy.{self.pick('copy', 'deepcopy')}({source})")
        if source not in self.nested:
            scope.names[kind].append(made)
        else:
            self.line(f"{made}[0].append(6); probe(list({source}[0]))")

    def loop_target(self, scope: Scope) -> None:
        o, d, xs = self.name(scope, "obj"), self.name(scope, "dict"), self.name(scope, "list")
        target = self.pick(f"{o}.size" if o[0] == "o" else "_", f"{d}['a']" if d[0] == "d" else "_", f"{o}.extra" if o[0] == "o" else "_")
        self.line(f"for {target} in {self.pick(xs, '[4, 5]')}: {self.pick('pass', 'break')}")

    def through_dict(self, scope: Scope) -> None:
        if not scope.names["obj"]:
            return self.assign(scope)
        o, n = self.name(scope, "obj"), self.number(scope, 2)
        self.line(
            self.pick(
                f"vars({o})['size'] = {n}",
                f"{o}.__dict__.update(extra={n})",
                f"probe(vars({o}).get('size'))",
                f"probe(sorted({o}.__dict__))",
                f"setattr({o}, {self.pick(*(repr(one) for one in ('size', 'rate', 'doubled')))}, {n})",
                f"del {o}.rate",
                f"probe({self.pick('getattr', 'hasattr')}({o}, {self.pick(repr('size'), repr('rate'))}))",
                f"{o}.rate += {n}",
                f"type({o}).rate = {n}",
            )
        )
        return None

    def special(self, scope: Scope) -> None:
        """Write what calls special methods, where the class of an object has them."""
        if not scope.names["obj"]:
            return self.assign(scope)
        o, n = self.name(scope, "obj"), self.number(scope, 3)
        self.line(
            self.pick(
                f"len({o})",
                f"if {o}: {self.name(scope, 'list') if scope.names['list'] else '[]'}.append(2)",
                f"for one in {o}: pass",
                f"{o}[{n}]",
                f"{o}[{n}] = 1",
                f"probe({n} in {o})",
                f"probe({o} == {n})",
                f"{o} + {n}",
                f"{o} += {n}",
                f"f'{{{o}}}'",
                f"{o}({n})",
                f"list(map({o}, [1, 2]))",
                f"probe({o}.taken)",
                f"probe({o}.plus({n}))",
                f"not {o}",
                f"[*{o}]",
                f"sorted([{o}, {o}], key=len)",
            )
        )
        self.line(f"probe({o}.size)")
        return None

    # -- blocks

    def match(self, scope: Scope) -> None:
        n, xs, o = self.number(scope, 2), self.name(scope, "list"), self.name(scope, "obj")
        a, rest = self.new("n"), self.new("xs")
        self.line(f"match {self.pick(n, xs, xs, self.name(scope, 'dict'), o, self.text(scope, 2))}:")
        self.indent += 1
        cases = [
            f"case {self.random.randint(0, 3)} | {self.random.randint(0, 3)}:",
            f"case [{a}, *{rest}]:",
            f"case [{a}, {rest}]:",
            f"case int() as {a} if {self.test(scope, 2)}:",
            f"case {{'a': {a}}}:",
            f"case {{'a': {a}, **{rest}}}:",
            f"case {self.pick(*self.classes) if self.classes else 'str'}() as {a}:",
            "case str() | float():",
            "case None:",
            f"case {self.pick(*self.classes) if self.classes else 'int'}(size={a}):",
        ]
        for case in self.random.sample(cases, self.random.randint(1, 3)):
            self.block(case, scope.inner(), 2)
        if self.chance(0.5):
            self.block(f"case {self.pick('_', self.new('n'))}:", scope.inner(), 2)
        self.indent -= 1

    def closure(self, scope: Scope) -> None:
        """Write a function that makes two which share what they change."""
        make, grow, show = self.new("make"), self.new("grow"), self.new("show")
        self.line(f"def {make}(n):")
        self.line("    seen = []")
        self.line("    def grow(by=1):")
        self.line("        nonlocal n")
        self.line(f"        n {self.pick('+=', '*=', '-=')} by")
        self.line(f"        {self.pick('seen.append(n)', 'pass', 'seen[:] = [n]')}")
        self.line("        return n")
        self.line("    return grow, lambda: (n, len(seen))")
        self.line(f"{grow}, {show} = {make}({self.number(scope, 2)})")
        self.line(f"{grow}({self.number(scope, 2)})")
        self.line(f"probe({show}())")
        scope.functions.append((grow, 1))

    def swallow(self, scope: Scope) -> None:
        caught = self.pick("Exception", "ValueError", "KeyError, IndexError", "ZeroDivisionError")
        self.block(f"with contextlib.suppress({caught}):", scope.inner())

    def once(self, scope: Scope) -> None:
        name, seen = self.new("f"), self.new("xs")
        self.line(f"{seen} = []")
        self.line(f"@functools.{self.pick('cache', 'lru_cache', 'lru_cache(maxsize=None)')}")
        self.line(f"def {name}(n):")
        self.line(f"    {seen}.append(n)")
        self.line(f"    return {self.pick('n + 1', f'len({seen})', 'n')}")
        self.line(f"probe({name}({self.number(scope, 3)}) + {name}({self.number(scope, 3)}))")
        self.line(f"probe(len({seen}))")
        scope.names["list"].append(seen)
        scope.functions.append((name, 1))

    def managed(self, scope: Scope) -> None:
        name, held = self.new("managed"), self.name(scope, "list")
        self.line("@contextlib.contextmanager")
        self.line(f"def {name}(xs):")
        self.line("    xs.append(1)")
        self.line(f"    {self.pick('yield len(xs)', 'yield xs')}")
        self.line("    xs.append(2)")
        self.block(f"with {name}({held}) as {self.new('held')}:", scope.inner(), 2)
        self.line(f"probe(len({held}))")

    def default_dict(self, scope: Scope) -> None:
        name = self.new("f")
        self.line(f"def {name}(n, *more, seen={{}}, **named):")
        self.line(f"    seen[{self.pick('n', 'len(seen)', repr('a'))}] = {self.pick('n', 'len(more)', 'seen.get(n, 0) + 1')}")
        self.line(f"    {self.pick('named.update(seen)', 'more += (n,)', 'pass')}")
        self.line(f"    return {self.pick('len(seen)', 'len(named) + len(more)', 'sum(seen.values())')}")
        self.line(f"probe({name}({self.number(scope, 2)}, *{self.name(scope, 'list')}))")
        self.line(f"probe({name}({self.number(scope, 2)}, a=1, **{{'b': 2}}))")
        scope.functions.append((name, 1))

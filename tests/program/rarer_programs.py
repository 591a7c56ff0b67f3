"""What programs with state do most rarely, for `stateful_programs`: descriptors, fields, enumerations, managers, generators that are told things."""

from __future__ import annotations

from tests.program.expressions_of_programs import Scope
from tests.program.wider_programs import WiderWriter

RARER = 0.3
"""The share of statements that are such."""
MORE_IMPORTS = ("import collections", "import dataclasses", "import enum", "import itertools", "import operator", "import typing")


class RarerWriter(WiderWriter):
    """Writes programs that use nearly all of the language."""

    def __init__(self, seed: int, statements: int) -> None:
        super().__init__(seed, statements)
        self.lines += MORE_IMPORTS

    def statement(self, scope: Scope) -> None:
        if scope.depth > 2 or not self.chance(RARER):
            super().statement(scope)
            return
        self.left -= 1
        writers = (self.ordered, self.descriptor, self.fields, self.members, self.told, self.left_early, self.refused, self.container)
        writers += (self.class_body, self.made_by_call, self.decorated, self.entered, self.partial, self.own_copy, self.scopes, self.items)
        writers += (self.private, self.other_bases, self.chosen_in_class)
        self.random.choice(writers)(scope)

    def write(self, text: str) -> None:
        """Write some lines, indented as they are."""
        for line in text.strip("\n").split("\n"):
            self.line(line)

    def ordered(self, scope: Scope) -> None:
        """Write what shows in which order parts of a statement are evaluated."""
        log, f, n = self.new("log"), self.new("f"), self.number(scope, 2)
        self.write(f"{log} = []\ndef {f}(n, v=1):\n    {log}.append(n)\n    return v")
        self.line(
            self.pick(
                f"{{}}[{f}(1)] = {f}(2)",
                f"[0, 1, 2][{f}(1)] + {f}(2) if {f}(0, {n}) else {f}(3)",
                f"{{{f}(1): {f}(2), **{{}}, {f}(3): {f}(4)}}",
                f"{f}({f}(1), v={f}(2)) < {f}(3, 0) < {f}(4)",
                f"{f}(1, 0) or {f}(2, {n}) and {f}(3)",
                f"[{f}(one) for one in ({f}(7), 2) if {f}(9, one)]",
                f"print(*[{f}(1)], {f}(2), sep={f}(3, ''))",
            )
        )
        self.line(f"probe(list({log}))")

    def descriptor(self, scope: Scope) -> None:
        name, cls, o = self.new("D"), self.new("K"), self.new("k")
        setter = "\n    def __set__(self, o, v):\n        o.__dict__['held'] = v" if self.chance(0.6) else ""
        self.write(
            f"class {name}:\n    def __set_name__(self, owner, name):\n        self.name = name\n"
            f"    def __get__(self, o, owner=None):\n        return {self.pick('self.name', 'o is None', '5')}{setter}\n"
            f"class {cls}:\n    x = {name}()\n    y = x\n{o} = {cls}()\n{o}.x = {self.number(scope, 2)}\nprobe({o}.x)\nprobe({o}.y)"
        )
        self.line(f"probe(sorted(vars({o})))")

    def fields(self, scope: Scope) -> None:
        cls, p, q = self.new("F"), self.new("p"), self.new("q")
        given = self.pick("", "frozen=True", "order=True", "kw_only=True")
        self.write(
            f"@dataclasses.dataclass{f'({given})' if given else ''}\nclass {cls}:\n    a: int = {self.random.randint(0, 3)}\n"
            f"    {self.pick('k: typing.ClassVar[int] = 7', 'w: int = dataclasses.field(init=False, default=9)', 'b: int = 2')}\n"
            f"    xs: list = dataclasses.field(default_factory=list)\n"
            f"{p} = {cls}({self.pick('', 'a=' + self.number(scope, 2), self.number(scope, 2))})\n"
            f"{q} = dataclasses.replace({p}, a=8)\n{self.pick(p, q)}.xs.append(1)\nprobe(len({p}.xs))\nprobe({q}.a)"
        )
        self.write(f"try:\n    {p}.a = 6\nexcept Exception:\n    probe(1)\nprobe({p}.a)")

    def members(self, scope: Scope) -> None:
        cls = self.new("E")
        base = self.pick("enum.Enum", "enum.IntEnum", "typing.NamedTuple")
        if base == "typing.NamedTuple":
            self.write(f"class {cls}({base}):\n    a: int\n    b: int = 2\n    def both(self):\n        return self.a + self.b")
            self.line(f"probe({cls}({self.number(scope, 3)}, {self.random.randint(0, 3)}).both())")
            self.line(f"probe({self.pick(f'{cls}(1)[0]', f'{cls}(1)._replace(a=4).a', f'{cls}(3) == (3, 2)', f'[*{cls}(1)]')})")
            return
        self.write(
            f"class {cls}({base}):\n    A = 1\n    B = 2\n    C = {self.random.randint(1, 3)}\n    def twice(self):\n        return self.value * 2"
        )
        for _ in range(2):
            self.line(f"probe({self.pick(f'{cls}.A.twice()', f'{cls}.A is {cls}.C', f'{cls}(2).name', f'len({cls})', f'{cls}.B == 2')})")

    def told(self, scope: Scope) -> None:
        """Write a generator that is sent values, thrown exceptions or closed."""
        make, g, log = self.new("tell"), self.new("g"), self.new("log")
        self.write(
            f"{log} = []\ndef {make}(n):\n    try:\n        while n < 4:\n            got = yield n\n            n += got or 1\n"
            f"    except {self.pick('ValueError', 'KeyError')}:\n        yield 9\n    finally:\n        {log}.append(n)\n{g} = {make}({self.number(scope, 3)})\nprobe(next({g}, None))"
        )
        self.write(
            self.pick(
                f"{g}.close()", f"list({g})", f"for one in {g}: break", f"try:\n    probe({g}.send(2))\nexcept (StopIteration, TypeError): pass",
                f"try:\n    probe({g}.throw(ValueError))\nexcept Exception: pass",
            )
        )  # fmt: skip
        self.line(f"probe(list({log}))")

    def left_early(self, scope: Scope) -> None:
        """Write a function whose `finally` or `with` decides what leaves it."""
        f = self.new("f")
        self.write(
            f"def {f}(n):\n    for one in range(3):\n        try:\n            {self.pick('if one == n: return one', 'if one == n: raise KeyError', 'n / (one - 1)')}\n"
            f"        except {self.pick('KeyError', 'ZeroDivisionError', 'Exception')}:\n            {self.pick('continue', 'n += 10', 'return n', 'raise ValueError', 'break')}\n"
            f"        else:\n            n += 100\n        finally:\n            {self.pick('n += 1', 'break', 'return (n, one)', 'if n > 5: continue')}\n    else:\n        n += 1000\n    return n"
        )
        self.write(f"try:\n    probe({f}({self.number(scope, 2)}))\nexcept Exception:\n    probe(2)")

    def refused(self, scope: Scope) -> None:
        """Write what CPython may refuse to do."""
        f, n = self.new("f"), self.new("n")
        tried = self.pick(
            f"{f}(1, 2)", f"{f}()", f"{f}(1, a=2)", f"{f}(b=1)", f"{f}(*{self.name(scope, 'list')})", f"{f}(**{self.name(scope, 'dict')})",
            "{[]: 1}", "{1, ()}", f"{{{self.name(scope, 'list')}}}", "1 + 'a'", "len(5)", "[1, 2]['a']", "'a'.missing", "del missing", "a, b = 1, 2, 3",
            "int('x')", "[].pop()", "next(iter([]))", "(1, 2)[0] = 3", "abs()", f"{self.name(scope, 'list')}[9]", "sorted([1, 'a'])", "None()", "{}.update(5)",
        )  # fmt: skip
        self.write(
            f"def {f}(a, *, k=1):\n    return a\n{n} = 0\ntry:\n    {tried}\n    {n} = 1\nexcept {self.pick('Exception', 'TypeError')}:\n    {n} += 10\nprobe({n})"
        )
        scope.names["int"].append(n)

    def container(self, scope: Scope) -> None:
        c, n = self.new("c"), self.number(scope, 3)
        made, looks = self.random.choice((
            (f"collections.deque([1, {n}], maxlen=2)", (f"{c}.append(3)", f"{c}.rotate(1)", f"{c}.appendleft(0)", f"probe(list({c}))", f"probe({c}[-1])")),
            ("collections.Counter('aab')", (f"{c}.update('b')", f"{c}['a'] -= 3", f"probe({c}['z'])", f"probe(dict(+{c}))", f"probe({c}['a'])")),
            (f"collections.OrderedDict(a={n}, b=2)", (f"{c}.move_to_end('a')", f"{c}.popitem()", f"probe(list({c}))", f"{c}['c'] = 1")),
            ("collections.ChainMap({}, {'a': 1})", (f"{c}['a'] = {n}", f"probe({c}['a'])", f"probe(len({c}))", f"{c}.maps[1]['b'] = 2")),
            ("collections.defaultdict(list)", (f"{c}['a'].append({n})", f"probe(len({c}['b']))", f"probe(len({c}))", f"probe(list({c}['a']))")),
            (f"frozenset([1, {n}])", (f"probe(1 in {c})", f"probe(len({c}))", f"{c} |= {{2}}", f"probe(2 in {c})")),
        ))  # fmt: skip
        self.line(f"{c} = {made}")
        for _ in range(3):
            self.line(self.random.choice(looks))

    def class_body(self, scope: Scope) -> None:
        """Write a class whose body runs code, under a base that is told of it or a metaclass."""
        base, cls, log = self.new("B"), self.new("K"), self.new("log")
        self.write(
            self.pick(
                f"{log} = []\nclass {base}:\n    def __init_subclass__(cls, tag=3):\n        {log}.append(tag)\n        cls.tag = tag",
                f"{log} = []\nclass Meta{base}(type):\n    def __new__(mcls, name, bases, ns, tag=4):\n        {log}.append(len(bases))\n        return super().__new__(mcls, name, bases, {{**ns, 'tag': tag}})\n    def __init__(cls, *a, **k): pass\nclass {base}(metaclass=Meta{base}): pass",
            )
        )
        self.write(
            f"class {cls}({base}{self.pick('', ', tag=5')}):\n    total = 0\n    for one in [1, {self.number(scope, 2)}]:\n        total += 1\n"
            f"    {self.pick('size = [total for _ in [1]] if False else total', 'del one', 'xs = [one for one in (total, 2)]')}\n"
            f"probe({cls}.tag)\nprobe({cls}.total)\nprobe(hasattr({cls}, 'one'))\nprobe(list({log}))"
        )

    def made_by_call(self, scope: Scope) -> None:
        """Write classes whose objects are made, or whose attributes are read, in ways of their own."""
        cls, o = self.new("K"), self.new("k")
        self.write(
            f"class {cls}:\n    made = []\n"
            + self.pick(
                "    def __new__(cls, *a):\n        o = super().__new__(cls)\n        cls.made.append(1)\n        o.x = len(cls.made)\n        return o",
                "    def __init__(self, *a):\n        self.made.append(2)\n    def __getattr__(self, name):\n        self.made.append(name)\n        return 6",
                "    x = 1\n    def __setattr__(self, name, v):\n        super().__setattr__(name, (v, 1))",
                "    def __getattribute__(self, name):\n        return object.__getattribute__(self, name) if name != 'x' else 8",
                "    __slots__ = ('x',)\n    def __init__(self, v=1):\n        self.x = v",
            )
        )
        self.write(
            f"{o} = {cls}({self.pick('', '5')})\nprobe({o}.x)\ntry:\n    {o}.x = {self.number(scope, 2)}\n    {o}.y = 2\nexcept AttributeError:\n    probe(0)\nprobe({o}.x)"
        )
        self.line(f"probe(len({cls}.made))")

    def decorated(self, scope: Scope) -> None:
        d, f = self.new("deco"), self.new("f")
        self.write(
            self.pick(
                f"class {d}:\n    def __init__(self, f):\n        self.f, self.n = f, 0\n    def __call__(self, *a):\n        self.n += 1\n        return self.f(*a) + self.n",
                f"def {d}(f):\n    f.calls = []\n    def inner(*a, **k):\n        f.calls.append(len(a))\n        return f(*a, **k) + len(f.calls)\n    return inner",
                f"def {d}(f):\n    return lambda *a: {self.pick('f(*a)', '3', 'f(*a) if a else None')}",
                f"{d} = functools.lru_cache(maxsize={self.pick('1', '2', 'None')})",
            )
        )
        self.write(f"@{d}\ndef {f}(n):\n    return n + 1\nprobe({f}({self.number(scope, 3)}))\nprobe({f}(1) + {f}(2) + {f}(1))")
        scope.functions.append((f, 1))

    def entered(self, scope: Scope) -> None:
        """Write managers that raise, swallow, or are stacked."""
        m, log, n = self.new("M"), self.new("log"), self.new("n")
        self.write(
            f"{log} = []\n@contextlib.contextmanager\ndef {m}(v):\n    {log}.append(v)\n    try:\n        yield v\n    "
            f"{self.pick('finally', 'except ValueError', 'except Exception')}:\n        {log}.append(-v)\n{n} = 0\ntry:\n"
            f"    with {m}(1) as {self.new('a')}, {m}({self.number(scope, 3)}):\n        {self.pick('raise ValueError', 'raise KeyError', f'{n} = 1', f'{n} = 1; [][0]')}\n"
            f"    {n} += 10\nexcept Exception:\n    {n} += 100\nprobe({n})\nprobe(len({log}))"
        )
        self.write(
            f"with contextlib.ExitStack() as stack:\n    stack.callback({log}.append, 5)\n    {self.pick('pass', f'stack.enter_context({m}(3))')}\nprobe(len({log}))"
        )

    def partial(self, scope: Scope) -> None:
        f, xs, n = self.new("f"), self.name(scope, "list"), self.number(scope, 3)
        if xs[0] == "[":
            self.assign(scope)
            return
        made, call = self.random.choice((
            (f"functools.partial({xs}.append, {n})", "()"),
            ("functools.partial(operator.add, 2)", f"({n})"),
            ("operator.methodcaller('append', 4)", f"({xs})"),
            ("operator.itemgetter(0)", f"([{n}])"),
            (f"functools.partial(functools.reduce, lambda a, b: {xs}.append(a) or b)", "([1, 2, 3])"),
            ("functools.partial(sorted, reverse=True)", f"([1, {n}])"),
        ))  # fmt: skip
        self.write(f"{f} = {made}\nprobe({f}{call})\nprobe(len({xs}))")
        self.line(
            f"probe({self.pick('list(itertools.accumulate([1, 2]))', f'list(itertools.chain([1], {xs}))', f'list(itertools.islice({xs}, 1))')})"
        )

    def own_copy(self, scope: Scope) -> None:
        cls, a, b = self.new("K"), self.new("a"), self.new("b")
        own = self.pick(
            "",
            f"\n    def __copy__(self):\n        o = {cls}()\n        o.xs = self.xs\n        return o",
            "\n    def __deepcopy__(self, memo):\n        return self",
        )
        self.write(
            f"class {cls}:\n    def __init__(self):\n        self.xs = [1]{own}\n{a} = {cls}()\n{b} = copy.{self.pick('copy', 'deepcopy')}({self.pick(a, f'[{a}, {a}]')})"
        )
        self.write(
            f"{b} = {b}[0] if isinstance({b}, list) else {b}\n{b}.xs.append({self.number(scope, 3)})\nprobe(len({a}.xs))\nprobe({a} is {b})"
        )

    def private(self, scope: Scope) -> None:
        """Write a class and one that derives from it, with private names that are the same as they are written."""
        base, cls, o = self.new("_B"), self.new("K"), self.new("k")
        for name, above in ((base, ""), (cls, f"({base})")):
            self.write(
                f"class {name}{above}:\n    __x = {self.random.randint(0, 3)}\n    def __init__(self, __v={self.number(scope, 3)}):\n        "
                f"{self.pick('super().__init__(4)', 'pass') if above else 'pass'}\n        {self.pick('self.__x = __v', 'self.__y = __v', 'self.x = self.__x')}\n"
                f"    def {self.pick('see', '__see', name + '_see')}(self): return self.__x\n    def out(self): return self.{self.pick('see', '__see')}()"
            )
        self.line(f"{o} = {cls}({self.pick('', '5')})")
        if self.chance(0.4):
            self.line(self.pick(f"{o}.__x = 7", f"{o}._{cls}__x = 8", f"setattr({o}, '_' + {base[1:]!r} + '__x', 9)", f"del {o}.__x"))
        for seen in (
            f"{o}.out()",
            f"{o}.see()",
            f"{o}.{cls}_see()",
            f"hasattr({o}, '_{base[1:]}__x')",
            f"{o}._{cls}__x",
            f"hasattr({o}, '__x')",
        ):
            self.write(f"try:\n    probe({seen})\nexcept AttributeError:\n    probe(0)")

    def other_bases(self, scope: Scope) -> None:
        """Write a class that is given other bases."""
        a, b, c, d, o, f = (self.new(one) for one in "ABCDof")
        for name in (a, b):
            inner = self.pick(
                "x = 1", "x = 2", "def __init__(self): self.x = 3", "def __len__(self): return 4", f"y = {self.number(scope, 3)}"
            )
            self.write(f"class {name}:\n    {inner}\n    def f(self): return '{name}'")
        self.write(f"class {c}({a}):\n    def g(self): return {self.pick('super().f()', 'self.f()', '1')}\nclass {d}({c}):\n    z = 1")
        self.write(
            f"{o} = {self.pick(c, d)}()\ndef {f}():\n    {self.pick(f'{c}.__bases__ = ({b},)', f'setattr({c}, {chr(39)}__bases__{chr(39)}, ({b}, {a}))')}"
        )
        self.write(
            self.pick(
                f"{f}()",
                f"if unknown():\n    {f}()",
                f"for one in [1, 2]:\n    {f}()",
                f"list(map(lambda _: {f}(), [1]))",
                f"unknown() and {f}()",
            )
        )
        for seen in (
            f"{o}.f()",
            f"{o}.g()",
            f"{o}.x",
            f"{c}.x",
            f"{c}().f()",
            f"isinstance({o}, {a})",
            f"hasattr({o}, 'y')",
            f"len({o})",
            f"{o}.z",
            f"vars({d}())",
        ):
            if self.chance(0.5):
                self.write(f"try:\n    probe({seen})\nexcept (AttributeError, TypeError):\n    probe(0)")

    def chosen_in_class(self, scope: Scope) -> None:
        """Write a class whose names not every path gives it, or each path another value."""
        b, c, d, x = (self.new(one) for one in "BCDx")
        test = self.pick("unknown()", "unknown() and unknown()", f"{self.number(scope, 3)} == 2", "hasattr(unknown(), 'real')")
        values = (
            "x = 2",
            "def x(self, n=1): return n",
            "x = property(lambda self: 3)",
            "x = staticmethod(lambda n=4: n)",
            "x = [1]",
            f"x = {x}",
        )
        values += (
            "@property\n        def x(self): return 5",
            "@classmethod\n        def x(cls, n=6): return cls.__name__",
            "class x: pass",
            "xs.append(x)",
        )
        self.write(
            f"{x} = {self.number(scope, 3)}\nclass {b}:\n    xs = []\n    {self.pick('x = 7', 'def x(self, n=8): return n', 'pass')}"
        )
        first, second = (self.pick(*values).replace("x = ", f"{self.pick('x', 'x', x)} = ", 1) for _ in range(2))
        header, end = self.random.choice(
            ((f"if {test}:", "else:"), (f"if {test}:", ""), (f"for _ in {test} or []:", ""), ("try:", "except Exception:"), (f"while {test}:", "else:"))
        )  # fmt: skip
        raised = "\n        [].pop()" if header == "try:" else "\n        break" if header[:5] == "while" else ""
        self.write(
            f"class {c}{self.pick('', f'({b})')}:\n    xs = []\n    {header}\n        {first}{raised}"
            + (f"\n    {end}\n        {second}" if end else "")
        )
        self.write(f"    {self.pick(f'y = {x}', 'y = [1]', 'probe(len(xs))', 'def see(self): return self.x')}\nclass {d}({c}): pass")
        o = self.pick(c, d)
        for seen in (
            f"{o}().x",
            f"{o}.x",
            f"{o}().x()",
            f"{o}().x(9)",
            f"hasattr({o}(), 'x')",
            f"getattr({o}(), 'x', 4)",
            f"{o}.y",
            f"'x' in vars({c})",
            f"getattr({o}, 'x', 5)",
        ):
            if self.chance(0.5):
                self.write(f"try:\n    probe({seen})\nexcept (AttributeError, TypeError):\n    probe(0)")

    def scopes(self, scope: Scope) -> None:
        """Write names that functions, classes and comprehensions see, or don't."""
        x, cls, f = self.new("x"), self.new("K"), self.new("f")
        self.write(
            f"{x} = {self.number(scope, 3)}\nclass {cls}:\n    {x} = 'inner'\n    def see(self): return {x}\n    ys = [{self.pick(x, '1')} for _ in [1]]\n    {self.pick(f'z = (lambda: {x})()', f'z = [one for one in [{x}]]', f'z = {x}')}\n"
            f"probe({cls}().see())\nprobe({cls}.z)\nprobe({cls}.ys)\ndef {f}(n={x}):\n    {self.pick(f'global {x}; {x} = 4', 'pass')}\n    return [{self.new('last')} := n for _ in range(2)]".replace(
                "[last", "[(last"
            ).replace(":= n", ":= n)")
        )
        self.write(f"probe({f}())\nprobe({x})")

    def items(self, scope: Scope) -> None:
        """Write assignments to several targets that depend on one another, and slices."""
        xs, i, n = self.new("xs"), self.new("i"), self.number(scope, 3)
        self.write(f"{xs} = [1, 2, 3, 4]\n{i} = 0")
        for _ in range(2):
            self.line(
                self.pick(
                    f"{i}, {xs}[{i}] = 1, {n}", f"{xs}[{i}], {i} = 7, 2", f"{i} = {xs}[{i}] = 3", f"{xs}[1:3] = [{n}]", f"del {xs}[::2]", f"{xs}[::-1] = list({xs})",
                    f"for {i}, {xs}[{i} % len({xs} or [1])] in enumerate([8, 9]): pass", f"[{xs}[0], *{xs}[1:]], {i} = {xs}, 1", f"{xs}[-1:] += [5, {n}]", f"{xs} += {xs}[:1]",
                    f"({xs}[0], {i}), {self.new('y')} = ({i}, 0), {xs}[0]", f"{xs}.insert({i}, {n})",
                )
            )  # fmt: skip
        self.write(f"probe(list({xs}))\nprobe({i})")

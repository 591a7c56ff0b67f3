"""Tests that nobody can decide and that write something themselves, for `stateful_programs`, and what is written where no target shows it."""

from __future__ import annotations

from tests.program.expressions_of_programs import Scope
from tests.program.rarer_programs import RarerWriter

UNDECIDED = 0.4
"""The share of statements that are such."""


class UndecidedWriter(RarerWriter):
    """Writes programs whose tests have effects, over names with several values."""

    def statement(self, scope: Scope) -> None:
        if scope.depth > 2 or not self.chance(UNDECIDED):
            super().statement(scope)
            return
        self.left -= 1
        writers = (self.narrowed, self.narrowed, self.narrowed, self.asked_again, self.asked_again, self.may_be_none, self.left_handler)
        writers += (self.shared_object, self.shared_object, self.in_order, self.at_the_end, self.patched, self.by_text, self.by_default)
        writers += (self.of_many, self.counted_as, self.kept, self.unbound, self.by_other_means, self.handed_on, self.chosen_item)
        self.random.choice(writers)(scope)

    def asking(self, scope: Scope, name: str) -> str:
        """Return a test of a name, which may write it, or something else."""
        f, g, xs = self.asker(name)
        v, w = self.pick("1", "2", "None", "'a'"), self.pick("1", "2", self.number(scope, 3))
        forms = (
            f"{name} == {v}", f"{name} is None", f"{name} is not None", f"isinstance({name}, {self.pick('int', 'str', '(int, list)')})", name, f"not {name}",
            f"{name} in (1, {v})", f"{name} != {v}", f"type({name}) is int",
            f"({name} := {v}) == {w}", f"({name} := {name}) == {v}", f"({self.new('n')} := {name}) == {v}", f"{f}() == {v}", f"{g}({name})", f"{xs}.pop() == {name}",
            f"{xs} and {xs}.pop(0) != {name}", f"len({xs}) > 1", f"{name} in {xs}", "unknown()",
        )  # fmt: skip
        first = self.pick(*forms)
        if self.chance(0.5):
            first = f"{first} {self.pick('and', 'or')} {self.pick(*forms)}"
        return f"not ({first})" if self.chance(0.2) else first

    def asker(self, name: str) -> tuple[str, str, str]:
        """Write functions that a test calls, and a list that it changes; return their names."""
        f, g, xs = self.new("ask"), self.new("ask"), self.new("xs")
        declared = "" if self.indent else f"    global {name}\n"
        self.write(
            f"{xs} = [1, 2, 1]\ndef {f}():\n{declared}    {xs}.append(2)\n    {self.pick(f'{name} = 1', 'pass', f'{name} = 2') if declared else 'pass'}\n"
            f"    return {self.pick('False', 'unknown()', '1', f'len({xs}) > 4')}\n"
            f"def {g}(v):\n    {self.pick(f'{xs}.append(v)', 'pass', f'{xs}.clear()')}\n    return {self.pick('v', 'v == 1', 'unknown()', 'not v')}"
        )
        return f, g, xs

    def several(self, scope: Scope) -> str:
        """Write a name that has several values; return it."""
        name = self.new("v")
        values = ("1", "2", "None", "'a'", "[1]", "0", "0.0", "-0.0", self.number(scope, 3))
        first, second, third = (self.pick(*values) for _ in range(3))
        self.write(
            self.pick(
                f"{name} = {first} if unknown() else {second}",
                f"{name} = {first}\nif unknown():\n    {name} = {second}",
                f"{name} = {first}\nif unknown():\n    {name} = {second}\nelif unknown():\n    {name} = {third}",
                f"{name} = {first}\nfor one in unknown() and [1] or []:\n    {name} = {second}",
                f"{name} = {{'k': {first}, 0: {second}}}.get(unknown(), {third})",
            )
        )
        return name

    def narrowed(self, scope: Scope) -> None:
        name = self.several(scope)
        test = self.asking(scope, name)
        other = self.pick(f"{name} = 7", "pass", f"{name} = {name}", "unknown()")
        if self.chance(0.2):
            self.line(f"probe({name} if {test} else ({name}, 5))")
        elif self.chance(0.2):
            self.write(f"assert {test} or True, {self.asker(name)[0]}()\nprobe({name})")
        else:
            self.write(f"if {test}:\n    probe({name})\n    {other}")
            if self.chance(0.3):
                self.write(f"elif {self.pick(f'{name} == 1', f'{name} is None', 'unknown()', f'({name} := 3) == 3')}:\n    probe({name})")
            if self.chance(0.6):
                self.write(f"else:\n    probe({name})\n    {self.pick(f'{name} = 8', 'pass')}")
        self.line(f"probe({name})")

    def asked_again(self, scope: Scope) -> None:
        """Write a loop whose test writes something, or that is left early."""
        name, count = self.several(scope), self.new("i")
        test = self.asking(scope, name)
        does = self.pick(f"{name} = 5", "pass", f"probe({name})", f"if unknown(): {self.pick('continue', 'break')}", f"{name} = unknown()")
        self.write(f"{count} = 0\nwhile {self.pick(f'({count} := {count} + 1) < 5 and ({test})', f'({test}) and {count} < 4')}:")
        self.write(f"    {count} += 1\n    {does}")
        if self.chance(0.3):
            self.write(f"else:\n    probe({name})\n    {self.pick(f'{name} = 6', 'pass')}")
        self.write(f"probe({name})\nprobe({count})")

    def may_be_none(self, scope: Scope) -> None:
        """Write a call of what not every path gives anything that can be called."""
        cls, o, n, f = self.new("K"), self.new("o"), self.new("n"), self.new("f")
        self.write(f"class {cls}:\n    x = 1\n    def get(self): return 1\n    def put(self): self.x = 2\ndef {f}(): return 1\n{n} = 0")
        holder = self.pick(cls + "()", "[1]", "'abc'", f, "{'a': 1}")
        self.write(f"{o} = {self.pick('None', '1', '2.5')} if unknown() else {holder}")
        used = self.pick(
            f"{o}.get()",
            f"{o}.put()",
            f"{o}.append(2)",
            f"{o}.upper()",
            f"{o}()",
            f"{o}.x",
            f"{o}.x = 3",
            f"{o}[0]",
            f"{o}.get('a')",
            f"len({o})",
        )
        self.write(
            f"try:\n    {used}\n    {n} = 1\nexcept {self.pick('Exception', 'AttributeError', 'TypeError', '(TypeError, AttributeError)')}:\n    {n} = 2\nprobe({n})\nprobe({o} is None)"
        )

    def left_handler(self, scope: Scope) -> None:
        """Write a handler that is left early, with the name of its exception."""
        e, n = self.new("e"), self.new("n")
        self.write(
            f"{e} = {n} = 0\nfor one in [1, 2]:\n    try:\n        {self.pick('raise ValueError(one)', '[][one]', 'unknown() + [1]', f'{n} += 1')}"
        )
        self.write(f"    except Exception as {e}:\n        {self.pick('break', 'continue', 'pass', f'{e} = 3', f'{n} += 10')}")
        self.write(f"try:\n    probe(({e}, {n}) if {e} == 0 else {n})\n    {n} += 100\nexcept NameError:\n    {n} += 1000\nprobe({n})")

    def shared_object(self, scope: Scope) -> None:
        """Write a name that is one of several lists, dicts or objects, and change what it is."""
        a, b, x, cls = (self.new(one) for one in ("a", "b", "x", "K"))
        self.write(
            f"class {cls}:\n    def __init__(self, n): self.n = n\n    def ask(self):\n        self.n += 1\n        return self.n > 2"
        )
        kind = self.pick("[1]", "{'k': 1}", f"{cls}(1)")
        self.write(
            f"{a}, {b} = {kind}, {self.pick(kind, kind.replace('1', '2'), 'None')}\n{x} = {self.pick(a, b)} if unknown() else {self.pick(a, b)}"
        )
        uses = {
            "[": (f"{x}.append(2)", f"{x} += [3]", f"{x}[0] = 4", f"if {x}.pop() == 1: {x}.append(5)", f"{x}.clear()", f"{x} = {x} + [1]", f"del {x}[0]"),
            "{": (f"{x}['k'] += 1", f"{x}.update(z=1)", f"del {x}['k']", f"if {x}.pop('k', 0) == 1: {x}['q'] = 1", f"{x} |= {{'r': 2}}", f"{x}.setdefault('k', 7)"),
            "K": (f"{x}.n += 1", f"if {x}.ask() or {x}.ask(): probe({x}.n)", f"{x}.m = 2", f"del {x}.n", f"{x}.__dict__ = {{'n': 5}}", f"setattr({x}, 'n', 9)"),
        }[kind[0]]  # fmt: skip
        for _ in range(2):
            self.write(f"try:\n    {self.pick(*uses)}\nexcept (AttributeError, TypeError, KeyError, IndexError):\n    probe(0)")
        seen = {"[": ("list({})", "len({})"), "{": ("dict({})", "'k' in {}"), "K": ("{}.n", "hasattr({}, 'm')", "sorted(vars({}))")}[
            kind[0]
        ]
        for one in (a, b, x):
            self.write(
                f"if {self.pick(f'{one} is not None', f'{one} is {a} or {one} is {b} is not None')}:\n    probe({self.pick(*seen).format(one)})"
            )
        self.line(f"probe({x} is {a})")

    def chosen_item(self, scope: Scope) -> None:
        xs, d, i = self.new("xs"), self.new("d"), self.new("i")
        self.write(f"{xs} = [1, 2, 3]\n{d} = {{0: 'a', 1: 'b'}}\n{i} = {self.pick('0', '1')} if unknown() else {self.pick('1', '2', '-1')}")
        for _ in range(2):
            self.write(self.pick(
                f"{xs}[{i}] = 9", f"del {xs}[{i}]", f"if {xs}.pop({i}) == 2: probe({i})", f"{d}[{i}] = 'z'", f"{d}.pop({i}, None)", f"{xs}[{i}:] = [7]", f"{xs}.insert({i}, 8)",
                f"if {d}.setdefault({i}, 'q') == 'b': probe({i})", f"{xs}[{i}] += {i}", f"probe({xs}[{i}])", f"{d} |= {{{i}: 'y'}}", f"if {i} in {d} and {d}.pop({i}): probe(len({d}))",
            ))  # fmt: skip
        self.write(f"probe(list({xs}))\nprobe(dict({d}))\nprobe({xs}[0])\nprobe({i})")

    def in_order(self, scope: Scope) -> None:
        """Write a class statement, a `raise` or annotations whose parts are evaluated in some order."""
        log, f, base, cls = (self.new(one) for one in ("log", "f", "B", "K"))
        self.write(
            f"{log} = []\ndef {f}(n, v=None):\n    {log}.append(n)\n    return v\nclass {base}:\n    def __init_subclass__(cls, tag=None): cls.tag = tag"
        )
        self.write(self.pick(
            f"@{f}(1, lambda c: c)\nclass {cls}({f}(2, {base}), tag={f}(3, 7)):\n    x = {f}(4, len({log}))\nprobe({cls}.x)\nprobe({cls}.tag)",
            f"try:\n    raise ValueError({f}(1)) from {f}(2)\nexcept ValueError:\n    {f}(3)", f"try:\n    assert {self.pick('0', 'unknown()', '1')}, {f}(1)\nexcept AssertionError:\n    {f}(2)",
            f"x: {f}(1) = {f}(2)\nclass {cls}:\n    y: {f}(3) = 1\n    z: {f}(4)", f"@{f}(1, lambda g: g)\ndef g(a=({f}(2)), *, b={f}(3)) -> {f}(4): pass",
        ))  # fmt: skip
        self.line(f"probe(list({log}))")

    def at_the_end(self, scope: Scope) -> None:
        """Write a class whose objects do something when they go."""
        cls, log, o = self.new("K"), self.new("log"), self.new("o")
        self.write(
            f"{log} = []\nclass {cls}:\n    def __init__(self, xs={log}): self.xs = xs\n    def __del__(self): {self.pick(f'{log}.append(1)', 'self.xs.append(2)')}"
        )
        self.write(
            self.pick(
                f"{o} = {cls}()\n{self.pick(f'del {o}', f'{o} = None', f'{o} = {cls}()')}",
                f"{cls}()",
                f"[{cls}() for _ in [1, 2]].clear()",
                f"(lambda: {cls}() and None)()",
            )
        )
        self.line(f"probe(len({log}))")

    def patched(self, scope: Scope) -> None:
        """Give a name of another module another value."""
        name, old, value = self.pick("torch.cuda.is_available", "platform.machine"), self.new("old"), self.number(scope, 3)
        self.write(
            f"{old} = {name}\n{self.pick('', 'if unknown():' + chr(10) + '    ')}{name} = lambda *a: {value}\nprobe({name}())\n"
            f"{self.pick(f'{name} = {old}', 'pass')}\nprobe({name}())"
        )

    def by_text(self, scope: Scope) -> None:
        """Write a text that is executed, and what it changes."""
        n, xs, cls, f = (self.new(one) for one in ("n", "xs", "K", "f"))
        self.write(f"{n} = 1\n{xs} = [1]\nclass {cls}: x = 1\ndef {f}():\n    {xs}.append(3)\n    {cls}.x = 5")
        text = self.pick(f"{f}()", f"{xs}.append(2)", f"setattr({cls}, 'x', 2)", f"({f}(), 1)", "1")
        done = self.pick(
            f"exec('{text}')",
            f"eval('{text}')",
            f"exec('{cls}.x = 3')",
            f"exec(unknown() or '{xs}.clear()')",
            f"eval(unknown() or '{f}()')",
        )
        self.write(
            f"try:\n    {self.pick(done, f'globals().pop({n!r})', f'globals().setdefault({n!r}, 4)', f'del globals()[{n!r}]')}\nexcept (TypeError, KeyError): pass"
        )
        self.write(f"probe(list({xs}))\nprobe({cls}.x)\ntry:\n    probe({n})\n    probe(1 if {n} else 2)\nexcept NameError:\n    probe(0)")

    def by_default(self, scope: Scope) -> None:
        """Write a class of fields whose defaults are given other values later."""
        base, cls, o = self.new("B"), self.new("F"), self.new("o")
        decorated = self.pick("@dataclasses.dataclass\n", "", "@dataclasses.dataclass(frozen=True)\n")
        self.write(
            f"{decorated}class {base}:\n    a: int = 1\n@dataclasses.dataclass{'(frozen=True)' if 'frozen' in decorated else ''}\nclass {cls}({base}):\n    b: int = 2"
        )
        self.write(
            f"{o} = {cls}({self.pick('', '5', 'b=6')})\n{self.pick('', 'if unknown():' + chr(10) + '    ')}{self.pick(base, cls)}.{self.pick('a', 'b')} = 7"
        )
        for one in (o, f"{cls}()", f"{cls}(8)"):
            self.write(f"probe({one}.a)\nprobe({one}.b)")

    def of_many(self, scope: Scope) -> None:
        """Write a number of lists or objects that is not known, and change one."""
        cls, xs, k = self.new("K"), self.new("xs"), self.new("k")
        self.write(f"class {cls}:\n    def __init__(self, v=1): self.n, self.xs = v, []\n{k} = int(bool(unknown())) + 2")
        made = self.pick(f"{cls}()", "[]", "{}", f"[{cls}()]", f"{cls}(one)")
        self.write(
            self.pick(
                f"{xs} = [{made} for one in range({k})]",
                f"{xs} = {{one: {made} for one in range({k})}}",
                f"{xs} = []\nfor one in range({k}):\n    {xs}.append({made})",
                f"{xs} = list(({made} for one in range({k})))",
            )
        )
        inner = f"{xs}[0][0]" if made[0] == "[" and len(made) > 2 else f"{xs}[0]"
        other = inner.replace("[0]", "[1]", 1)
        if "K" in made:
            self.write(
                f"{self.pick(f'{inner}.n = 5', f'{inner}.xs.append(1)', f'del {inner}.n', f'{inner}.n += 1')}\nprobe({other}.xs)\nprobe(getattr({other}, 'n', 9))"
            )
        else:
            self.write(f"{inner}{'.append(1)' if made == '[]' else '[1] = 1'}\nprobe(len({other}))")
        self.write(f"probe({inner} is {other})\nprobe({inner} is {inner})")

    def counted_as(self, scope: Scope) -> None:
        """Write what counts as true or false, now or later."""
        xs, x, n = self.new("xs"), self.new("x"), self.new("n")
        self.write(
            f"{xs} = {self.pick('[]', '[1]', '{}')}\n{x} = {self.pick('unknown()', 'iter([])', xs, f'zip({xs})', f'map(abs, {xs})')} {self.pick('and', 'or')} {self.pick(xs, '1', '[]', '0.0')}"
        )
        self.write(f"{n} = 0.0 if unknown() else -0.0\n{self.pick(f'{xs}.clear()', f'if unknown(): {xs}.clear()', 'pass')}")
        self.write(
            f"probe(1 if {x} else 2)\nprobe(not {x})\nprobe(str({n}))\nprobe(1 if {self.pick('iter({})', 'reversed([])', 'enumerate([])', f'filter(None, {xs})', 'range(0)', '{}.keys()')} else 2)"
        )

    def kept(self, scope: Scope) -> None:
        """Write a function whose results are kept, by arguments that are equal or not."""
        f, n = self.new("f"), self.new("n")
        self.write(
            f"{n} = 0\n@functools.{self.pick('cache', 'lru_cache', 'lru_cache(maxsize=None, typed=True)')}\ndef {f}(a=0, b=0):\n    {self.pick(f'global {n}; {n} += 1' if not self.indent else 'pass', 'pass')}\n    return a, b"
        )
        for _ in range(4):
            self.line(
                f"probe({f}({self.pick('1', 'True', '1.0', 'a=1', 'b=True', '1, 2', 'True, 2.0', repr('x') + ', ' + repr('b'), 'b=' + repr('x'), '0.0', '-0.0', 'unknown()')}))"
            )
        self.line(f"probe({n})")

    def unbound(self, scope: Scope) -> None:
        """Write a function that reads a name of its own before it has a value."""
        f, x = self.new("f"), self.new("x")
        self.write(
            f"{x} = 3\ndef {f}():\n    n = 0\n    try:\n        {self.pick(f'n = {x}', f'print({x}); n = 1', f'{x} += 1; n = 2', f'del {x}; n = 4')}\n        {self.pick(f'{x} = 5', f'for {x} in [6]: pass', 'pass')}\n    except NameError:\n        n = 7\n    return n\nprobe({f}())"
        )

    def by_other_means(self, scope: Scope) -> None:
        """Write names, attributes and items by methods and functions, where no assignment shows it."""
        n, xs, d, s, cls, o = (self.new(one) for one in ("n", "xs", "d", "s", "K", "o"))
        self.write(
            f"{n} = 1\n{xs} = [3, 1]\n{d} = {{'a': 1}}\n{s} = {{1, 2}}\nclass {cls}:\n    x = 1\n    def get(self): return 4\n    def put(self, v): self.x = v"
        )
        self.write(
            f"    p = property({self.pick('get', 'get, put', 'lambda self: self.x')})\n    {self.pick('q = staticmethod(lambda v=5: v)', 'q = classmethod(lambda c, v=6: v)')}\n{o} = {cls}()"
        )
        v = self.number(scope, 3)
        for _ in range(3):
            self.write(self.pick(
                f"globals().update({n}={v})", f"globals()['{n}'] = {v}", f"vars()['{n}'] = {v}", f"globals().update({{'{xs}': [7]}})", f"globals()[unknown() or '{xs}'] = []",
                f"{xs}.__setitem__(0, {v})", f"{xs}.__iadd__([{v}])", f"list.append({xs}, {v})", f"{xs}.__delitem__(0)", f"{d}.__setitem__('a', {v})", f"{d}.__ior__(b={v})", f"{d}.__ior__({{'b': {v}}})",
                f"{s}.symmetric_difference_update([2, 3])", f"{s}.__ior__({{9}})", f"{o}.__setattr__('x', {v})", f"{o}.__delattr__('x')", f"object.__setattr__({o}, 'p', {v})", f"{o}.p = {v}",
                f"{cls}.x = property(lambda self: 8)", f"type.__setattr__({cls}, 'x', {v})", f"{o}.get.__globals__['{n}'] = {v}", f"operator.setitem({xs}, 0, {v})", f"operator.iadd({xs}, [{v}])",
            ) if self.chance(0.8) else f"try:\n    {o}.{self.pick('p', 'x')} = {v}\nexcept AttributeError:\n    probe(0)")  # fmt: skip
        for seen in (
            n,
            f"list({xs})",
            f"len({xs})",
            f"dict({d})",
            f"len({s})",
            f"{o}.x",
            f"{o}.p",
            f"{o}.q()",
            f"{cls}.q(2)",
            f"{cls}.x",
            f"sorted(vars({o}))",
        ):
            if self.chance(0.5):
                self.line(f"probe({seen})")

    def handed_on(self, scope: Scope) -> None:
        """Write what something outside calls with what it is given beside it."""
        f, xs, o, g = self.new("f"), self.new("xs"), self.new("o"), self.new("g")
        does = self.pick("a.append(2)", "a[:] = [5]", "b.x = 2", "setattr(b, 'x', 3)", "b.xs.append(4)", "a.extend(b.xs)", "a.clear()")
        self.write(
            f"{xs} = [1]\nclass K{o}:\n    x = 1\n    def __init__(self): self.xs = [0]\n{o} = K{o}()\ndef {f}(a=None, b=None, *rest):\n    {does}\n    return 0"
        )
        self.write(self.pick(
            f"functools.partial({f}, {xs}, {o})()", f"{g} = functools.partial({f})\n{g}({xs}, {o})", f"{g} = functools.partial({f}, b={o})\n{g}({xs})",
            f"list(itertools.starmap({f}, [({xs}, {o})]))", f"functools.reduce({f}, [{o}], {xs})", f"sorted([{xs}, {xs}], key=lambda one: {f}(one, {o}))",
            f"max([{xs}, []], key=lambda one: {f}(one, {o}))", f"{xs}.sort(key=lambda one: {f}({xs}[:], {o}))", f"next(iter(lambda: {f}({xs}, {o}), 5))",
            f"operator.methodcaller('__call__', {xs}, {o})({f})", f"list(map({f}, [{xs}], [{o}]))", f"with contextlib.ExitStack() as stack:\n    stack.callback({f}, {xs}, {o})",
            f"{f}.__call__({xs}, {o})", f"(lambda *a: {f}(*a))({xs}, {o})", f"[one({xs}, {o}) for one in [{f}]]", f"{{'f': {f}}}['f']({xs}, {o})",
        ))  # fmt: skip
        for seen in (f"list({xs})", f"{o}.x", f"list({o}.xs)", f"len({xs})"):
            self.line(f"probe({seen})")

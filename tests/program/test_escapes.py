"""What is put where it isn't known what is there may be changed, or called, by whoever takes it out: CPython says what comes of it."""

from __future__ import annotations

import pytest

from tests.program.against_cpython import compare, walked

HEAD = """import collections, copy, functools, heapq, itertools, operator, queue, random, types
n = 0
class C:
    x = 0
    def __init__(self):
        self.cb = f
    def go(self):
        global n
        n += 1
    @property
    def p(self):
        global n
        n += 10
        return 3
    def __getattr__(self, name):
        global n
        n += 20
        return name
    def __len__(self):
        global n
        n += 30
        return 1
    def __contains__(self, one):
        global n
        n += 40
        return True
    def __enter__(self):
        global n
        n += 50
    def __exit__(self, *error):
        global n
        n += 60
        return True
def f():
    global n
    n += 1
"""
"""An object, a function and a list or dict, of which a program puts one somewhere as `c`."""

PUT = {  # what puts `c` somewhere, and what takes it out again
    "itself": ("l = c", "l"),
    "an item by an unknown key": ("l = {}\nl[unknown()] = c", "list(l.values())[0]"),
    "setdefault": ("l = {}\nl.setdefault(unknown(), c)", "list(l.values())[0]"),
    "update": ("l = {}\nl.update({unknown(): c})", "list(l.values())[0]"),
    "in-place or": ("l = {}\nl |= {unknown(): c}", "list(l.values())[0]"),
    "a dict": ("l = {unknown(): c}", "list(l.values())[0]"),
    "its items": ("l = {unknown(): c}", "list(l.items())[0][1]"),
    "its first value": ("l = {unknown(): c}", "next(iter(l.values()))"),
    "popitem": ("l = {unknown(): c}", "l.popitem()[1]"),
    "a comprehension": ("l = {k: c for k in [unknown()]}", "list(l.values())[0]"),
    "fromkeys": ("l = dict.fromkeys([unknown()], c)", "list(l.values())[0]"),
    "a slice": ("l = [1]\nl[:] = [c]", "l[0]"),
    "append": ("l = []\nfor i in [unknown()]:\n    l.append(c)", "l[0]"),
    "insert": ("l = []\nl.insert(1 if unknown() else 0, c)", "l[0]"),
    "extend": ("l = []\nl.extend([c] * 2 if unknown() else [c])", "l[0]"),
    "repeated": ("l = [c] * (1 + len(str(unknown())))", "l[-1]"),
    "added": ("l = [c] + ([c] if unknown() else [])", "l[-1]"),
    "reversed": ("l = list(reversed([c, c] if unknown() else [c]))", "l[0]"),
    "zip": ("l = list(zip([c, c], [1, 2] if unknown() else [1]))", "l[0][0]"),
    "enumerate": ("l = list(enumerate([c, c] if unknown() else [c]))", "l[0][1]"),
    "map": ("l = list(map(lambda x: x, [c, c] if unknown() else [c]))", "l[0]"),
    "max": ("l = [c, c] if unknown() else [c]", "max(l, key=lambda x: 1)"),
    "a generator": ("def g():\n    while unknown():\n        yield c\n    yield c\nl = g()", "next(l)"),
    "a star": ("a, *l = [c, c, c] if unknown() else [c, c]", "l[0]"),
    "setattr": ("l = types.SimpleNamespace()\nsetattr(l, str(unknown()), c)", "list(vars(l).values())[0]"),
    "or": ("l = (unknown() and 0) or c", "l"),
    "keywords": ("def h(**k): return k\nl = h(**{str(unknown()): c})", "list(l.values())[0]"),
    "arguments": ("def h(*k): return k\nl = h(*([c, c] if unknown() else [c]))", "l[0]"),
    "a lambda": ("l = lambda: c", "l()"),
    "deque": ("l = collections.deque([c])", "l[0]"),
    "popleft": ("l = collections.deque()\nl.append(c)", "l.popleft()"),
    "defaultdict": ("l = collections.defaultdict(lambda: c)", "l[unknown()]"),
    "ChainMap": ("l = collections.ChainMap({'a': c})", "l['a']"),
    "a queue": ("l = queue.SimpleQueue()\nl.put(c)", "l.get()"),
    "a partial": ("l = functools.partial(lambda x: x, c)", "l()"),
    "reduce": ("l = [c, c]", "functools.reduce(lambda a, b: b, l)"),
    "a namespace": ("l = types.SimpleNamespace(a=c)", "l.a"),
    "getattr": ("l = types.SimpleNamespace(a=c)", "getattr(l, 'a' if unknown() else 'a')"),
    "pop": ("l = [c, c] if unknown() else [c]", "l.pop()"),
    "choice": ("l = [c]", "random.choice(l)"),
    "a sample": ("l, m = random.sample([c, c], 2)", "l"),
    "itemgetter": ("l = {'x': [c]}", "operator.itemgetter('x')(l)[0]"),
    "chain": ("l = itertools.chain([c], [c])", "next(l)"),
    "cycle": ("l = itertools.cycle([c])", "next(l)"),
    "islice": ("l = list(itertools.islice([c, c], 1))", "l[0]"),
    "copied": ("l = copy.copy([c])", "l[0]"),
    "a tuple": ("l = tuple([c, c] if unknown() else [c])", "l[0]"),
    "a pattern": ("match [c]:\n    case [l]: pass", "l"),
}
DONE = {  # what is done with what is taken out, and what that may change
    "a method": ("C()", "{}.go()", "n"),
    "a property": ("C()", "{}.p", "n"),
    "an attribute that is a function": ("C()", "{}.cb()", "n"),
    "an attribute that isn't there": ("C()", "{}.missing", "n"),
    "len": ("C()", "len({})", "n"),
    "in": ("C()", "1 in {}", "n"),
    "with": ("C()", "with {}:\n    pass", "n"),
    "a function": ("f", "{}()", "n"),
    "a class": ("type('D', (), {{'__init__': lambda self: f()}})", "{}()", "n"),
    "a method by itself": ("C().go", "{}()", "n"),
    "an attribute": ("C()", "{}.x = 5", "c.x"),
    "setattr": ("C()", "setattr({}, 'x', 5)", "c.x"),
    "append": ("[1]", "{}.append(2)", "len(c)"),
    "an item": ("[1]", "{}[0] = 2", "c[0]"),
    "in-place": ("[1]", "x = {}\nx += [2]", "len(c)"),
    "del": ("[1]", "del {}[0]", "len(c)"),
    "a dict": ("{{}}", "{}['k'] = 1", "len(c)"),
    "sort": ("[2, 1]", "{}.sort()", "c[0]"),
    "update": ("{{}}", "{}.update(k=1)", "len(c)"),
    "an argument": ("[1]", "(lambda q: q.append(2))({})", "len(c)"),
    "outside": ("[2, 1]", "heapq.heapify({})", "c[0]"),
}


@pytest.mark.parametrize("put", PUT)
def test_what_is_taken_out_of_anywhere_may_be_what_was_put_there(put: str) -> None:
    making, taken = PUT[put]
    false = {}
    for done, (made, use, asked) in DONE.items():
        code = f"{HEAD}c = {made.format('')}\n{making}\n{use.format(taken)}\nprobe({asked})\n"
        found = compare(code)
        assert found.known + found.unknown, code
        if found.false:
            false[done] = found.false[0]

    assert not false


METHODS = """import bisect, collections, copy, functools, heapq, itertools, json, operator, random
n = 0
def up(by, r):
    global n
    n += by
    return r
class C:
    x = 0
    def __iter__(self): return up(1, iter([1]))
    def __getitem__(self, k): return up(2, 1)
    def __add__(self, o): return up(3, 1)
    def __radd__(self, o): return up(4, 1)
    def __iadd__(self, o): return up(5, self)
    def __eq__(self, o): return up(6, True)
    def __lt__(self, o): return up(7, True)
    def __hash__(self): return up(8, 1)
    def __neg__(self): return up(9, 1)
    def __bool__(self): return up(10, True)
    def __str__(self): return up(11, 'a')
    def __format__(self, s): return up(12, 'a')
    def __repr__(self): return up(13, 'a')
    def __setitem__(self, k, v): return up(14, None)
    def __delitem__(self, k): return up(15, None)
    def __delattr__(self, k): return up(16, None)
    def __setattr__(self, k, v): return up(17, None)
    def __call__(self, *a): return up(18, 1)
    def __int__(self): return up(19, 1)
    def __index__(self): return up(20, 1)
    def __next__(self): return up(21, 1)
    def __copy__(self): return up(22, 1)
    def __reversed__(self): return up(23, iter([1]))
    def __abs__(self): return up(24, 1)
    def __missing__(self): return 1
    def keys(self): return up(25, ['a'])
    @staticmethod
    def s(): return up(26, 1)
    @classmethod
    def k(cls): return up(27, 1)
    class In:
        def go(self): return up(28, 1)
    def gen(self):
        up(29, 1)
        yield 1
    @functools.cached_property
    def cp(self): return up(30, 1)
    @functools.lru_cache
    def lc(self): return up(31, 1)
    def __matmul__(self, o): return up(32, 1)
    def __rsub__(self, o): return up(33, 1)
    def __contains__(self, o): return up(34, True)
    def __round__(self, n=0): return up(35, 1)
class D:
    def __set_name__(self, o, n): pass
    def __get__(self, o, t=None): return up(40, 1)
    def __set__(self, o, v): return up(41, None)
class E:
    d = D()
"""
"""A class that counts whatever Python calls of its objects."""

CALLED = [
    "for q in {}: break",
    "{}[0]",
    "{} + 1",
    "1 + {}",
    "x = {}\nx += 1",
    "{} == 1",
    "1 == {}",
    "{} < 1",
    "1 > {}",
    "hash({})",
    "-{}",
    "if {}: pass",
    "not {}",
    "{} and 1",
    "str({})",
    "f'{{}}'",
    "'%s' % {}",
    "'{0}'.format({})",
    "repr({})",
    "print({})",
    "{}[0] = 1",
    "del {}[0]",
    "del {}.x",
    "{}.x = 1",
    "{}(1)",
    "int({})",
    "[1, 2, 3][{}]",
    "range({})",
    "next({})",
    "copy.copy({})",
    "list(reversed({}))",
    "abs({})",
    "dict({})",
    "dict(**{})",
    "{}.s()",
    "{}.k()",
    "{}.In().go()",
    "list({}.gen())",
    "{}.cp",
    "{}.lc()",
    "{} @ 1",
    "1 - {}",
    "1 in {}",
    "{} in [1]",
    "[{}].index(1)",
    "[1].count({})",
    "{{}: 1}",
    "{{}}",
    "sorted([{}, {}])",
    "max({}, {})",
    "sum([{}, {}])",
    "[*{}]",
    "a, = {}",
    "(lambda *a: a)(*{})",
    "zip({}, [1])\n",
    "list(zip({}, [1]))",
    "list(map(str, [{}]))",
    "any([{}])",
    "bool({})",
    "isinstance({}, C)",
    "getattr({}, 'cp')",
    "hasattr({}, 'cp')",
    "bisect.insort([{}], {})",
    "heapq.heapify([{}, {}])",
    "json.dumps([1], default={})",
    "operator.add({}, 1)",
    "operator.call({}) if hasattr(operator, 'call') else {}()",
    "functools.reduce(operator.add, [{}, 1])",
    "list(itertools.accumulate([1, 2], {}))",
    "sorted([1, 2], key={})",
    "list(filter({}, [1]))",
    "match {}:\n    case 1: pass",
    "assert {}",
    "while {}: break",
    "x = [q for q in {}]",
    "x = 1 if {} else 2",
    "1 if 1 < {} < 3 else 2",
    "''.join([str({})])",
    "round({})",
    "print(*[{}])",
    "[1, 2][{}:]",
    "x = {}; x.y = 2",
    "setattr({}, 'y', 1)",
    "delattr({}, 'x')",
    "iter({})",
    "enumerate({})\nlist(enumerate({}))",
    "set([{}])",
    "tuple({})",
    "{} is None",
    "type({})",
    "id({})",
    "vars({})",
    "dir({})",
    "callable({})",
]
"""What may call something of an object."""
DESCRIBED = ["{}.d", "{}.d = 1", "getattr({}, 'd')"]
"""What calls a descriptor of an object's class."""


@pytest.mark.parametrize("put", ["itself", "a dict", "or", "pop", "choice", "deque"])
def test_what_python_may_call_of_an_object_is_taken_to_have_run(put: str) -> None:
    making, taken = PUT[put]
    false = {}
    for use in [*CALLED, *DESCRIBED]:
        code = f"{METHODS}c = {'E' if use in DESCRIBED else 'C'}()\n{making}\nn = 0\n{use.replace('{}', taken)}\nprobe(n)\n"
        if found := compare(code).false:
            false[use] = found[0]

    assert not false


def test_a_method_that_may_be_another_one_is_read() -> None:
    """`train` gives the object that it is asked of, unless the object holds something else by that name."""
    made = "if len(sys.argv) > 2:\n    m = V()\n    setattr(m, 'train' if len(sys.argv) > 4 else 'b', 3)\nelse:\n    m = V()\n"
    code = f"import sys\nfrom torch import nn\nclass V(nn.Module):\n    def go(self):\n        self.train()\n{made}m.go()\nprobe(1)\n"

    assert list(walked(code))

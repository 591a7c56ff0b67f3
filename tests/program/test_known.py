"""What is known of values, one example for each way to get there, and what isn't."""

from __future__ import annotations

import pytest

from tests.program.probes import probed

GETTER = """def get(cfg, key, default=None):
  cur = cfg
  for part in key.split("."):
    if not isinstance(cur, dict) or part not in cur:
      return default
    cur = cur[part]
  return cur
"""
"""A getter of the program's own that walks the parts of a dotted key."""

KNOWN = {
    "a method that reads what was changed since it was last called": (
        "class C:\n  def __init__(self): self.b = 4\n  def get(self): return self.b\nc = C()\nc.get()\nc.b = 64\nprobe(c.get())",
        64,
    ),
    "a function that reads an entry that was changed": ("d = {'b': 4}\ndef get(): return d['b']\nget()\nd['b'] = 64\nprobe(get())", 64),
    "a setter that is called again": (
        "class C:\n  def set(self, b): self.b = b\nc = C()\nc.set(4)\nc.set(64)\nc.set(4)\nprobe(c.b)",
        4,
    ),
    "one of two pairs that a function returns": (
        "import os\ndef f(n):\n    if n:\n        return None, None\n    if os:\n        return None, None\n    return 3, 4\na, b = f(n)\nprobe(b)",
        {None, 4},
    ),
    "what remains of a pair or None once it is unpacked": (
        "import os\ndef f(n):\n    if n:\n        return None\n    return 3, 4\na, b = f(n)\nprobe(b)",
        4,
    ),
    "a method of what can be None": ("a = 'X' if probe_one() else None\nprobe(a.lower())", "x"),
    "whether a tensor is one of Python's own containers": (
        "import torch\nimport numpy as np\nt = torch.zeros(3)\nprobe(type(t) is list or type(t) in (list, tuple) or type(t) == dict or isinstance(t, np.ndarray))",
        False,
    ),
    "a dict that a model may have, once its state dict is changed": (
        "import torch, other\nd = {'a': 1}\nnet = other.make(d).to('mps')\ns = torch.nn.Sequential(net).to('mps').state_dict()\n"
        "s.update(other.weights())\nprobe(d['a'])",
        1,
    ),
    "a dict that a model may have, once the scaler of its gradients is updated": (
        "import torch, other\nd = {'a': 1}\nopt = torch.optim.SGD(other.make(d).parameters())\nscaler = torch.amp.GradScaler()\n"
        "scaler.step(opt)\nscaler.update()\nprobe(d['a'])",
        1,
    ),
    "whether two names mean one dtype": ("import torch\nprobe(torch.half is torch.float16 and torch.float == torch.float32)", True),
    "whether a type is that of a constant": ("probe(type(3) is int and type([]) is not dict)", True),
    "a literal": ("probe(16)", 16),
    "a constant": ("b = 16\nprobe(b)", 16),
    "the last assignment before the use": ("b = 16\nb = 8\nprobe(b)\nb = 4", 8),
    "arithmetic": ("b = 16\nprobe(b // 2 * 3 - 1)", 23),
    "an f-string": ("n = 'x'\nprobe(f'{n}-{1 + 1}')", "x-2"),
    "a string method": ("n = 'a/b'\nprobe(n.split('/')[-1].upper())", "B"),
    "a list comprehension over constants": ("probe([int(i) for i in '0,1,-1'.split(',') if int(i) >= 0])", [0, 1]),
    "a list comprehension over the default of an option": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--ids', default='0,-1')\na = p.parse_args()\n"
        "probe([int(i) for i in a.ids.split(',') if int(i) >= 0])",
        [0],
    ),
    "an item of a list that an option makes longer": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int, default=2)\n"
        "probe((['a'] * p.parse_args().n)[0])",
        "a",
    ),
    "a default that is set where another branch has set what isn't known": (
        "def f(c):\n    d = {}\n    if c.get('k'):\n        d['k'] = c['k']\n    d.setdefault('k', 'v')\n    probe(d['k'])",
        "v",
    ),
    "what a method of a tensor is given a path for": ("import torch\nfrom pathlib import Path\nprobe(torch.ones(1).to(Path('cuda')))", "object torch.ones"),
    "entries of a dict beside one whose key an option says": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--k', default='a')\nk = p.parse_args().k\n"
        "d = {'b': 1, k: 2}\nprobe((d['b'], d[k], 'a' in d))",
        [1, 2, "?"],
    ),
    "a list comprehension with one entry that is unknown": ("probe([i + 1 for i in [1, f()]])", []),
    "a list comprehension with a test that is unknown": ("probe([i for i in [1, 2] if f(i)])", []),
    "an object of a dict comprehension by a key": ("import torch\nd = {x: torch.ones(2) for x in ['a', 'b']}\nprobe(d['a'])", "object torch.ones"),
    "an object of a dict comprehension by any key": ("import torch\nd = {x: torch.Generator() for x in ['a', 'b']}\nprobe(d[f()])", "object torch.Generator"),
    "an entry of a dict by one of two keys": ("d = {'a': 1, 'b': 2, 'c': 3}\nfor k in ['a', 'b']:\n    probe(d[k])", {1, 2}),
    "int over the words of a constant": ("probe(list(map(int, '0,1'.split(','))))", [0, 1]),
    "a getter of a dotted key": (GETTER + "probe(get({'a': {'b': {'c': 16}}}, 'a.b.c', 8))", 16),
    "a getter of a dotted key that isn't there": (GETTER + "probe(get({'a': {'b': 16}}, 'a.c', 8))", 8),
    "a getter of a dotted key below a value": (GETTER + "probe(get({'a': 16}, 'a.b', 8))", 8),
    "a getter of a dotted key in an open dict": (GETTER + "from x import d\nprobe(get({'a': {'b': 16}, **d}, 'x.b', 8))", "?"),
    "a getter of a key that isn't known": (GETTER + "from x import key\nprobe(get({'a': {'b': 16}}, key, 8))", "?"),
    "a getter of attributes": (
        "from types import SimpleNamespace as N\ndef get(o, key):\n  for part in key.split('.'):\n    o = getattr(o, part)\n  return o\n"
        "probe(get(N(a=N(b=16)), 'a.b'))",
        16,
    ),
    "the last round of a short loop": ("for n in [1, 2, 3]:\n  b = n * 2\nelse:\n  b = b + 1\nprobe(b)", 7),
    "a sum in a short loop": ("b = 0\nfor n in [1, 2, 3]:\n  if n != 2:\n    b += n\nprobe(b)", 4),
    "a short loop with a test that is unknown": ("b = 8\nfor n in [1, 2]:\n  if x:\n    b = n\nprobe(b)", {1, 2, 8}),
    "a short loop with a return that is unknown": ("def f():\n  for n in [1, 2]:\n    if x:\n      return n\n  return 3\nprobe(f())", {1, 2, 3}),
    "a short loop with a break": ("for n in [1, 2, 3]:\n  b = n\n  if x: break\nprobe(b)", {1, 2, 3}),
    "a short loop that calls something": ("b = 0\nfor n in [1, 2]:\n  b = f(n)\nprobe(b)", "?"),
    "a short loop over what may be otherwise": ("b = 0\nfor n in [1, x]:\n  b = n\nprobe(b)", "?"),
    "a long loop": ("b = 0\nfor n in [" + "1, " * 200 + "]:\n  b += n\nprobe(b)", "?"),
    "a comprehension that counts": ("n = 0\ndef f():\n  global n\n  n += 1\n  return n\nprobe([f() for _ in [0, 0]][0])", 1),
    "a comprehension with an assignment": ("n = 0\nprobe([(n := n + 1) for _ in [1, 2, 3]][2])", 3),
    "a comprehension": ("probe([i for i in range(3)][0])", 0),
    "a dict entry on an unknown path": ("d = {}\nif x:\n  d['b'] = 16\nprobe(d['b'])", 16),
    "vars of a class": ("class C:\n  b = 16\nprobe(vars(C)['b'])", 16),
    "vars of a class that are unpacked": ("class C:\n  b = 16\nprobe({**vars(C), 'c': 1}['b'])", 16),
    "vars of a class as a dict": ("class C(object):\n  b = 16\nprobe(dict(vars(C)).get('b'))", 16),
    "vars of a class without a name of its base": ("class B:\n  b = 16\nclass C(B): pass\nprobe(vars(C).get('b', 8))", 8),
    "vars of a class with a base that isn't known": ("from x import B\nclass C(B): pass\nprobe(vars(C).get('b', 8))", "?"),
    "vars of a class with a metaclass": ("class M(type): pass\nclass C(metaclass=M): pass\nprobe(vars(C).get('b', 8))", "?"),
    "vars of a class that is decorated": ("from x import add\n@add\nclass C: pass\nprobe(vars(C).get('b', 8))", "?"),
    "vars of a class in a namespace": ("from types import SimpleNamespace as N\nclass C:\n  b = 16\nprobe(N(**vars(C)).b)", 16),
    "vars of a class in an EasyDict": ("from easydict import EasyDict\nclass C:\n  b = 16\nprobe(EasyDict(vars(C)).b)", 16),
    "names of a class in a dict of its own kind": (
        "class D(dict):\n  def __getattr__(self, key): return self[key]\nclass C:\n  b = 16\n  def f(self): pass\n"
        "hp = D(**{k: v for k, v in C.__dict__.items() if not k.startswith('__') and not callable(v)})\nprobe(hp.b)",
        16,
    ),
    "a dict comprehension over a dict": ("d = {'a': 1, 'b': 2}\nprobe({k.upper(): v * 2 for k, v in d.items() if v > 1})", {"B": 4}),
    "a dict comprehension over keys and values": ("probe([{k: 1 for k in {'a': 2}}, {v: 3 for v in {'a': 2}.values()}])", [{"a": 1}, {2: 3}]),
    "a dict comprehension that makes a key twice": ("probe({v % 2: k for k, v in {'a': 1, 'b': 3}.items()})", {1: "b"}),
    "a dict comprehension with a test that is unknown": ("probe({k: v for k, v in {'a': 1}.items() if x}.get('a', 8))", "?"),
    "a dict comprehension with a test that may drop what was there": ("probe({1: v for k, v in {'a': 1, 'b': 2}.items() if k == 'a' or x}.get(1))", "?"),
    "a dict comprehension with a key that is unknown": ("probe({x + k: v for k, v in {'a': 1}.items()}.get('a', 8))", "?"),
    "a dict comprehension over an open dict": ("from x import d\nprobe({k: v for k, v in {'a': 1, **d}.items()}.get('a', 8))", "?"),
    "a dict comprehension that calls something": ("probe({k: f(v) for k, v in {'a': 1}.items()}.get('a', 8))", "?"),
    "a dict by subscript": ("d = {'b': 16}\nprobe(d['b'])", 16),
    "a dict entry that is written later": ("d = {}\nd['b'] = 16\nprobe(d['b'])", 16),
    "dict.get": ("d = {'b': 16}\nprobe(d.get('b', 1))", 16),
    "dict.get with its default": ("d = {}\nprobe(d.get('b', 1))", 1),
    "dict.update": ("d = {'b': 1}\nd.update(b=16)\nprobe(d['b'])", 16),
    "a dict of dicts": ("d = {'t': {'b': 16}}\nprobe(d['t']['b'])", 16),
    "dict(...)": ("d = dict(b=16)\nprobe(d['b'])", 16),
    "a dict unpacked into another": ("d = {**{'b': 1}, 'b': 16}\nprobe(d['b'])", 16),
    "merged dicts": ("d = {'b': 1} | {'b': 16}\nprobe(d['b'])", 16),
    "unpacked keywords": ("def f(b):\n  probe(b)\nd = {'b': 16}\nf(**d)", 16),
    "unpacked positionals": ("def f(a, b):\n  probe(b)\nx = (1, 16)\nf(*x)", 16),
    "a list by index": ("probe([1, 16][-1])", 16),
    "tuple assignment": ("a, b = 1, 16\nprobe(b)", 16),
    "a parameter of a call in the file": ("def f(b):\n  probe(b)\nf(16)", 16),
    "a parameter's default": ("def f(b=16):\n  probe(b)\nf()", 16),
    "a keyword-only default": ("def f(*, b=16):\n  probe(b)\nf()", 16),
    "a returned value": ("def f():\n  return 16\nprobe(f())", 16),
    "a closure": ("def f():\n  b = 16\n  def g():\n    probe(b)\n  g()\nf()", 16),
    "a lambda": ("f = lambda b: b + 1\nprobe(f(15))", 16),
    "a global": ("b = 1\ndef f():\n  global b\n  b = 16\nf()\nprobe(b)", 16),
    "a function nobody calls": ("B = 16\ndef f(x, b=B):\n  probe(b)", 16),
    "a class attribute": ("class C:\n  b = 16\nprobe(C.b)", 16),
    "a class attribute through an object": ("class C:\n  b = 16\nprobe(C().b)", 16),
    "an inherited class attribute": ("class A:\n  b = 16\nclass C(A):\n  pass\nprobe(C().b)", 16),
    "an attribute set in __init__": ("class C:\n  def __init__(self, b):\n    self.b = b\n  def f(self):\n    probe(self.b)\nC(16).f()", 16),
    "an attribute of a method nobody calls": ("class C:\n  def __init__(self, b=16):\n    self.b = b\n  def f(self):\n    probe(self.b)", 16),
    "super().__init__": ("class A:\n  def __init__(self, b):\n    self.b = b\nclass C(A):\n  def __init__(self):\n    super().__init__(16)\nprobe(C().b)", 16),
    "a property": ("class C:\n  @property\n  def b(self):\n    return 16\nprobe(C().b)", 16),
    "a dataclass field": ("from dataclasses import dataclass\n@dataclass\nclass C:\n  b: int = 16\nprobe(C().b)", 16),
    "a dataclass field by keyword": ("from dataclasses import dataclass\n@dataclass\nclass C:\n  b: int = 1\nprobe(C(b=16).b)", 16),
    "field(default=...)": ("from dataclasses import dataclass, field\n@dataclass\nclass C:\n  b: int = field(default=16)\nprobe(C().b)", 16),
    "an attribute assignment": ("from types import SimpleNamespace\na = SimpleNamespace(b=1)\na.b = 16\nprobe(a.b)", 16),
    "a namespace": ("import argparse\na = argparse.Namespace(b=16)\nprobe(a.b)", 16),
    "an EasyDict": ("from easydict import EasyDict\na = EasyDict({'t': {'b': 16}})\nprobe(a.t.b)", 16),
    "OmegaConf": ("from omegaconf import OmegaConf\na = OmegaConf.create({'b': 16})\nprobe(a.b)", 16),
    "an argparse default": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--batch-size', '-b', type=int, default=16)\nprobe(p.parse_args().batch_size)", 16),
    "an argparse default as text": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--b', type=int, default='16')\nprobe(p.parse_args().b)", 16),
    "an argparse flag": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--b', action='store_true')\nprobe(p.parse_args().b)", False),
    "an argparse group": ("import argparse\np = argparse.ArgumentParser()\ng = p.add_argument_group('x')\ng.add_argument('--b', default=16)\na, _ = p.parse_known_args()\nprobe(a.b)", 16),
    "arguments given in the file": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--b', type=int, default=1)\nprobe(p.parse_args(['--b', '16']).b)", 16),
    "set_defaults": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--b', type=int, default=1)\np.set_defaults(b=16)\nprobe(p.parse_args().b)", 16),
    "a dataclass parser": ("from dataclasses import dataclass\nfrom transformers import HfArgumentParser\n@dataclass\nclass A:\n  b: int = 16\n(a,) = HfArgumentParser(A).parse_args_into_dataclasses()\nprobe(a.b)", 16),
    "a click option": ("import click\n@click.command()\n@click.option('--b', default=16)\ndef main(b):\n  probe(b)\nmain()", 16),
    "a branch that the Mac takes": ("import torch\nif torch.cuda.is_available():\n  b = 1\nelif torch.backends.mps.is_available():\n  b = 16\nelse:\n  b = 2\nprobe(b)", 16),
    "a conditional expression": ("import torch\nprobe('cuda' if torch.cuda.is_available() else 'cpu')", "cpu"),
    "not": ("import torch\nprobe(16 if not torch.cuda.is_available() else 1)", 16),
    "and decides": ("import torch\nuse = args.gpu and torch.cuda.is_available()\nprobe(1 if use else 16)", 16),
    "or decides": ("import torch\nuse = args.cpu or not torch.cuda.is_available()\nprobe(16 if use else 1)", 16),
    "an import alias": ("import torch as t\nprobe(t.float16)", "<torch.float16>"),
    "from import as": ("from torch import float16 as h\nprobe(h)", "<torch.float16>"),
    "a device's type": ("import torch\nd = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')\nprobe(16 if d.type == 'cpu' else 1)", 16),
    "a device in a string": ("import torch\nd = torch.device('mps')\nprobe(str(d))", "mps"),
    "sys.platform": ("import sys\nprobe(16 if sys.platform == 'darwin' else 1)", 16),
    "a version test": ("import torch\nfrom packaging import version\nprobe(16 if version.parse(torch.__version__) >= version.parse('2.1') else 1)", 16),
    "a version test of strings": ("import torch\nprobe(16 if torch.__version__ >= '2.2.0' else 1)", 16),
    "hasattr of a module": ("import torch\nprobe(16 if hasattr(torch.backends, 'mps') and torch.backends.mps.is_available() else 1)", 16),
    "getattr": ("import torch\nprobe(getattr(torch, 'float16'))", "<torch.float16>"),
    "an import that may fail": ("try:\n  import torch\nexcept ImportError:\n  torch = None\nprobe(torch.float16)", "<torch.float16>"),
    "min and max": ("probe(min(16, 32))", 16),
    "the main guard": ("b = 1\nif __name__ == '__main__':\n  b = 16\n  probe(b)", 16),
    "a walrus": ("if (b := 16) > 3:\n  probe(b)", 16),
    "a number is not a truth value": ("x = 1 if 0 is False else 2\nprobe(x)", 2),
    "what a class makes is not None": ("from trl import GRPOConfig\nc = GRPOConfig('o')\nprobe(1 if c is None else 2)", 2),
    "an early return": ("def f(x):\n  if x is None:\n    return 16\n  return 1\nprobe(f(None))", 16),
    "environment variables that are cleared": ("import os\nos.environ['B'] = '16'\nos.environ.clear()\nprobe(os.environ.get('B', '8'))", "8"),
    "environment variables set here": ("import os\nos.environ['B'] = '16'\nprobe(os.environ.get('B'))", "16"),
}  # fmt: skip

NOT_KNOWN = {
    "which class a tensor has": "import torch\nt = torch.load('x').float()\nprobe(16 if type(t) is torch.Tensor else 8)",
    "whether two names of one package's parts mean one function": "import torch\nprobe(torch.nn.functional.relu is torch.relu)",
    "a call of something outside": "probe(load())",
    "a name from another file": "from settings import B\nprobe(B + 1)",
    "a command-line option without default": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--b', type=int)\nprobe(p.parse_args().b)",
    "a loop variable": "for i in range(3):\n  probe(i)",
    "a name that a loop changes": "b = 16\nfor i in range(3):\n  probe(b)\n  b = b // 2",
    "what a loop left": "b = 16\nfor i in data:\n  b = b // 2\nprobe(b + 0)",
    "a choice of what is unknown and a constant": "probe(f() or 'cpu')",
    "a sum of floats, which Python rounds otherwise from 3.12 on": "probe(sum([0.1] * 10))",
    "a key before an unknown dict": "d = {'a': 1, **f()}\nprobe([d['b']][0])",
    "the length of a set": "probe(len({0, 0}))",
    "a set as a list": "probe(list({0, 0})[1])",
    "a list by another name that a loop adds to": "a = b = []\nfor x in ['cpu']:\n  a += [x]\nprobe(b[0])",
    "keys that are no texts": "d = {k: v for k, v in {0: 'cpu'}.items()}\nprobe(d.get(0, 'cuda'))",
    "a dict written under an unknown key": "d = {'b': 16}\nd.update(load())\nprobe(d['c'])",
    "a huge power": "probe(9 ** 9 ** 9)",
    "a huge text": "probe('x' * 10 ** 9)",
    "a division by zero": "probe(1 // 0)",
    "a recursive function": "def f(n):\n  return f(n - 1)\nprobe(f(3))",
    "an environment variable": "import os\nprobe(os.environ['B'])",
    "after an unknown attribute write": "from types import SimpleNamespace\na = SimpleNamespace(b=1)\nif x:\n  a.b = 16\n  a.c = 2\nprobe(a.c)",
}


@pytest.mark.parametrize("name", KNOWN)
def test_known(name: str) -> None:
    """Every step of the survey of real files gives its value."""
    code, value = KNOWN[name]

    assert probed(code) == [value]


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_not_known(name: str) -> None:
    """What could be anything is Unknown."""
    values = probed(NOT_KNOWN[name])

    assert values
    assert all(not isinstance(value, (int, float)) and value != "16" for value in values)

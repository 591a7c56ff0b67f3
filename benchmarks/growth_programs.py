"""Programs and notebooks that benchmarks/growth.py measures."""

from __future__ import annotations

from growth_writers import ARGUMENTS, HEAD, Case, blocks, branches, chain, functions, joined, lines, nested, notebook, same

CASES = (
    Case("cuda chain", lambda n: f"{HEAD}x = model{'.cuda()' * n}\n", 100),
    Case("cuda lines", lines("model.cuda()"), 1000),
    Case("cuda in one function", lambda n: HEAD + "def f(model):\n" + "    model.cuda()\n" * n, 2000),
    Case("arguments", lines(f"args = {ARGUMENTS}"), 1500),
    Case("arguments of their own", lines(f"args# = {ARGUMENTS}"), 1500),
    Case("trainers", lines(f"Trainer(model, {ARGUMENTS}).train()"), 500),
    Case("loaders", lines("loader# = DataLoader(data, num_workers=8, pin_memory=True)"), 1500),
    Case("loaders in loops", lines("for b in DataLoader(data, num_workers=8, pin_memory=True):\n    model(b.cuda()).backward()"), 500),
    Case("elif", branches("x = 1"), 225),
    Case("elif, findings", branches("x = model.cuda()"), 225),
    Case("elif, values", branches("bs = 1"), 225),
    Case("if in if", blocks("if a:", "model.cuda()"), 20),
    Case("for in for", blocks("for a in b:", "model.cuda()"), 5),
    Case("parentheses", nested("(", "model.cuda()", ")"), 45),
    Case("calls in calls", nested("f(", "model.cuda()", ")"), 45),
    Case("lists in lists", nested("[", "model.cuda()", "]"), 45),
    Case("dictionaries", nested("{1: ", "model.cuda()", "}"), 45),
    Case("lambdas", nested("lambda: ", "model.cuda()", ""), 45),
    Case("not", nested("not ", "model.cuda()", ""), 200),
    Case("conditions", nested("1 if a else ", "model.cuda()", ""), 45),
    Case("sum", nested("1 + ", "model.cuda()", ""), 1000),
    Case("sum of texts", nested("'a' + ", "'b'", ""), 1000),
    Case("sum of lists", nested("[1] + ", "[2]", ""), 1000),
    Case("and", nested("a and ", "model.cuda()", ""), 2000),
    Case("attributes", lambda n: f"{HEAD}x = model{'.a' * n}.cuda()\n", 500),
    Case("calls on calls", lambda n: f"{HEAD}x = model{'.a()' * n}.cuda()\n", 250),
    Case("indices", lambda n: f"{HEAD}x = model{'[0]' * n}.cuda()\n", 250),
    Case("long list", lambda n: f"{HEAD}x = [{'model.cuda(), ' * n}]\n", 2500),
    Case("long dictionary", lambda n: f"{HEAD}x = {{{', '.join(f'{i}: model.cuda()' for i in range(n))}}}\n", 2500),
    Case("one line", lambda n: f"{HEAD}{'model.cuda(); ' * n}\n", 2500),
    Case("keywords", lambda n: f"{HEAD}TrainingArguments('out', {', '.join(f'k{i}=1' for i in range(n))}, fp16=True)\n", 2500),
    Case("long text", lambda n: f"{HEAD}x = '{'cuda ' * n}'\nmodel.cuda()\n", 250_000),
    Case("f-string", lambda n: f"{HEAD}x = f'{'{model.cuda()}' * n}'\n", 1000),
    Case("one name", lines("x = x + 1\nx.cuda()"), 1500),
    Case("growing text", lines("s += 'abc'", f"{HEAD}s = ''\nmodel.cuda()\n"), 1500),
    Case("growing list", lines("s += [1]", f"{HEAD}s = []\nmodel.cuda()\n"), 1500),
    Case("growing dictionary", lines("s['k#'] = #", f"{HEAD}s = {{'fp16': True}}\nTrainingArguments('out', **s)\n"), 1500),
    Case("chosen values", lines("if a: bs = #\nTrainingArguments('out', per_device_train_batch_size=bs)"), 400),
    Case("chosen devices", lines("if a: d = 'cuda:#'\nx = y.to(d)"), 1000),
    Case("functions, each calls one", functions("return f#(x)"), 200),
    Case("functions, each calls two", functions("return f#(x) + f#(x)"), 50),
    Case("functions in functions", lambda n: HEAD + "".join(f"{' ' * i}def f{i}(x):\n" for i in range(n)) + f"{' ' * n}x.cuda()\n", 20),
    Case("one function, many calls", lines("f(#)", f"{HEAD}def f(n):\n    {ARGUMENTS}\n"), 1000),
    Case("classes, each of one", lines("class C#(C):\n    def f(self):\n        self.m.cuda()\nC = C#"), 700),
    Case(
        "dataclass fields",
        lines("    a#: int = field(default=1, metadata={'help': 'x'})", f"{HEAD}@dataclass\nclass A:\n    fp16: bool = True\n"),
        1500,
    ),
    Case(
        "argparse",
        lines(
            "p.add_argument('--a#', default=#)",
            f"{HEAD}import argparse\np = argparse.ArgumentParser()\np.add_argument('--fp16', default=True)\nmodel.cuda()\n",
        ),
        1500,
    ),
    Case("imports", lines("import torch as t#\nm.to('cuda')"), 1500),
    Case("try", lines("try:\n    m.cuda()\nexcept E:\n    m.to('cuda')"), 1000),
    Case("with", lines("with torch.cuda.amp.autocast():\n    m(x)"), 1000),
    Case("environment", lines("os.environ['PYTORCH_MPS_HIGH_WATERMARK_RATIO'] = '0.0'", "import os\nimport torch\n"), 1500),
    Case("ignore comments", same(f"args = {ARGUMENTS}  # mpslint: ignore[MPS101]"), 1250),
    Case("unused comments", same("x = 1  # mpslint: ignore[MPS101]"), 1250),
    Case("comments in a block", same("# mpslint: ignore[MPS101]", f"{HEAD}args = {ARGUMENTS}\n"), 2500),
    Case("ignore-file comments", same("# mpslint: ignore-file[MPS701]\nm.cuda()"), 1000),
    Case(
        "rules in a comment",
        lambda n: f"{HEAD}args = {ARGUMENTS}  # mpslint: ignore[{','.join(f'MPS{i % 1000:03}' for i in range(n))}]\n",
        2500,
    ),
    Case("removed names", lines("torch.cuda.amp.GradScaler()\ntorch.cuda.empty_cache()"), 1000),
    Case(
        "losses kept",
        lines("total += loss", f"{HEAD}total = 0\nfor b in x:\n    loss = m(b)\n    loss.backward()\n    total += loss\n"),
        1500,
    ),
    Case("syntax errors", lines("x = (\nmodel.cuda()"), 1000),
    Case("comment lines", same("# a comment", f"{HEAD}model.cuda()\n"), 50_000),
    Case("empty lines", lines("", f"{HEAD}model.cuda()\n"), 250_000),
    Case("notebook, a finding a cell", notebook("model.cuda()"), 2500, "case.ipynb"),
    Case("notebook, arguments", notebook(f"args = {ARGUMENTS}"), 600, "case.ipynb"),
    Case("notebook, loaders", notebook("for b in DataLoader(d, num_workers=8):\n    m(b.cuda())"), 600, "case.ipynb"),
    Case("notebook, magics", notebook("!pip install torch==2.#\n%env A=#\nmodel.cuda()"), 600, "case.ipynb"),
    Case("notebook, broken cells", notebook("x = (\nmodel.cuda()"), 600, "case.ipynb"),
    Case(
        "notebook, a script a cell", notebook("%%bash\nexport PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\npython x.py --fp16"), 400, "case.ipynb"
    ),
    Case("notebook, imports in each", notebook("import torch\nimport transformers\nmodel.cuda()"), 1000, "case.ipynb"),
    Case("percent cells", same("# %%\nmodel.cuda()"), 2500),
    Case(
        "classes, each of the one before",
        chain("class C#(C@):\n    def f(self):\n        self.m.cuda()", f"{HEAD}class C0:\n    pass\n", "C#().f()\n"),
        200,
    ),
    Case(
        "modules, each of the one before",
        chain(
            "class C#(C@):\n    def forward(self, x):\n        return super().forward(x.cuda())",
            f"{HEAD}from torch import nn\nclass C0(nn.Module):\n    def forward(self, x):\n        return x\n",
            "C#()(torch.ones(3))\n",
        ),
        200,
    ),
    Case("methods", lambda n: f"{HEAD}class C:\n" + "".join(f"    def f{i}(self):\n        self.m.cuda()\n" for i in range(n)), 700),
    Case(
        "methods, each calls one",
        lambda n: (
            f"{HEAD}class C:\n    def f0(self):\n        self.m.cuda()\n"
            + "".join(f"    def f{i + 1}(self):\n        self.f{i}()\n" for i in range(n))
            + f"C().f{n}()\n"
        ),
        200,
    ),
    Case(
        "methods, each calls two",
        lambda n: (
            f"{HEAD}class C:\n"
            + "".join(f"    def f{i}(self):\n        self.x = self.f{(i + 1) % n}() + self.f{(i + 7) % n}()\n" for i in range(n))
            + "C().f0().cuda()\n"
        ),
        30,
    ),
    Case("guards of a tuple", joined("a# and model.cuda() or b#", "x = (", ", ", ")"), 250),
    Case(
        "attributes of an object",
        lambda n: f"{HEAD}class C:\n    def __init__(self):\n" + "".join(f"        self.a{i} = model.cuda()\n" for i in range(n)) + "C()\n",
        700,
    ),
    Case(
        "properties",
        lambda n: (
            f"{HEAD}class C:\n"
            + "".join(f"    @property\n    def f{i}(self):\n        return self.m.cuda()\n" for i in range(n))
            + "c = C()\n"
            + "".join(f"c.f{i}\n" for i in range(n))
        ),
        400,
    ),
    Case("whole numbers", joined("#", "x = [", ", ", "]\nmodel.cuda()"), 50_000),
    Case("texts in a list", joined("'a#'", "x = [", ", ", "]\nmodel.cuda()"), 25_000),
    Case("rows of a table", joined("[#, 1.5, 'a']", "x = [", ", ", "]\nmodel.cuda()"), 6000),
    Case("entries of a dictionary", joined("'k#': #", "x = {", ", ", "}\nTrainingArguments('out', **x)"), 6000),
    Case("f-strings", lines("print(f'{a} {b:>10} {c!r} #')\nmodel.cuda()"), 700),
    Case("decorators of one function", joined("@d#\n", "", "", "def f():\n    model.cuda()"), 1500),
    Case("decorated functions", lines("@d\ndef f#():\n    model.cuda()"), 1000),
    Case("loops of a comprehension", joined("for a# in b", "x = [model.cuda() ", " ", "]"), 50),
    Case("comprehensions", lines("x = [model.cuda() for a in b if a]\ny = {a: a for a in x}"), 700),
    Case("managers of one block", joined("a#() as b#", "with ", ", ", ":\n    model.cuda()"), 60),
    Case("handlers of one try", joined("except E#:\n    model.cuda()\n", "try:\n    x()\n", "", ""), 400),
    Case("nested try", blocks("try:", "model.cuda()"), 1),
    Case("or and and", joined("a# and b#", "x = ", " or ", "\nmodel.cuda()"), 1500),
    Case("comparisons", joined("a#", "x = ", " < ", "\nmodel.cuda()"), 2000),
    Case("cases", joined("    case #:\n        model.cuda()\n", "match a:\n", "", ""), 400),
    Case("if, each of its own", lines("if a == #:\n    model.cuda()"), 700),
    Case(
        "if with else, values",
        lines("if a == #:\n    bs = #\nelse:\n    bs = 2", foot="TrainingArguments('out', per_device_train_batch_size=bs)\n"),
        400,
    ),
    Case("loops over ranges", lines("for i in range(3):\n    model.cuda()"), 700),
    Case("while", lines("while a < #:\n    a += 1\n    model.cuda()"), 700),
    Case(
        "early returns",
        lambda n: f"{HEAD}def f(a):\n" + "".join(f"    if a == {i}:\n        return model.cuda()\n" for i in range(n)) + "f(b)\n",
        400,
    ),
    Case("assertions", lines("assert a == #\nmodel.cuda()"), 1000),
    Case(
        "targets of one assignment",
        lambda n: f"{HEAD}{', '.join(f'a{i}' for i in range(n))} = {', '.join(map(str, range(n)))}\nmodel.cuda()\n",
        3000,
    ),
    Case("assignments in one", joined("a# = ", "", "", "model.cuda()"), 1500),
    Case(
        "parameters",
        lambda n: (
            f"{HEAD}def f({', '.join(f'a{i}={i}' for i in range(n))}):\n    model.cuda()\nf({', '.join(f'a{i}={i}' for i in range(n))})\n"
        ),
        1500,
    ),
    Case("globals", lines("def f#():\n    global g\n    g = #\n    model.cuda()\nf#()"), 500),
    Case("lambdas in a row", lines("f# = lambda x: x.cuda()\nf#(model)"), 700),
    Case("closures", lines("def f#(a):\n    def g():\n        return a.cuda()\n    return g\nf#(model)()"), 300),
    Case("items of a dictionary", lines("d['k#'] = #\nx = d['k#']", f"{HEAD}d = {{}}\nmodel.cuda()\n"), 1000),
    Case("setattr", lines("setattr(o, 'a#', #)\no.b# = getattr(o, 'a#')", f"{HEAD}class O:\n    pass\no = O()\nmodel.cuda()\n"), 700),
    Case(
        "variables of the environment",
        lines("a# = os.environ.get('A#', '1')\nTrainingArguments('out', seed=int(a#))", f"import os\n{HEAD}"),
        700,
    ),
    Case("print", lines("print('a %s' % a, 'b {}'.format(b), a#)\nmodel.cuda()"), 700),
    Case("docstrings", lines('def f#():\n    """Says cuda and cuda."""\n    model.cuda()'), 1000),
    Case(
        "options that are read",
        lambda n: (
            f"{HEAD}import argparse\np = argparse.ArgumentParser()\n"
            + "".join(f"p.add_argument('--a{i}', type=int, default={i})\n" for i in range(n))
            + "args = p.parse_args()\n"
            + "".join(f"TrainingArguments('out', seed=args.a{i})\n" for i in range(n))
        ),
        500,
    ),
    Case(
        "fields that are read",
        lambda n: (
            f"{HEAD}from dataclasses import dataclass\n@dataclass\nclass A:\n"
            + "".join(f"    a{i}: int = {i}\n" for i in range(n))
            + "a = A()\n"
            + "".join(f"TrainingArguments('out', seed=a.a{i})\n" for i in range(n))
        ),
        500,
    ),
    Case("variables, each of the one before", chain("a# = a@ + 1", f"{HEAD}a0 = 1\n", "TrainingArguments('out', seed=a#)\n"), 1500),
    Case("texts, each of the one before twice", chain("a# = a@ + a@", f"{HEAD}a0 = 'x'\n", "TrainingArguments(a#)\n"), 400),
    Case(
        "lists, each of the one before twice", chain("a# = a@ + a@", f"{HEAD}a0 = [1]\n", "TrainingArguments('out', report_to=a#)\n"), 400
    ),
    Case("tuples, each of the one before twice", chain("a# = (a@, a@)", f"{HEAD}a0 = 1\n", "TrainingArguments(a#)\n"), 400),
    Case(
        "dictionaries, each of the one before", chain("d# = {**d@, 'k#': #}", f"{HEAD}d0 = {{}}\n", "TrainingArguments('out', **d#)\n"), 150
    ),
    Case(
        "something unknown beside objects",
        lines(
            "held.append(C())\nif held[a]:\n    x = held[a] + #",
            f"{HEAD}import sys\nheld, a = [], len(sys.argv)\n"
            "class C:\n    def __len__(self):\n        self.n = self.n + 1\n        return 1\n"
            "    def __add__(self, other):\n        self.m = other\n        return other\n",
        ),
        200,
    ),
    Case("f-strings, each of the one before twice", chain("a# = f'{a@}{a@}'", f"{HEAD}a0 = 'x'\n", "TrainingArguments(a#)\n"), 400),
    Case("texts, times", chain("a# = a@ * 10", f"{HEAD}a0 = 'x'\n", "TrainingArguments(a#)\n"), 400),
    Case("notebook, functions", notebook("def f#(x):\n    return x.cuda()\nf#(model)"), 500, "case.ipynb"),
    Case("notebook, long outputs of cells", notebook("# " + "x" * 1000 + "\nmodel.cuda()"), 1000, "case.ipynb"),
)

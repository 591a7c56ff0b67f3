"""Whether the work of mpslint grows in proportion to its input: each bad case at n, 2n and 4n, in CPU seconds.

    python benchmarks/growth.py [CASE ...] [--command check,fix] [--limit 1.3] [--times 2]

A case is a function below that writes an input of size n. Every run is a process of its own, which reads the smallest input first, so
that what is loaded once does not count; of some times the least counts. `growth` is the time at 4n by four times that at n: 1.0 is in
proportion, 4.0 quadratic. Rows above --limit are marked, and the exit code is 1 when there are some (those under 0.2 s at 4n are too
short to be judged).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60
"""Seconds after which a run is stopped."""
TOO_SHORT = 0.2
"""CPU seconds at 4n below which the start of Python says more than the input."""
CHILD = """
import os, sys, time
sys.stdout = open(os.devnull, "w")
from mpslint.cli import group
for folder in ("small", "large"):  # what is loaded and read once is there by the second time
    os.chdir(folder)
    start = time.process_time()
    try:
        group.main(sys.argv[1:], standalone_mode=False)
    except SystemExit:
        pass
    spent = time.process_time() - start
    os.chdir("..")
print(spent, file=sys.stderr)
"""
HEAD = "import torch\nfrom torch.utils.data import DataLoader\nfrom transformers import Trainer, TrainingArguments\n"
ARGUMENTS = "TrainingArguments('out', fp16=True)"


@dataclass(frozen=True)
class Case:
    """One kind of input: how it is written, what its file is called, and its size n."""

    name: str
    write: Callable[[int], str]
    size: int
    file: str = "case.py"
    commands: tuple[str, ...] = ("check", "fix")


def lines(line: str, head: str = HEAD) -> Callable[[int], str]:
    """Return a writer of n lines, `#` in each being its number."""
    return lambda n: head + "".join(line.replace("#", str(i)) + "\n" for i in range(n))


def nested(opening: str, inner: str, closing: str, head: str = HEAD, before: str = "x = ") -> Callable[[int], str]:
    """Return a writer of n parentheses of a kind around something."""
    return lambda n: f"{head}{before}{opening * n}{inner}{closing * n}\n"


def branches(body: str) -> Callable[[int], str]:
    """Return a writer of one `if` with n branches."""
    return lambda n: HEAD + "if a == -1:\n    pass\n" + "".join(f"elif a == {i}:\n    {body}\n" for i in range(n))


def blocks(head: str, body: str) -> Callable[[int], str]:
    """Return a writer of n blocks, each in the one before it."""
    return lambda n: HEAD + "".join(f"{' ' * i}{head}\n" for i in range(n)) + f"{' ' * n}{body}\n"


def notebook(cell: str) -> Callable[[int], str]:
    """Return a writer of a notebook of n cells."""

    def write(n: int) -> str:
        about: dict[str, object] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
        cells = [{**about, "source": HEAD}, *({**about, "source": cell.replace("#", str(i))} for i in range(n))]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})

    return write


def functions(body: str) -> Callable[[int], str]:
    """Return a writer of n functions, in whose body `#` is the number of the one before."""
    return lambda n: (
        HEAD
        + "def f0(x):\n    return x.cuda()\n"
        + "".join(f"def f{i + 1}(x):\n    {body.replace('#', str(i))}\n" for i in range(n))
        + f"f{n}(torch.ones(3))\n"
    )


def config(n: int) -> str:
    """Write a YAML file of a trainer with n keys, half of them settings."""
    return "base_model: x\ndatasets: []\nfp16: true\n" + "".join(
        f"key_{i}: {{fp16: true, gradient_checkpointing: true}}\n" for i in range(n)
    )


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
    Case("ignore comments", lines(f"args = {ARGUMENTS}  # mpslint: ignore[MPS101]"), 1250),
    Case("unused comments", lines("x = 1  # mpslint: ignore[MPS101]"), 2500),
    Case("comments in a block", lines("# mpslint: ignore[MPS101]", f"{HEAD}args = {ARGUMENTS}\n"), 2500),
    Case("ignore-file comments", lines("# mpslint: ignore-file[MPS701]\nm.cuda()"), 1000),
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
    Case("comment lines", lines("# a comment", f"{HEAD}model.cuda()\n"), 50_000),
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
    Case("percent cells", lines("# %%\nmodel.cuda()"), 2500),
    Case("shell", lines("export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\npython train.py --fp16 True", ""), 1000, "case.sh"),
    Case("shell, nested blocks", lambda n: "if true; then\n" * n + "python train.py --fp16 True\n" + "fi\n" * n, 500, "case.sh"),
    Case("shell, one command", lambda n: "python train.py \\\n" + "  --fp16 True \\\n" * n + "  --end\n", 1000, "case.sh"),
    Case("shell, variables", lines("A#=$A\nA=${A#}x\nexport PYTORCH_MPS_HIGH_WATERMARK_RATIO=$A#", ""), 500, "case.sh"),
    Case("shell, doubled variables", lines("A=$A$A", "A=xx\nexport PYTORCH_MPS_HIGH_WATERMARK_RATIO=$A\n"), 500, "case.sh"),
    Case("shell, comments", lines("export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 # mpslint: ignore[MPS701]", ""), 1000, "case.sh"),
    Case("Dockerfile", lines("ENV PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\nRUN python train.py --fp16 True", "FROM x\n"), 1000, "Dockerfile"),
    Case("environment file", lines("PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0", ""), 2500, ".env"),
    Case("YAML", config, 1000, "case.yaml"),
    Case("YAML, deep", lambda n: "fp16: true\n" + "".join(f"{' ' * i}a:\n" for i in range(n)) + " " * n + "b: 1\n", 200, "case.yaml"),
    Case("YAML, deep flow", lambda n: f"fp16: true\na: {'[' * n}{']' * n}\n", 200, "case.yaml"),
    Case(
        "YAML, aliases",
        lambda n: "fp16: true\na0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(n)),
        20,
        "case.yaml",
    ),
    Case(
        "YAML, merges",
        lambda n: "fp16: true\na0: &a0 {x: 1}\n" + "".join(f"a{i + 1}: &a{i + 1} {{<<: *a{i}, k{i}: 1}}\n" for i in range(n)),
        100,
        "case.yaml",
    ),
    Case("JSON, deep", lambda n: '{"fp16": true, "a": ' + "[" * n + "]" * n + "}", 5000, "case.json"),
    Case(
        "JSON, long",
        lambda n: '{"train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": true}' + "".join(f', "k{i}": {i}' for i in range(n)) + "}",
        10_000,
        "case.json",
    ),
    Case("requirements", lines("package-#==1.0", "torch==2.8\n"), 5000, "requirements.txt", ("check .",)),
    Case(
        "log",
        lines("RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: 1 GB, max allowed: 6 GB)", ""),
        500,
        "train.log",
        ("diagnose",),
    ),
    Case("log, progress", lines("{'loss': 1.#, 'epoch': 0.1} 12%|  | #/100 [00:01<00:02]", ""), 2500, "train.log", ("diagnose", "report")),
    Case(
        "log, tracebacks",
        lines(
            'Traceback (most recent call last):\n  File "a.py", line #, in <module>\n    x.cuda()\n'
            "RuntimeError: Torch not compiled with CUDA enabled",
            "",
        ),
        500,
        "train.log",
        ("diagnose", "report"),
    ),
    Case("log, one line", lambda n: "x" * n + " MPS backend out of memory " + "1" * n, 50_000, "train.log", ("diagnose", "report")),
)


def main() -> None:
    """Measure the cases that are asked for, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="part of the name of a case; default: all")
    parser.add_argument("--command", help="only these commands, after commas")
    parser.add_argument("--limit", type=float, default=1.3)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args()
    only = options.command.split(",") if options.command else None
    cases = [case for case in CASES if not options.case or any(word in case.name for word in options.case)]
    print("| case | command | n | CPU s at n | 2n | 4n | growth |\n|---|---|---|---|---|---|---|")
    above = 0
    for case in cases:
        for command in case.commands:
            if only is None or command in only:
                measured = [least(case, command, size, options.times) for size in (case.size, 2 * case.size, 4 * case.size)]
                above += show(case, command, measured, options.limit)
    sys.exit(1 if above else 0)


def show(case: Case, command: str, measured: list[float], limit: float) -> bool:
    """Print a row; return whether the case grows faster than the limit."""
    once, twice, four = measured
    growth = four / (4 * once)
    is_above = growth > limit and four > TOO_SHORT
    mark = " **" if is_above else ""
    print(f"| {case.name} | {command} | {case.size} | {once:.2f} | {twice:.2f} | {four:.2f} | {growth:.2f}{mark} |", flush=True)
    return is_above


def least(case: Case, command: str, size: int, times: int) -> float:
    """Return the least CPU seconds of some runs; infinite for one that had to be stopped or that failed."""
    with tempfile.TemporaryDirectory() as folder:
        for below, n in (("small", 1), ("large", size)):
            Path(folder, below).mkdir()
            Path(folder, below, case.file).write_text(case.write(n))
            Path(folder, below, "train.py").write_text(f"{HEAD}args = {ARGUMENTS}\n")
        name, *paths = command.split()
        extra = ["--isolated", "--no-cache", "--jobs", "1"] if name == "check" else ["--isolated"] if name == "fix" else []
        line = [sys.executable, "-c", CHILD, name, *extra, *(paths or [case.file])]
        return min(seconds(line, folder) for _ in range(times))


def seconds(line: list[str], folder: str) -> float:
    """Return the CPU seconds that one run took after its imports."""
    try:
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return float("inf")
    try:
        return float(done.stderr.splitlines()[-1])
    except (IndexError, ValueError):
        print(f"  {' '.join(line[3:])}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return float("inf")


if __name__ == "__main__":
    main()

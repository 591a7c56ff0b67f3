"""Broken files of every kind that mpslint reads, thousands of them: none may raise, hang, or be answered with more than plain lines.

    nice -n 15 python benchmarks/fuzz.py [--inputs 10000] [--seed 0] [--kind py,ipynb,...]

Each input is a good one (examples of the rules, samples, and a text of each other kind) with some random damage: cut, doubled, bytes
flipped, odd bytes or odd tokens put in, or an odd value put into its JSON. What counts as a failure: an exception that is no MpslintError,
an error text of several lines, a fix that does not parse or that changes on a second run, and more than 20 CPU seconds. What failed is
printed with its kind, seed and number, which give the same input again; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from mpslint.core.finding import MpslintError
from mpslint.core.folders import forget_disk
from mpslint.diagnose import diagnose
from mpslint.diagnose.log import read_log
from mpslint.rewrite.apply import fix
from mpslint.rule.loading import load_rules
from mpslint.session.baseline import SCHEMA, BaselineEntry, load_baseline
from mpslint.session.configuration import load_configuration
from mpslint.session.session import Options, check_file
from mpslint.session.view import view
from mpslint.source.files import FoundFile
from mpslint.source.reader import read
from mpslint.target.pins import project_requirements
from mpslint.target.target import default_target

ROOT = Path(__file__).parents[1]
PATIENCE = 20
"""CPU seconds for one input."""
ODD_BYTES = (b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\x1b[31m", b"\xe2\x80\xae", b"\xed\xa0\x80", b"\x0c", b"\t", b"9" * 5000, b"\\")
ODD_TOKENS = tuple(
    "( ) [ ] { } : , ; ' \" ''' \"\"\" # % %% ! ? @ * ** -> = == := & | < << > & * !!python/object:os.system &a *a <<: --- ... ${ $( ` "
    "lambda async await yield match case class def if else elif for while try except finally with from import global nonlocal not in is "
    "None True f'{ b'\\x # coding:rot13 # mpslint:ignore[ # noqa:MPS -r \\\n [[ ]] [tool.mpslint] == >= ; @ git+https://".split(" ")
)
ODD_VALUES: tuple[Any, ...] = (None, True, 0, -1, 1e308, "", "x", [], {}, [[]], {"cells": []}, "\ud800", "\0", 10**400)


def good_texts() -> dict[str, list[bytes]]:
    """Return good inputs by the name of the file that they are read from."""
    examples = [(example.file, text) for rule in load_rules() for example in rule.examples for text in (example.bad, example.ok) if text]
    found: dict[str, list[bytes]] = {}
    for file, text in examples:
        found.setdefault(_kind(file), []).append(text.encode())
    for path in sorted((ROOT / "samples").iterdir()):
        if path.is_file() and _kind(path.name) in KINDS:
            found.setdefault(_kind(path.name), []).append(path.read_bytes())
    found.setdefault(".ipynb", []).extend(_notebook(text) for file, text in examples if file.endswith(".py"))
    for name, text in OTHERS.items():
        found.setdefault(name, []).append(text.encode())
    return found


def _kind(name: str) -> str:
    return Path(name).suffix or name


def _notebook(text: str) -> bytes:
    cell: dict[str, object] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cell["source"] = text.splitlines(keepends=True)
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


OTHERS = {
    ".json": '{"train_micro_batch_size_per_gpu": 4, "fp16": {"enabled": true}, "zero_optimization": {"stage": 3}}',
    "Dockerfile": "FROM python:3.11\nENV PYTORCH_MPS_HIGH_WATERMARK_RATIO=0\nRUN pip install torch && \\\n    python train.py --fp16\n",
    "requirements.txt": "torch==2.8.0\ntransformers>=4.40,<5 ; python_version > '3.9'\n-r other.txt\n-e .\naccelerate @ https://x/y.whl\n",
    "uv.lock": 'version = 1\n[[package]]\nname = "torch"\nversion = "2.8.0"\nsource = { registry = "https://pypi.org/simple" }\n',
    "poetry.lock": '[[package]]\nname = "torch"\nversion = "2.8.0"\n\n[metadata]\nlock-version = "2.0"\n',
    "Pipfile.lock": '{"_meta": {}, "default": {"torch": {"version": "==2.8.0"}}, "develop": {}}',
    "conda-lock.yml": "version: 1\npackage:\n- name: torch\n  version: 2.8.0\n  manager: pip\n",
    "environment.yml": "name: x\ndependencies:\n- python=3.11\n- pytorch=2.8\n- pip:\n  - transformers==4.40\n",
    "setup.cfg": "[options]\ninstall_requires =\n    torch==2.8\n",
    "setup.py": "from setuptools import setup\nsetup(install_requires=['torch==2.8'])\n",
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["torch==2.8"]\n[tool.mpslint]\nselect = ["MPS1"]\n',
    ".gitignore": "*.pyc\n!x\n/a/**/b\n[abc]\n",
    "mpslint.toml": 'select = ["MPS1"]\nseverity = "note"\n[target]\ntorch = "2.8"\nmemory = "16GB"\n[per-file-ignores]\n"a*" = ["MPS5"]\n',
    "baseline.json": json.dumps({"schema": SCHEMA, "findings": [dict.fromkeys(BaselineEntry.__slots__, "x")]}),
    "train.log": "{'loss': 1.5, 'epoch': 0.1}\nTraceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    x.cuda()\n"
    "RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: 1 GB, max allowed: 6 GB)\n",
}


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return an input with some damage."""
    if chance.random() < 0.3:
        data = _odd_json(data, chance)
    for _ in range(chance.choice((0, 1, 1, 2, 3, 8))):
        here, there = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
        there = min(there, here + 200)
        data = chance.choice(_DAMAGES)(data, here, there, chance)
    return data


_DAMAGES: tuple[Callable[[bytes, int, int, random.Random], bytes], ...] = (
    lambda data, here, there, chance: data[:here] + data[there:],
    lambda data, here, there, chance: data[:there] + data[here:],
    lambda data, here, there, chance: data[:here] + data[here:there] * chance.choice((2, 30)) + data[there:],
    lambda data, here, there, chance: data[:here] + bytes(chance.randrange(256) for _ in range(3)) + data[here:],
    lambda data, here, there, chance: data[:here] + chance.choice(ODD_BYTES) + data[here:],
    lambda data, here, there, chance: data[:here] + chance.choice(ODD_TOKENS).encode() + data[here:],
    lambda data, here, there, chance: data[:here] + f" {chance.choice(ODD_TOKENS)} ".encode() + data[there:],
    lambda data, here, there, chance: data.replace(b"\n", b"\r\n") if chance.random() < 0.5 else data.replace(b" ", b"\t"),
)


def _odd_json(data: bytes, chance: random.Random) -> bytes:
    """Return JSON with an odd value somewhere; what is none as it is."""
    try:
        parsed = json.loads(data)
    except ValueError:
        return data
    places = list(_places(parsed))
    if places:
        holder, key = chance.choice(places)
        holder[key] = chance.choice(ODD_VALUES)
    return json.dumps(parsed).encode()


def _places(value: Any) -> Any:
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def checked_and_fixed(path: Path, data: bytes) -> None:
    """Check and fix a file; raise AssertionError for a fix that is not stable."""
    view(check_file(FoundFile(str(path), is_named=True), Options(with_plans=True)))
    document = read(str(path), data)
    fixed = fix(document, TARGET, load_rules(), unsafe=True)
    if fixed.is_changed:
        again = fix(read(str(path), fixed.data, document.kind), TARGET, load_rules(), unsafe=True)
        assert again.data == fixed.data, "a second fix changes more"


def pinned(path: Path, data: bytes) -> None:
    """Check a script beside a file of pins, of a project's configuration or of ignored files."""
    script = path.parent / "train.py"
    script.write_text("import torch\nfrom transformers import TrainingArguments\nargs = TrainingArguments('o', fp16=True)\n")
    forget_disk()
    project_requirements(path.parent)
    check_file(FoundFile(str(script), is_named=True), Options())


def diagnosed(path: Path, data: bytes) -> None:
    """Diagnose a log."""
    diagnose(read_log(path))


TARGET = default_target()
FILES = (".py", ".ipynb", ".yaml", ".json", ".sh", ".env", "Dockerfile")
KINDS: Mapping[str, Callable[[Path, bytes], object]] = {
    **dict.fromkeys(FILES, checked_and_fixed),
    **dict.fromkeys((name for name in OTHERS if name not in (*FILES, "mpslint.toml", "baseline.json", "train.log")), pinned),
    "mpslint.toml": lambda path, data: load_configuration(path),
    "baseline.json": lambda path, data: load_baseline(path),
    "train.log": diagnosed,
}


def tried(kind: str, data: bytes, folder: Path) -> str:
    """Return what went wrong with one input, '' for nothing."""
    path = folder / (f"case{kind}" if kind.startswith(".") and kind not in (".gitignore", ".env") else kind)
    path.write_bytes(data)
    try:
        KINDS[kind](path, data)
    except MpslintError as error:
        return f"an error of several lines: {str(error)[:200]!r}" if "\n" in str(error) else ""
    except Exception as error:  # any exception is what is looked for: it is printed with its place, and the exit code is 1
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:120]} ({Path(where.filename).name}:{where.lineno})"
    finally:
        path.unlink()
    return ""


def too_long(number: int, frame: FrameType | None) -> None:
    """Raise TimeoutError in what takes too long."""
    raise TimeoutError(f"more than {PATIENCE} CPU seconds")


def run(inputs: int, seed: int, kinds: tuple[str, ...]) -> tuple[Counter[str], list[str]]:
    """Return how many inputs of each kind were tried, and a line for each that failed."""
    texts = {kind: found for kind, found in good_texts().items() if kind in KINDS and (not kinds or kind.lstrip(".") in kinds)}
    names, counts, failures = sorted(texts), Counter[str](), []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(inputs):
            chance = random.Random(f"{seed} {number}")
            kind = names[number % len(names)]
            data = damaged(chance.choice(texts[kind]), chance)
            if signal.getsignal(signal.SIGVTALRM) is too_long:
                signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
            if problem := tried(kind, data, Path(folder)):
                failures.append(f"{kind} seed {seed} number {number}: {problem}")
            counts[kind] += 1
    return counts, failures


def main() -> None:
    """Try the inputs that are asked for; say what failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="", help="only these, after commas: py,ipynb,uv.lock,...")
    options = parser.parse_args()
    if hasattr(signal, "SIGVTALRM"):
        signal.signal(signal.SIGVTALRM, too_long)
    os.environ["MPSLINT_NO_CACHE"] = "1"
    counts, failures = run(options.inputs, options.seed, tuple(filter(None, options.kind.split(","))))
    print(", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())))
    for line in failures:
        print(ascii(line))
    print(f"{sum(counts.values())} inputs, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

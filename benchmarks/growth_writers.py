"""The inputs that benchmarks/growth.py measures: what one is, and the writers that most of them share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

HEAD = "import torch\nfrom torch.utils.data import DataLoader\nfrom transformers import Trainer, TrainingArguments\n"
ARGUMENTS = "TrainingArguments('out', fp16=True)"


@dataclass(frozen=True)
class Case:
    """One kind of input: how it is written, what its file is called, and its size n."""

    name: str
    write: Callable[[int], str | Mapping[str, str]]
    """Returns the text of the file, or those of several by their paths."""
    size: int
    file: str = "case.py"
    commands: tuple[str, ...] = ("check", "fix")


def lines(line: str, head: str = HEAD, foot: str = "") -> Callable[[int], str]:
    """Return a writer of n lines, `#` in each being its number."""
    return lambda n: head + "".join(line.replace("#", str(i)) + "\n" for i in range(n)) + foot


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


def same(line: str, head: str = HEAD) -> Callable[[int], str]:
    """Return a writer of n lines that are all the same, comments in them."""
    return lambda n: head + f"{line}\n" * n


def chain(line: str, head: str = HEAD, foot: str = "") -> Callable[[int], str]:
    """Return a writer of n lines in which `#` is the number, and `@` that of the line before; `foot` has `#` for the last one."""
    return lambda n: head + "".join(line.replace("#", str(i + 1)).replace("@", str(i)) + "\n" for i in range(n)) + foot.replace("#", str(n))


def joined(piece: str, before: str, between: str, after: str, head: str = HEAD) -> Callable[[int], str]:
    """Return a writer of one statement of n pieces, `#` in each being its number."""
    return lambda n: f"{head}{before}{between.join(piece.replace('#', str(i)) for i in range(n))}{after}\n"


def files(name: str, text: str, others: Mapping[str, str] = MappingProxyType({})) -> Callable[[int], Mapping[str, str]]:
    """Return a writer of n files beside others; `#` is the number of a file, and `@` that of the one before."""

    def write(n: int) -> Mapping[str, str]:
        return {
            **others,
            **{name.replace("#", str(i + 1)): text.replace("#", str(i + 1)).replace("@", str(i)) for i in range(n)},
        }

    return write


def config(n: int) -> str:
    """Write a YAML file of a trainer with n keys, half of them settings."""
    return "base_model: x\ndatasets: []\nfp16: true\n" + "".join(
        f"key_{i}: {{fp16: true, gradient_checkpointing: true}}\n" for i in range(n)
    )

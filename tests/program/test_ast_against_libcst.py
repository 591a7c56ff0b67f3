"""The quick reading by `ast` names the same things at the same places as LibCST, which reads without loss.

mpslint matches on `ast` and trusts its positions; here a slower and independent reader says where every call, argument and import is.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, QualifiedNameProvider, QualifiedNameSource

from mpslint.program.evaluator import evaluate_program
from mpslint.program.parse import parse_program
from mpslint.settings.dialects import load_dialects
from mpslint.settings.evidence import span_of
from mpslint.source.reader import read
from mpslint.target.target import default_target

ROOT = Path(__file__).parents[2]
LIBRARY = Path(sysconfig.get_paths()["stdlib"])
NAMES = "bisect codeop colorsys contextlib fnmatch heapq html/parser json/decoder queue sched shlex tabnanny textwrap timeit wave zipapp".split()
FILES = [LIBRARY / f"{name}.py" for name in NAMES]
FILES += sorted((ROOT / "samples").glob("*.py")) + sorted((ROOT / "mpslint" / "source").glob("*.py"))

Call = tuple[int, int]


class Reader(cst.CSTVisitor):
    """Collects, in bytes of the text, where calls and their arguments are, and by which imported names calls go."""

    METADATA_DEPENDENCIES = (ByteSpanPositionProvider, QualifiedNameProvider)

    def __init__(self) -> None:
        self.calls: dict[Call, list[tuple[str, Call]]] = {}
        self.names: dict[Call, set[str]] = {}

    def span(self, node: cst.CSTNode) -> Call:
        """Return the place of a node in bytes."""
        place = self.get_metadata(ByteSpanPositionProvider, node)
        return place.start, place.start + place.length

    def visit_Call(self, node: cst.Call) -> None:
        """Note a call."""
        place = self.span(node)
        self.calls[place] = [
            (argument.keyword.value if argument.keyword else argument.star, self.span(argument.value)) for argument in node.args
        ]
        found = self.get_metadata(QualifiedNameProvider, node.func, ())
        self.names[place] = {name.name for name in found if name.source is QualifiedNameSource.IMPORT}


def by_libcst(text: str) -> Reader:
    """Read a text by LibCST."""
    reader = Reader()
    MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True).visit(reader)
    return reader


def compared(text: str) -> tuple[int, int]:
    """Compare both readings of a text; return how many calls and how many names of calls were compared."""
    data = text.encode()
    document = read("x.py", data)
    slow = by_libcst(text)
    byte_of = [0]
    for character in text:
        byte_of.append(byte_of[-1] + len(character.encode()))

    def span(node: ast.AST) -> Call:
        place = span_of(document, node)
        return byte_of[place.start], byte_of[place.end]

    def inner(node: ast.AST) -> Call:
        """Parentheses belong to tuples and generators for `ast`, and to nothing for LibCST."""
        start, end = span(node)
        if isinstance(node, (ast.Tuple, ast.GeneratorExp)) and data[start:end][:1] == b"(":
            inside = data[start + 1 : end - 1]
            start, end = end - 1 - len(inside.lstrip()), start + 1 + len(inside.rstrip())
        return start, end

    parsed = parse_program(document, document.python)
    assert not parsed.unread
    quick = {}
    for statement in parsed.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                arguments = [("*", inner(a.value)) if isinstance(a, ast.Starred) else ("", inner(a)) for a in node.args]
                arguments += [(keyword.arg or "**", inner(keyword.value)) for keyword in node.keywords]
                quick[span(node)] = sorted(arguments, key=lambda pair: pair[1])
    in_strings = {place for place in quick if place not in slow.calls} if sys.version_info < (3, 12) else set()
    assert all(any(a <= place[0] and place[1] <= b for a, b in f_strings(parsed.body, span)) for place in in_strings)
    assert {place: found for place, found in quick.items() if place not in in_strings} == {
        place: sorted(found, key=lambda pair: pair[1])
        for place, found in slow.calls.items()
        if sys.version_info >= (3, 12)
        or place in quick
        or not any(a <= place[0] and place[1] <= b for a, b in f_strings(parsed.body, span))
    }
    return len(quick), names_agree(document, parsed.body, slow, span)


def f_strings(body: list[ast.stmt], span: object) -> list[Call]:
    """Return the places of f-strings: before Python 3.12, `ast` does not know where things in them are."""
    return [span(node) for statement in body for node in ast.walk(statement) if isinstance(node, ast.JoinedStr)]  # type: ignore[operator]


def names_agree(document: object, body: list[ast.stmt], slow: Reader, span: object) -> int:
    """Hold the qualified names of the evaluator's calls against LibCST's; return how many there were."""
    target, dialects = default_target(), load_dialects()
    facts = evaluate_program(document, body, target.versions, dialects.roots, dialects.how_known)  # type: ignore[arg-type]
    compared = 0
    for call in facts.calls:
        theirs = slow.names.get(span(call.node), set())  # type: ignore[operator]
        if call.method or len(theirs) != 1 or len(call.names) != 1 or call.names[0].endswith((".__call__", "[]")):
            continue
        name = next(iter(theirs))
        if name.split(".")[0] in dialects.roots:
            assert call.names[0].split(".")[-1] == name.split(".")[-1], (call.names, name)
            assert call.names[0].split(".")[0] == name.split(".")[0] or name.split(".")[0] == "pytorch_lightning"
            compared += 1
    return compared


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_both_readers_agree(path: Path) -> None:
    """Every call, with every argument and its name, is at the same place for both; names lead to the same things."""
    calls, _ = compared(path.read_text(encoding="utf-8"))

    assert calls or path.stat().st_size < 10_000


NAMED = """
import torch, torch.nn as nn
import transformers as hf
from torch.optim import AdamW as Optimizer
from torch.utils.data import (DataLoader,
    Dataset)
from transformers import Trainer, TrainingArguments as Args
def f(x):
    from accelerate import Accelerator
    acc = Accelerator(mixed_precision="fp16")
    return DataLoader(x, batch_size=2)
ä = "ö"; model = hf.AutoModel.from_pretrained("naïve", torch_dtype=torch.float16); args = Args("ü", fp16=True)
loader = f([1]); opt = Optimizer(model.parameters(), lr=1e-3); t = Trainer(model, args=args)
class Net(nn.Module):
    def forward(self, x): return nn.functional.pad(x, (1, 2), value=0.0)
"""


def test_names_are_followed_through_imports() -> None:
    """Renamed, in parentheses, in functions, after text that is not ASCII."""
    calls, names = compared(NAMED)

    assert calls == 9
    assert names >= 7


def test_the_samples_hold_names_to_compare() -> None:
    """The comparison of names is not empty."""
    assert sum(compared(path.read_text(encoding="utf-8"))[1] for path in (ROOT / "samples").glob("*.py")) > 10

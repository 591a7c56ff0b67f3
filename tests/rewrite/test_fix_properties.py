"""What holds for every fix, over documents put together from the examples of the rules and from samples."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpslint.core.finding import Safety
from mpslint.engine import check
from mpslint.rewrite.apply import Fixed, fix
from mpslint.rule.loading import load_rules
from mpslint.source.notebook import NotebookText
from mpslint.source.reader import read
from mpslint.target.target import default_target, with_versions
from tests.rule.cases import examples_of

SAMPLES = sorted((Path(__file__).parents[2] / "samples").iterdir())
EXAMPLES = sorted({example.bad for rule in load_rules() for example in examples_of(rule) if example.bad and example.file.endswith(".py")})
NOISE = ["x = 1\n", "# größe: 🎉\n", "print('é\\t', \"q\")\n", "def f(a,\n      b):\n    return a  # b\n", "\n\n"]
MAGICS = ["!pip install -q torch\n", "%matplotlib inline\n", "%%bash\nls -l\n", "%env HF_HOME=/data\n"]
OLD = {"torch": "2.4", "transformers": "4.44", "accelerate": "0.34", "trl": "0.11", "lightning": "2.2"}
TARGETS = [default_target(), with_versions(default_target(), OLD, "given")]
QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

pieces = st.sampled_from([*EXAMPLES, *EXAMPLES, *NOISE])
scripts = st.lists(pieces, min_size=1, max_size=4)
cells = st.lists(st.one_of(pieces, st.sampled_from(MAGICS)), min_size=1, max_size=5)
dumps = st.fixed_dictionaries({"indent": st.sampled_from([None, 1, 2, 4, "\t"]), "ensure_ascii": st.booleans(), "sort_keys": st.booleans()})


def settled(path: str, data: bytes, unsafe: bool, target: Any) -> Fixed:
    """Return what a fix makes of a file, having held it to what every fix keeps."""
    fixed = fix(read(path, data), target, unsafe=unsafe)
    again = fix(read(path, fixed.data), target, unsafe=unsafe)
    allowed = {Safety.SAFE, Safety.UNSAFE} if unsafe else {Safety.SAFE}
    left = check(read(path, fixed.data), target).findings

    assert again.data == fixed.data, "fixing twice is fixing once"
    assert [f.rule for f in left if f.fix is not None and f.fix.safety in allowed and f.fix.edits] == [], "what could be fixed is"
    assert len(fixed.after.unread) <= len(fixed.before.unread), "what parsed parses"
    if not fixed.applied:
        assert fixed.data == data
    return fixed


@QUICK
@given(scripts, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(), st.sampled_from(TARGETS))
def test_scripts(parts: list[str], newline: str, bom: bool, unsafe: bool, target: Any) -> None:
    """Lines without a finding, line ends, the mark at the beginning and the end of the file stay; a script that parsed parses."""
    marked = "".join(f"# line {number}\n{part}" for number, part in enumerate(parts))
    data = (b"\xef\xbb\xbf" if bom else b"") + marked.replace("\n", newline).encode()
    fixed = settled("train.py", data, unsafe, target).data

    assert fixed.startswith(b"\xef\xbb\xbf") is bom
    text = fixed.decode("utf-8-sig")
    assert text.count("\n") == text.count(newline)
    assert text.endswith(newline)
    kept = [line for line in marked.split("\n") if line.startswith(("# line", "# größe", "print('é"))]
    assert [line for line in text.split(newline) if line.startswith(("# line", "# größe", "print('é"))] == kept
    if _parses(marked):
        assert _parses(text)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@QUICK
@given(cells, dumps, st.booleans(), st.booleans(), st.sampled_from(["", "\n"]), st.booleans())
def test_notebooks(sources: list[str], dump: dict[str, Any], as_list: bool, unsafe: bool, end: str, is_old: bool) -> None:
    """Outside the sources of changed cells every byte stays: metadata, ids, outputs, indent, escapes, order of keys, final newline."""
    raw = json.dumps(_notebook(sources, as_list), **dump) + end
    fixed = settled("train.ipynb", raw.encode(), unsafe, TARGETS[is_old]).data.decode()
    numbers = tuple(range(2, len(sources) + 2))
    before, after = ([NotebookText(text, numbers).source(index) for index in range(len(numbers))] for text in (raw, fixed))

    assert _outside(raw, before) == _outside(fixed, after)
    old, new = json.loads(raw)["cells"][1:], json.loads(fixed)["cells"][1:]
    for index, (was, now) in enumerate(zip(old, new, strict=True)):
        if was["source"] == now["source"]:
            written = raw[before[index].start : before[index].end], fixed[after[index].start : after[index].end]
            assert written[0] == written[1]
        assert isinstance(now["source"], list) is as_list


def _outside(raw: str, sources: list[Any]) -> str:
    for source in reversed(sources):
        raw = raw[: source.start] + "SOURCE" + raw[source.end :]
    return raw


def _notebook(sources: list[str], as_list: bool) -> dict[str, Any]:
    """Return a notebook whose cells have all that a fix must leave alone."""
    output = {"output_type": "stream", "name": "stdout", "text": ["fp16=True\n", "é\u2028"]}
    made: list[dict[str, Any]] = [{"cell_type": "markdown", "id": "top", "metadata": {}, "source": ["# `fp16=True` é"]}]
    for number, source in enumerate(sources):
        written = source.splitlines(keepends=True) if as_list else source
        made.append(
            {
                "metadata": {"tags": ["größe"]},
                "cell_type": "code",
                "id": f"c{number}",
                "outputs": [output],
                "execution_count": 3,
                "source": written,
            }
        )
    return {"nbformat_minor": 5, "cells": made, "metadata": {"z": 1, "kernelspec": {"name": "python3"}, "a": None}, "nbformat": 4}


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("path", SAMPLES, ids=[path.name for path in SAMPLES])
def test_samples(path: Path, unsafe: bool) -> None:
    """Whatever the Target, they come to rest, and nothing new is found in them but what the fix brought to light."""
    for target in TARGETS:
        fixed = settled(path.name, path.read_bytes(), unsafe, target)

        assert len(fixed.after.findings) <= len(fixed.before.findings)
        if path.name.startswith("clean_") and target is TARGETS[0]:
            assert fixed.data == path.read_bytes()


@QUICK
@given(st.lists(st.sampled_from(["export ", "", "ENV "]), min_size=1, max_size=3), st.sampled_from(["0.0", "0.7", "3", "x"]), st.booleans())
def test_shell_texts(prefixes: list[str], value: str, unsafe: bool) -> None:
    """A script, a `.env` file and a Dockerfile keep every line that has no finding."""
    for name, prefix in (("run.sh", "export "), (".env", ""), ("Dockerfile", "ENV ")):
        lines = [f"# {number} {other}" for number, other in enumerate(prefixes)]
        lines.insert(1, f"{prefix}PYTORCH_MPS_HIGH_WATERMARK_RATIO={value}")
        fixed = settled(name, ("\n".join(lines) + "\n").encode(), unsafe, TARGETS[0]).data.decode()

        assert re.findall(r"^# .*$", fixed, re.MULTILINE) == [line for line in lines if line.startswith("#")]

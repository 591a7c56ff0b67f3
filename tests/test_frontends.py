"""The same notebook gives the same findings wherever it's open: each front end hands it on in another form."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from mpslint.jupyter.cells import Cells
from mpslint.server.part import TextPart
from mpslint.server.snapshot import NotebookSnapshot
from mpslint.session.session import Options, check_file
from mpslint.source.document import Kind
from mpslint.source.files import STANDARD_INPUT, FoundFile
from tests import ROOT

CELLS = [
    '!pip install -q "transformers==4.40.0" accelerate==0.30.0\n%env PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0',
    "%%bash\necho ready",
    "from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments\nfound = !ls",
    "%%time\ntokenizer = AutoTokenizer.from_pretrained('gpt2')\nmodel = AutoModel.from_pretrained('gpt2')",
    "args = TrainingArguments('out', fp16=True, dataloader_num_workers=2)",
    "Trainer(model=model, args=args, tokenizer=tokenizer).train()",
]
Found = list[tuple[str, str, str]]


def found_in(data: bytes, kind: Kind) -> Found:
    """Return the rule, the message and the text of each finding, in order."""
    name = "n.ipynb" if kind is Kind.NOTEBOOK else "n.py"
    result = check_file(FoundFile(STANDARD_INPUT), Options(stdin=data, stdin_filename=name, stdin_kind=kind, isolated=True))
    assert result.checked is not None, result.problem
    text = result.checked.document.text
    return sorted((one.rule, one.message, text[one.span.start : one.span.end].split("(")[0]) for one in result.checked.findings)


def as_file() -> Found:
    """As Jupyter saves it."""
    cells = [{"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": text} for text in CELLS]
    return found_in(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode(), Kind.NOTEBOOK)


def in_vs_code() -> Found:
    """As an editor sends its cells to the language server."""
    parts = tuple(TextPart(f"cell:{number}", 1, text) for number, text in enumerate(CELLS))
    snapshot = NotebookSnapshot("n.ipynb", "n.ipynb", Kind.NOTEBOOK, parts, ("code",) * len(CELLS), ((),) * len(CELLS))
    return found_in(snapshot.data(), Kind.NOTEBOOK)


def in_jupyterlab() -> Found:
    """As jupyterlab-lsp sends one Python text, with calls in place of magics."""
    return found_in("\n\n\n".join(called(text) for text in CELLS).encode(), Kind.PYTHON)


def called(cell: str) -> str:
    """Return a cell with its magics as calls."""
    if cell.startswith("%%"):
        head, _, body = cell.partition("\n")
        name, _, line = head[2:].partition(" ")
        return f'get_ipython().run_cell_magic("{name}", "{line}", """{body}""")'
    quoted = [line.replace('"', '\\"') for line in cell.split("\n")]
    quoted = [re.sub(r"^%(\w+) (.*)", r'get_ipython().run_line_magic("\1", "\2")', line) for line in quoted]
    return "\n".join(re.sub(r"(^|= )!(.*)", r'\1get_ipython().getoutput("\2")', line) for line in quoted)


def in_a_kernel() -> Found:
    """As nbclient and any other front end run it, for `%mpslint`."""
    cells = Cells()
    for count, text in enumerate(CELLS, start=1):
        cells.add(text, count)
    return found_in(cells.notebook(), Kind.NOTEBOOK)


def in_the_browser() -> Found:
    """As the page of the documentation checks it."""
    answer = runpy.run_path(str(ROOT / "docs" / "try" / "check.py"))["answer"]
    cells = [{"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": text} for text in CELLS]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    findings = json.loads(answer("n.ipynb", notebook, {}, False))["file"]["findings"]
    return sorted((one["rule"], one["message"], one["text"].split("(")[0]) for one in findings)


@pytest.mark.parametrize("front_end", [in_vs_code, in_jupyterlab, in_a_kernel, in_the_browser])
def test_the_same_notebook_gives_the_same_findings(front_end: Callable[[], Found], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of its file, with the versions that its own `pip install` line names."""
    monkeypatch.chdir(tmp_path)
    expected = as_file()

    assert {rule for rule, _, _ in expected} >= {"MPS101", "MPS701"}
    assert not [rule for rule, _, _ in expected if rule == "MPS901"]  # transformers 4.40 takes `tokenizer=`
    assert front_end() == expected

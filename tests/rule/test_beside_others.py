"""Rules that aren't worth a report by themselves are reported beside others, or when they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.engine import check
from mpslint.rule.loading import load_rules
from mpslint.rule.selection import asked_by_default
from mpslint.session.session import Options, check_file
from mpslint.source.files import FoundFile
from mpslint.source.reader import read
from mpslint.target.target import default_target

ARGUMENTS = "from transformers import TrainingArguments\nargs = TrainingArguments('out', dataloader_pin_memory=True{})\n"
DEFAULT = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"


@pytest.mark.parametrize(("more", "only", "found"), [("", "", False), (", fp16=True", "", True), ("", "MPS601", True)])
def test_pinned_memory_alone_is_no_report(more: str, only: str, found: bool) -> None:
    """MPS601 beside fp16, or by itself where nothing else is asked for."""
    rules = tuple(rule for rule in asked_by_default(load_rules()) if rule.id.startswith(only))
    checked = check(read("train.py", ARGUMENTS.format(more).encode()), default_target(), rules)
    assert any(finding.rule == "MPS601" for finding in checked.findings) is found


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (Options(isolated=True), {"MPS101"}),
        (Options(isolated=True, select=("MPS602",)), {"MPS602"}),
        (Options(isolated=True, select=("MPS6",)), {"MPS602"}),
        (Options(isolated=True, select=("default-pinned-memory",)), {"MPS602"}),
        (Options(isolated=True, select=("ALL",)), {"MPS101", "MPS602"}),
        (Options(isolated=True, extend_select=("MPS602",)), {"MPS101", "MPS602"}),
        (Options(isolated=True, extend_select=("MPS602",), ignore=("MPS6",)), {"MPS101"}),
        (Options(isolated=True, overrides=('select=["ALL"]',)), {"MPS101", "MPS602"}),
    ],
)
def test_a_default_is_reported_on_request(tmp_path: Path, options: Options, found: set[str]) -> None:
    """Pinned memory that nobody wrote, where its rule is named."""
    path = tmp_path / "train.py"
    path.write_text(DEFAULT)
    assert {finding.rule for finding in check_file(FoundFile(str(path)), options).findings} == found

"""A knowledge file of diagnose that lacks a key stops with one line that names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mpslint.core.finding import RuleError
from mpslint.diagnose import memory_points, named, out_of_memory
from mpslint.doctor import packages, problems
from mpslint.target import macs


@pytest.mark.parametrize(
    ("module", "load", "name", "content"),
    [
        (macs, macs.macs.__wrapped__, "macs.yaml", "macs: [{memory: 8}]\nvirtual: []\n"),
        (macs, macs.macs.__wrapped__, "macs.yaml", "macs: []\n"),
        (out_of_memory, out_of_memory._knowledge.__wrapped__, "out_of_memory.yaml", "numbers: {}\n"),
        (memory_points, memory_points.reading_of_memory_logs.__wrapped__, "memory_log.yaml", "columns: {}\n"),
        (named, named._named.__wrapped__, "packages.yaml", "packages: [{name: torch}]\nsystems: []\n"),
        (packages, packages.known_packages, "packages.yaml", "packages: [{called: [torch]}]\n"),
        (problems, problems._doctor_knowledge.__wrapped__, "doctor.yaml", "variables: {}\n"),
    ],
)
def test_a_missing_key_names_the_file(
    module: ModuleType, load: Callable[[], Any], name: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The knowledge is read as strictly as the catalogue."""
    (tmp_path / "platform").mkdir()
    (tmp_path / "platform" / name).write_text(content)
    monkeypatch.setattr(module, "rules_folder", lambda: tmp_path)

    with pytest.raises(RuleError, match=name) as raised:
        load()

    assert "\n" not in str(raised.value)

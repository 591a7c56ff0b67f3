"""Sources of rules and tables are opened, within what may be downloaded."""

from __future__ import annotations

import importlib
import zipfile
from pathlib import Path

import pytest

from tests.refresh.wheels import TOOL, refreshed, wheel


def test_sources_are_opened(tables: Path) -> None:
    """A file with its names at both ends of a range is proved; one that lacks a name is refuted, and the exit code says so."""
    rule = tables / "precision" / "MPS101-a.yaml"
    rule.write_text(
        "sources:\n"
        "  - mps_trainer/run.py, 1.0 to 1.2 (Arguments, Runner)\n"
        "  - mps_trainer/run.py, absent in 1.0, 1.1 to 1.2 (new)\n"
        "  - https://github.com/mps/trainer/issues/1\n"
    )
    shown = refreshed(tables, "--step", "sources")
    assert (shown.returncode, "2 proved, 0 refuted, 0 unread, 1 not checkable" in shown.stdout) == (0, True)

    rule.write_text("sources:\n  - mps_trainer/run.py, 1.0 to 1.2 (tokenizer)\n  - mps_trainer/run.py, 1.0 and 9.9 (Runner)\n")
    table = tables / "platform" / "arguments.yaml"
    table.write_text('mps_trainer.Arguments:\n  old: {exists: "mps-trainer < 1.2"}\n')
    before = table.read_text()
    shown = refreshed(tables, "--step", "sources", "--step", "arguments", "--bounds", "--write")
    assert (shown.returncode, table.read_text()) == (1, before)
    assert "not written, as sources are refuted" in shown.stdout
    assert (
        "MPS101: mps_trainer/run.py, 1.0 to 1.2 (tokenizer): refuted: mps-trainer 1.2.0: tokenizer not in mps_trainer/run.py"
        in shown.stdout
    )
    assert "unread: no wheel of mps-trainer 9.9" in shown.stdout


def test_sources_of_tables_are_opened(tables: Path) -> None:
    """What a row or a comment of a table kept by hand gives as its source is opened as a rule's is; prose without versions is none."""
    table = tables / "platform" / "kept.yaml"
    table.write_text(
        "# Rows by hand, see mps_trainer/run.py.\n# (mps_trainer/run.py of 1.2: Runner.)\n"
        'rows:\n  - {name: a, sources: ["mps_trainer/run.py, 1.0 (Arguments)"]}\n'
        '  - {name: b, source: "mps_trainer/run.py, 1.2 (gone)"}\n'
    )
    shown = refreshed(tables, "--step", "sources")

    assert "2 proved, 1 refuted, 0 unread, 0 not checkable" in shown.stdout
    assert "kept: mps_trainer/run.py, 1.2 (gone): refuted" in shown.stdout


def test_names_of_tables_kept_by_hand_are_looked_up(tables: Path) -> None:
    """A name that the newest release lost is named with its table; files, classes, attributes and methods of others are found."""
    with zipfile.ZipFile(next((tables.parent / "wheels").glob("mps_trainer-1.1.0-*")), "a") as file:
        file.writestr("mps_trainer/old.py", "def started(): ...\n")
    (tables / "platform" / "kept.yaml").write_text(
        "calls: [mps_trainer.run.Runner, mps_trainer.Arguments.steps, mps_trainer.Runner.__call__]\n"
        "answers: {mps_trainer.old.started: true, mps_trainer.nowhere: 1, other.package: 2}\n"
    )
    shown = refreshed(tables, "--step", "paths")

    assert "mps_trainer.old.started (kept.yaml): gone in mps-trainer 1.2.0; correct it by hand" in shown.stdout
    assert "3 names found, 2 of older releases or made while a package runs, 0 unread" in shown.stdout


def test_no_more_wheels_are_downloaded_than_allowed(tables: Path) -> None:
    """The limit stops a step and says so."""
    (tables / "platform" / "arguments.yaml").write_text('mps_trainer.Arguments:\n  old: {exists: "mps-trainer < 1.1"}\n')
    shown = refreshed(tables, "--step", "arguments", "--bounds", "--downloads", "1")

    assert "arguments: stopped at mps-trainer" in shown.stdout
    assert "1 wheels downloaded" in shown.stdout


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ('mps_trainer/lib.dylib, 1.1 ("Not supported on MPS"), absent in 1.2', "proved"),
        ('mps_trainer/lib.dylib, 1.1 to 1.2 ("Not supported on MPS")', "refuted"),
        ("mps_trainer/lib.dylib, 1.1 (old_kernel), absent in 1.2", "proved"),
        ('mps_trainer/lib.dylib, 1.1 ("Never said (of anything)")', "refuted"),
    ],
)
def test_a_text_in_a_library_is_looked_up(source: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quoted text and a symbol, in the first and last version, and not in the one that lacks them."""
    monkeypatch.syspath_prepend(TOOL.parent)
    sources, wheels = importlib.import_module("refresh.sources"), importlib.import_module("refresh.wheels")
    for version, data in (("1.1.0", "\0Not supported on MPS\0__ZN10old_kernelEv\0"), ("1.2.0", "\0Another text of it\0")):
        wheel(tmp_path, "mps-trainer", version, "py3-none-any", files={"mps_trainer/lib.dylib": data})
    releases = {"mps-trainer": ["1.1.0", "1.2.0"]}
    claim = sources.claim(source, releases)

    assert sources.judged(claim, wheels.Wheels(None, tmp_path, 0), releases)[0] == word


def test_the_share_of_entries_that_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row counts with all its entries where its sources are proved or it gives operators; one refuted source keeps its row out."""
    monkeypatch.syspath_prepend(TOOL.parent)
    sources = importlib.import_module("refresh.sources")
    (tmp_path / "names.yaml").write_text("a: [1, 2]\n")
    (tmp_path / "kept.yaml").write_text(
        "rows:\n  - {call: [f, g], source: read}\n  - {call: [h], source: lost}\n  - {call: [i], op: [aten]}\n  - {call: [k], note: none}\n"
    )
    words = [("read", "proved"), ("lost", "proved"), ("lost", "refuted")]
    verdicts = [sources.Verdict("kept", source, word) for source, word in words]

    assert sources.share_of(tmp_path, verdicts, {"names"}, 1) == (
        "11 entries in the tables: 18.2% rebuilt, 45.5% in rows that are opened, 9.1% compared"
    )

"""Tables of arguments and names, held against the wheels that have them."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.refresh.wheels import refreshed, wheel


def test_argument_tables_are_corrected_and_extended(tables: Path) -> None:
    """A false bound moves to where the wheels change; an argument of the newest release gets a row; what is true stays as written."""
    path = tables / "platform" / "arguments.yaml"
    path.write_text(
        "mps_trainer.Arguments:\n"
        '  old: {exists: "mps-trainer < 1.2", use: new}  # renamed\n'
        '  new: {exists: "mps-trainer >= 1.1"}\n'
        '  seed: {exists: "mps-trainer >= 1.0"}\n'
        "mps_trainer.Runner:\n"
        '  model: {exists: "mps-trainer >= 1.0"}\n'
    )
    (tables / "precision" / "MPS101-a.yaml").write_text("when: {check: arguments, table: arguments}\n")
    shown = refreshed(tables, "--step", "arguments", "--bounds", "--write")

    assert "mps_trainer.Arguments.old: 1.1.0 lacks it, against mps-trainer < 1.2; now mps-trainer < 1.1" in shown.stdout
    assert "mps_trainer.Runner.tokenizer: removed, mps-trainer < 1.2" in shown.stdout
    assert "mps_trainer.Runner.processor: new, mps-trainer >= 1.2" in shown.stdout
    assert "rules that rest on it: MPS101" in shown.stdout
    assert path.read_text() == (
        "mps_trainer.Arguments:\n"
        '  old: {exists: "mps-trainer < 1.1", use: new}  # renamed\n'
        '  new: {exists: "mps-trainer >= 1.1"}\n'
        '  seed: {exists: "mps-trainer >= 1.0"}\n'
        "mps_trainer.Runner:\n"
        '  model: {exists: "mps-trainer >= 1.0"}\n'
        '  processor: {exists: "mps-trainer >= 1.2"}\n'
        '  tokenizer: {exists: "mps-trainer < 1.2"}\n'
    )


def test_names_that_the_newest_release_lost_are_added(tables: Path) -> None:
    """A name that a package no longer exports gets a row; the reader is told to say what replaces it."""
    path = tables / "platform" / "removed_names.yaml"
    path.write_text('names:\n  mps_trainer.Gone: {exists: "mps-trainer < 1.0", instead: "Nothing."}\n')
    shown = refreshed(tables, "--step", "names", "--write")

    assert "mps_trainer.Helper: removed, mps-trainer < 1.2; say what replaces it" in shown.stdout
    assert yaml.safe_load(path.read_text())["names"]["mps_trainer.Helper"] == {"exists": "mps-trainer < 1.2"}


def test_gone_modules_and_versions_that_nobody_has_are_named(tables: Path) -> None:
    """A module below the package that the newest release lacks, with its names; a least version above what the index has."""
    (tables / "platform" / "removed_names.yaml").write_text(
        'names:\n  mps_trainer.Gone: {exists: "mps-trainer < 1.0", instead: "Nothing."}\n'
    )
    versions = tables / "platform" / "versions.yaml"
    versions.write_text(versions.read_text() + '  mps: "0.9"\n')
    wheels = tables.parent / "wheels"
    for version, files in (
        ("1.1.0", {"mps_trainer/__init__.py": "", "mps_trainer/masks.py": "class Mask: ...\ndef mask(): ...\n"}),
        ("1.2.0", {"mps_trainer/__init__.py": "", "mps_trainer/adapters.py": 'MIN_MPS_VERSION = "1.0"\n'}),
    ):
        (wheels / f"mps_trainer-{version}-py3-none-any.whl").unlink()
        wheel(wheels, "mps-trainer", version, "py3-none-any", files=files)
    shown = refreshed(tables, "--step", "names")

    assert "mps_trainer.masks: mps-trainer 1.2.0 lacks the module; add its names by hand: Mask, mask" in shown.stdout
    assert "mps-trainer 1.2.0 asks for mps 1.0 (mps_trainer/adapters.py), and the newest is 0.9" in shown.stdout

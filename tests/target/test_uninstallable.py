"""What pip can't install on a Mac of a project's requirements."""

from __future__ import annotations

from pathlib import Path

from mpslint.session.targeting import base_target

FROZEN = "numpy\nnvidia_nccl_cu12==2.20.5\ntriton==3.0.0 ; sys_platform == 'linux'\ntorch==2.4.0\n"


def test_a_line_without_a_build_is_named(tmp_path: Path) -> None:
    """The line is named with its place, whatever its spelling; one that is limited to Linux is not."""
    (tmp_path / "requirements.txt").write_text(FROZEN, encoding="utf-8")

    assert base_target(str(tmp_path / "train.py")).uninstallable == ("nvidia_nccl_cu12==2.20.5 (requirements.txt, line 2)",)


def test_a_file_for_a_mac_serves_instead(tmp_path: Path) -> None:
    """A project that has a lock file, or requirements for a Mac, is not asked about those of other machines."""
    (tmp_path / "requirements.txt").write_text(FROZEN, encoding="utf-8")
    (tmp_path / "requirements_mac.txt").write_text("torch\n", encoding="utf-8")

    assert base_target(str(tmp_path / "train.py")).uninstallable == ()

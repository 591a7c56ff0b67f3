"""`mpslint --version --verbose` says how far the knowledge reaches."""

from __future__ import annotations

import subprocess
import sys

from mpslint.core.versions import format_version
from mpslint.rule.loading import load_rules
from mpslint.session.reach import reach
from mpslint.target.packages import newest_versions


def test_the_reach_is_that_of_the_tables() -> None:
    """Its date, how many rules, operators and messages, and the newest version of each package."""
    told = dict(reach())

    assert told["rules"] == str(len(load_rules()))
    assert int(told["operators"]) > 200
    assert int(told["messages"]) > 100
    assert told["knowledge of"][:2] == "20"
    assert {name: told[f"newest {name}"] for name in newest_versions()} == {n: format_version(v) for n, v in newest_versions().items()}


def test_verbose_adds_it_to_the_version() -> None:
    """The plain version stays one line."""
    run = [sys.executable, "-m", "mpslint", "--version"]
    plain, verbose = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in (run, [*run, "--verbose"]))

    assert len(plain.splitlines()) == 1
    assert verbose.startswith(plain)
    assert "newest torch" in verbose

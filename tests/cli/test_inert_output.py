"""Whatever a repository holds, what is printed of it is inert: no controls, no markup, no commands to GitHub Actions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.warm_command import mpslint

EVIL = "e\x1b]0;pwned\x07\x1b[31m\u202e\u2028\x9b[bold]x[/]"
NAME = f"{EVIL}\n::error file=x::pwned ##[error]x.py"
SOURCE = f'''"""{EVIL.replace(chr(0x2028), "")}
 ::stop-commands::abc
##[group]
"""
import torch
model = torch.nn.Linear(2, 2).cuda()  # {EVIL.replace(chr(0x2028), "")} ::error::x
 # ::warning::y
'''
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2028]")
COMMANDS = [
    ["check", "."], ["check", ".", "-q"], ["fix", "."], ["fix", ".", "--diff"], ["plan", "."], ["diagnose", NAME], ["check", f"no{NAME}"],
    ["check", ".", "--format", "json"], ["check", ".", "--format", "markdown"], ["check", ".", "--format", "junit"],
    ["check", ".", "--format", "sarif"], ["check", ".", "--format", "gitlab"], ["check", ".", "--format", "github"],
    ["config", NAME], ["fix", "broken.py"], ["check", "broken.py"], ["check", "--baseline", NAME, "."], ["check", ".", "--add-ignore"],
]  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Make a folder whose names and sources try to command."""
    (tmp_path / NAME.replace("/", "")).write_text(SOURCE)
    (tmp_path / "train.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text(f"import torch\ndef \x1b[31m{EVIL}(:\n")
    return tmp_path


def printed(folder: Path, arguments: list[str], more: Mapping[str, str]) -> tuple[str, int]:
    """Return all that a command prints, as text, and its exit code."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONWARNINGS": "error", **more}
    done = mpslint([argument.replace("/", "") for argument in arguments], folder, environment)
    return (done.stdout + b"\n" + done.stderr).decode("utf-8", "surrogateescape"), done.returncode


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(arguments)[:30].encode("ascii", "ignore").decode())
def test_output_is_inert(hostile: Path, arguments: list[str]) -> None:
    """No command prints an active character, nor a line that GitHub Actions obeys and that is not its own."""
    text, code = printed(hostile, arguments, {"GITHUB_ACTIONS": "true"})
    stopped = re.sub(r"(?s)^::stop-commands::([0-9a-f]{32})\n.*^::\1::\n", "", text, flags=re.MULTILINE)

    assert code in (0, 1, 2, 3)
    assert "Traceback" not in text
    if "--diff" not in arguments:  # a patch holds what the file holds
        assert not ACTIVE.search(text), ascii(text)
    own = [line for line in re.split("[\r\n]", stopped) if line.lstrip().startswith("::")]
    assert all(re.match(r"::(error|warning|notice) file=[^:]*,line=", line) for line in own), own
    assert not [line for line in stopped.split("\n") if "##[" in line and line not in own]


def test_colours_do_not_let_colours_in(hostile: Path) -> None:
    """Where colours are on, the only escapes are those of styles, and no title or link is set."""
    for arguments in (["check", "."], ["fix", "."], ["plan", "."]):
        text, _ = printed(hostile, arguments, {"FORCE_COLOR": "1"})
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)

        assert "\x1b" in text or arguments == ["plan", "."]
        assert not ACTIVE.search(plain), ascii(plain)
        assert "[bold]" in plain or arguments == ["plan", "."]  # shown as a part of the name, not taken for markup; a table folds it

"""No command deletes or changes what mpslint did not make, whatever it is called and wherever temporary files go."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import pytest

from mpslint.cli import group
from mpslint.core.scratch import scratch_folder, whole

ROOT = Path(__file__).parents[1]
NAMES = ("mpslint-main", "mpslint-0.1.0", "mpslint-abc123", "mpslint-run-abc123", "mpslint", "mpslint-findings")
COMMANDS = (
    "check .", "check . --write-baseline baseline.json", "check . --no-cache -o report.txt", "plan .", "fix .", "fix . --diff",
    "fix . --apply --backup", "check . --add-ignore", "diagnose --message nothing", "doctor", "rules", "rules --test", "explain MPS101", "config .",
    "completion bash", "report train.log", "report --no-torch", "clean", "verify --plan train.py", "verify quick.py --yes --backend cpu",
    "doctor --forget-calibration", "run quick.py", "run -- true", "server",
)  # fmt: skip
DRIVER = """
import sys
from mpslint.cli import group
for line in sys.argv[1:]:
    try:
        code = group.main(line.split(), standalone_mode=False)
    except SystemExit as error:
        code = error.code
    except Exception as error:
        code = f"{type(error).__name__}: {error}"
    print(f"DID {line}: {code}", file=sys.stderr, flush=True)
"""


def message(method: str, number: int | None = None) -> bytes:
    """Return a message of an editor."""
    body = {"jsonrpc": "2.0", "method": method, "params": {"capabilities": {}, "processId": None, "rootUri": None}}
    text = json.dumps(body if number is None else {**body, "id": number}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(text), text)


def place(folder: Path, marked: Path) -> list[Path]:
    """Put a user's folders of a day ago into a folder: of every name, one of them a copy of what a killed run left."""
    made = [folder / name for name in NAMES]
    for path in made:
        (path / "files").mkdir(parents=True)
        (path / "thesis.py").write_text("work = 1\n")
        (path / "files" / "data.json").write_text("{}")
    shutil.copytree(marked, folder / marked.name)
    made.append(folder / marked.name)
    for path in (*(inner for one in made for inner in one.rglob("*")), *made):
        os.utime(path, (time.time() - 86_400,) * 2)
    return made


def state(folders: list[Path]) -> list[tuple[object, ...]]:
    """Return all that could be lost of some folders."""
    found: list[tuple[object, ...]] = []
    for path in sorted(path for folder in folders for path in (folder, *folder.rglob("*"))):
        about = path.lstat()
        found.append((path, about.st_mode, about.st_ino, about.st_mtime_ns, path.read_bytes() if path.is_file() else b""))
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="commands of POSIX")
@pytest.mark.parametrize("where", ["apart", "in the current folder", "in the home"])
def test_every_command_leaves_the_folders_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The temporary folder is one of its own, the current one, or the home."""
    assert {line.split()[0] for line in COMMANDS} == set(group.list_commands(click.Context(group)))
    home, here = tmp_path / "home", tmp_path / "here"
    temporary = {"apart": tmp_path / "temporary", "in the current folder": here, "in the home": home}[where]
    for folder in {home, here, temporary, tmp_path / "made"}:
        folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "made"))
    with scratch_folder("run-") as contents:
        Path(contents, "model.bin").write_text("work")
        folders = [path for folder in {home, here, temporary} for path in place(folder, whole(Path(contents)))]
    (here / "train.py").write_text("import torch\nx = torch.ones(2).cuda()\n")
    (here / "quick.py").write_text("print('quick')\n")
    (here / "train.log").write_text("RuntimeError: Placeholder tensor is empty!\n")
    before = state(folders)
    environment = {name: value for name, value in os.environ.items() if name not in ("MPSLINT_CACHE_DIR", "XDG_CACHE_HOME")}
    environment |= {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    goodbye = message("initialize", 1) + message("initialized") + message("shutdown", 2) + message("exit")
    line = [sys.executable, "-c", DRIVER, *COMMANDS]

    ended = subprocess.run(line, cwd=here, env=environment, input=goodbye, capture_output=True, check=False)
    said = [line for line in ended.stderr.decode(errors="replace").splitlines() if line.startswith("DID ")]
    assert [line.rpartition(": ")[2] in ("None", "0", "1", "3") for line in said] == [True] * len(COMMANDS), ended
    assert state(folders) == before

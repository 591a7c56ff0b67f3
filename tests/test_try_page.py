"""The page that runs mpslint in the browser: it says what the command line says, and nothing leaves it."""

from __future__ import annotations

import base64
import contextlib
import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests import LONG

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "try"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
IS_ABLE = bool(CHROMIUM and shutil.which("node") and (PAGE / "node_modules" / "playwright-core").is_dir())
SAMPLES = ("summarization.ipynb", "pegasus_finetune.py", "amp_loop.py", "clean_trainer.py", "clean_embeddings.ipynb", "launch.sh")
TARGETS: tuple[dict[str, str], ...] = ({}, {"torch": "2.8", "memory": "16GB", "chip": "m2"})


def module(path: Path) -> ModuleType:
    """A Python file outside of packages."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def bare_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which mpslint runs beside no torch, as it does in the browser."""
    folder = tmp_path_factory.mktemp("modules")
    older = () if sys.version_info >= (3, 11) else ("tomli",)
    validates = (
        "nbformat fastjsonschema jsonschema jsonschema_specifications referencing rpds attr attrs traitlets jupyter_core platformdirs"
    )
    for name in ("click", "rich", "yaml", "packaging", "pygments", "markdown_it", "mdurl", "libcst", *validates.split(), *older):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (folder / name).symlink_to(Path(spec.origin).parent)
        for about in Path(spec.origin).parents[1].glob("nbformat-*.dist-info"):  # where nbformat reads its own version
            with contextlib.suppress(FileExistsError):
                (folder / about.name).symlink_to(about)
    spec = importlib.util.find_spec("typing_extensions")
    assert spec is not None
    (folder / "typing_extensions.py").symlink_to(str(spec.origin))
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    return {**kept, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}


ONE_BY_ONE = """
import contextlib, io, json, sys
from mpslint.cli import group
for number, arguments in enumerate(json.loads(sys.argv[1])):
    with contextlib.redirect_stdout(io.StringIO() if number else sys.stdout), contextlib.suppress(SystemExit):
        group.main(arguments)
"""
"""Commands in one process, for whose imports nobody waits twice; what the first one prints is shown."""


def command_line(environment: dict[str, str], folder: Path, sample: Path, target: dict[str, str]) -> tuple[list[list[Any]], bytes]:
    """What `check` finds in a copy of a file that lies alone, and what `fix --apply` makes of it."""
    folder.mkdir()
    copy = Path(shutil.copy(sample, folder))
    options = [word for name, value in target.items() for word in (f"--{name}", value)]
    arguments = [copy.name, "--isolated", *options]
    both = [["check", *arguments, "--format", "json", "--no-cache"], ["fix", *arguments, "--apply"]]
    command = [sys.executable, "-S", "-c", ONE_BY_ONE, json.dumps(both)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=LONG, check=True)
    findings = [one for file in json.loads(done.stdout)["files"] for one in file["findings"]]
    places = [[one["rule"], one["place"].get("cell"), one["place"]["line"], one["place"]["column"]] for one in findings]
    return sorted(places, key=str), copy.read_bytes()


@pytest.mark.parametrize("target", TARGETS, ids=("newest", "older"))
@pytest.mark.parametrize("name", SAMPLES)
def test_what_the_page_runs_says_what_the_command_line_says(
    name: str, target: dict[str, str], tmp_path: Path, bare_environment: dict[str, str]
) -> None:
    """The same findings at the same places, and the same bytes after the fix."""
    sample = ROOT / "samples" / name
    program = "import sys, runpy, json; print(runpy.run_path(sys.argv[1])['answer'](sys.argv[2], sys.stdin.buffer.read(), json.loads(sys.argv[3]), False))"
    command = [sys.executable, "-S", "-c", program, str(PAGE / "check.py"), name, json.dumps(target)]
    answer = json.loads(subprocess.run(command, input=sample.read_bytes(), env=bare_environment, capture_output=True, check=True).stdout)
    findings, fixed = command_line(bare_environment, tmp_path / "alone", sample, target)

    found = [[one["rule"], one["place"].get("cell"), one["place"]["line"], one["place"]["column"]] for one in answer["file"]["findings"]]
    assert sorted(found, key=str) == findings
    assert (answer["fixed"]["data"].encode("latin-1") if answer["fixed"] else sample.read_bytes()) == fixed


@pytest.mark.parametrize(
    ("name", "data", "target", "words"),
    [
        ("a.ipynb", b"{", {}, "not valid JSON"),
        ("a.py", b"import torch\nx = (\n", {}, "a.py:"),
        ("a.py", b"import torch\n", {"torch": "new"}, "'new' is not a version"),
        ("a.py", b"import torch\n", {"tensorflow": "2"}, "unknown package 'tensorflow'"),
        ("a.toml", b"x = 1\n", {}, "not a kind of file that mpslint checks"),
    ],
)
def test_what_cannot_be_read_is_one_line(name: str, data: bytes, target: dict[str, str], words: str) -> None:
    """As on the command line."""
    answer = json.loads(module(PAGE / "check.py").answer(name, data, target, False))

    assert words in answer["problem"]
    assert "\n" not in answer["problem"]


def test_the_page_names_no_other_place() -> None:
    """No script, style, font or picture comes from elsewhere, and the page forbids it."""
    for path in [path for path in PAGE.iterdir() if path.suffix in (".html", ".css", ".js", ".py")]:
        assert not re.findall(r"https?://", path.read_text(encoding="utf-8")), path.name
    assert "default-src 'self'" in (PAGE / "index.html").read_text(encoding="utf-8")


def test_the_versions_are_locked() -> None:
    """The page and its test take from npm what the lock file names, by digest."""
    wanted = json.loads((PAGE / "package.json").read_text(encoding="utf-8"))
    locked = json.loads((PAGE / "package-lock.json").read_text(encoding="utf-8"))["packages"]

    for name, version in {**wanted["dependencies"], **wanted["devDependencies"]}.items():
        assert locked[f"node_modules/{name}"]["version"] == version
    assert all(one["integrity"] for path, one in locked.items() if path)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the built page is served."""
    folder = tmp_path_factory.mktemp("site")
    module(ROOT / "docs" / "try_page.py").write_page(folder)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.browser
@pytest.mark.skipif(not IS_ABLE, reason="needs Chromium, Node.js and `npm ci` in docs/try")
def test_in_chromium_the_page_shows_what_the_command_line_says(address: str, tmp_path: Path, bare_environment: dict[str, str]) -> None:
    """For samples and for the files that MPSLINT_TRY_FILES names; it works offline, and asks nothing of any other place."""
    others = [Path(name) for name in os.environ.get("MPSLINT_TRY_FILES", "").split(os.pathsep) if name]
    samples = [*(ROOT / "samples" / name for name in SAMPLES), *others]
    wanted = [{"file": str(sample), "target": target} for sample in samples for target in TARGETS]
    wanted[0]["picture"] = "page.png"
    (tmp_path / "files.json").write_text(json.dumps(wanted))
    assert CHROMIUM is not None
    command = ["node", str(PAGE / "test" / "page.mjs"), address, CHROMIUM, str(tmp_path / "files.json"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    shown = json.loads((tmp_path / "shown.json").read_text())

    for number, (one, result) in enumerate(zip(wanted, shown["results"], strict=True)):
        findings, fixed = command_line(bare_environment, tmp_path / f"alone{number}", Path(one["file"]), one["target"])
        assert sorted(result["findings"], key=str) == findings, one
        assert (base64.b64decode(result["fixed"]) if result["fixed"] else Path(one["file"]).read_bytes()) == fixed, one
    assert [finding[0] for finding in shown["typed"]["findings"]] == ["MPS101"]
    assert shown["offline"]["findings"] == shown["results"][0]["findings"]
    assert all(request.startswith((f"GET {address}", f"GET blob:{address}", "GET data:")) for request in shown["requests"])
    assert all(request.startswith(f"GET blob:{address}") for request in shown["during"])
    assert shown["messages"] == []

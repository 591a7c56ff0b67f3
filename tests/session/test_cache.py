"""The cache answers what a fresh check answers, and is asked only where nothing has changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from mpslint.core import folders, knowledge
from mpslint.core.outside import read_file
from mpslint.core.own_folder import OwnFolder
from mpslint.report.machine import full_view
from mpslint.session import cache as cache_module
from mpslint.session import cache_key
from mpslint.session.cache import FindingsCache, cache_folder, clean, packed, unpacked
from mpslint.session.cache_key import FileKeys
from mpslint.session.running import check_files
from mpslint.session.session import Options, files_of
from mpslint.session.view import FileView
from mpslint.source.files import FoundFile

BAD = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"
FIXED = BAD.replace("fp16=True", "fp16=False")
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "source": BAD, "metadata": {}, "outputs": []},
            {"cell_type": "code", "source": "x = (", "metadata": {}},
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
)
FOLDER = ".mpslint_cache"
"""Where these tests keep the cache: a folder that a check passes by."""
SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with something of everything; each test starts without what another remembers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / FOLDER))
    forget()
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "clean.py").write_text("print(1)\n")
    (tmp_path / "quiet.py").write_text("import torch\nx = torch.ones(3)\n")
    (tmp_path / "cells.ipynb").write_text(NOTEBOOK)
    (tmp_path / "run.sh").write_text("export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\npython bad.py\n")
    for sample in SAMPLES.iterdir():
        (tmp_path / sample.name).write_bytes(sample.read_bytes())
    return tmp_path


def forget() -> None:
    """A new process remembers no configuration, no pins and no rules."""
    folders.forget_disk()
    knowledge.knowledge_digest.cache_clear()


def looked_up(paths: Sequence[str] = (".",), options: Options | None = None, folder: str = FOLDER) -> list[FileView | None]:
    """What a run that begins now finds in the cache, by file in order."""
    forget()
    options = options or Options()
    cache = FindingsCache(OwnFolder(Path(), (folder,)), FileKeys(options).of)
    cache.load()
    files = list(files_of(paths, options))
    cache.note_files(files)
    return [cache.lookup(found) for found in files]


def run(paths: Sequence[str] = (".",), options: Options | None = None, folder: str = FOLDER) -> list[FileView]:
    """Check with the cache, as the command does."""
    forget()
    options = options or Options()
    cache = FindingsCache(OwnFolder(Path(), (folder,)), FileKeys(options).of)
    cache.load()
    views = list(check_files(list(files_of(paths, options)), options, 1, cache))
    cache.save()
    return views


def test_what_is_remembered_is_what_was_found(project: Path) -> None:
    """Every field of every finding comes back, of every kind of file; a file without findings comes back too."""
    fresh = list(check_files(list(files_of(["."], Options())), Options(), 1))
    first, second = run(), run()

    assert first == fresh
    assert second == fresh
    assert looked_up() == fresh
    assert sum(len(view.findings) for view in fresh) > 5


def test_changed_content_is_checked_anew(project: Path) -> None:
    """Whatever the clock says: also when size, time and name stay the same."""
    run()
    before = os.stat("bad.py")
    Path("bad.py").write_text(BAD.replace("fp16=True", "fp16=None"))
    os.utime("bad.py", ns=(before.st_atime_ns, before.st_mtime_ns + 1))

    assert looked_up(["bad.py"]) == [None]
    assert "MPS101" not in [finding.rule for finding in run(["bad.py"])[0].findings]


def test_a_touched_file_is_known_by_its_content(project: Path) -> None:
    """As after `git checkout`: another time and inode, the same bytes; the new stamp is remembered."""
    fresh = run()
    for path in project.glob("*.py"):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
        os.utime(path, (1, 1))

    assert looked_up() == fresh
    run()
    entries = unpacked(next(Path(FOLDER).glob("*.json")).read_bytes())
    assert next(entry for name, entry in entries.items() if name.startswith(str(project / "bad.py")))["stamp"][0] == 1_000_000_000


def test_an_unchanged_file_is_not_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size, time and inode answer first."""
    fresh = run()

    def refuse(path: str | Path, most: int = 0) -> bytes:
        assert FOLDER in str(path), f"{path} is read"
        return read_file(path)

    monkeypatch.setattr(cache_module, "read_file", refuse)

    assert looked_up() == fresh


CHANGES = {
    "select": replace(Options(), select=("MPS2",)),
    "ignore": replace(Options(), ignore=("MPS101",)),
    "target": replace(Options(), target={"torch": "2.5"}),
    "memory": replace(Options(), target={"memory": "8GB"}),
    "observed": replace(Options(), observed={"torch": "2.5"}),
}


@pytest.mark.parametrize("options", CHANGES.values(), ids=CHANGES)
def test_other_options_are_another_question(project: Path, options: Options) -> None:
    """What was found under other rules, another severity or another Target does not count."""
    run()

    assert not any(looked_up(options=options))


CONFIGURATIONS = {
    "ignore": 'ignore = ["MPS101"]\n',
    "target": '[target]\ntorch = "2.5"\n',
    "severity": 'severity = "error"\n',
    "per-file": '[per-file-ignores]\n"*.py" = ["MPS101"]\n"*.ipynb" = ["MPS101"]\n"*.sh" = ["MPS7"]\n',
}


@pytest.mark.parametrize("text", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_changed_configuration_is_another_question(project: Path, text: str) -> None:
    """Whatever it changes: what is asked, what for, and of which file."""
    run(["bad.py", "cells.ipynb", "run.sh"])
    Path("mpslint.toml").write_text(text)

    assert looked_up(["bad.py", "cells.ipynb", "run.sh"]) == [None] * 3


def test_a_changed_pin_is_another_question(project: Path) -> None:
    """The versions that a project pins are part of the Target."""
    run()
    Path("requirements.txt").write_text("torch==2.5.1\n")

    assert not any(looked_up())


def test_changed_own_rules_are_another_question(project: Path) -> None:
    """A rule file of one's own is as good as a shipped one."""
    Path("mpslint.toml").write_text('rules = ["own"]\n')
    Path("own").mkdir()
    rule = Path("own/own.yaml")
    text = (Path(__file__).parents[2] / "rules/precision/MPS101-fp16-mixed-precision.yaml").read_text().replace("MPS101", "OWN101")
    rule.write_text(text)
    fresh = run(["bad.py"])
    assert looked_up(["bad.py"]) == fresh
    rule.write_text(text + "# changed\n")

    assert looked_up(["bad.py"]) == [None]


def test_another_version_has_another_cache(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an older mpslint found is not asked for."""
    run()
    monkeypatch.setattr(cache_module, "__version__", "9.9.9")

    assert not any(looked_up())
    monkeypatch.undo()
    monkeypatch.setattr(cache_key, "__version__", "9.9.9")
    assert not any(looked_up())


def test_changed_knowledge_is_another_question(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is edited in a checkout is asked at once."""
    run()
    monkeypatch.setattr(cache_key, "knowledge_digest", lambda: "another")

    assert not any(looked_up())


def test_a_named_file_is_not_one_that_was_come_across(project: Path) -> None:
    """Named, a file that does not parse is a problem; below a folder, one that has nothing to do with PyTorch is none."""
    Path("odd.py").write_text("def (:\n")
    assert not any(view.problem for view in run())

    assert run(["odd.py"])[0].problem


DAMAGE = {
    "empty": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "not text": b"\xff\xfe\0",
    "cut off": None,
    "wrong entries": b'{"%s": 1}',
    "hollow entries": b'{"%s": {"key": "k", "stamp": []}}',
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_cache_is_no_cache(project: Path, damage: bytes | None) -> None:
    """It costs the time that it would have saved, and nothing else."""
    fresh = run()
    file = next(Path(FOLDER).glob("*.json"))
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2] if damage is None else damage.replace(b"%s", str(project / "bad.py").encode()))

    assert run() == fresh
    assert looked_up() == fresh


@pytest.mark.parametrize(
    "view", [1, [], {"findings": 1}, {"findings": [{"fix": None}], "unread": []}, {"findings": [], "unread": [1]}, None]
)
def test_a_damaged_entry_is_no_entry(project: Path, view: object) -> None:
    """The file is checked anew."""
    fresh = run()
    file = next(Path(FOLDER).glob("*.json"))
    entries = unpacked(file.read_bytes())
    for entry in entries.values():
        entry["view"] = view
    file.write_bytes(packed(entries))

    assert not any(looked_up())
    assert run() == fresh


def test_a_cache_that_cannot_be_written_is_none(project: Path) -> None:
    """Where its folder should be is a file."""
    fresh = run()
    Path("taken").write_text("")

    assert run(folder="taken/cache") == fresh
    assert run(folder="taken") == fresh
    assert Path("taken").read_text() == ""


def test_a_full_disk_leaves_nothing_behind(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was half written goes, and what was there before stays."""
    run()
    before = sorted(Path(FOLDER).iterdir())
    Path("more.py").write_text(BAD)

    def fail(source: str, target: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    run()

    assert sorted(Path(FOLDER).iterdir()) == before


def test_a_change_of_a_module_counts_for_those_that_import_it(project: Path) -> None:
    """What a run found rests on every file that the run reads; other files are remembered."""
    Path("values.py").write_text('DEVICE = "cuda"\n')
    Path("start.py").write_text("import torch\nfrom values import DEVICE\n\ntorch.ones(2).to(DEVICE)\n")
    run()
    Path("values.py").write_text('DEVICE = "cpu"\n')

    known = {found.path: hit for found, hit in zip(files_of(["."], Options()), looked_up(), strict=True)}

    assert known["values.py"] is None
    assert known["start.py"] is None
    assert known["bad.py"] is not None
    assert not next(view for view in run() if view.path == "values.py").findings


def test_a_script_that_imports_a_file_from_now_on_counts_for_it(project: Path) -> None:
    """The run of another file reads a file that did not change: what is known of it is no longer all."""
    Path("values.py").write_text('DEVICE = "cuda"\n')
    Path("start.py").write_text("import torch\n\ntorch.ones(2)\n")
    run()
    Path("start.py").write_text("import torch\nfrom values import DEVICE\n\ntorch.ones(2).to(DEVICE)\n")

    found = {view.path: [finding.rule for finding in view.findings] for view in run()}

    assert found["values.py"] == ["MPS501"]
    assert all(looked_up())


def test_a_file_that_changes_while_it_is_checked_is_not_remembered(project: Path) -> None:
    """What was found belongs to bytes that are no longer there."""
    cache = FindingsCache(OwnFolder(Path(), (FOLDER,)), FileKeys(Options()).of)
    found = FoundFile("bad.py")
    assert cache.lookup(found) is None
    view = next(iter(check_files([found], Options(), 1)))
    Path("bad.py").write_text(FIXED + "\n")
    cache.store(found, view)

    assert cache.lookup(found) is None
    assert not cache.entries


def test_what_cannot_be_read_is_not_remembered(project: Path) -> None:
    """Nor standard input, nor a file that has gone."""
    cache = FindingsCache(OwnFolder(Path(), (FOLDER,)), FileKeys(Options()).of)
    for found in (FoundFile("-"), FoundFile("gone.py"), FoundFile("gone.py", "no such file or folder")):
        assert cache.lookup(found) is None
        cache.store(found, FileView(found.path))
    cache.store(FoundFile("bad.py"), FileView("bad.py", problem="no"))

    assert not cache.entries
    cache.save()
    assert not Path(FOLDER).exists()


def command(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": root, **environment}
    return subprocess.run([sys.executable, "-m", "mpslint", *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_the_command_line_keeps_a_cache(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Warm, it says the same and exits the same; `clean` takes the cache away; `--no-cache` writes none; the project holds none of it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.delenv("MPSLINT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    before = sorted(os.listdir(project))
    cold = command("check", ".", cwd=project)
    folder = cache_folder(project).path
    assert folder.is_relative_to(home / "mpslint")
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    warm = command("check", ".", cwd=project)
    assert (warm.stdout, warm.stderr, warm.returncode) == (cold.stdout, cold.stderr, cold.returncode)
    assert cold.returncode == 1
    assert sorted(os.listdir(project)) == before

    done = command("clean", cwd=project)
    assert done.returncode == 0
    assert os.listdir(home) == []
    uncached = command("check", ".", "--no-cache", cwd=project)
    assert (uncached.stdout, uncached.returncode) == (cold.stdout, cold.returncode)
    assert os.listdir(home) == []


def test_clean_removes_only_what_mpslint_wrote(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MPSLINT_CACHE_DIR=~/.cache, where other programs keep theirs: the cache has a folder of its own in it, and that alone goes."""
    (project / "theirs").mkdir()
    (project / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    (project / ".gitignore").write_text("build\n")
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(project))
    before = sorted(project.rglob("*"))
    folder = cache_folder(project)
    assert clean(folder) is None
    FindingsCache(folder, str, fresh={"a": 1}).save()
    assert (folder.path / "CACHEDIR.TAG").is_file()
    (folder.path / "notes.txt").write_text("mine")

    assert clean(folder) == ("notes.txt",)
    assert sorted(path.name for path in folder.path.iterdir()) == ["CACHEDIR.TAG", "notes.txt"]
    (folder.path / "notes.txt").unlink()
    assert clean(folder) == ()
    assert sorted(project.rglob("*")) == before
    assert (project / ".gitignore").read_text() == "build\n"


@pytest.mark.parametrize("linked", [("mpslint",), ("mpslint", "findings"), ("mpslint", "findings", "PROJECT")])
def test_a_cache_behind_a_link_is_none(project: Path, tmp_path_factory: pytest.TempPathFactory, linked: tuple[str, ...]) -> None:
    """A repository may commit the link; neither written to nor deleted is what it points at."""
    victim = tmp_path_factory.mktemp("victim")
    folder = cache_folder(project)
    link = folder.base.joinpath(*(folder.parts[2] if part == "PROJECT" else part for part in linked))
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    cache = FindingsCache(folder, str, fresh={"a": 1})

    assert "mpslint did not make it" in cache.save()
    (folder.path / "findings-1.json").parent.mkdir(parents=True, exist_ok=True)
    (folder.path / "findings-1.json").write_text("theirs")
    assert clean(folder) is None
    assert [path.name for path in victim.rglob("*") if path.is_file()] == ["findings-1.json"]


@pytest.mark.parametrize("name", ["CACHEDIR.TAG", "findings-0.1.0-py0.json"])
def test_a_link_in_the_cache_is_not_written_through(project: Path, tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    """Committed in a folder that looks like the cache, or put there by another user."""
    victim = tmp_path_factory.mktemp("victim") / "bashrc"
    victim.write_text("alias")
    folder = cache_folder(project)
    folder.path.mkdir(parents=True)
    (folder.path / name).symlink_to(victim)
    FindingsCache(folder, str, fresh={"a": 1}).save()
    clean(folder)

    assert victim.read_text() == "alias"


def test_a_committed_cache_is_not_believed(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Found by default outside of the project, whatever lies in it under the names that caches have."""
    run()
    monkeypatch.delenv("MPSLINT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("home")))

    assert not cache_folder(project).path.is_relative_to(project)
    monkeypatch.setenv("XDG_CACHE_HOME", ".cache")
    assert not cache_folder(project).path.is_relative_to(project)


def test_two_processes_at_once_do_not_disturb_each_other(project: Path) -> None:
    """Each writes the cache whole; whoever is last is right too."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    line = [sys.executable, "-m", "mpslint", "check", ".", "-q"]
    running = [subprocess.Popen(line, cwd=project, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate() for process in running]

    assert len(set(outputs)) == 1
    assert outputs[0][1] == ""
    assert {path.suffix for path in cache_folder(project).path.iterdir()} == {".TAG", ".json"}


@pytest.mark.parametrize("name", ["json", "text", "sarif", "github", "gitlab", "junit", "markdown"])
def test_every_format_says_the_same_from_the_cache_and_from_processes(project: Path, name: str) -> None:
    """JSON has its own, for the training plans in it; another format in between harms neither."""
    outputs = []
    for arguments in (["--no-cache"], ["--no-cache", "--jobs", "2"], [], [], ["--format", "text"], []):
        line = [sys.executable, "-m", "mpslint", "check", ".", "--format", name, *arguments]
        outputs.append(subprocess.run(line, capture_output=True, text=True).stdout)
    fresh, parallel, cold, warm, _, again = outputs

    assert "MPS101" in fresh
    assert fresh == parallel == cold == warm == again
    assert any(cache_folder(project).path.glob("reports-*" if name == "json" else "findings-*"))


def test_json_is_remembered_with_its_plans(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second report is made without reading a file."""
    files = list(files_of(["."], Options()))
    options = Options(with_plans=True)
    cache = FindingsCache(OwnFolder(project, (FOLDER,)), FileKeys(options).of, "reports")
    first = list(check_files(files, options, 1, cache, full_view))
    cache.save()
    again = FindingsCache(OwnFolder(project, (FOLDER,)), FileKeys(options).of, "reports")
    again.load()
    again.note_files(files)
    monkeypatch.setattr(cache_module, "read_file", lambda path: pytest.fail(f"{path} is read"))

    assert [again.lookup(found) for found in files] == first
    assert "plans" in first[0].full


def test_that_a_file_does_not_parse_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One such file among thousands would have all of them read again each time; from another folder its path is written anew."""
    (tmp_path / "odd.py").write_text("import torch\nx = (\n")
    (tmp_path / "good.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "odd.py", "good.py", "--isolated", "--cache-dir", str(tmp_path / "cache")]
    first = CliRunner().invoke(group, arguments)

    monkeypatch.setattr("mpslint.session.running.graph_of", lambda *_: pytest.fail("it was read again"))
    again = CliRunner().invoke(group, arguments)

    assert "odd.py:2" in first.output
    assert (first.exit_code, first.output) == (again.exit_code, again.output)

"""The cache answers what a fresh check answers, and is asked only where nothing has changed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mpslint.core.outside import read_file
from mpslint.core.own_folder import OwnFolder
from mpslint.report.machine import full_view
from mpslint.session import cache as cache_module
from mpslint.session.cache import FileKeys, FindingsCache, packed, unpacked
from mpslint.session.running import check_files
from mpslint.session.session import Options, files_of
from mpslint.session.view import FileView
from mpslint.source.files import FoundFile
from tests.session.cached import BAD, FIXED, FOLDER, looked_up, run


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


def test_changed_knowledge_is_another_question(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is edited in a checkout is asked at once."""
    run()
    monkeypatch.setattr(cache_module, "knowledge_digest", lambda: "another")

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
    assert "plans" in first[0].details


def test_a_version_that_nothing_is_known_of_is_said_from_the_cache_too(project: Path) -> None:
    """Also of a file without findings, if it speaks of that package; "nothing wrong" would say more than is known."""
    Path("sound.py").write_text("from transformers import AutoModel\nmodel = AutoModel.from_pretrained('gpt2')\n")
    Path("other.py").write_text("import torch\n")
    options = Options(target={"transformers": "99.0"})

    first, second = run(["sound.py", "other.py"], options), run(["sound.py", "other.py"], options)

    assert first == second
    assert ["99.0" in str(file.target) for file in first] == [True, False]
    assert looked_up(["sound.py", "other.py"], options) == first

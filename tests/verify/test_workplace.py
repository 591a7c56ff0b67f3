"""Where a script is run: beside itself, or in the folder of its project that has what it lacks there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mpslint.verify import workplace
from mpslint.verify.job import Lack
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.workplace import Workplace, beside, make_copy

LOOP = """
import torch
from torch import nn
model = nn.Linear(8, 1).to("mps")
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    loss = model(torch.ones(4, 8, device="mps")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def project(tmp_path: Path, files: dict[str, str]) -> Path:
    """Return the root of a project with some files."""
    root = tmp_path / "project"
    for name, text in {"requirements.txt": "", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("script", "files", "lack", "started"),
    [
        ("src/train.py", {"data/x.csv": ""}, Lack("file", "data/x.csv"), "started in project/"),
        ("src/a/train.py", {"data/x.csv": ""}, Lack("file", "data/x.csv"), "started in project/"),
        ("notebooks/train.ipynb", {"data/x.csv": ""}, Lack("file", "../data/x.csv"), ""),
        ("src/train.py", {"nets/model.py": ""}, Lack("module", "nets.model"), "started in project/, with the modules of project/"),
        (
            "src/train.py",
            {"src/__init__.py": "", "src/model.py": ""},
            Lack("package"),
            "started in project/, with the modules of project/, as `python -m src.train`",
        ),
        ("src/train.py", {}, Lack("file", "data/x.csv"), None),
        ("src/train.py", {}, Lack("module", "cv2"), None),
        ("src/train.py", {}, Lack("arguments"), None),
    ],
)
def test_a_folder_of_the_project_has_what_a_script_lacks(
    tmp_path: Path, script: str, files: dict[str, str], lack: Lack, started: str | None
) -> None:
    """A script is started where its relative paths lead somewhere and its modules are; what is nowhere is left as it is."""
    root = project(tmp_path, {script: "", **files})
    place = beside(root / script).suited(lack)

    assert (place.told if place else None) == started
    assert place is None or place.root == root


def test_a_link_outside_of_the_project_is_not_followed(tmp_path: Path) -> None:
    """The folder that is copied never grows beyond the project: the user is told where to start mpslint."""
    root = project(tmp_path, {"train.py": ""})
    (tmp_path / "data.csv").write_text("1")
    place = beside(root / "train.py")

    assert place.suited(Lack("file", "../data.csv")) is None
    assert place.out_of_reach(Lack("file", "../data.csv")) == tmp_path
    assert place.out_of_reach(Lack("file", "../nowhere.csv")) is None


def test_folders_with_many_files_are_linked_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of images is complete in the copy, however many there are."""
    root = project(tmp_path, {"train.py": "", **{f"images/cat/{number}.png": "" for number in range(40)}, "small/x.csv": "1"})
    monkeypatch.setattr(workplace, "MOST_FILES", 20)
    copied = make_copy(beside(root / "train.py"), tmp_path / "copy")

    assert len(list((copied.parent / "images/cat").iterdir())) == 40
    assert (copied.parent / "images/cat").is_symlink()
    assert not (copied.parent / "small").is_symlink()


def test_what_is_rewritten_is_so_in_the_copy_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of many files too, which would be linked: the file of the user was deleted through the link."""
    files = {"train.py": "", "nets/model.py": "old", **{f"nets/{number}.png": "" for number in range(40)}, "linked/x.py": "old"}
    root = project(tmp_path, files)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "y.py").write_text("old")
    (root / "away").symlink_to(tmp_path / "elsewhere")
    (root / "again").symlink_to("linked")
    monkeypatch.setattr(workplace, "MOST_FILES", 20)
    changed = ("nets/model.py", "away/y.py", "again/x.py")
    copied = make_copy(beside(root / "train.py"), tmp_path / "copy", {root / name: b"new" for name in changed})

    assert (copied.parent / "nets/model.py").read_text() == "new"
    assert (copied.parent / "linked/x.py").read_text() == "new"
    assert [(root / name).read_text() for name in changed] == ["old"] * 3


def test_a_script_that_is_a_link_is_copied(tmp_path: Path) -> None:
    """Whoever named it grants it, wherever it leads."""
    root = project(tmp_path, {"other.py": ""})
    (tmp_path / "elsewhere.py").write_text("work")
    (root / "train.py").symlink_to(tmp_path / "elsewhere.py")
    copied = make_copy(beside(root / "train.py"), tmp_path / "copy")

    assert not copied.is_symlink()
    assert copied.read_text() == "work"


def test_a_folder_that_becomes_a_link_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody replaces it between the look and the copy."""
    root = project(tmp_path, {"train.py": "", "sub/inner/x.py": ""})
    (tmp_path / "secrets" / "inner").mkdir(parents=True)
    (tmp_path / "secrets" / "inner" / "key").write_text("secret")
    is_taken = workplace._is_taken

    def replacing(entry: os.DirEntry[str], folder: Path, copy: Path) -> bool:
        taken = is_taken(entry, folder, copy)
        if entry.name == "sub" and entry.is_dir(follow_symlinks=False):
            (root / "sub").rename(tmp_path / "gone")
            (root / "sub").symlink_to(tmp_path / "secrets")
        return taken

    monkeypatch.setattr(workplace, "_is_taken", replacing)
    copied = make_copy(beside(root / "train.py"), tmp_path / "copy")

    assert not list(copied.parent.rglob("key"))


def test_data_behind_a_link_are_granted_by_name(tmp_path: Path) -> None:
    """A data set on another disk is common; so is the link of a stranger to a key."""
    pytest.importorskip("torch")
    root = project(tmp_path, {"train.py": "open('data/x.csv').read()\n" + LOOP})
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "x.csv").write_text("1")
    (root / "data").symlink_to(disk)
    refused = verify_script(root / "train.py", ScriptOptions(backend="emulated"))
    granted = verify_script(root / "train.py", ScriptOptions(backend="emulated", readable=(disk,)))

    assert refused.problem == f"the code reads {disk / 'x.csv'}, which it may not: --allow-read {disk / 'x.csv'} allows it"
    assert granted.status == "pass", granted.problem


def test_links_of_the_user_lead_where_they_led(tmp_path: Path) -> None:
    """Data on another disk, linked into the project, are there; a link that leads nowhere is not."""
    root = project(tmp_path, {"train.py": ""})
    (tmp_path / "disk").mkdir()
    (root / "data").symlink_to(tmp_path / "disk")
    (root / "gone").symlink_to(tmp_path / "nowhere")
    copied = make_copy(beside(root / "train.py"), tmp_path / "copy")

    assert (copied.parent / "data").resolve() == tmp_path / "disk"
    assert not (copied.parent / "gone").is_symlink()


def test_what_the_confinement_withholds_is_no_failure_of_the_code() -> None:
    """Queues, pools and shared tensors need what a confined process doesn't get."""
    refusals = pytest.importorskip("mpslint.verify.child.refusals")
    shared = RuntimeError("unable to open shared memory object </torch_1_2> in read-write mode: Permission denied (13)")
    said = refusals.refusal(shared, "a3c.py:118", "", has_trained=False)

    assert str(said) == "the code shares memory with processes that it starts, which verify does not allow (a3c.py:118)"
    assert refusals.refusal(PermissionError(13, "Permission denied"), "a.py:1", "", has_trained=False) is None
    assert refusals.refusal(RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "a.py:1", "", has_trained=False) is None


READS = "open('data/x.csv').read()\n"


@pytest.mark.parametrize(
    ("script", "code", "files", "said"),
    [
        ("src/train.py", READS, {"data/x.csv": "1"}, "started in project/"),
        (
            "src/train.py",
            "from pathlib import Path\nopen(Path(__file__).parent.parent / 'data/x.csv').read()\n",
            {"data/x.csv": "1"},
            "",
        ),
        ("src/train.py", "from .nets import width\n", {"src/nets.py": "width = 8\n"}, "as `python -m src.train`"),
        ("src/train.py", "from src.nets import width\n" + READS, {"src/nets.py": "width = 8\n", "src/data/x.csv": "1"}, "project/"),
    ],
)
def test_the_code_runs_from_the_folder_that_it_means(tmp_path: Path, script: str, code: str, files: dict[str, str], said: str) -> None:
    """Projects that are started from their root, by path or as a module, run; the report says how."""
    pytest.importorskip("torch")
    root = project(tmp_path, {script: code + LOOP, **files})
    report = verify_script(root / script, ScriptOptions(backend="emulated"))

    assert report.status == "pass", report.problem
    assert said in "; ".join(report.runs[0].notes)


def test_a_file_beyond_the_project_says_where_to_start(tmp_path: Path) -> None:
    """What is there, and may not be copied, is not called missing."""
    pytest.importorskip("torch")
    root = project(tmp_path, {"train.py": "open('../x.csv').read()\n" + LOOP})
    (tmp_path / "x.csv").write_text("1")
    report = verify_script(root / "train.py", ScriptOptions(backend="emulated"))

    assert f"lies outside of the folder that verify copies (train.py:1): run mpslint in {tmp_path}" in report.problem


def test_a_workplace_is_where_the_script_is(tmp_path: Path) -> None:
    """Without anything lacking, a script starts beside itself."""
    script = project(tmp_path, {"src/train.py": ""}) / "src/train.py"

    assert beside(script) == Workplace(script, script.parent, script.parent)
    assert beside(script).told == ""

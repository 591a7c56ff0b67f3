"""The Target comes from the first place that says it: options, configuration, the file's own installs, pins, the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.core import folders
from mpslint.core.finding import RuleError, Severity, UsageError
from mpslint.core.versions import VersionRange, format_version, parse_version
from mpslint.session import targeting
from mpslint.session.configuration import Configuration, find_configuration, load_configuration
from mpslint.session.targeting import target_for
from mpslint.source.document import Document
from mpslint.source.reader import read
from mpslint.target.packages import newest_versions, oldest_read
from mpslint.target.target import default_target, given, resolved, with_mac, with_versions
from tests.notebooks import notebook


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts with no environment and no project known."""
    monkeypatch.setattr(targeting, "environment_versions", dict)
    folders.forget_disk()


def document_in(folder: Path, name: str = "train.py", data: bytes = b"import torch\n") -> Document:
    """Return a document of a file in a folder."""
    return read(str(folder / name), data)


PINS = {
    "requirements.txt": (
        "torch==2.3.1\n# c\ntransformers>=4.30,<4.50  # upper\naccelerate\n",
        {"torch": (2, 3, 1), "transformers": (4, 49, 0)},
    ),
    "requirements-dev.txt": ("torch~=2.4.0\n", {"torch": (2, 4, 1)}),
    "uv.lock": ('[[package]]\nname = "torch"\nversion = "2.9.1"\n[[package]]\nname = "rich"\nversion = "1.0"\n', {"torch": (2, 9, 1)}),
    "poetry.lock": ('[[package]]\nname = "pytorch-lightning"\nversion = "2.4.0"\n', {"lightning": (2, 4, 0)}),
    "Pipfile.lock": ('{"default": {"torch": {"version": "==2.2.2"}}}', {"torch": (2, 2, 2)}),
    "pyproject.toml": (
        '[project]\ndependencies = ["torch==2.5.1"]\noptional-dependencies.x = ["trl==0.20"]\n',
        {"torch": (2, 5, 1), "trl": (0, 20)},
    ),
    "environment.yml": (
        "dependencies:\n  - pytorch=2.3.0\n  - pip:\n    - transformers==4.40.2\n",
        {"torch": (2, 3, 0), "transformers": (4, 40, 2)},
    ),
}


@pytest.mark.parametrize("name", PINS)
def test_pins_of_a_project(tmp_path: Path, name: str) -> None:
    """Locks, requirements and environment files are read; a range stands for the newest release in it."""
    text, expected = PINS[name]
    (tmp_path / name).write_text(text)
    target = target_for(document_in(tmp_path), Configuration(), {})

    assert {package: target.versions[package] for package in expected} == expected
    assert all(target.choices[package].source == name for package in expected)
    assert target.choices["peft"].source == "newest known"


def test_a_lock_wins_over_a_requirement(tmp_path: Path) -> None:
    """What is locked is what runs."""
    (tmp_path / "requirements.txt").write_text("torch==2.3.1\n")
    (tmp_path / "uv.lock").write_text('[[package]]\nname = "torch"\nversion = "2.9.1"\n')

    assert target_for(document_in(tmp_path), Configuration(), {}).versions["torch"] == (2, 9, 1)


@pytest.mark.parametrize("text", ["[[package", '{"x": ', "torch==\ntransformers>>3\n==\n"])
@pytest.mark.parametrize("name", list(PINS))
def test_broken_pins_are_passed_over(tmp_path: Path, name: str, text: str) -> None:
    """A lock file that cannot be read is its owner's matter."""
    (tmp_path / name).write_text(text)

    assert target_for(document_in(tmp_path), Configuration(), {}).versions == dict(newest_versions())


def test_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options, configuration, the notebook's own installs, pins, environment, newest: each where nothing before it speaks."""
    found = {name: (version, "active environment") for name, version in (("torch", "2.1.0"), ("peft", "0.5"), ("trl", "0.9"))}
    monkeypatch.setattr(targeting, "environment_versions", lambda: found)
    (tmp_path / "requirements.txt").write_text("torch==2.2.0\ntrl==0.10\ntransformers==4.30\naccelerate==0.20\n")
    document = document_in(
        tmp_path, "n.ipynb", notebook("!pip install -q transformers==4.31.0 'accelerate[x]==0.21.0'\n%pip install torch==2.3.0\n")
    )
    configuration = Configuration(target={"accelerate": "0.22", "torch": "2.4", "memory": "8GB"})
    target = target_for(document, configuration, {"torch": "2.5", "chip": "M2 Pro"})

    assert {
        name: (choice.version, choice.source)
        for name, choice in target.choices.items()
        if not choice.source.endswith(" known") and not choice.source.startswith("newest")
    } == {
        "torch": ((2, 5), "option"),
        "accelerate": ((0, 22), "configuration"),
        "transformers": ((4, 31, 0), "cell 1"),
        "trl": ((0, 10), "requirements.txt"),
        "peft": ((0, 5), "active environment"),
    }
    assert (target.memory_gib, target.chip) == (8, "m2 pro")


INSTALLS = {
    "!pip install torch==2.1.2 tensorboard": {"torch": "2.1.2"},
    '!pip install --upgrade \\\n  "transformers==4.38.2" \\\n  "trl==0.7.11"': {"transformers": "4.38.2", "trl": "0.7.11"},
    '%pip install -U "transformers<5" "accelerate >=0.20, <1.0"': {"transformers": "4.57.6", "accelerate": "0.34.2"},
    "!pip install git+https://github.com/huggingface/transformers@v4.49.0-Gemma-3": {"transformers": "4.49.0"},
    "!conda install -y pytorch=2.1 -c pytorch": {"torch": "2.1.2"},
    "!uv pip install torchvision==0.15 'torch~=2.3.0' --index-url https://download.pytorch.org/whl/cu118": {
        "torchvision": "0.15",
        "torch": "2.3.1",
    },
    '!pip install "trl>=0.8" git+https://github.com/huggingface/peft.git@main': {},
    "!python train.py --torch==2.1": {},
}


@pytest.mark.parametrize("cell", INSTALLS)
def test_what_a_notebook_installs(tmp_path: Path, cell: str) -> None:
    """Exact versions, ranges, tags of a repository, conda's single sign, and commands over several lines."""
    document = document_in(tmp_path, "n.ipynb", notebook(cell))
    choices = target_for(document, Configuration(), {}).choices

    assert {name: format_version(choice.version) for name, choice in choices.items() if choice.source == "cell 1"} == INSTALLS[cell]


@pytest.mark.parametrize(("given", "said"), [({"torch": "new"}, "not a version"), ({"jax": "1"}, "unknown package")])
def test_bad_versions_are_usage_errors(given: dict[str, str], said: str) -> None:
    """The message names the option and what would be right."""
    with pytest.raises(UsageError, match=said):
        with_versions(default_target(), given, "option")


@pytest.mark.parametrize(("memory", "chip"), [("much", ""), ("0", ""), ("", "i9"), ("", "m")])
def test_bad_macs_are_usage_errors(memory: str, chip: str) -> None:
    """Memory is an amount, a chip is one of Apple's."""
    with pytest.raises(UsageError):
        with_mac(default_target(), memory, chip)


def test_a_target_says_where_each_version_is_from() -> None:
    """The first line of a report."""
    target = with_mac(with_versions(default_target(), {"torch": "2.9"}, "uv.lock"), "16GB", "m2")

    assert target.describe(("torch", "trl")) == "macOS 27 M2 16 GB, trl 1.16.0 (newest known); torch 2.9 (uv.lock)"


RANGES = [
    ("torch >= 2.8", "2.8.0", True),
    ("torch <= 2.13", "2.13.1", True),
    ("torch > 2.13", "2.13.1", False),
    ("torch == 4.42", "4.42.4", True),
    ("torch < 2.10", "2.9.1", True),
    ("torch != 2.9", "2.9.1", False),
    ("torch >= 2.8.1", "2.8", False),
    ("torch >= 2.8, torch < 2.10", "2.10.0", False),
    ("", "1.0", True),
    ("jax >= 1", "2.0", False),
]


@pytest.mark.parametrize(("text", "version", "holds"), RANGES)
def test_version_ranges(text: str, version: str, holds: bool) -> None:
    """Numbers are compared on as many parts as the range writes."""
    parsed = parse_version(version)
    assert parsed is not None

    assert VersionRange.parse(text).matches({"torch": parsed}) is holds


@pytest.mark.parametrize("text", ["torch", "torch >= x", ">= 2", "torch => 2"])
def test_bad_ranges_are_said(text: str) -> None:
    """A range that cannot be read is an error, not a rule that never fires."""
    with pytest.raises(RuleError, match="bad version range"):
        VersionRange.parse(text)


def test_the_nearest_configuration_wins(tmp_path: Path) -> None:
    """A pyproject.toml without our table does not count."""
    (tmp_path / "mpslint.toml").write_text('ignore = ["MPS1"]\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (inner / "pyproject.toml").write_text('[tool.mpslint]\nseverity = "warning"\n[tool.mpslint.target]\ntorch = "2.9"\n')

    assert find_configuration(tmp_path / "a").ignore == ("MPS1",)
    nearest = find_configuration(inner)
    assert (nearest.severity, nearest.target, nearest.ignore) == (Severity.WARNING, {"torch": "2.9"}, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("selct = []\n", "did you mean 'select'"),
        ("select = 'MPS1'\n", "select must be a list"),
        ("select = [1]\n", "list of strings"),
        ("severity = 'bad'\n", "error, warning or note"),
        ("x = [\n", "not valid TOML"),
    ],
)
def test_a_wrong_configuration_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    """It names the file, the key, and the closest name."""
    path = tmp_path / "mpslint.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        load_configuration(path)

    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_newer_version_is_said() -> None:
    """Findings without an upper bound then say how far the knowledge reaches."""
    target = with_versions(default_target(), {"torch": "2.99.1"}, "uv.lock")
    known = format_version(newest_versions()["torch"])

    assert f"torch 2.99.1 (uv.lock, newer than {known}, the newest known)" in target.describe(("torch",))
    assert target.reach(VersionRange.parse("torch >= 2.8")) == f" Known up to torch {known}."
    assert target.reach(VersionRange.parse("torch >= 2.8, torch < 3")) == target.reach(VersionRange.parse("trl >= 1")) == ""
    assert default_target().reach(VersionRange()) == ""


def test_an_older_version_than_the_rules_were_read_in_is_said() -> None:
    """Findings without a lower bound then say from where on they are known."""
    target = with_versions(default_target(), {"transformers": "4.10"}, "uv.lock")
    first = format_version(oldest_read()["transformers"])

    assert f"transformers 4.10 (uv.lock, older than {first}, the oldest that the rules were read in)" in target.describe(("transformers",))
    assert target.reach(VersionRange.parse("transformers < 4.50")) == f" Known from transformers {first}."
    assert target.reach(VersionRange.parse("transformers >= 4.9")) == target.reach(VersionRange.parse("trl >= 1")) == ""
    assert target.reach(VersionRange.parse(f"transformers < {first}")) == ""  # about older ones only: it was read in them
    assert with_versions(default_target(), {"transformers": first}, "uv.lock").older == {}


def test_conflicts_are_said_with_their_sources(tmp_path: Path) -> None:
    """What pip refuses to install together."""
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\ntransformers==4.51.3\n")
    target = target_for(document_in(tmp_path), Configuration(), {})

    assert any("trl 1.16.0 (requirements.txt) requires transformers" in conflict for conflict in target.conflicts)
    assert default_target().conflicts == ()


def test_two_files_are_two_ways_to_install(tmp_path: Path) -> None:
    """Nobody installs a conda environment and the requirements beside it."""
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    (tmp_path / "environment.yml").write_text("dependencies:\n  - transformers==4.51.3\n")

    assert target_for(document_in(tmp_path), Configuration(), {}).conflicts == ()


def test_requirements_of_two_folders_are_two_ways_to_install(tmp_path: Path) -> None:
    """Those of a part of a repository, and those of the repository, bear the same name."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("accelerate==0.22.0\ntorch\n")
    part = tmp_path / "part"
    part.mkdir()
    (part / "requirements.txt").write_text("torch==1.4.0\n")
    target = target_for(document_in(part), Configuration(), {})

    assert target.conflicts == ()
    assert (target.choices["torch"].source, target.choices["accelerate"].source) == ("requirements.txt", "../requirements.txt")


def test_a_folder_with_a_setup_is_a_part_of_its_repository(tmp_path: Path) -> None:
    """`src/setup.py` without versions leaves these to the files of the repository; those around the repository are of others."""
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    repository = tmp_path / "repository"
    for folder in (repository / ".git", repository / "src", repository / "envs"):
        folder.mkdir(parents=True)
    (repository / "src" / "setup.py").write_text("setup(install_requires=['numpy'])\n")
    (repository / "envs" / "environment.yml").write_text("name: x\ndependencies:\n  - pytorch=2.1.2\n")
    choices = target_for(document_in(repository / "src"), Configuration(), {}).choices

    assert choices["torch"].source.endswith("envs/environment.yml")
    assert choices["trl"].source != "requirements.txt"


def test_a_macos_newer_than_known_is_said_but_not_its_point_releases() -> None:
    """A later macOS is beyond the knowledge; a point release of the newest known one isn't."""
    newest = newest_versions()["macos"][0]
    later = resolved(default_target(), given({"macos": str(newest + 1)}, "option"), {})
    assert later.describe(("torch",)).startswith(f"macOS {newest + 1} (option, newer than {newest}, the newest known)")
    assert resolved(default_target(), given({"macos": f"{newest}.3"}, "option"), {}).newer == {}

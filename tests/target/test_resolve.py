"""What is not pinned is the newest that the pinned releases allow."""

from __future__ import annotations

import pytest

from mpslint.target.commands import commands
from mpslint.target.packages import needs_of, newest_versions, release_numbers
from mpslint.target.requirement import Requirement
from mpslint.target.resolve import NEWEST, OLDEST, VersionChoice, resolve


def resolved(*lines: str, installed: dict[str, str] | None = None) -> dict[str, VersionChoice]:
    """Return what requirements resolve to; `name==1` or `name>=1,<2`, in order."""
    asked = []
    for line in lines:
        end = next((index for index, letter in enumerate(line) if letter in "=<>!~"), len(line))
        asked.append(Requirement(line[:end], line[end:], "requirements.txt"))
    return resolve(asked, {name: (version, "active environment") for name, version in (installed or {}).items()})


def test_nothing_asked_is_the_newest() -> None:
    """No package that nobody names keeps another one from its newest release."""
    assert {name: choice.version for name, choice in resolved().items()} == dict(newest_versions())


@pytest.mark.parametrize(
    "pins",
    [
        ("transformers==4.51.3",),
        ("transformers==4.51.3", "trl"),
        ("torch==2.1.2",),
        ("torchvision==0.16.0", "torch"),
        ("python==3.9", "torch"),
    ],
)
def test_what_is_chosen_goes_together(pins: tuple[str, ...]) -> None:
    """Every need that pip insists on is met among the packages that people combine."""
    choices = resolved(*pins)
    for name in ("torch", "torchvision", "transformers", "accelerate", "trl", "peft", "datasets"):
        for need in needs_of(name, choices[name].version):
            assert not need.is_required or need.admits(choices[need.name].version), (name, choices[name], need.name, need.spec)


def test_trl_beside_an_old_transformers() -> None:
    """The newest trl needs a newer transformers, so it is an older trl, and the header says why."""
    trl = resolved("transformers==4.51.3", "trl")["trl"]

    assert trl.version < (0, 25)
    assert trl.source == "newest that fits transformers 4.51.3"


def test_a_torchvision_says_which_torch() -> None:
    """Each torchvision needs exactly one torch."""
    assert resolved("torchvision==0.16.0", "torch")["torch"].version == (2, 1, 0)


def test_python_limits_torch() -> None:
    """torch 2.9 and later have no wheel for Python 3.9."""
    assert resolved("python==3.9", "torch")["torch"].version[:2] == (2, 8)


def test_macos_limits_torch() -> None:
    """torch 2.9 needs macOS 14; what is pinned stays as it is."""
    assert resolved("macos==13.6")["torch"] == VersionChoice((2, 8, 0), "newest that fits macos 13.6")
    assert resolved("macos==13.6", "torch==2.12.1")["torch"].version == (2, 12, 1)
    assert resolved("macos==13.6", "torch==2.12.1")["trl"].source == NEWEST


def test_many_unpinned_packages_beside_one_pin() -> None:
    """huggingface-hub 1 doesn't go with transformers 4; all others give way to that."""
    names = ("accelerate", "peft", "bitsandbytes", "datasets", "unsloth", "huggingface-hub", "diffusers", "sentence-transformers", "timm")
    choices = resolved("torch==2.5.1", "transformers==4.55.4", "trl==0.22.2", *names)

    assert choices["huggingface-hub"].version < (1,)
    assert choices["datasets"].version < (5, 2)


def test_the_first_requirement_counts() -> None:
    """A later one has an effect only where it fits."""
    assert resolved("torch==2.3.1", "torch==2.4.0")["torch"].version == (2, 3, 1)
    assert resolved("torch>=2,<2.5", "torch==2.3.1")["torch"].version == (2, 3, 1)
    assert resolved("torch<2.3", "torch==2.3.1")["torch"].version == (2, 2, 2)


def test_an_environment_counts_where_it_fits() -> None:
    """What is installed beside pins that exclude it is not what the project runs."""
    choices = resolved("transformers==4.51.3", "trl", installed={"trl": "1.16.0", "peft": "0.15.0", "torch": "2.8.0"})

    assert choices["trl"].version < (0, 25)
    assert (choices["peft"], choices["torch"]) == (
        VersionChoice((0, 15, 0), "active environment"),
        VersionChoice((2, 8, 0), "active environment"),
    )


@pytest.mark.parametrize("pin", ["datasets==2.14.5", "huggingface-hub==0.36.2"])
def test_what_is_only_installed_for_something_replaced_does_not_count(pin: str) -> None:
    """pip replaces transformers and its tokenizers where a pin excludes the hub that they need; the rest of the environment stays."""
    installed = {"tokenizers": "0.23.3", "torch": "2.8.0", "huggingface-hub": "2.4.0", "transformers": "5.23.0", "accelerate": "1.12.0"}
    choices = resolved(pin, installed=installed)

    assert choices["transformers"].shown == "4.57.6"
    assert (choices["torch"].shown, choices["accelerate"].shown) == ("2.8.0", "1.12.0")


def test_contradicting_pins_stay() -> None:
    """They are what the findings are for; the contradiction is said by a rule of its own."""
    choices = resolved("trl==1.16.0", "transformers==4.51.3")

    assert (choices["trl"].version, choices["transformers"].version) == ((1, 16, 0), (4, 51, 3))


def test_nightlies_keep_their_name() -> None:
    """A development build is more than its numbers."""
    torch = resolved("torch==2.16.0.dev20261101")["torch"]

    assert (torch.version, torch.shown) == ((2, 16, 0), "2.16.0.dev20261101")


@pytest.mark.parametrize(
    ("pin", "transformers", "source"),
    [
        ("datasets==2.14.5", (4, 57, 6), "newest that fits datasets 2.14.5"),
        ("huggingface-hub==0.36.2", (4, 57, 6), "newest that fits huggingface-hub 0.36.2"),
        ("tokenizers==0.19.1", (4, 44, 2), "newest that fits tokenizers 0.19.1"),
    ],
)
def test_what_libraries_rest_on_gives_way_to_them(pin: str, transformers: tuple[int, ...], source: str) -> None:
    """An installed tokenizers doesn't make it a transformers of 2022, which is the last that asks for none below it."""
    newest = {name: ".".join(map(str, newest_versions()[name])) for name in ("transformers", "tokenizers", "huggingface-hub", "accelerate")}

    choice = resolved(pin, installed=newest)["transformers"]

    assert (choice.version, choice.source) == (transformers, source)


def test_a_lower_bound_counts_before_a_later_pin() -> None:
    """What setup.py asks for holds against the old release that a recipe for a test installs."""
    assert resolved("datasets>=2.15.0", "datasets==2.3.2")["datasets"].version > (2, 15)


def test_what_all_known_releases_are_too_new_for_gets_the_oldest() -> None:
    """The newest one, which needs transformers 5, is further off than any."""
    choice = resolved("transformers==4.28.1")["sentence-transformers"]

    assert choice == VersionChoice(release_numbers("sentence-transformers")[0], OLDEST)
    assert resolved("torch==2.99")["sentence-transformers"].source == NEWEST


COMMITTED = Requirement("unsloth", "", "requirements.txt", commit="65b8975")


def test_the_version_of_a_commit_is_a_guess() -> None:
    """Which release a commit comes after can't be read from its hash, and what fits the other pins is a guess."""
    chosen = resolve([Requirement("trl", "==0.15.2", "requirements.txt"), COMMITTED], {})["unsloth"]

    assert chosen.shown.endswith(" (a guess for commit 65b8975)")


@pytest.mark.parametrize(
    ("other", "installed"),
    [
        ([Requirement("unsloth", "==2025.3.19", "uv.lock", is_locked=True)], {}),
        ([], {"unsloth": ("2025.3.19", "active environment")}),
    ],
    ids=["locked", "installed"],
)
def test_a_commit_whose_version_is_known(other: list[Requirement], installed: dict[str, tuple[str, str]]) -> None:
    """A lock file or an environment holds the version of the commit."""
    assert resolve([COMMITTED, *other], installed)["unsloth"].shown == "2025.3.19"


HELD = {"torch": "2.13.0", "transformers": "5.23.0", "accelerate": "1.15.0", "peft": "0.21.2", "datasets": "5.2.0"}


@pytest.mark.parametrize("asked", [("unsloth",), ("transformers", "datasets", "trl", "peft", "unsloth"), ()])
def test_installing_an_application_replaces_what_an_environment_holds(asked: tuple[str, ...]) -> None:
    """Beside transformers 5.23 only an unsloth of 2025 would fit; pip installs the newest one with an older transformers."""
    chosen = resolved(*asked, installed=HELD)["unsloth"]

    assert (chosen.version, chosen.source) == (newest_versions()["unsloth"], NEWEST)


def test_a_pin_decides_what_an_application_is() -> None:
    """It is said which one, as the version of the application isn't written anywhere."""
    chosen = resolved("transformers==4.44.0", "unsloth", installed=HELD)["unsloth"]

    assert (chosen.version < newest_versions()["unsloth"], chosen.is_deduced) == (True, True)


@pytest.mark.parametrize("asked", [("transformers",), ("transformers>=4.40", "torch")])
@pytest.mark.parametrize("installed", [{}, HELD])
def test_a_library_of_any_version_decides_of_no_application(asked: tuple[str, ...], installed: dict[str, str]) -> None:
    """Nothing says that the newest transformers is kept when an application that needs an older one is installed."""
    chosen = resolved(*asked, installed=installed)["unsloth"]

    assert (chosen.version, chosen.source) == (newest_versions()["unsloth"], NEWEST)


@pytest.mark.parametrize("torch", ["torch==1.10.0.*", "torch==1.10.*", "torch>=1.10,<1.11"])
def test_what_an_environment_holds_keeps_nothing_asked_for_from_fitting(torch: str) -> None:
    """An environment that is far newer than the pins is left aside, where it would leave no set that goes together."""
    chosen = resolved("python==3.9.*", torch, "lightning", installed=HELD)

    assert (chosen["lightning"].version, chosen["torch"].version[:2]) == ((1, 9, 5), (1, 10))


def test_the_newest_state_of_a_repository_is_newer_than_what_fits() -> None:
    """Whatever else is asked for, and no conflict is said of a version that nobody wrote."""
    chosen = resolve([Requirement("trl", "<0.9", "requirements.txt"), Requirement("unsloth", "", "requirements.txt", is_branch=True)], {})

    assert (chosen["unsloth"].version, chosen["unsloth"].is_asked) == (newest_versions()["unsloth"], False)
    assert chosen["trl"].version < (0, 9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pip install transformers==4.40.0\npip install -U trl", False),
        ("pip install -U trl\npip install transformers==4.40.0", True),
        ("pip install -U trl transformers==4.40.0", True),
        ("pip install transformers==4.40.0\npip install trl", True),
        ("pip install transformers==4.40.0\npip install -U datasets", True),
    ],
)
def test_a_later_upgrade_takes_a_pin_with_it(text: str, expected: bool) -> None:
    """pip replaces the transformers that the newest trl doesn't work with; in the other order, and together, the pin counts."""
    asked = list(commands(text, "cell 1"))[::-1]

    assert (resolve(asked, {})["transformers"].version == (4, 40, 0)) == expected


@pytest.mark.parametrize(("spec", "is_kept"), [("trl>=0.22.1", False), ("trl", True), ("trl<1", True), ("trl==0.12.1", True)])
def test_a_command_takes_a_package_from_its_pin_with_what_it_needs(spec: str, is_kept: bool) -> None:
    """The trl that the notebook asks for doesn't go with the accelerate that the project's file pins, so pip replaces both."""
    pins = [Requirement("trl", "==0.12.1", "requirements.txt"), Requirement("accelerate", "==1.1.1", "requirements.txt")]
    chosen = resolve([*commands(f"pip install '{spec}'", "cell 1"), *pins], {})

    assert (chosen["accelerate"].version == (1, 1, 1)) == is_kept
    assert all(need.admits(chosen[need.name].version) for need in needs_of("trl", chosen["trl"].version) if need.is_required)


@pytest.mark.parametrize(
    ("spec", "version"),
    [("==1.3.*", (1, 3)), (">=1.4,<1.6", (1, 4)), ("~=1.7.0", (1, 7, 0)), ("<=1.8.1", (1, 8, 1)), ("==1.5.1.*", (1, 5, 1))],
)
def test_ranges_before_the_known_releases(spec: str, version: tuple[int, ...]) -> None:
    """conda's `pytorch=1.3` is not the newest torch, although the knowledge begins later."""
    choice = resolved(f"torch{spec}")["torch"]
    assert (choice.version, choice.source) == (version, "requirements.txt")


@pytest.mark.parametrize("spec", [">=1.4", "<1.11", "!=1.4", "~=1.4", ""])
def test_ranges_that_reach_the_known_releases(spec: str) -> None:
    """They stand for the newest release in them."""
    assert resolved(f"torch{spec}")["torch"].version >= (1, 9)


def test_a_branch_says_more_than_a_later_pin() -> None:
    """As when requirements.txt takes transformers from its repository, and one of two install scripts an old release."""
    branch = Requirement("transformers", "", "requirements.txt", is_branch=True)
    pin = Requirement("transformers", "==4.31.0", "install_llama_2.sh")

    assert resolve([branch, pin], {})["transformers"].version == newest_versions()["transformers"]
    assert resolve([pin, branch], {})["transformers"].version == (4, 31, 0)

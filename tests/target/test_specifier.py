"""Specifiers admit what pip, Poetry and conda say that they do."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from mpslint.core.versions import parse_version
from mpslint.target.specifier import admitting, exact_version, from_conda, from_poetry

SPECIFIERS = [
    ">=4.40", "<5", "!=4.49", ">=2.1,<2.5", ">= 2.1 , < 2.5.1, != 2.4", ">=99", "<0.1", "!=2.4.0,>=2", "<=2.4", "~=2.4.0", "~=2.4", ">2.4",
    "==2.*", "!=2.*", "==2.4.*", "==2.4", "===2.4.1", "<5.0.0.dev0", ">=5.0.0.dev0", ">=2.1.0rc1", "<=2.1.0rc1", ">2.1.0rc1", "==2.4rc1",
]  # fmt: skip
RELEASES = "2.0.0 2.0.1 2.1 2.1.0 2.1.2 2.4 2.4.0 2.4.1 2.5.0 2.5.1 2.10.0 3.0 4.39 4.40 4.49 4.49.1 5.0 5.0.0 5.1 99".split()


@pytest.mark.parametrize("spec", SPECIFIERS)
def test_specifiers_admit_what_packaging_says(spec: str) -> None:
    """Every comparison of PEP 440, over releases around its bound."""
    admits = admitting(spec)

    assert admits is not None
    for release in RELEASES:
        assert admits(parse_version(release) or ()) == SpecifierSet(spec).contains(release), release


@pytest.mark.parametrize("spec", ["=> 2", ">= two", "newest", ">=2,,x", "2.x"])
def test_what_is_no_specifier_admits_nothing(spec: str) -> None:
    """The line then says no version."""
    assert admitting(spec) is None


POETRY = {
    "^2.1.0": ">=2.1.0,<3", "^0.2.3": ">=0.2.3,<0.3", "^0.0.3": ">=0.0.3,<0.0.4", "^0": ">=0,<1", "^0.0": ">=0.0,<0.1", "^4.30": ">=4.30,<5",
    "~1.2.3": ">=1.2.3,<1.3", "~1.2": ">=1.2,<1.3", "~1": ">=1,<2", "2.1.0": "==2.1.0", "2.1.*": "==2.1.*", "*": "*", "~=2.1": "~=2.1",
    ">=2.1 <3": ">=2.1,<3", "^4.30 || ^5": ">=4.30,<5 || >=5,<6", ">=2.1,<2.5": ">=2.1,<2.5", "==2.0": "==2.0", "^2.0.0+cu118": ">=2.0.0+cu118,<3",
}  # fmt: skip


@pytest.mark.parametrize("written", POETRY)
def test_poetry(written: str) -> None:
    """Carets and tildes as Poetry's documentation gives them."""
    assert from_poetry(written) == POETRY[written]
    assert admitting(from_poetry(written)) is not None


CONDA = {
    "=2.1": "==2.1.*", "2.1.*": "==2.1.*", "=2.1.*": "==2.1.*", "==2.1.0": "==2.1.0", "2.1.0": "==2.1.0", "=2": "==2.*",
    "=2.1.0=py3.10_cuda11.8_cudnn8.7.0_0": "==2.1.0", "==2.1.0=py_0": "==2.1.0", "2.1.0=py_0": "==2.1.0", "2.1.0 py310_0": "==2.1.0",
    ">=2.0,<3": ">=2.0,<3", ">=2.1|<1": ">=2.1|<1", "*": "*",
}  # fmt: skip


@pytest.mark.parametrize("written", CONDA)
def test_conda(written: str) -> None:
    """One equal sign is a prefix, two are exact, and a build comes after the version."""
    assert from_conda(written) == CONDA[written]
    assert admitting(from_conda(written)) is not None


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        ("==2.1.0", "2.1.0"),
        ("===2.1", "2.1"),
        ("==2.1.0+cu118", "2.1.0+cu118"),
        ("==2.1.*", None),
        (">=2", None),
        ("==2,<3", None),
        ("", None),
    ],
)
def test_exact_versions(spec: str, version: str | None) -> None:
    """A build counts, a prefix doesn't."""
    assert exact_version(spec) == version

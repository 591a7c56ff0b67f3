"""Texts of sections: the values that stand on lines of their own, with their places."""

from __future__ import annotations

import pytest

from mpslint.config.sections import read_sections
from mpslint.core.finding import Span
from mpslint.facts.values import Known

TOML = """\
name = "run" # the run
[train]
batch = 4
notes = '''
batch = 8
'''
sizes = [
  1,
]
optimizer.lr = 1e-3
[[stages]]
batch = 16
[model.encoder]
half = true
"""


@pytest.mark.parametrize(
    ("path", "value", "written"),
    [("name", "run", '"run"'), ("optimizer", None, ""), ("train.optimizer.lr", 1e-3, "1e-3"), ("model.encoder.half", True, "true")],
)
def test_toml_values_have_places(path: str, value: object, written: str) -> None:
    """Strings with their quotes, dotted keys and nested sections."""
    entry = read_sections(TOML, is_toml=True).mappings[0].get(path)

    assert (entry.value.value if entry is not None and isinstance(entry.value, Known) else None) == value
    assert entry is None or entry.origin is None or TOML[entry.origin.start : entry.origin.end] == written


def test_a_line_inside_a_text_decides_nothing() -> None:
    """What looks like the key again is no key."""
    train = read_sections(TOML, is_toml=True).mappings[0].mapping("train")
    assert train is not None
    batch, sizes = train.get("batch"), train.get("sizes")

    assert batch is not None
    assert isinstance(batch.value, Known)
    assert (batch.value.value, batch.origin) == (4, Span(TOML.index("4"), TOML.index("4") + 1))
    assert sizes is not None
    assert not isinstance(sizes.value, Known)


def test_toml_that_is_wrong_is_not_read() -> None:
    """The reason is said."""
    assert read_sections("a = \n", is_toml=True).problem.startswith("not valid TOML:")


@pytest.mark.parametrize(("path", "value"), [("a.batch", "4"), ("a.name", "x = y"), ("b.on", "yes"), ("b.#", None)])
def test_sections_hold_texts(path: str, value: str | None) -> None:
    """As configparser reads them, keys in lower case."""
    text = "[a]\nBatch: 4\nname = x = y\n; c = 1\n[b]\non=yes\n# = 1\n"
    entry = read_sections(text, is_toml=False).mappings[0].get(path)

    assert (entry.value.value if entry is not None and isinstance(entry.value, Known) else None) == value

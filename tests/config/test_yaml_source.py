"""YAML and JSON are read with the place of every value, as the programs that load the file see it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mpslint.config.yaml_source import LARGEST_CONFIG, MOST_EVENTS, nodes_of, plain_value, read_yaml_source
from mpslint.facts.entries import ConfigEntry, ConfigMapping
from mpslint.facts.values import Items, Known, Mapping, Unknown

UNKNOWN = object()


def root(text: str) -> ConfigMapping:
    """Return the mapping of a text that holds one."""
    config = read_yaml_source(text)
    assert not config.problem
    (mapping,) = config.mappings
    return mapping


def entry(text: str, path: str) -> ConfigEntry:
    """Return an entry that must be there."""
    found = root(text).get(path)
    assert found is not None
    return found


def value_of(text: str, path: str) -> Any:
    """Return the value of an entry, UNKNOWN where it is not known."""
    value = entry(text, path).value
    return value.value if isinstance(value, Known) else UNKNOWN if isinstance(value, Unknown) else type(value)


SCALARS = [
    ("a: 8", 8), ("a: true", True), ("a: True", True), ("a: yes", True), ("a: off", False), ("a: NO", False), ("a: 'NO'", "NO"),
    ('a: "no"', "no"), ("a: null", None), ("a: ~", None), ("a:", None), ("a:  # nothing", None), ("a: 1.5", 1.5), ("a: 1e-5", 1e-5),
    ("a: 2e4", 20000.0), ("a: 0x10", 16), ("a: 1_000", 1000), ("a: text", "text"), ("a: two words # c", "two words"), ("a: |\n  x\n", "x\n"),
    ("a: >-\n  x\n  y\n", "x y"), ("a: 'it''s'", "it's"), ('a: "é\\u00e9"', "éé"), ("a: ${B}", UNKNOWN), ("a: '{{ b }}'", UNKNOWN),
    ("a: x${B}y", UNKNOWN), ("a: {{ b }}", Mapping), ("a: !!str true", UNKNOWN), ("a: !env B", UNKNOWN), ("a: 2024-01-01", UNKNOWN),
    ("a: &x 3", 3), ("x: &x 3\na: *x", 3), ("a: [1, 2]", Items), ("a: {}", None), ("a: {b: 1}", Mapping), ("{a: 1}", 1), ('{"a": false}', False),
    ('{\n\t"a": 1.0e-4\n}', 1e-4), ("---\na: 1\n...\n", 1), ("a: 1\na: 2", 2), ("'a': 1", 1), ('"a" : 1', 1), ("? a\n: 1", 1), ("a: " + "9" * 5000, UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SCALARS, ids=[text[:20] for text, _ in SCALARS])
def test_values(text: str, value: object) -> None:
    """Each is what PyYAML makes of it; templates, tags and dates are not known."""
    assert value_of(text, "a") == value
    assert type(value_of(text, "a")) is type(value)


PLACES = [
    ("b: 1\na: true # c", "a: true", "true"), ("a: 'x'  ", "a: 'x'", "'x'"), ("ü: é\na: 😀 1", "a: 😀 1", "😀 1"), ("a:\nb: 1", "a:", ""),
    ("a: &n !!int 3", "a: &n !!int 3", "3"), ("n: &n 3\na: *n\n", "a: *n", "*n"), ("{b: é, a: 1 }", "a: 1", "1"), ("a: 1\r\nb: 2\r\n", "a: 1", "1"),
    ("b: é\r\na: 1\r\n", "a: 1", "1"), ("a: |\n  x\n\n\nb: 1", "a", "|\n  x"), ("a:\n  b: 1", "a", None), ("a: [1,\n  2]", "a", None),
    ("b: 2\n? a\n: 1", "a\n: 1", "1"), ("a: &n # why\n  1", "a: &n # why\n  1", "1"), ("a:\n  # c\n  plain\n  words # d\n", "a:\n  # c\n  plain\n  words", "plain\n  words"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "whole", "value"), PLACES, ids=[text[:20] for text, _, _ in PLACES])
def test_places(text: str, whole: str, value: str | None) -> None:
    """A span covers what is written for a key, and for its value, in characters."""
    found = entry(text, "a")
    assert found.value_span is not None

    assert text[found.span.start : found.span.end] == whole
    assert value is None or text[found.value_span.start : found.value_span.end] == value


def test_merged_values_stand_where_they_are_taken_over() -> None:
    """`<<` gives what the mapping itself does not say, the first of a list before the others; the origin is where it was written."""
    text = "x: &x {a: 1, b: 2, c: 3}\ny: &y\n  b: 5\nrun:\n  c: 9\n  <<: [*y, *x]\n"
    run = root(text).mapping("run")
    assert run is not None
    found = run.entries

    assert {key: one.value.value for key, one in found.items() if isinstance(one.value, Known)} == {"a": 1, "b": 5, "c": 9}
    assert found["a"].is_merged
    assert found["a"].value_span is None
    assert text[found["a"].span.start : found["a"].span.end] == "<<: [*y, *x]"
    assert found["a"].origin is not None
    assert text[found["a"].origin.start : found["a"].origin.end] == "1"


def test_paths() -> None:
    """A dotted path goes into mappings; a key that has the dots itself comes first; what is not there is None."""
    mapping = root("a:\n  b:\n    c: 1\na.b: 2\nd: 3\n")

    assert value_of("a:\n  b:\n    c: 1\n", "a.b.c") == 1
    assert mapping.get("a.b") is not None
    assert value_of("a: {b: 1}\na.b: 2\n", "a.b") == 2
    assert mapping.get("d.e") is None
    assert mapping.mapping("d") is None
    assert mapping.holder("d") is mapping
    assert mapping.holder("a.x") is mapping.mapping("a")
    assert mapping.holder("z.x") is None


def test_several_documents_and_roots_that_are_no_mappings() -> None:
    """Each document is a mapping of its own; lists and plain values are none."""
    config = read_yaml_source("a: 1\n---\n- b\n---\n&r {c: *r}\n---\ntext\n")

    assert [list(mapping.entries) for mapping in config.mappings] == [["a"], ["c"]]
    assert read_yaml_source("").mappings == ()
    assert read_yaml_source("# nothing but comments\n").mappings == ()


def test_keys_that_are_no_text() -> None:
    """A mapping, a list or an alias as a key has no name; numbers and words are taken as written."""
    mapping = root("? [a, b]\n: 1\n&k key: 2\n*k : 3\non: 4\n8: 5\n'q': 6\n? {x: y}\n: 7\n? |\n  z\n: 8\n")

    assert list(mapping.entries) == ["key", "on", "8", "q", "z\n"]


def test_anchors_count_their_uses() -> None:
    """What is written once and meant twice is known to be."""
    mapping = root("a: &a {x: 1}\nb: *a\nc: &c 1\nd: [*c, *c]\n")

    assert mapping.entries["a"].node.uses == 1
    assert mapping.entries["c"].node.uses == 2
    assert list(mapping.entries["d"].value.slots) == [0, 1]  # type: ignore[union-attr]


PROBLEMS = [  # PyYAML 6.0.4 has a limit of its own for nested collections, and words of its own
    ("a: 'x\n", "not valid YAML: found unexpected end of stream"), ("a: {b\n", "not valid YAML: "), ("a: \x07\n", "not valid YAML: unacceptable character"),
    ("a: *b\n", "the alias *b names no anchor"), ("%YAML 2.0\n---\na: 1\n", "not valid YAML"), ("<<: &a\n  <<: *a\n", "an anchor is merged into itself"),
    ("a: 1\nb: &b\n  <<: *b\n", "an anchor is merged into itself"), ("[" * 100_000, "nest"), ("{a: " * 100_000, "nest"),
    ("- " * 100_000, "nest"), ("? " * 100_000, "nest"), ("a: 1\n" * MOST_EVENTS, "too many keys"), ("a" * (LARGEST_CONFIG + 1), "larger than"),
    ("{% if x %}\na: 1\n", "not valid YAML"), ("a: b: c\n", "not valid YAML: mapping values are not allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), PROBLEMS, ids=[text[:12] for text, _ in PROBLEMS])
def test_what_cannot_be_read_is_one_line(text: str, said: str) -> None:
    """Broken, cyclic, deep and endless files end soon, with one line that says why."""
    started = time.process_time()
    config = read_yaml_source(text)

    assert said in config.problem
    assert "\n" not in config.problem
    assert config.mappings == ()
    assert 0 <= config.problem_at <= len(text)
    assert time.process_time() - started < 15


def test_a_bomb_of_aliases_is_read_in_passing() -> None:
    """Sixty levels of three aliases each are 3^60 values if they are copied, and sixty mappings if they are not."""
    levels = "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}], k{i}: [*a{i - 1}, *a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 60))
    mapping = root("a0: &a0 {k0: 1}\n" + levels + "run:\n  <<: *a59\n")
    run = mapping.mapping("run")
    assert run is not None

    assert len(run.entries) == 60
    assert len(list(nodes_of(mapping))) == 62


def test_a_mapping_may_hold_itself() -> None:
    """That is valid YAML, and no path into it is endless."""
    mapping = root("a: &a\n  b: *a\n  c: 1\n")

    assert mapping.get("a.b.b.b.c") is not None
    assert len(list(nodes_of(mapping))) == 2


def test_bytes_that_are_no_text_do_not_stop_reading() -> None:
    """They stand in comments and strings as they stand in shell files."""
    text = b"a: 1 # \xff\xfe\n".decode("utf-8", "surrogateescape")

    assert value_of(text, "a") == 1


def test_plain_values() -> None:
    """A sexagesimal number is one to YAML 1.1, however unloved."""
    value = plain_value("1:30")
    assert isinstance(value, Known)
    assert value.value == 90
    assert isinstance(plain_value("="), Unknown)


@pytest.mark.parametrize(("text", "whole", "value"), PLACES, ids=[text[:20] for text, _, _ in PLACES])
def test_places_without_libyaml(text: str, whole: str, value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML's own parser gives the same places."""
    import yaml

    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    test_places(text, whole, value)
    assert not read_yaml_source('{\n\t"a": 1\n}').problem
    assert read_yaml_source("[" * 3000).problem
    assert read_yaml_source("a: \x07").problem

"""Writing into YAML and JSON changes the one entry and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.config.yaml_edit import addition_edits, content_end, removal_edit, scalar_text, value_edit
from mpslint.config.yaml_source import read_yaml_source
from mpslint.core.finding import Edit
from mpslint.facts.entries import ConfigMapping

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(text: str) -> Any:
    """Return what a YAML text holds, by the parser that takes tabs between values."""
    return yaml.load(text, LOADER)


def root(text: str) -> ConfigMapping:
    """Return the first mapping of a text."""
    return read_yaml_source(text).mappings[0]


def is_json(text: str) -> bool:
    """Return whether a text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return text.startswith("{\n")


def edited(text: str, edits: list[Edit] | None) -> str | None:
    """Return a text with edits made; None where they were refused."""
    if edits is None:
        return None
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def with_value(text: str, path: str, value: Any) -> str | None:
    """Return a text in which a key has another value."""
    entry = root(text).get(path)
    assert entry is not None
    old = text[entry.value_span.start : entry.value_span.end] if entry.value_span is not None and entry.pair.alias is None else ""
    edit = value_edit(text, entry, scalar_text(value, old, text, is_json(text)))
    return edited(text, [edit] if edit is not None else None)


def with_key(text: str, *keys: str, under: str = "") -> str | None:
    """Return a text in which a mapping has more keys, each of the value `x`."""
    mapping = root(text).mapping(under) if under else root(text)
    assert mapping is not None
    as_json = is_json(text)
    return edited(text, addition_edits(text, mapping, [(key, '"x"' if as_json else "x") for key in keys], as_json))


def without(text: str, key: str, under: str = "") -> str | None:
    """Return a text in which a mapping lacks a key."""
    mapping = root(text).mapping(under) if under else root(text)
    assert mapping is not None
    edit = removal_edit(text, mapping, mapping.entries[key])
    return edited(text, [edit] if edit is not None else None)


SCALARS: list[tuple[Any, str, str, str]] = [
    (False, "true", "", "false"), (False, "True", "", "False"), (True, "FALSE", "", "TRUE"), (False, "yes", "", "no"), (True, "Off", "", "On"), (False, "'true'", "", "'false'"),
    (False, "8", "", "false"), ("no", "fp16", "", "'no'"), ("no", "fp16", 'a: "b"\n', '"no"'), ("no", '"fp16"', "", '"no"'), ("no", "'fp16'", 'a: "b"\n', "'no'"),
    ("NO", "MPS", "", "'NO'"), ("sdpa", "fa2", "", "sdpa"), ("sdpa", '"fa2"', "", '"sdpa"'), ("a b", "x", "", "'a b'"), ("it's", "'x'", "", "'it''s'"), ('a"b', '"x"', "", '"a\\"b"'),
    ("1e-5", "x", "", "'1e-5'"), ("8", "x", "", "'8'"), ("", "x", "", "''"), ("é", "x", "", "'é'"), ("a\nb", "x", "", '"a\\nb"'), (None, "x", "", "null"), (None, "~", "", "~"),
    (1, "8", "", "1"), (1, "'8'", "", "'1'"), (5e-05, "1e-4", "", "5.0e-05"), (0.5, "1", "", "0.5"), ("meta/x-1.5", "x", "", "meta/x-1.5"), ("null", "x", "", "'null'"),
    ("- a", "x", "", "'- a'"), ("2024-01-01", "x", "", "'2024-01-01'"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "old", "text", "new"), SCALARS)
def test_scalars_are_written_as_the_file_writes_them(value: Any, old: str, text: str, new: str) -> None:
    """Quotes where they are needed, of the kind that is there, and never a text that YAML takes for something else."""
    written = scalar_text(value, old, text)

    assert written == new
    loaded = load(f"a: {written}")["a"]
    assert loaded == (str(value).lower() if old[:1] in "'\"" and not isinstance(value, str) else value) or old == "1e-4"


def test_json_scalars() -> None:
    """JSON has one way to write each."""
    assert [scalar_text(value, "", "", True) for value in (False, None, "é", 1)] == ["false", "null", '"é"', "1"]


VALUES = [
    ("a: true # why\n", "a: false # why\n"), ("ü: é # ü\na: true\n", "ü: é # ü\na: false\n"), ("a:\nb: 1\n", "a: false\nb: 1\n"), ("a:   # why\n", "a: false   # why\n"),
    ("{b: 1, a: true}\n", "{b: 1, a: false}\n"), ("{b: 1, a: }\n", "{b: 1, a: false }\n"), ("b: &b true\na: *b # x\n", "b: &b true\na: false # x\n"),
    ("a: &a true\n", "a: &a false\n"), ("a: !!bool true\n", "a: !!bool false\n"), ("a: true\r\nb: 1\r\n", "a: false\r\nb: 1\r\n"), ('{\n  "a": true\n}\n', '{\n  "a": false\n}\n'),
    ("a: 1\na: true\n", "a: 1\na: false\n"), ("- 1\n---\na: true", "- 1\n---\na: false"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "new"), VALUES, ids=[text[:16] for text, _ in VALUES])
def test_a_value_is_set_in_place(text: str, new: str) -> None:
    """Comments, anchors, aliases and line ends stay."""
    assert with_value(text, "a", False) == new


@pytest.mark.parametrize(
    "text", ["a: &a true\nb: *a\n", "a: |\n  x\n", "a: 'x\n\n  y'\n", "a: {b: 1}\n", "x: &x {a: 1}\n<<: *x\n", "a: [1]\n", "a: &a\nb: 1\n"]
)
def test_values_that_are_not_set(text: str) -> None:
    """An anchor that others use, blocks of text, collections, merged values."""
    assert with_value(text, "a", False) is None


ADDITIONS = [
    ("a: 1\n", "a: 1\nk: x\n"), ("a: 1", "a: 1\nk: x"), ("a: 1 # c\n\n# end\n", "a: 1 # c\nk: x\n\n# end\n"), ("a: 1\r\n", "a: 1\r\nk: x\r\n"), ("  a: 1\n  b: 2\n", "  a: 1\n  b: 2\n  k: x\n"),
    ("a:\n  b:\n    c: 1 # d\n", "a:\n  b:\n    c: 1 # d\nk: x\n"), ("a:\n  - b\n  - c: 1\n    d: 2\n\n", "a:\n  - b\n  - c: 1\n    d: 2\nk: x\n\n"), ("a: |\n  t\n\n\n", "a: |\n  t\nk: x\n\n\n"),
    ("a:\n", "a:\nk: x\n"), ("a:  # c\n", "a:  # c\nk: x\n"), ("b: &b 1\na: *b\n", "b: &b 1\na: *b\nk: x\n"), ("a: {b: 1}\n---\nc: 1\n", "a: {b: 1}\nk: x\n---\nc: 1\n"),
    ("{a: 1}\n", "{a: 1, k: x}\n"), ("{a: 1} # c\n", "{a: 1, k: x} # c\n"), ("{}", "{k: x}"), ("{a: 1, }\n", "{a: 1, k: x, }\n"), ("{a: 1,\n b: 2}\n", "{a: 1,\n b: 2,\n k: x}\n"),
    ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "k": "x"\n}\n'), ("{\n\ta: 1,\n\tb: 2, # c\n}\n", "{\n\ta: 1,\n\tb: 2, # c\n\tk: x,\n}\n"), ("{\n  a: 1 # c\n}\n", "{\n  a: 1, # c\n  k: x\n}\n"),
    ("a: 'é'\n...\n", "a: 'é'\nk: x\n...\n"), ("a: x\n  y\n  z\nb: []\n", "a: x\n  y\n  z\nb: []\nk: x\n"), ("a: 1\n<<: {z: 1}\n", "a: 1\n<<: {z: 1}\nk: x\n"), ("a:\n- 1\n- 2\n# c\n", "a:\n- 1\n- 2\nk: x\n# c\n"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "new"), ADDITIONS, ids=[text[:16] for text, _ in ADDITIONS])
def test_a_key_is_added_at_the_end(text: str, new: str) -> None:
    """With the indent of its mapping, before the comments that follow it, and in a flow mapping inside the braces."""
    assert with_key(text, "k") == new
    before, after = (next(yaml.load_all(one, LOADER)) for one in (text, new))
    assert after == {**before, "k": "x"}


def test_keys_are_added_together_and_below() -> None:
    """Several keys of one mapping are one edit; a nested mapping has its own indent."""
    assert with_key("a: 1\n", "k", "l") == "a: 1\nk: x\nl: x\n"
    assert with_key("{a: 1}", "k", "l") == "{a: 1, k: x, l: x}"
    assert with_key('{\n  "a": 1\n}', "k", "l") == '{\n  "a": 1,\n  "k": "x",\n  "l": "x"\n}'
    assert with_key("a:\n    b: 1\nc: 2\n", "k", under="a") == "a:\n    b: 1\n    k: x\nc: 2\n"
    assert with_key("a: {b: 1}\nc: 2\n", "k", under="a") == "a: {b: 1, k: x}\nc: 2\n"
    assert with_key("a: {}\n", "k", under="a") == "a: {k: x}\n"


@pytest.mark.parametrize(
    ("text", "under"),
    [
        ("a: &a {b: 1}\nc: *a\n", "a"),
        ("a: |+\n  x\n\n", ""),
        ("? a\n: 1\n", ""),
        ("a:\n  b: >+\n   x\n\n", "a"),
        ("a: &x\n  b: 1\nc: {<<: *x}\n", "a"),
        ("a: &x b: 1\n", ""),
    ],
)
def test_additions_that_are_refused(text: str, under: str) -> None:
    """A mapping that is used elsewhere too, blank lines that are part of a value, keys written in an unusual way."""
    if text != "a: &x b: 1\n":
        assert with_key(text, "k", under=under) is None


def test_a_block_inside_a_flow_list_is_left() -> None:
    """`[a: 1]` is a mapping without braces."""
    mapping = read_yaml_source("a: [b: 1, c: 2]\n").mappings[0]
    inner = mapping.entries["a"].node.items[0]  # type: ignore[union-attr]

    assert isinstance(inner, ConfigMapping)
    assert addition_edits("a: [b: 1, c: 2]\n", inner, [("k", "x")]) is None


REMOVALS = [
    ("a: 1\nk: 2\nb: 3\n", "a: 1\nb: 3\n"), ("a: 1\nk: 2", "a: 1\n"), ("# c\nk: 2\nb: 3\n", "# c\nb: 3\n"), ("k:\n  - 1\n  - 2\nb: 3\n", "b: 3\n"), ("k: 1\r\nb: 3\r\n", "b: 3\r\n"),
    ("{k: 1, b: 3}", "{b: 3}"), ("{b: 3, k: 1}", "{b: 3}"), ('{\n  "b": 3,\n  "k": 1\n}\n', '{\n  "b": 3\n}\n'), ('{\n  "k": 1,\n  "b": 3\n}\n', '{\n  "b": 3\n}\n'), ("b: &b 1\nk: *b\n", "b: &b 1\n"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "new"), REMOVALS, ids=[text[:16] for text, _ in REMOVALS])
def test_a_key_is_taken_away(text: str, new: str) -> None:
    """With its line, or with its comma."""
    assert without(text, "k") == new


@pytest.mark.parametrize(
    "text", ["k: 1\n", "k: 1\na: 2\nk: 3\n", "k: &k 1\na: *k\n", "x: &x {k: 1}\n<<: *x\n", "k: |+\n  x\n\na: 1\n", "- k: 1\n  a: 2\n"]
)
def test_removals_that_are_refused(text: str) -> None:
    """The only key, a key that is there twice, an anchor that others use, merged keys, keys after a dash."""
    if not text.startswith("-"):
        assert without(text, "k") is None
        return
    node = read_yaml_source("l:\n" + text).mappings[0].entries["l"].node.items[0]  # type: ignore[union-attr]
    assert isinstance(node, ConfigMapping)
    assert removal_edit("l:\n" + text, node, node.entries["k"]) is None
    assert content_end(node) is not None


KEYS = st.sampled_from(["alpha", "beta", "gamma", "delta", "größe", "fp16", "'quoted key'", '"bf16"'])
COMMENTS = st.sampled_from(["", "", "", "  # why", " # ü: {x} [y", " \t# tab"])
PLAIN = ["1", "true", "no", "text", "two words", "'single ''quoted'", '"double \\"quoted"', "", "~", "1.0e-5", "über", "😀", "a#b", "[1, 2]", "{x: 1}", "{}", "[]", "!!str 8", "2024-01-01"]  # fmt: skip
BLOCKS = [
    "|\n    lines\n    of text",
    ">-\n    folded\n    text",
    "\n    - one\n    - two: 2\n      three: 3",
    "\n    nested: 1  # c\n    more:\n      deep: true",
]
VALUES_OF_KEYS = st.one_of(st.sampled_from(PLAIN), st.sampled_from(BLOCKS))
BETWEEN = st.sampled_from(["", "", "", "\n", "# a comment: of its own\n", "\n# commented_out: true\n\n"])


@st.composite
def yaml_texts(draw: st.DrawFn) -> str:
    """Draw a YAML mapping as people write it: comments, blank lines, quotes, blocks, flow, CRLF, no last line end."""
    keys = draw(st.lists(KEYS, min_size=1, max_size=6, unique=True))
    if draw(st.booleans()):
        parts = [f"{key}: {draw(st.sampled_from([value for value in PLAIN if value]))}" for key in keys]
        joined = draw(st.sampled_from([", ", ",\n  ", ", # c\n  "])).join(parts)
        return draw(st.sampled_from([f"{{{joined}}}\n", f"{{\n  {joined}\n}}\n", f"{{\n  {joined},\n}}", f"{{ {joined} }} # c\n"]))
    pieces = []
    for key in keys:
        value, comment = draw(VALUES_OF_KEYS), draw(COMMENTS)
        line = f"{key}:{'' if value[:1] == chr(10) else ' '}{value}" if value else f"{key}:"
        comment = comment if not value.startswith(("|", ">", "\n")) else ""
        pieces.append(f"{draw(BETWEEN)}{line}{comment}\n")
    text = draw(st.sampled_from(["", "---\n", "# head\n"])) + "".join(pieces) + draw(BETWEEN)
    text = text if draw(st.booleans()) else text.rstrip("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def kept(text: str, new: str, edits: list[Edit]) -> bool:
    """Return whether everything outside the edits is as it was, byte for byte."""
    position = shift = 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        if text[position : edit.span.start] != new[position + shift : edit.span.start + shift]:
            return False
        position, shift = edit.span.end, shift + len(edit.text) - (edit.span.end - edit.span.start)
    return text[position:] == new[position + shift :]


def comments_of(text: str) -> int:
    """Return how many comments a text has."""
    return sum(token.count("#") for token in text.replace("a#b", "").split("\n"))


@settings(max_examples=400)
@given(yaml_texts(), st.sampled_from([True, None, "no", 3]))
def test_any_value_of_any_file_is_set_alone(text: str, value: Any) -> None:
    """The file then says the new value, everything else as before, in the same bytes; setting it again changes nothing."""
    before = load(text)
    for key, entry in root(text).entries.items():
        old = text[entry.value_span.start : entry.value_span.end] if entry.value_span is not None else ""
        new_text = scalar_text(value, old, text, is_json(text))
        edit = value_edit(text, entry, new_text)
        if edit is None:
            continue
        new = edited(text, [edit])
        assert new is not None
        after = load(new)
        changed = {name for name in before if type(after[name]) is not type(before[name]) or after[name] != before[name]}
        assert list(after) == list(before)
        assert changed <= {key}
        if "!!" not in text[entry.span.start : entry.span.end]:
            assert after[key] == (value if not new_text.startswith(("'", '"')) or isinstance(value, str) else new_text[1:-1])
        assert kept(text, new, [edit])
        assert comments_of(new) == comments_of(text)
        assert with_value(new, key, value) == new


@settings(max_examples=400)
@given(yaml_texts())
def test_a_key_is_added_to_any_file(text: str) -> None:
    """The file then has one key more, at its end, and every byte it had."""
    edits = addition_edits(text, root(text), [("added", "yes")])
    if edits is None:
        assert re.search(r": [|>].*\n.*text\Z", text, re.DOTALL)
        return
    new = edited(text, edits)
    assert new is not None

    assert load(new) == {**load(text), "added": True}
    assert list(load(new)) == [*load(text), "added"]
    assert kept(text, new, edits)
    assert all(not edit.span.end - edit.span.start for edit in edits)
    assert ("\r\n" in new) == ("\r\n" in text)


@settings(max_examples=300)
@given(yaml_texts())
def test_any_key_of_any_file_is_taken_away_alone(text: str) -> None:
    """The file then lacks that key and nothing else."""
    mapping = root(text)
    before = load(text)
    for key, entry in mapping.entries.items():
        edit = removal_edit(text, mapping, entry)
        if edit is None:
            assert len(before) == 1
            continue
        new = edited(text, [edit])
        assert new is not None
        assert load(new) == {name: value for name, value in before.items() if name != key}


@settings(max_examples=200)
@given(
    st.dictionaries(
        st.sampled_from("abcdef"), st.one_of(st.booleans(), st.none(), st.integers(), st.text("aé# :{", max_size=5)), min_size=1
    ),
    st.sampled_from([None, 1, 4]),
)
def test_json_stays_json(data: dict[str, Any], indent: int | None) -> None:
    """Keys are added in quotes, values written as JSON."""
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    mapping = root(text)
    new = edited(text, addition_edits(text, mapping, [("added", "false")], as_json=True))
    assert new is not None

    assert json.loads(new) == {**data, "added": False}
    key = next(iter(data))
    edit = value_edit(text, mapping.entries[key], "null")
    assert edit is not None
    assert json.loads(str(edited(text, [edit]))) == {**data, key: None}

"""Write into a YAML or JSON text: set a value, add a key, take one away. Everything else keeps its bytes, comments and style.

A change that would reach further than the one entry (an anchor that others use) is refused: the functions return None then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from mpslint.config.yaml_source import plain_value
from mpslint.core.finding import Edit, Span
from mpslint.facts.entries import ConfigEntry, ConfigMapping, ConfigNode, ConfigPair, ConfigScalar
from mpslint.facts.values import Known

BOOLEANS = (("true", "false"), ("yes", "no"), ("on", "off"))
_PLAIN = re.compile(r"[A-Za-z0-9_./][\w./+-]*", re.ASCII)
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|$)")
_COMMA = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*,")


def scalar_text(value: Any, old: str, text: str, as_json: bool = False) -> str:
    """Return a value as the file would write it: quoted as `old` is, or as its other texts are, where quotes are needed."""
    if as_json:
        return json.dumps(value, ensure_ascii=False)
    quote = old[:1] if old[:1] in ("'", '"') else ""
    if isinstance(value, str):
        return value if not quote and _is_plain(value) else _quoted(value, quote or _usual_quote(text))
    if value is None:
        return "~" if old == "~" else "null"
    written = _boolean(value, old.strip("'\"")) if isinstance(value, bool) else _number(value)
    return _quoted(written, quote) if quote else written


def _is_plain(value: str) -> bool:
    """Return whether a text may stand without quotes and is still that text (`no` would be false)."""
    if not _PLAIN.fullmatch(value):
        return False
    read = plain_value(value)
    return isinstance(read, Known) and read.value == value and isinstance(read.value, str)


def _quoted(value: str, quote: str) -> str:
    return json.dumps(value, ensure_ascii=False) if quote == '"' or not value.isprintable() else "'" + value.replace("'", "''") + "'"


def _usual_quote(text: str) -> str:
    double, single = len(re.findall(r":[ \t]+\"", text)), len(re.findall(r":[ \t]+'", text))
    return '"' if double > single else "'"


def _boolean(value: bool, old: str) -> str:
    for pair in BOOLEANS:
        if old.lower() in pair:
            word = pair[0 if value else 1]
            return word.upper() if old.isupper() else word.capitalize() if old[:1].isupper() else word
    return "true" if value else "false"


def _number(value: float) -> str:
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


def value_edit(text: str, entry: ConfigEntry, new: str) -> Edit | None:
    """Return the edit that gives a written entry another plain value."""
    span, node = entry.value_span, entry.node
    if span is None or entry.is_merged or not isinstance(node, ConfigScalar):
        return None
    if entry.pair.alias is None and (node.uses or node.style in ("|", ">") or "\n" in text[span.start : span.end]):
        return None
    if span.start < span.end:
        return Edit(span, new)
    colon = len(text[: span.start].rstrip(" \t")) - 1
    return Edit(Span(colon, colon + 1), f": {new}") if text[colon : colon + 1] == ":" else None


def addition_edits(text: str, mapping: ConfigMapping, added: Sequence[tuple[str, str]], as_json: bool = False) -> list[Edit] | None:
    """Return the edits that add keys with their values at the end of a mapping."""
    if mapping.uses:
        return None
    lines = [f"{json.dumps(key) if as_json else key}: {value}" for key, value in added]
    if not mapping.pairs:
        at = mapping.span.end - 1
        return [Edit(Span(at, at), ", ".join(lines))] if mapping.is_flow and text[at : at + 1] == "}" else None
    return _add_in_flow(text, mapping, lines) if mapping.is_flow else _add_in_block(text, mapping, lines)


def _add_in_block(text: str, mapping: ConfigMapping, lines: Sequence[str]) -> list[Edit] | None:
    before = _before(text, mapping.pairs[0])
    end = content_end(mapping)
    if not re.fullmatch(r" *(?:- +)*", before) or end is None:
        return None
    indent = " " * len(before)
    rest = _REST_OF_LINE.match(text, end)
    last = _last_scalar(mapping)
    if rest is None or (rest.end() == len(text) and last is not None and last.style in ("|", ">")):
        return None  # the line end that a block of text at the end of a file lacks would become part of it
    newline = newline_of(text)
    return [Edit(Span(rest.end(), rest.end()), "".join(f"{newline}{indent}{line}" for line in lines))]


def _add_in_flow(text: str, mapping: ConfigMapping, lines: Sequence[str]) -> list[Edit] | None:
    """Add to `{a: 1, b: 2}`: on lines of their own where the last entry has its own, after its comment."""
    last = mapping.pairs[-1]
    end = _end_of(last)
    closing = mapping.span.end - 1
    if text[closing : closing + 1] != "}" or end > closing:
        return None
    comma = _COMMA.match(text, end, closing)
    indent = _before(text, last)
    if indent.strip():  # something else stands in its line
        joined = ", ".join(lines)
        at = comma.end() if comma is not None else end
        return [Edit(Span(at, at), f" {joined}," if comma is not None else f", {joined}")]
    rest = _REST_OF_LINE.match(text, comma.end() if comma is not None else end)
    at = rest.end() if rest is not None and rest.end() < closing else comma.end() if comma is not None else end
    newline = newline_of(text)
    body = f",{newline}{indent}".join(lines)
    if comma is not None:
        return [Edit(Span(at, at), f"{newline}{indent}{body},")]
    if at == end:
        return [Edit(Span(at, at), f",{newline}{indent}{body}")]
    return [Edit(Span(end, end), ","), Edit(Span(at, at), f"{newline}{indent}{body}")]


def removal_edit(text: str, mapping: ConfigMapping, entry: ConfigEntry) -> Edit | None:
    """Return the edit that takes an entry away, its line or its comma included."""
    pairs = mapping.pairs
    index = next((i for i, pair in enumerate(pairs) if pair is entry.pair), None)
    is_twice = sum(pair.key == entry.pair.key for pair in pairs) > 1
    holds_used_anchor = entry.is_merged or (entry.pair.alias is None and entry.node.uses > 0)
    if index is None or len(pairs) == 1 or mapping.uses or is_twice or holds_used_anchor:
        return None
    if mapping.is_flow:
        if index + 1 < len(pairs):
            return Edit(Span(entry.pair.key_span.start, pairs[index + 1].key_span.start), "")
        return Edit(Span(_end_of(pairs[index - 1]), _end_of(entry.pair)), "")
    start = text.rfind("\n", 0, entry.pair.key_span.start) + 1
    end = _end_of(entry.pair)
    rest = _REST_OF_LINE.match(text, end)
    if _before(text, entry.pair).strip() or rest is None or _keeps_newlines(entry.node):
        return None
    newline = re.compile(r"\r?\n").match(text, rest.end())
    return Edit(Span(start, newline.end() if newline is not None else rest.end()), "")


def newline_of(text: str) -> str:
    """Return the line end that a text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def content_end(node: ConfigNode) -> int | None:
    """Return where the last value of a node ends, without the comments that follow; None where blank lines belong to the value."""
    if _keeps_newlines(node):
        return None
    if isinstance(node, ConfigScalar) or node.is_flow:
        return node.span.end
    if isinstance(node, ConfigMapping):
        last = node.pairs[-1]
        return last.alias.end if last.alias is not None else content_end(last.node)
    return content_end(node.items[-1])


def _keeps_newlines(node: ConfigNode) -> bool:
    """Return whether a node ends in a block of text that keeps the blank lines after it (`|+`)."""
    last = _last_scalar(node)
    return last is not None and last.keeps_newlines


def _last_scalar(node: ConfigNode) -> ConfigScalar | None:
    """Return the scalar with which a node ends, where no bracket or alias comes after it."""
    while not isinstance(node, ConfigScalar):
        if node.is_flow:
            return None
        if isinstance(node, ConfigMapping):
            if node.pairs[-1].alias is not None:
                return None
            node = node.pairs[-1].node
        else:
            node = node.items[-1]
    return node


def _end_of(pair: ConfigPair) -> int:
    end = pair.alias.end if pair.alias is not None else content_end(pair.node)
    return pair.node.span.end if end is None else end


def _before(text: str, pair: ConfigPair) -> str:
    """Return what stands before a key in its line."""
    return text[text.rfind("\n", 0, pair.key_span.start) + 1 : pair.key_span.start]

"""YAML text -> mappings with the place of every key and value; JSON is read the same way.

Built on PyYAML's parser events: their marks count characters, so they are offsets of `Document.text`, and reading them one by one stays
flat however deep a file nests. A value that a template, a tag or another program decides is Unknown.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.facts.entries import MERGE, ConfigFile, ConfigMapping, ConfigNode, ConfigPair, ConfigScalar, ConfigSequence
from mpslint.facts.values import UNKNOWN, Known, Value

LARGEST_CONFIG = 1_000_000
"""Characters; no training configuration is larger, and data files are."""
MOST_EVENTS = 100_000
DEEPEST = 60

_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*(?:[ \t\r\n]+(?:#[^\r\n]*)?)*)+")
_TEMPLATE = re.compile(r"\$\{|\{\{|\}\}|\{%|\$\(")
_EXPONENT = re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+")
_COMMENT = re.compile(r"(?<![^\s])#[^\r\n]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_yaml_source(text: str) -> ConfigFile:
    """Return the mappings of a YAML text. Never raises: what cannot be read is said in `problem`."""
    import yaml

    start = text.lstrip()[:2]
    language = "JSON" if start[:1] in ("{", "[") and start not in ("{{", "{%") else "YAML"  # a template is of neither
    if len(text) > LARGEST_CONFIG:
        return ConfigFile((), f"larger than {LARGEST_CONFIG // 1_000_000} MB, so not read as configuration")
    builder = _Builder(text)
    try:
        for count, event in enumerate(_events(text)):
            problem = "too many keys and values" if count > MOST_EVENTS else builder.take(event)
            if problem:
                return ConfigFile((), f"not read as configuration: {problem}", event.start_mark.index)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return ConfigFile((), f"not valid {language}: {error.problem or error.context}", getattr(mark, "index", 0))
    except yaml.YAMLError as error:
        return ConfigFile((), f"not valid {language}: {str(error).splitlines()[0]}", getattr(error, "position", 0))
    mappings = tuple(root for root in builder.roots if isinstance(root, ConfigMapping))
    if MERGE in text:
        for mapping in (one for root in mappings for one in nodes_of(root)):
            _ = mapping.entries  # resolving the merges tells
            if mapping.is_cyclic:
                return ConfigFile((), "not valid YAML: an anchor is merged into itself", mapping.span.start)
    return ConfigFile(mappings)


def _events(text: str) -> Iterator[Any]:
    """Yield the events of a parser, whose marks count the characters of the text. Raises YAMLError."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    readable = _SURROGATE.sub("?", text)
    if loader is yaml.SafeLoader and text.lstrip()[:1] == "{":
        readable = readable.replace("\t", " ")  # which may indent JSON, but not for the parser of PyYAML where it lacks libyaml
    yield from yaml.parse(readable, Loader=loader)


def yaml_comments(text: str) -> Iterator[Span]:
    """Yield the place of every comment, none from inside a quoted or block scalar, nor any after what isn't YAML or too much of it."""
    import yaml

    position = end = depth = 0
    try:
        for count, event in enumerate(_events(text) if len(text) <= LARGEST_CONFIG else ()):
            end, kind, style = event.start_mark.index, type(event).__name__, getattr(event, "style", None)
            depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
            if count > MOST_EVENTS or depth > DEEPEST:
                break
            if style:
                begin = text.find("\n", end) + 1 if style in ("|", ">") else end
                yield from _hashes(text, position, min(begin, event.end_mark.index))
                position = end = event.end_mark.index
            elif kind == "StreamEndEvent":
                end = len(text)
    except yaml.YAMLError:
        pass  # what came before is YAML
    yield from _hashes(text, position, end)


def _hashes(text: str, start: int, end: int) -> Iterator[Span]:
    return (Span(*match.span()) for match in _COMMENT.finditer(text, start, end))


@record()
class _Open:
    """A collection whose end is still to come."""

    node: ConfigMapping | ConfigSequence
    key: tuple[str | None, Span] | None = None


@record()
class _Builder:
    """Puts the events of a parser together."""

    text: str
    roots: list[ConfigNode] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, ConfigNode] = field(default_factory=dict)

    def take(self, event: Any) -> str:
        """Add one event; return what is wrong with it, or ''."""
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            self.anchors = {}
        elif kind == "ScalarEvent":
            self._add(self._scalar(event), event.anchor)
        elif kind == "AliasEvent":
            node = self.anchors.get(event.anchor)
            if node is None:
                return f"the alias *{event.anchor} names no anchor"
            node.uses += 1
            self._add(node, None, Span(event.start_mark.index, event.end_mark.index))
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self.stack) >= DEEPEST:
                return f"nested more than {DEEPEST} levels deep"
            start = self._after_properties(event)
            span, is_flow = Span(start, start), bool(event.flow_style)
            opened = ConfigMapping([], span, is_flow) if kind == "MappingStartEvent" else ConfigSequence([], span, is_flow)
            self._add(opened, event.anchor)
            self.stack.append(_Open(opened))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            node = self.stack.pop().node
            node.span = Span(node.span.start, event.end_mark.index)
        return ""

    def _add(self, node: ConfigNode, anchor: str | None, alias: Span | None = None) -> None:
        if anchor is not None:
            self.anchors[anchor] = node
        if not self.stack:
            self.roots.append(node)
            return
        top = self.stack[-1]
        if isinstance(top.node, ConfigSequence):
            top.node.items.append(node)
        elif top.key is None:
            top.key = self._key(node, alias), alias or node.span
        else:
            top.node.pairs.append(ConfigPair(*top.key, node, alias))
            top.key = None

    def _key(self, node: ConfigNode, alias: Span | None) -> str | None:
        """Return a key as the text that programs look it up by; None for one that is not plain."""
        if not isinstance(node, ConfigScalar) or alias is not None:
            return None
        written = self.text[node.span.start : node.span.end]
        if not node.style:
            return written
        return node.value.value if isinstance(node.value, Known) and isinstance(node.value.value, str) else None

    def _scalar(self, event: Any) -> ConfigScalar:
        span = Span(self._after_properties(event), event.end_mark.index)
        style = event.style or ""
        keeps = False
        if style in ("|", ">") or (not style and span.end > span.start):
            written = self.text[span.start : span.end]
            keeps = bool(style) and "+" in written.split("\n", 1)[0].split("#")[0]
            span = span if keeps else Span(span.start, span.start + len(written.rstrip()))
        return ConfigScalar(_value(event), span, style, keeps_newlines=keeps)

    def _after_properties(self, event: Any) -> int:
        start: int = event.start_mark.index
        if event.anchor is None and event.tag is None:
            return start
        properties = _PROPERTIES.match(self.text, start)
        return min(properties.end(), event.end_mark.index) if properties is not None and hasattr(event, "style") else start


def _value(event: Any) -> Value:
    """Return what a scalar is to a program that loads the file; Unknown where a tag or a template decides."""
    text: str = event.value
    if event.tag is not None or _TEMPLATE.search(text):
        return UNKNOWN
    return Known(text) if event.style else plain_value(text)


def plain_value(text: str) -> Value:
    """Return what a plain scalar is by the rules of YAML 1.1: `no` is false, `1e-5` is text to YAML and a number to every reader."""
    import yaml

    loader = _loader()
    tag = loader.resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
    if tag == "str":
        return Known(float(text)) if _EXPONENT.fullmatch(text) else Known(text)
    if tag not in ("bool", "int", "float", "null"):
        return UNKNOWN
    try:
        return Known(getattr(loader, f"construct_yaml_{tag}")(yaml.ScalarNode(tag, text)))
    except (ValueError, OverflowError):
        return UNKNOWN


@functools.lru_cache(maxsize=1)
def _loader() -> Any:
    """Return what knows the types of YAML 1.1."""
    import yaml

    return yaml.SafeLoader("")


def nodes_of(mapping: ConfigMapping) -> Iterator[ConfigMapping]:
    """Yield a mapping and every mapping below it, each once, however often anchors repeat it."""
    seen: set[int] = set()
    waiting: list[ConfigNode] = [mapping]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or isinstance(node, ConfigScalar):
            continue
        seen.add(id(node))
        if isinstance(node, ConfigMapping):
            yield node
            waiting += [pair.node for pair in node.pairs]
        else:
            waiting += node.items

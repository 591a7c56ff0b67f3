"""What a configuration file holds: mappings of keys to values, each with its place, whoever wrote it down (YAML or JSON)."""

from __future__ import annotations

import functools
from dataclasses import field

from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.facts.values import UNKNOWN, Items, Known, Value
from mpslint.facts.values import Mapping as DictValue

MERGE = "<<"


@record(eq=False, slots=True)
class ConfigScalar:
    """One value that is no collection."""

    value: Value
    span: Span
    """The text of the value itself, without anchor and tag; empty where nothing is written."""
    style: str = ""
    """'' for plain text, else the quote or the block sign it begins with."""
    uses: int = 0
    """How many aliases name it."""
    keeps_newlines: bool = False
    """A block of text (`|+`) to which the blank lines after it belong."""

    def inside(self, text: str) -> Span:
        """Return where its text lies, without its quotes or the sign of its block."""
        if self.style in ("|", ">"):
            line_end = text.find("\n", self.span.start, self.span.end)
            return Span(line_end + 1 if line_end >= 0 else self.span.end, self.span.end)
        return Span(self.span.start + 1, self.span.end - 1) if self.style else self.span


@record(eq=False, slots=True)
class ConfigSequence:
    """A list of values."""

    items: list[ConfigNode]
    span: Span
    is_flow: bool = False
    uses: int = 0


@record(eq=False, slots=True)
class ConfigPair:
    """One key with its value, as it is written."""

    key: str | None
    """None for a key that is no plain text."""
    key_span: Span
    node: ConfigNode
    alias: Span | None = None
    """The `*name` that stands for the value."""


@record(eq=False)
class ConfigMapping:
    """Keys and values of one level of a file."""

    pairs: list[ConfigPair]
    span: Span
    is_flow: bool = False
    uses: int = 0
    is_cyclic: bool = False
    """It merges itself into itself, which no parser can do."""
    _is_resolving: bool = field(default=False, repr=False)

    @functools.cached_property
    def entries(self) -> dict[str, ConfigEntry]:
        """The value that each key has in the end: the last one of a key that is written twice, merged ones where none is written."""
        self._is_resolving = True
        found: dict[str, ConfigEntry] = {}
        for pair in self.pairs:
            if pair.key == MERGE:
                named = pair.node.items if isinstance(pair.node, ConfigSequence) else [pair.node]
                for merged in [one for one in reversed(named) if isinstance(one, ConfigMapping)]:  # the first counts most
                    if merged._is_resolving:
                        self.is_cyclic = True
                        continue
                    self.is_cyclic = merged.is_cyclic or self.is_cyclic
                    found.update({key: entry.merged_by(pair) for key, entry in merged.entries.items()})
        for pair in self.pairs:
            if pair.key is not None and pair.key != MERGE:
                found[pair.key] = _entry(pair)
        self._is_resolving = False
        return found

    def get(self, path: str) -> ConfigEntry | None:
        """Return the entry of a key, or of a dotted path of keys (`dynamo_config.dynamo_backend`), or None."""
        whole = self.entries.get(path)
        head, dot, rest = path.partition(".")
        if whole is not None or not dot:
            return whole
        entry = self.entries.get(head)
        return entry.node.get(rest) if entry is not None and isinstance(entry.node, ConfigMapping) else None

    def mapping(self, path: str) -> ConfigMapping | None:
        """Return the mapping at a path, or None when there is none."""
        entry = self.get(path)
        return entry.node if entry is not None and isinstance(entry.node, ConfigMapping) else None

    def text_at(self, path: str, text: str) -> str:
        """Return what is written at a path, without quotes; '' where nothing is."""
        entry = self.get(path)
        return text[entry.node.span.start : entry.node.span.end].strip("\"'") if entry is not None else ""

    def holder(self, path: str) -> ConfigMapping | None:
        """Return the mapping that has, or would have, the last key of a path."""
        head, dot, _ = path.rpartition(".")
        return self.mapping(head) if dot and path not in self.entries else self


ConfigNode = ConfigScalar | ConfigSequence | ConfigMapping


@record(frozen=True, slots=True, eq=False)
class ConfigEntry:
    """A key as the program that reads the file sees it: its value, where it is written, and where the value comes from."""

    key: str
    node: ConfigNode
    span: Span
    """What is written for it: key and value; the key alone where the value is a collection."""
    value_span: Span | None
    """The value, or the alias that stands for it; None where the entry itself is not written but merged."""
    origin: Span | None
    """The text that decided a plain value."""
    pair: ConfigPair
    is_merged: bool = False

    @property
    def value(self) -> Value:
        """What is known of the value."""
        node = self.node
        if isinstance(node, ConfigScalar):
            return node.value
        if isinstance(node, ConfigMapping):
            return DictValue({}, is_open=True) if node.pairs else Known(None)
        values: list[Value] = [item.value if isinstance(item, ConfigScalar) else UNKNOWN for item in node.items]
        return Items("list", dict(enumerate(values)))

    def merged_by(self, pair: ConfigPair) -> ConfigEntry:
        """Return the entry as it stands in a mapping that takes it over by `<<: *name`."""
        span = Span(pair.key_span.start, (pair.alias or pair.node.span).end)
        return ConfigEntry(self.key, self.node, span, None, self.origin, self.pair, is_merged=True)


def _entry(pair: ConfigPair) -> ConfigEntry:
    node = pair.node
    value_span = pair.alias or node.span
    is_plain = isinstance(node, ConfigScalar) and node.style not in ("|", ">")
    span = Span(pair.key_span.start, value_span.end if is_plain or pair.alias is not None else pair.key_span.end)
    origin = node.span if isinstance(node, ConfigScalar) else None
    return ConfigEntry(str(pair.key), node, span, value_span, origin, pair)


@record(frozen=True, slots=True, eq=False)
class ConfigFile:
    """A configuration file: the mapping of each of its documents, and why it could not be read, where it could not."""

    mappings: tuple[ConfigMapping, ...]
    problem: str = ""
    problem_at: int = 0

"""What a run reads out of its configuration files: values whose origin is a place in the file."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.facts.entries import ConfigMapping, ConfigNode, ConfigSequence
from mpslint.facts.values import UNKNOWN, Entry, Instance, Items, Known, Mapping, Value, weakened
from mpslint.program.walk import walk
from mpslint.project.loaded import ENDINGS, composition, find_file, first_mapping
from mpslint.project.run import Run
from mpslint.source.document import Document

if TYPE_CHECKING:
    from mpslint.program.calls import Arguments
    from mpslint.program.machine import Machine

OBJECT = "omegaconf.DictConfig"
"""What such an object is: one of the `bags` of the platform."""
PATH = ("path of", "file")
"""The slot of an opened file that holds its path."""
Tree: TypeAlias = "dict[str, Tree | tuple[str, ConfigNode]]"
"""Merged files: each key with what is below it, or with the file and the node that it has its value from."""


@record(eq=False)
class ConfigFiles:
    """The configuration files of a run."""

    run: Run
    mappings: dict[str, ConfigMapping | None] = field(default_factory=dict)

    def load(self, path: str, importer: str, is_weak: bool) -> Mapping | None:
        """Return what the file at a path holds; None for one that is no configuration file of the run."""
        found = find_file(path, importer, self.run.script)
        mapping = self._mapping(found) if found is not None else None
        if found is None or mapping is None:
            return None
        return self._value(_tree(mapping, found), is_weak)

    def compose(self, folder: str, name: str) -> Mapping | None:
        """Return the configuration that Hydra composes; the command line may say something else for every value of it."""
        files = composition(folder, name, self._text)
        if not files:
            return None
        whole: Tree = {}
        for file, package in ((one.file, one.package) for one in files):
            mapping = self._mapping(file)
            inner: Tree = _tree(mapping, file) if mapping is not None else {}
            if not package:
                inner.pop("defaults", None)
            for key in reversed(package):
                inner = {key: inner}
            _merge(whole, inner)
        return self._value(whole, is_weak=True)

    def _text(self, path: str) -> str | None:
        part = self.run.parts.get(path)
        return part.document.text if part is not None else None

    def _mapping(self, path: str) -> ConfigMapping | None:
        if path not in self.mappings:
            text = self._text(path)
            self.mappings[path] = first_mapping(text) if text is not None else None
        return self.mappings[path]

    def _value(self, tree: Tree, is_weak: bool) -> Mapping:
        result = Mapping({})
        for key, below in tree.items():
            if isinstance(below, dict):
                result.slots[key] = Entry(self._value(below, is_weak))
            else:
                value = self._of_node(below[1], below[0])
                origin = value.origin if isinstance(value, Known) else None
                result.slots[key] = Entry(weakened(value) if is_weak else value, origin)
        return result

    def _of_node(self, node: ConfigNode, path: str) -> Value:
        if isinstance(node, ConfigMapping):
            return self._value(_tree(node, path), is_weak=False)
        if isinstance(node, ConfigSequence):
            return Items("list", {index: self._of_node(item, path) for index, item in enumerate(node.items)})
        if not isinstance(node.value, Known):
            return UNKNOWN
        span = Span(node.span.start + self.run.parts[path].span.start, node.span.end + self.run.parts[path].span.start)
        return Known(node.value.value, node_at(self.run.document, span, node.value.value))


def node_at(document: Document, span: Span, value: Any) -> ast.Constant:
    """Return a node of a Document that stands for a constant which is not written as Python."""
    first, last = document.line_at(span.start), document.line_at(span.end)
    node = ast.Constant(value)
    node.lineno, node.end_lineno = first, last
    node.col_offset = _bytes(document, document.line_starts[first - 1], span.start)
    node.end_col_offset = _bytes(document, document.line_starts[last - 1], span.end)
    return node


def _bytes(document: Document, start: int, end: int) -> int:
    return len(document.text[start:end].encode("utf-8", "surrogatepass"))


def _tree(mapping: ConfigMapping, path: str) -> Tree:
    return {
        key: _tree(entry.node, path) if isinstance(entry.node, ConfigMapping) else (path, entry.node)
        for key, entry in mapping.entries.items()
    }


def _merge(whole: Tree, more: Tree) -> None:
    """Add what a file says to what those before it say."""
    for key, below in more.items():
        old = whole.get(key)
        if isinstance(old, dict) and isinstance(below, dict):
            _merge(old, below)
        else:
            whole[key] = below


def opened(m: Machine, name: str, arguments: Arguments, node: ast.Call) -> Value | None:
    """Return a file that is opened by a path that is known, or that its call writes; None for any other."""
    if m.project is None or not (arguments.positional or "file" in arguments.keywords):
        return None
    path = _path_of(m, arguments.get(0, "file") or UNKNOWN, node)
    return Instance(name, slots={PATH: path}) if path is not None else None


def read(m: Machine, name: str, arguments: Arguments, node: ast.Call) -> Value | None:
    """Return what a function that reads a configuration file gives; None where the file is not known."""
    if m.project is None or not (arguments.positional or arguments.keywords):
        return None
    first = arguments.first() or next(iter(arguments.keywords.values())).value
    path = _path_of(m, first, node)
    found = m.project.load_config(m, str(path.value), path.weak) if path is not None else None
    return as_object(found) if isinstance(found, Mapping) and name in m.platform.config_objects else found


def as_object(config: Mapping) -> Instance:
    """Return a configuration whose keys are attributes, and which is asked like a dict too."""
    below = {key: entry.value for key, entry in config.slots.items()}
    return Instance(OBJECT, slots={key: as_object(value) if isinstance(value, Mapping) else value for key, value in below.items()})


def _path_of(m: Machine, value: Value, node: ast.Call) -> Known | None:
    """Return the path that a value is, or was opened by; else the only path of a configuration file that stands in the call."""
    if isinstance(value, Known) and isinstance(value.value, str):
        return value if value.value.endswith(ENDINGS) else None
    if isinstance(value, Instance):
        own = value.slots.get(PATH)
        if isinstance(own, Known):
            return own
        if value.owner is not None and value.name.endswith((".read", ".open", ".read_text", ".__enter__")):
            return _path_of(m, value.owner, node)
        if value.name.endswith((".open", ".read_text", ".read")) and value.call is not None and value.call.receiver is not None:
            return _path_of(m, value.call.receiver, node)
    return _beside_itself(node)


def _beside_itself(node: ast.Call) -> Known | None:
    """Return the path that a call puts together from its own file's place (`os.path.join(os.path.dirname(__file__), "base.yaml")`)."""
    inner = list(walk(node))
    if not any(isinstance(one, ast.Name) and one.id == "__file__" for one in inner):
        return None
    written = [one.value for one in inner if isinstance(one, ast.Constant) and str(one.value).endswith(ENDINGS)]
    return Known(str(written[0]).lstrip("/"), node) if len(written) == 1 else None

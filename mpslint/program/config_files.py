"""What a run reads out of its configuration files: values whose origin is a place in the file."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any, TypeAlias

from mpslint.config.shell import MISSING
from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.facts.entries import ConfigMapping, ConfigNode, ConfigSequence
from mpslint.facts.joined import join_all
from mpslint.facts.values import UNKNOWN, Argument, Bound, DictEntry, Instance, Items, Known, Mapping, Value, weakened
from mpslint.program.machine import Walker
from mpslint.program.texts import as_written
from mpslint.program.walk import walk
from mpslint.project.loaded import ENDINGS, composition, find_file, first_mapping, overrides_in
from mpslint.project.run import Run
from mpslint.source.document import Document
from mpslint.tensors.arguments import CallArguments

OBJECT = "omegaconf.DictConfig"
"""What such an object is: one of the `bags` of the platform."""
PATH = ("path of", "file")
"""The slot of an opened file that holds its path."""
Tree: TypeAlias = "dict[str, Tree | Value | Template]"
"""Merged files: each key with what is below it."""
MOST_REFERENCES = 10
"""References that lead to one another."""
_REFERENCE = re.compile(r"\$\{([^${}]*)\}")
_NAMES = re.compile(r"\.*[\w-]+(?:[./][\w-]+)*")
_VARIABLE = re.compile(r"oc\.env:\s*\w+\s*,\s*(.*)")


@record(frozen=True, slots=True, eq=False)
class Template:
    """A value that refers to others (`${model.width}`)."""

    text: str
    origin: ast.AST | None


@record(eq=False)
class ConfigFiles:
    """The configuration files of a run."""

    run: Run
    mappings: dict[str, ConfigMapping | None] = field(default_factory=dict)

    def load(self, path: str, importer: str, is_weak: bool, is_resolved: bool = False) -> Mapping | None:
        """Return what the file at a path holds, its references followed or not; None for a file outside the run."""
        found = find_file(path, importer, self.run.script)
        mapping = self._mapping(found) if found is not None else None
        if found is None or mapping is None:
            return None
        tree = self._tree(mapping, found)
        return _value(tree, tree if is_resolved else {}, is_weak)

    def compose(self, folder: str, name: str, words: Sequence[Argument], is_weak: bool) -> Mapping | None:
        """Return the configuration that Hydra composes, with what some words say; where others may follow, every value may be another."""
        texts = [str(word.value.value) if isinstance(word.value, Known) else "" for word in words]
        overrides = overrides_in(texts, folder)
        folder = os.path.join(folder, overrides.folder) if overrides.folder else folder
        files = composition(folder, name, self.run.project.text, overrides)
        if not files or not all(one.file in self.run.parts for one in files):
            return None
        whole: Tree = {}
        for file, package in ((one.file, one.package) for one in files):
            mapping = self._mapping(file)
            inner: Tree = self._tree(mapping, file) if mapping is not None else {}
            inner.pop("defaults", None)
            for key in reversed(package):
                inner = {key: inner}
            _merge(whole, inner)
        for key, text, number in overrides.values:
            merge_word(whole, key, text, words[number].node)
        return _value(whole, whole, is_weak)

    def _text(self, path: str) -> str | None:
        part = self.run.parts.get(path)
        return part.document.text if part is not None else None

    def _mapping(self, path: str) -> ConfigMapping | None:
        if path not in self.mappings:
            text = self._text(path)
            self.mappings[path] = first_mapping(text, path) if text is not None else None
        return self.mappings[path]

    def _tree(self, mapping: ConfigMapping, path: str) -> Tree:
        return {
            key: self._tree(entry.node, path) if isinstance(entry.node, ConfigMapping) else self._of_node(entry.node, path)
            for key, entry in mapping.entries.items()
        }

    def _of_node(self, node: ConfigNode, path: str) -> Value | Template:
        if isinstance(node, ConfigMapping):
            return _value(self._tree(node, path), {}, is_weak=False)
        if isinstance(node, ConfigSequence):
            items = [self._of_node(item, path) for item in node.items]
            return Items("list", {index: UNKNOWN if isinstance(item, Template) else item for index, item in enumerate(items)})
        span = Span(node.span.start + self.run.parts[path].span.start, node.span.end + self.run.parts[path].span.start)
        if not isinstance(node.value, Known):
            written = self.run.document.text[span.start : span.end]
            return Template(written.strip("\"'"), node_at(self.run.document, span, None)) if "${" in written else UNKNOWN
        return Known(node.value.value, node_at(self.run.document, span, node.value.value))


def _value(tree: Tree, root: Tree, is_weak: bool, above: tuple[Tree, ...] = ()) -> Mapping:
    """Return a tree as a mapping, in which references are to the keys of `root` (to nothing where that is empty)."""
    result = Mapping({})
    for key, below in tree.items():
        if isinstance(below, dict):
            result.slots[key] = DictEntry(_value(below, root, is_weak, (*above, tree)))
            continue
        value = _referred(below, root, (*above, tree), MOST_REFERENCES) if isinstance(below, Template) else below
        if isinstance(value, dict):
            value = _value(value, {}, is_weak)
        origin = value.origin if isinstance(value, Known) else None
        result.slots[key] = DictEntry(weakened(value) if is_weak else value, origin)
    return result


def _referred(template: Template, root: Tree, scopes: tuple[Tree, ...], left: int) -> Tree | Value:
    """Return what a template comes out as: the value it refers to, or the text that its references make."""
    whole = _REFERENCE.fullmatch(template.text)
    if whole is not None:
        return _looked_up(whole[1].strip(), root, scopes, left)
    pieces: list[str] = []
    position = 0
    for match in _REFERENCE.finditer(template.text):
        found = _looked_up(match[1].strip(), root, scopes, left)
        if not isinstance(found, Known):
            return UNKNOWN
        pieces += [template.text[position : match.start()], str(found.value)]
        position = match.end()
    text = "".join([*pieces, template.text[position:]])
    return UNKNOWN if "${" in text else Known(text, template.origin)


def _looked_up(reference: str, root: Tree, scopes: tuple[Tree, ...], left: int) -> Tree | Value:
    variable = _VARIABLE.fullmatch(reference)
    if variable is not None:
        return weakened(as_written(variable[1].strip("\"' "), None))
    if not root or not left or _NAMES.fullmatch(reference) is None:
        return UNKNOWN
    dots = len(reference) - len(reference.lstrip("."))
    if dots > len(scopes):
        return UNKNOWN
    inside = scopes[: len(scopes) - dots + 1] if dots else (root,)
    found: Tree | Value | Template = inside[-1]
    for key in reference.lstrip(".").replace("/", ".").split("."):
        below = found.get(key) if isinstance(found, dict) else None
        if below is None:
            return UNKNOWN
        inside, found = (*inside, below) if isinstance(below, dict) else inside, below
    return _referred(found, root, inside, left - 1) if isinstance(found, Template) else found


def merge_word(whole: Tree, key: str, text: str, node: ast.AST | None) -> None:
    """Set the key that a word of the command line names to what it says."""
    *above, last = key.split(".")
    inner = whole
    for name in above:
        below = inner.get(name)
        if not isinstance(below, dict):
            below = inner[name] = {}
        inner = below
    inner[last] = said_by(text, node)


def said_by(text: str, node: ast.AST | None) -> Value | Template:
    """Return the value that a word sets a key to: one of several for a sweep, nothing known for a list or an expression."""
    if "${" in text:
        return Template(text, node)
    if text == MISSING or "(" in text or text[:1] in ("[", "{"):
        return UNKNOWN
    if text[:1] in ('"', "'"):
        return Known(text.strip("\"'"), node)
    return join_all([as_written(part.strip(), node) for part in text.split(",")])


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


def _merge(whole: Tree, more: Tree) -> None:
    """Add what a file says to what those before it say."""
    for key, below in more.items():
        old = whole.get(key)
        if isinstance(old, dict) and isinstance(below, dict):
            _merge(old, below)
        else:
            whole[key] = below


def opened(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return a file that is opened by a path that is known, or that its call writes; None for any other."""
    if m.project is None or not (arguments.positional or "file" in arguments.keywords):
        return None
    path = path_of(m, arguments.get(0, "file") or UNKNOWN, node)
    return Instance(name, slots={PATH: path}) if path is not None else None


def opened_by(m: Walker, method: Bound) -> Value | None:
    """Return a configuration file that a method of its path opens or reads; None for any other."""
    path = method.receiver
    is_file = isinstance(path, Known) and isinstance(path.value, str) and path.value.endswith(ENDINGS)
    return Instance(f"pathlib.Path.{method.name}", slots={PATH: path}) if is_file and m.project is not None else None


def read(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a function that reads a configuration file gives; None where the file is not known."""
    if m.project is None or not (arguments.positional or arguments.keywords):
        return None
    first = arguments.first() or next(iter(arguments.keywords.values())).value
    path = path_of(m, first, node)
    is_object = name in m.platform.config_objects or m.platform.object_arguments & arguments.keywords.keys() != set()
    found = m.project.load_config(m, str(path.value), path.weak, is_object) if path is not None else None
    return as_object(found) if isinstance(found, Mapping) and is_object else found


def is_there(m: Walker, path: Value | None, node: ast.Call) -> Value:
    """Return that a file exists, where a path means a configuration file of the run, or that it doesn't, where no Mac has it."""
    text = path.value if isinstance(path, Known) and isinstance(path.value, str) else ""
    if f"{text}/".startswith(tuple(platform_data("shell")["absent"])) and isinstance(path, Known):
        return Known(False, node, path.weak, source=ast.unparse(node.func))
    if not (m.project is not None and isinstance(path, Known) and isinstance(path.value, str) and path.value.endswith(ENDINGS)):
        return UNKNOWN
    return Known(True, node, path.weak) if m.project.load_config(m, path.value, path.weak) is not None else UNKNOWN


def as_object(config: Mapping) -> Instance:
    """Return a configuration whose keys are attributes, and which is asked like a dict too."""
    below = {key: entry.value for key, entry in config.slots.items()}
    return Instance(OBJECT, slots={key: as_object(value) if isinstance(value, Mapping) else value for key, value in below.items()})


def path_of(m: Walker, value: Value, node: ast.Call) -> Known | None:
    """Return the path that a value is, or was opened by; else the only path of a configuration file that stands in the call."""
    if isinstance(value, Known) and isinstance(value.value, str):
        return value if value.value.endswith(ENDINGS) else None
    if isinstance(value, Instance):
        own = value.slots.get(PATH)
        if isinstance(own, Known):
            return own
        if value.owner is not None and value.name.endswith((".read", ".open", ".read_text", ".__enter__")):
            return path_of(m, value.owner, node)
        if value.name.endswith((".open", ".read_text", ".read")) and value.call is not None and value.call.receiver is not None:
            return path_of(m, value.call.receiver, node)
    return _beside_itself(node)


def _beside_itself(node: ast.Call) -> Known | None:
    """Return the path that a call puts together from its own file's place (`os.path.join(os.path.dirname(__file__), "base.yaml")`)."""
    inner = list(walk(node))
    if not any(isinstance(one, ast.Name) and one.id == "__file__" for one in inner):
        return None
    written = [one.value for one in inner if isinstance(one, ast.Constant) and str(one.value).endswith(ENDINGS)]
    return Known(str(written[0]).lstrip("/"), node) if len(written) == 1 else None

"""The files that one run reads: the one that is started and what it imports of its own project, joined into one Document."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.folders import absolute, folder_of
from mpslint.core.outside import is_file
from mpslint.core.record import record
from mpslint.facts.facts import Command, Given
from mpslint.facts.values import Known
from mpslint.project.imports import Imported, imports_of, run_files_of, search_paths_of
from mpslint.project.launch import Entry, Launch, launches_in
from mpslint.project.loaded import (
    ENDINGS,
    LARGEST,
    PathTemplate,
    composed_in,
    composition,
    find_file,
    named_by,
    overrides_in,
    paths_in,
    targets_in,
    templates_in,
)
from mpslint.project.resolve import Located, locate, locate_relative, search_folders, submodule
from mpslint.source.document import Document, Kind, Part

NOT_BLANK = re.compile(r"[^\r\n]")
MOST_FILES = 60
"""Files of one run that are read; what it imports beyond is not known."""
MOST_CHARACTERS = 2_000_000
"""Characters of all the files of one run."""


def full_path(path: str) -> str:
    """Return the absolute path of a file, by which it is known in a project."""
    return os.path.normpath(os.path.join(absolute(folder_of(path)), os.path.basename(path)))


@record(frozen=True, slots=True)
class Named:
    """What the text of a Python file names of its project."""

    imports: tuple[Imported, ...]
    search_paths: tuple[str, ...]
    """What it puts on `sys.path`."""
    paths: tuple[str, ...]
    """The paths of configuration files that it writes."""
    templates: tuple[PathTemplate, ...]
    """What it puts the names of configuration files together of."""
    composed: tuple[tuple[str, str, tuple[str, ...]], ...]
    """The folder, the name and the overrides of what it has Hydra compose."""


def named_in(text: str) -> Named:
    """Return what a Python text names of its project."""
    return Named(tuple(imports_of(text)), search_paths_of(text), paths_in(text), templates_in(text), composed_in(text))


@record(eq=False)
class Project:
    """The Python files of a project, each read once. `read` returns the Document of a file, None for one that cannot be read."""

    read: Callable[[str], Document | None]
    known: frozenset[str] = frozenset()
    """Outside packages that a folder of the same name does not stand for, unless it lies beside the script."""
    documents: dict[str, Document | None] = field(default_factory=dict)
    named: dict[str, Named] = field(default_factory=dict)
    """What the text of each Python file names of its project."""
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    behind: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = field(default_factory=dict)
    """The files that a file imports, by the file and the folders that are searched."""
    launched: dict[str, tuple[Launch, ...]] = field(default_factory=dict)
    """The commands of each file that start Python files."""
    located: dict[tuple[str, int, str, tuple[str, ...]], Located | None] = field(default_factory=dict)
    trees: dict[str, Any] = field(default_factory=dict)
    """The statements of each file, once some run parsed it; they have the same lines in every run."""
    first_lines: dict[str, int] = field(default_factory=dict)
    next_line: int = 1

    def first_line(self, path: str, lines: int) -> int:
        """Return the line on which a file begins in the joined text of every run."""
        if path not in self.first_lines:
            self.first_lines[path] = self.next_line
            self.next_line += lines
        return self.first_lines[path]

    def renew(self, path: str) -> None:
        """Forget a file whose text has changed; its lines come behind those of all others from now on."""
        for known in (self.documents, self.named, self.folders, self.launched, self.trees, self.first_lines):
            known.pop(path, None)
        self.behind = {key: files for key, files in self.behind.items() if key[0] != path}

    def document(self, path: str) -> Document | None:
        """Return the Document of a file by its absolute path."""
        if path not in self.documents:
            self.documents[path] = self.read(path)
        return self.documents[path]

    def python(self, path: str) -> str:
        """Return the Python text of a file; '' for one that cannot be read."""
        document = self.document(path)
        return document.python if document is not None else ""

    def named_in(self, path: str) -> Named:
        """Return what a file names of its project."""
        if path not in self.named:
            self.named[path] = named_in(self.python(path))
        return self.named[path]

    def search_folders(self, path: str) -> tuple[str, ...]:
        """Return the folders in which the absolute imports of a script are looked for."""
        if path not in self.folders:
            self.folders[path] = search_folders(path, self.named_in(path).search_paths)
        return self.folders[path]

    def locate(self, module: str, level: int, importer: str, script: str) -> Located | None:
        """Return where an import of a file leads, in a run that begins with a script; None outside the project."""
        folders = self.search_folders(script)
        key = module, level, os.path.dirname(importer), folders
        if key not in self.located:
            found = locate_relative(module, level, importer) if level else locate(module, folders, self.known)
            if found is None and not level and importer != script:
                found = locate(module, self.search_folders(importer)[1:], self.known)
            self.located[key] = found
        return self.located[key]

    def files_behind(self, path: str, script: str) -> Iterator[str]:
        """Yield the files that a file imports, packages before what is in them."""
        for one in self.named_in(path).imports:
            parts = one.module.split(".") if one.module else [""]
            for length in range(1, len(parts) + 1):
                located = self.locate(".".join(parts[:length]), one.level, path, script)
                if located is None:
                    break
                if located.file:
                    yield located.file
                if length == len(parts):
                    inner = (submodule(located, name) for name in one.names if name != "*")
                    yield from (module.file for module in inner if module is not None and module.file)
        document = self.document(path)
        text = "" if document is None else document.text if path.endswith(".ipynb") else document.python
        for name in run_files_of(text):
            if (helper := find_file(name, path, script)) is not None:
                yield helper

    def configs_behind(self, path: str, script: str) -> Iterator[str]:
        """Yield the configuration files that a file names."""
        named = self.named_in(path)
        chosen = [name for template in named.templates for name in named_by(template, path, script)]
        for written in (*named.paths, *chosen):
            found = find_file(written, path, script)
            if found is not None and self.text(found) is not None:
                yield found

    def composed_behind(self, path: str, words: Sequence[str]) -> Iterator[str]:
        """Yield the configuration files that Hydra composes for a file, which is started with some words."""
        for below, name, written in self.named_in(path).composed if path in self.named else ():
            folder = os.path.join(os.path.dirname(path), below)
            for one in composition(folder, name, self.text, overrides_in((*written, *words), folder)):
                yield one.file

    def called_behind(self, path: str, script: str) -> Iterator[str]:
        """Yield the modules of the project that a configuration file says to call something of."""
        for target in targets_in(self.text(path) or ""):
            module = target.rpartition(".")[0]
            for name in (module, module.rpartition(".")[0]):
                located = self.locate(name, 0, script, script) if name else None
                if located is not None and located.file:
                    yield located.file

    def text(self, path: str) -> str | None:
        """Return the text of a configuration file; None for one that cannot be read, or holds data."""
        document = self.document(path) if is_file(path) else None
        return document.text if document is not None and len(document.text) <= LARGEST else None

    def launches(self, path: str) -> tuple[Launch, ...]:
        """Return the commands of a file that start Python files of the project."""
        if path not in self.launched:
            document = self.document(path)
            self.launched[path] = launches_in(document, path) if document is not None else ()
        return self.launched[path]

    def closure(self, entry: Entry) -> tuple[str, ...]:
        """Return the files that a run reads, by their absolute paths, the script first and the nearest next."""
        script = entry.script
        found: dict[str, None] = {script: None}
        texts: list[str] = []
        if entry.launch:
            found[entry.launch] = None
            words = self.launches(entry.launch)[entry.number].given
            texts = [str(word.value.value) if isinstance(word.value, Known) else "" for word in words]
            files = (re.sub(r"\.py:\w+$", ".py", text.rpartition("=")[2]) for text in texts)
            named = (find_file(text, entry.launch, script) for text in files if text.endswith((*ENDINGS, ".py")))
            found.update(dict.fromkeys(path for path in named if path is not None and self.text(path) is not None))
        for path in (waiting := list(found)):
            key = path, self.search_folders(script)
            if key not in self.behind and path != entry.launch:
                if path.endswith(ENDINGS):
                    self.behind[key] = tuple(self.called_behind(path, script))
                else:
                    self.behind[key] = (*self.files_behind(path, script), *self.configs_behind(path, script))
            for file in (*self.behind.get(key, ()), *self.composed_behind(path, texts)):
                if file not in found and len(found) < MOST_FILES:
                    found[file] = None
                    waiting.append(file)
        return tuple(found)


@record(eq=False)
class Run:
    """One run: the Document of all its files joined, and what leads from an import to one of them."""

    project: Project
    script: str
    """The absolute path of the file that is started."""
    document: Document
    parts: dict[str, Part]
    """By absolute path."""
    launch: str = ""
    """The absolute path of the file whose command starts it, if one does."""
    command: Command | None = None
    """That command."""
    given: tuple[Given, ...] = ()
    """The words that the script gets from it."""
    is_cut: bool = False
    """It imports or reads more than a run may."""

    def locate(self, module: str, level: int, importer: str) -> Located | None:
        """Return where an import leads; None for what is no module of the run."""
        found = self.project.locate(module, level, importer, self.script)
        return found if found is not None and (not found.file or found.file in self.parts) else None

    @functools.cached_property
    def paths(self) -> dict[int, str]:
        """The absolute path of each file, by the line of the joined text on which it begins."""
        return {part.first_line: path for path, part in self.parts.items()}


def run_of(project: Project, entered: Entry) -> Run | None:
    """Return the run that an entry starts; None when its script cannot be read."""
    script = entered.script
    entry = project.document(script)
    if entry is None:
        return None
    found: dict[str, tuple[int, int, Document]] = {}
    size = 0
    closure = project.closure(entered)
    is_cut = len(closure) >= MOST_FILES
    for path in closure:
        document = project.document(path)
        is_cut = is_cut or size > MOST_CHARACTERS
        if document is not None and size <= MOST_CHARACTERS:
            lines = len(document.line_starts) - (1 if document.text.endswith("\n") else 0)
            first = 1 if document.cells and path == script else project.first_line(path, lines)
            is_launch = path == entered.launch
            read = _only_command(document, project.launches(path)[entered.number]) if is_launch else document
            found[path] = first, lines, read
            size += len(document.text)
    joined, parts = _joined(entry, script, found)
    if not entered.launch or entered.launch not in parts:
        return Run(project, script, joined, parts, is_cut=is_cut)
    launcher = project.document(entered.launch)
    assert launcher is not None
    launch = launches_in(launcher, entered.launch, parts[entered.launch].span.start)[entered.number]
    return Run(project, script, joined, parts, entered.launch, launch.command, launch.given, is_cut)


def _joined(entry: Document, script: str, found: Mapping[str, tuple[int, int, Document]]) -> tuple[Document, dict[str, Part]]:
    """Return one Document of the files of a run (by path: first line, lines, text), started as its script is, and its parts."""
    parts: dict[str, Part] = {}
    texts: list[str] = []
    pythons: list[str] = []
    start = 0
    for path, (first, lines, document) in sorted(found.items(), key=lambda item: item[1][0]):
        end = "" if document.text.endswith("\n") else "\n"
        span = Span(start, start + len(document.text) + len(end))
        parts[path] = Part(document, span, first, lines)
        texts += [document.text, end]
        pythons += [document.python or NOT_BLANK.sub(" ", document.text), end]
        start = span.end
    own: dict[str, Any] = {"text": "".join(texts), "python": "".join(pythons), "parts": tuple(parts.values()), "started": parts[script]}
    return replace(entry, scripts=(), spawned=(), write_back=None, language="", **own), parts


def _only_command(document: Document, launch: Launch) -> Document:
    """Return a file as a run reads it that one of its commands starts: of another language than the shell's only that command."""
    if document.kind is Kind.SHELL:
        return document
    text = document.text
    if document.kind is not Kind.MAKEFILE:
        pieces, end = [], 0
        for span in sorted((launch.command.span, *(given.span for given in launch.given)), key=lambda span: span.start):
            if span.end > end:
                pieces += [NOT_BLANK.sub(" ", text[end : max(end, span.start)]), text[max(end, span.start) : span.end]]
                end = span.end
        text = "".join([*pieces, NOT_BLANK.sub(" ", text[end:])])
    return replace(document, kind=Kind.SHELL, text=text, python="", scripts=(), snippets=())

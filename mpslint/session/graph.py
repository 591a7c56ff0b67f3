"""What imports and starts what among the files of a project: which runs there are, and which files each of them reads."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from mpslint.core.finding import ReadError, UsageError
from mpslint.core.grouped import grouped
from mpslint.core.outside import read_file
from mpslint.core.record import record
from mpslint.facts.values import Known
from mpslint.program.unreached import read
from mpslint.project.imports import has_main_guard, launchers_of, modules_named_in, sources_around
from mpslint.project.launch import MORE_WORDS, Entry, command_line, is_launcher, launches_in, may_launch
from mpslint.project.loaded import ENDINGS, named_by
from mpslint.project.resolve import folders_above, is_out_of, project_folder
from mpslint.project.run import Project, full_path, named_in
from mpslint.project.supposed import MOST_CONFIGS, MOST_DOCUMENTED, commands_in, config_flag, configs_for, named_options
from mpslint.session.session import Options, configuration_around, configuration_for, names_framework_in, read_bytes
from mpslint.source.document import Kind
from mpslint.source.files import STANDARD_INPUT, FoundFile
from mpslint.source.reader import kind_of

LARGEST_PROJECT_FILE = 1_000_000
"""Bytes; a larger script is checked by itself."""
CONFIGS = (".yaml", ".yml", ".json")
_WORD = re.compile(r"\w+")
MOST_NAMED = 50
"""Files that somebody named around which the rest of the project is read; where more are named, they are most of it."""
FEW_NAMES = 10
"""Names that are looked for in each text one by one, which takes less time than to split it into words."""
MOST_AROUND = 24_000_000
"""Bytes of the files around those that somebody named, the nearest first: a file may lie in a folder that is no project, such as a home."""
MOST_READ_AGAIN = 6_000_000
"""Bytes of files that runs of one group may read again, beside twice what they all read once."""


@record(eq=False)
class Graph:
    """What imports what among the files of a check."""

    options: Options
    project: Project
    checkouts: Sequence[str]
    """The folders that nothing may lead out of."""
    texts: Mapping[str, bytes] = field(default_factory=dict)
    """Texts that count for what lies on the disk, by absolute path."""
    guarded: set[str] = field(default_factory=set)
    """Scripts that ask whether they were started."""
    speaking: set[str] = field(default_factory=set)
    """Files that name something that rules are about."""
    imported: set[str] = field(default_factory=set)
    """Files that others import."""
    takes_config: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Files whose program has to be told which configuration file it reads: by which word, none where it is the first."""
    names_config: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The options of scripts that put the path of a configuration file together."""
    files: dict[str, FoundFile] = field(default_factory=dict)
    runs: dict[Entry, tuple[str, ...]] = field(default_factory=dict)
    """The files that each run reads, by what starts it."""
    sizes: dict[str, int] = field(default_factory=dict)
    left_out: dict[Entry, tuple[str, ...]] = field(default_factory=dict)
    """The files of the runs that are too much to read."""
    groups: dict[str, str] = field(default_factory=dict)
    """A file of each group stands for it: the file that stands for each file, or leads there."""

    def add_around(self, files: Sequence[FoundFile]) -> None:
        """Note the files of the project that may import, read or start those that somebody named: by the names in their texts."""
        named = [full_path(found.path) for found in files if found.is_named and found.path != STANDARD_INPUT and not found.problem]
        if not named or len(named) > MOST_NAMED:
            return
        modules = [path for path in named if path.endswith(CONFIGS) or (path.endswith(".py") and path not in self.guarded)]
        waiting = [path for path in (*launchers_of(named), *sources_around(modules)) if path not in self.files]
        texts = dict(self._texts_of(dict.fromkeys(waiting)))
        words: dict[str, frozenset[str]] = {}
        names = {name for path in named for name in _names_of(path)}
        while names:
            odd = [os.fsencode(name) for name in names if not name.isidentifier()]
            plain = [os.fsencode(name) for name in names] if len(names) <= FEW_NAMES else []
            found = []
            for path, text in texts.items():
                if plain and not any(name in text for name in plain):
                    continue
                if path not in words:
                    words[path] = _named_by(path, text)
                if not names.isdisjoint(words[path]) or any(name in text for name in odd):
                    found.append(path)
            names = {name for path in found for name in _names_of(path)}
            for path in found:
                self._note(FoundFile(path, is_named=False), path, texts.pop(path), is_asked=False)

    def _texts_of(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield files that hold something with their texts, as far as there is room for them."""
        left = MOST_AROUND
        for path in paths:
            text = self._text_of(path)
            left -= len(text)
            if left < 0:
                return
            if text:
                yield path, text

    def _text_of(self, path: str) -> bytes:
        if path in self.texts:
            return self.texts[path]
        try:
            return b"" if is_out_of(self.checkouts, path) else read_file(path, LARGEST_PROJECT_FILE)
        except ReadError:
            return b""

    def add(self, found: FoundFile) -> None:
        """Note what a file imports, by its text alone."""
        kind = kind_of(found.path) if found.path != STANDARD_INPUT and not found.problem else None
        if kind not in (Kind.PYTHON, Kind.NOTEBOOK) and not is_launcher(full_path(found.path) if kind is Kind.YAML else found.path, kind):
            return
        path = full_path(found.path)
        try:
            data = self.texts[path] if path in self.texts else read_bytes(found, self.options)
        except ReadError:
            return
        if len(data) <= LARGEST_PROJECT_FILE:
            self._note(found, path, data)

    def _note(self, found: FoundFile, path: str, data: bytes, is_asked: bool = True) -> None:
        """Note what a text imports and starts; of a text that was noted before, what it does now."""
        kind = kind_of(path)
        self.files[path] = found
        self.sizes[path] = len(data)
        configuration = (configuration_for if is_asked else configuration_around)(found.path, self.options)
        if names_framework_in(data, configuration, self.options):
            self.speaking.add(path)
        text = data.decode("utf-8", "replace")
        if kind is Kind.NOTEBOOK:
            text = text.replace('"', "\n")  # each line of a cell is a string of its own
            self.guarded.add(path)
        if may_launch(path, kind, text):
            with contextlib.suppress(ReadError):  # that is said when the file itself is checked
                self.project.launched[path] = launches_in(read(path, data), path)
        if kind not in (Kind.PYTHON, Kind.NOTEBOOK):
            return
        self.project.named[path] = named_in(text)
        if kind is Kind.PYTHON:
            if has_main_guard(text):
                self.guarded.add(path)
            if (flag := config_flag(text)) is not None:
                self.takes_config[path] = flag
            if self.project.named[path].templates:
                self.names_config[path] = named_options(text)

    def close(self) -> None:
        """Find the scripts, what each of their runs reads, and which files that ties together."""
        closures = {path: self.project.closure(Entry(path)) for path in self.files if self._may_import(path)}
        self.imported = {file for path, closure in closures.items() if not _is_test(path) for file in closure[1:]}
        for path, closure in closures.items():
            if self._is_script(path) and len(closure) > 1 and not self.speaking.isdisjoint(closure):
                self.runs[Entry(path)] = closure
        if self.options.started:
            self.runs = dict(self._typed())
        else:
            self.runs.update(self._launched())
            self.runs.update(dict(self._supposed()))
        for entry, closure in self.runs.items():
            for file in closure:
                self.groups[self._root(file)] = self._root(entry.script)
        self._keep_to_budget()

    def _launched(self) -> Iterator[tuple[Entry, tuple[str, ...]]]:
        """Yield the run of each command that starts a script which rules may be about; of commands that say the same the first."""
        said: set[tuple[str, tuple[object, ...]]] = set()
        for path in self.files:
            for number, launch in enumerate(self.project.launched.get(path, ())):
                words = tuple(word.value.value if isinstance(word.value, Known) else None for word in launch.given)
                is_again = kind_of(path) is not Kind.SHELL and (launch.script, words) in said
                if is_again or _is_test(path) or _is_test(launch.script):
                    continue
                said.add((launch.script, words))
                entry = Entry(launch.script, path, number)
                closure = self.project.closure(entry)
                is_known = launch.script in self.files  # where somebody named the launcher alone, nothing is known of what it starts
                if kind_of(path) is Kind.SHELL or not is_known or not self.speaking.isdisjoint(closure):
                    yield entry, closure

    def _typed(self) -> Iterator[tuple[Entry, tuple[str, ...]]]:
        """Yield the run of each script that was named, as the user starts it. Raises UsageError for a file that takes no words."""
        for path, found in self.files.items():
            if not found.is_named:
                continue
            if kind_of(path) is not Kind.PYTHON:
                raise UsageError(f"{found.path}: what follows -- are the options of one Python script")
            yield self._unwritten(path, self.options.started)

    def _unwritten(self, script: str, words: Sequence[str]) -> tuple[Entry, tuple[str, ...]]:
        """Return the run of a script that starts with some words, and the files that it reads."""
        entry, text = command_line(script, words)
        document = read(entry.launch, text.encode("utf-8", "surrogateescape"), Kind.SHELL)
        self.project.launched[entry.launch] = launches_in(document, entry.launch)
        return entry, self.project.closure(entry)

    def _supposed(self) -> Iterator[tuple[Entry, tuple[str, ...]]]:
        """Yield the runs of scripts that read a configuration file which nothing names, each with a file that has the keys they ask for."""
        documented = self._documented()
        for path in [path for path in self.files if path.endswith(".py")] if self.takes_config or self.names_config or documented else []:
            alone = self.project.closure(Entry(path))
            flag = next((self.takes_config[file] for file in alone if file in self.takes_config), None)
            said = documented.get(path, ())
            for words in () if _is_test(path) else said:
                yield self._unwritten(path, (*words, MORE_WORDS))
            if flag is None and path not in self.names_config:
                continue
            started = [set(files) for entry, files in self.runs.items() if entry.script == path and entry.launch]
            is_told = any(file.endswith(ENDINGS) for files in started for file in files.difference(alone))
            if is_told or _is_test(path) or not self._is_script(path):
                continue
            for option, name in self._named_configs(path) if flag is None and not (started or said) else ():
                yield self._unwritten(path, (f"--{option}", name, MORE_WORDS))
            if flag is None:
                continue
            texts = [document.python for file in alone if (document := self.project.document(file)) is not None]
            for config in configs_for(path, "\n".join(texts), self.project.text):
                yield self._unwritten(path, (*flag, os.path.relpath(config, os.path.dirname(path)), MORE_WORDS))

    def _named_configs(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield the option that names a script's configuration file, with each of the first names that there are."""
        for template in self.project.named_in(path).templates:
            option = template.chosen.rpartition(".")[2]
            if option in self.names_config[path]:
                names = [os.path.basename(file) for file in named_by(template, path, path)[:MOST_CONFIGS]]
                yield from ((option, name[len(template.beginning) : -len(template.end)]) for name in names)

    def _documented(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the words with which READMEs of the project start its scripts, by script: those that name configuration files."""
        own = dict.fromkeys(os.path.dirname(path) for path in self.files if path.endswith(".py") and not _is_test(path))
        folders = dict.fromkeys(above for folder in own for above in folders_above(folder, project_folder(folder)))
        found: dict[str, dict[tuple[str, ...], None]] = {}
        for script, words in commands_in(tuple(folders)):
            if len(known := found.setdefault(script, {})) < MOST_DOCUMENTED:
                known[words] = None
        return {script: tuple(known) for script, known in found.items()}

    def _keep_to_budget(self) -> None:
        """Leave out runs that read again and again what others of the group read: their scripts are then judged by themselves."""
        spent: dict[str, int] = {}
        seen: set[str] = set()
        launched = {entry.script for entry in self.runs if entry.launch and kind_of(entry.launch) is Kind.SHELL}
        first = set({entry.script: entry for entry in reversed(self.runs) if entry.launch}.values())

        def rank(entry: Entry) -> int:
            """Return 0 for what shell scripts start, 1 for other scripts and the first command that starts each, 2 for further ones."""
            is_further = bool(entry.launch) and kind_of(entry.launch) is not Kind.SHELL and entry not in first
            return 0 if entry.script in launched and not is_further else 1 + is_further

        self.runs = dict(sorted(self.runs.items(), key=lambda item: (rank(item[0]), len(item[1]))))
        for entry, closure in list(self.runs.items()):
            group = self._root(entry.script)
            again = sum(self.sizes.get(file, 0) for file in closure if file in seen)
            if spent.get(group, 0) + again > MOST_READ_AGAIN + 2 * sum(self.sizes.get(file, 0) for file in seen):
                self.left_out[entry] = self.runs.pop(entry)
                continue
            spent[group] = spent.get(group, 0) + again
            seen.update(closure)

    def _is_script(self, path: str) -> bool:
        return path in self.guarded or path not in self.imported

    def _may_import(self, path: str) -> bool:
        found = self.project.named.get(path)
        return found is not None and bool(found.imports or found.paths or found.templates or found.composed)

    def _root(self, path: str) -> str:
        while (above := self.groups.setdefault(path, path)) != path:
            path = above
        return path

    def group_of(self, path: str) -> str | None:
        """Return what stands for the group of a file; None for one that no run ties to another."""
        return self._root(path) if path in self.groups else None

    @functools.cached_property
    def _readers(self) -> dict[str, list[Entry]]:
        """What starts the runs that read each file."""
        return grouped((path, entry) for entry, closure in self.runs.items() for path in closure)

    def entries_around(self, paths: Iterable[str]) -> tuple[Entry, ...]:
        """Return what starts the runs that read one of some files, by their absolute paths."""
        wanted = {entry for path in paths for entry in self._readers.get(path, ())}
        return tuple(entry for entry in self.runs if entry in wanted)

    def files_around(self, path: str) -> tuple[str, ...]:
        """Return the files that the runs read which read a file."""
        return tuple(dict.fromkeys(file for entry in self._readers.get(path, ()) for file in self.runs[entry]))


def _names_of(path: str) -> Iterator[str]:
    """Yield the word by which another file imports, reads or starts a file."""
    name = os.path.basename(path)
    if name in ("__init__.py", "__main__.py"):
        name = os.path.basename(os.path.dirname(path))
    if name:
        yield name.removesuffix(".py")


def _named_by(path: str, text: bytes) -> frozenset[str]:
    """Return the words by which a text may import or start other files: of Python those of modules and scripts, else all."""
    words = text.decode("utf-8", "replace")
    kind = kind_of(path)
    if kind is Kind.NOTEBOOK:
        words = words.replace('"', "\n").replace("\\n", "\n")
    return modules_named_in(words) if kind in (Kind.PYTHON, Kind.NOTEBOOK) else frozenset(_WORD.findall(words))


def _is_test(path: str) -> bool:
    """Return whether a file tests others, so that what it imports is not started by it."""
    name = os.path.basename(path)
    return name.startswith(("test_", "conftest")) or name.endswith("_test.py")

"""The modules of the project that a run imports: each walked once, when it is first imported, as Python does."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import field

from mpslint.config.shell import read_dotenv
from mpslint.core.record import record
from mpslint.facts.facts import EnvironmentWrite
from mpslint.facts.values import UNKNOWN, Argument, Context, Frame, Known, Module, Names, Value
from mpslint.program.config_files import ConfigFiles, node_at
from mpslint.program.machine import Walker
from mpslint.program.stubs.library import is_told
from mpslint.project.loaded import find_file
from mpslint.project.resolve import Located, submodule
from mpslint.project.run import Run

MOST_NESTED = 30
"""Imports within imports that are followed."""


@record(eq=False)
class Modules:
    """What loads the modules of a run. `body_of` gives the statements of a file, numbered by the lines of the joined text."""

    run: Run
    body_of: Callable[[str], Sequence[ast.stmt]]
    loaded: dict[str, Module] = field(default_factory=dict)
    """By file, or by folder for a package without `__init__.py`."""
    depth: int = 0
    configs_read: int = 0
    """How many times a configuration file of the run was read."""

    @functools.cached_property
    def files(self) -> ConfigFiles:
        """The configuration files of the run."""
        return ConfigFiles(self.run)

    def load_config(self, m: Walker, path: str, is_weak: bool, is_resolved: bool = False) -> Value | None:
        """Return what a configuration file of the run holds; None for any other. Where the path is weak, so are the values.

        Where references (`${model.width}`) are `is_resolved`, they are followed.
        """
        found = self.files.load(path, self._importer(m), is_weak, is_resolved)
        self.configs_read += found is not None
        return found

    def load_variables(self, m: Walker, path: str) -> Sequence[EnvironmentWrite]:
        """Return the variables that a file of the run sets (`.env`); none of any other file."""
        found = self._file(m, path)
        return read_dotenv(self.run.parts[found].document.text).environment if found is not None else ()

    def compose_config(self, m: Walker, folder: str, name: str, written: Sequence[Argument] | None) -> Value | None:
        """Return the configuration that Hydra composes of a folder beside the code that is walked; None where a file is missing.

        Where the program calls for it, it gives the overrides (`written`), else the command line does.
        """
        words = written if written is not None else self.words() or ()
        is_weak = written is None and not self.is_told_all()
        return self.files.compose(os.path.join(os.path.dirname(self._importer(m)), folder), name, words, is_weak)

    @functools.cached_property
    def _words(self) -> tuple[Argument, ...]:
        document, start = self.run.document, self.run.parts[self.run.launch].span.start
        found = []
        for word in self.run.given:
            constant = word.value.value if isinstance(word.value, Known) else None
            node = node_at(document, word.span, constant) if word.span.start >= start else None
            weak = isinstance(word.value, Known) and word.value.weak
            found.append(Argument(Known(constant, node, weak) if isinstance(word.value, Known) else UNKNOWN, node, unpacked=True))
        return tuple(found)

    def words(self) -> Sequence[Argument] | None:
        """Return the words with which the script is started, behind its name; None where nothing says which."""
        return self._words if self.run.command is not None else None

    def is_told_all(self) -> bool:
        """Return whether these are all words: none is unknown (`"$@"`), unless it is the value of a flag."""
        if self.run.command is None:
            return False
        before = ""
        for word in self._words:
            if not isinstance(word.value, Known) and not (before.startswith("--") and "=" not in before):
                return False
            before = str(word.value.value) if isinstance(word.value, Known) else ""
        return True

    def body(self, m: Walker, path: str) -> Sequence[ast.stmt] | None:
        """Return the statements of a file of the run that a path means; None for a file outside the run."""
        found = self._file(m, path)
        return self.body_of(found) if found is not None else None

    def module_at(self, m: Walker, path: str) -> Module | None:
        """Return the module that a Python file of the run is, walked; None for a path that means none of its files."""
        found = self._file(m, path)
        if found is None or not found.endswith(".py"):
            return None
        return self._walked(m, Located(found, ""), os.path.basename(found).removesuffix(".py"))

    def _file(self, m: Walker, path: str) -> str | None:
        """Return the file of the run that a path means; None for any other."""
        found = find_file(path, self._importer(m), self.run.script)
        return found if found in self.run.parts else None

    def _importer(self, m: Walker) -> str:
        """Return the file whose code is walked."""
        home = m.home
        return home.path or f"{home.folder}/" if home is not None else self.run.script

    def load(self, m: Walker, name: str, level: int) -> Module | None:
        """Return the module that an import means, with the packages that it lies in; None for one outside the project."""
        importer = self._importer(m)
        if m.stubs and level == 0 and is_told(m, name):
            return None
        if not name:
            located = self.run.locate("", level, importer)
            return self._walked(m, located, ".") if located is not None else None
        located = self.run.locate(name, level, importer)
        if located is None:
            return None
        head, _, rest = name.partition(".")
        first = self.run.locate(head, level, importer)
        module = self._walked(m, first, head) if first is not None else None
        for part in rest.split(".") if rest else ():
            module = self.submodule(m, module, part) if module is not None else None
        return module if module is not None else self._walked(m, located, name)

    def submodule(self, m: Walker, module: Module, name: str) -> Module | None:
        """Return a module in a package, bound to its name there."""
        located = submodule(Located(module.path, module.folder), name)
        if located is None or (located.file and located.file not in self.run.parts):
            return None
        found = self._walked(m, located, f"{module.name}.{name}")
        module.slots.setdefault(name, found)
        return found

    def _walked(self, m: Walker, located: Located, name: str) -> Module:
        key = located.file or located.folder
        if key not in self.loaded:
            module = self.loaded[key] = Module(name, located.file, Names(), located.folder)
            if located.file and located.file != self.run.script and self.depth < MOST_NESTED:
                self._walk(m, module)
            elif located.file == self.run.script:
                module.slots = m.module.slots  # the script itself, imported again by what it imports
        return self.loaded[key]

    def _walk(self, m: Walker, module: Module) -> None:
        """Walk the code of a module apart from where it is imported: whatever path led there, it runs as a whole, and once."""
        before = m.frame, m.context, m.store.journals, m.is_silent, m.exits
        frame = Frame(module.slots, None, home=module)
        m.facts.frames.append(frame)
        m.frame, m.context, m.store.journals, m.is_silent, m.exits = frame, Context(), [], False, []
        self.depth += 1
        try:
            m.execute_block(m, self.body_of(module.path))
        finally:
            self.depth -= 1
            m.frame, m.context, m.store.journals, m.is_silent, m.exits = before

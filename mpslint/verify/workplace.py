"""Where a script is run: the folder that is copied with it, and where in it relative paths and imports begin.

Python starts a script where its user stands, which isn't known: `verify src/train.py` may mean `cd src; python train.py`,
`python src/train.py` or `python -m src.train`. A script starts beside itself; what it then lacks says from which folder above it
is meant to be started.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from mpslint.core.outside import open_beneath
from mpslint.target.pins import project_root
from mpslint.verify.confinement.room import is_too_much
from mpslint.verify.job import Lack

LARGEST_FILE = 32 * 2**20
LARGEST_COPY = 256 * 2**20
MOST_FILES = 5000
"""Files that are copied; folders with more are linked whole, and cannot be written."""
LEFT_OUT = {".git", "__pycache__", ".venv", "venv", "node_modules", ".ipynb_checkpoints", "wandb", "lightning_logs", "mlruns"}


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a script is run; all folders are those of the user."""

    script: Path
    root: Path
    """The folder that is copied."""
    folder: Path
    """Where relative paths begin: the root or a folder below it."""
    imports: tuple[Path, ...] = ()
    """Folders that modules are imported from, beside the script's own."""
    package: str = ""
    """The package that the script is a module of, for its relative imports."""

    @property
    def shown(self) -> str:
        """How reports name the script."""
        return self.script.relative_to(self.root).as_posix()

    def copied(self, path: Path, copy: Path) -> Path:
        """Return where a file or folder of the user lies in a copy of the root."""
        return copy / path.relative_to(self.root)

    @property
    def told(self) -> str:
        """How the run differs from one that starts beside the script; empty where it doesn't."""
        said = [f"started in {self.folder.name}/"] if self.folder != self.script.parent else []
        said += [f"with the modules of {folder.name}/" for folder in self.imports]
        said += [f"as `python -m {self.package}.{self.script.stem}`"] if self.package else []
        return ", ".join(said)

    def suited(self, lack: Lack) -> Workplace | None:
        """Return where a script is run that has what it lacked here; None where nothing of its project is that."""
        if lack.kind == "package":
            return self._in_package()
        if lack.kind == "module":
            return self._with_module(lack.name)
        return self._with_file(lack.name) if lack.kind == "file" and lack.name and not os.path.isabs(lack.name) else None

    def out_of_reach(self, lack: Lack) -> Path | None:
        """Return the folder that holds both the script and a file that it lacks, which lies outside of all that may be copied."""
        there = Path(os.path.normpath(self.folder / lack.name))
        is_there = lack.kind == "file" and bool(lack.name) and there.exists()
        return _common(self.script.parent, there.parent) if is_there and not there.is_relative_to(_bound(self.script)) else None

    def _with_file(self, name: str) -> Workplace | None:
        bound = _bound(self.script)
        for base in _upwards(self.script.parent, bound):
            there = Path(os.path.normpath(base / name))
            if there.exists() and there.is_relative_to(bound) and (base != self.folder or not there.is_relative_to(self.root)):
                return replace(self, root=_common(self.root, base, there if there.is_dir() else there.parent), folder=base)
        return None

    def _with_module(self, name: str) -> Workplace | None:
        top = name.partition(".")[0]
        for base in _upwards(self.script.parent, _bound(self.script)):
            if base not in (self.script.parent, *self.imports) and ((base / f"{top}.py").is_file() or (base / top).is_dir()):
                return replace(self, root=_common(self.root, base), folder=base, imports=(*self.imports, base))
        return None

    def _in_package(self) -> Workplace | None:
        """Return the workplace with one more folder above the script taken for a package, those with `__init__.py` at once."""
        bound = _bound(self.script)
        depth = len(self.package.split(".")) if self.package else 0
        above = [self.script.parent, *self.script.parent.parents]
        top = depth + 1
        while top < len(above) and (above[top - 1] / "__init__.py").is_file() and (above[top] / "__init__.py").is_file():
            top += 1
        if top >= len(above) or not above[top].is_relative_to(bound):
            return None
        base = above[top]
        package = ".".join(self.script.parent.relative_to(base).parts)
        return replace(self, root=_common(self.root, base), folder=base, imports=(base,), package=package)


def beside(script: Path) -> Workplace:
    """Return the workplace of a script that is started in its own folder."""
    path = Path(os.path.abspath(script))
    return Workplace(path, path.parent, path.parent)


def _upwards(folder: Path, bound: Path) -> Iterator[Path]:
    """Yield a folder and those above it, up to a bound."""
    for one in (folder, *folder.parents):
        yield one
        if one == bound:
            return


def _bound(script: Path) -> Path:
    """Return the outermost folder that may be copied with a script: its project's, or the one where the user stands.

    The home folder, the system's and those that everything lies in are no projects.
    """
    here = Path(os.path.abspath(Path.cwd()))
    wide = [here] if script.is_relative_to(here) and not _is_shared(here) else []
    return min([project_of(script), *wide], key=lambda one: len(one.parts))


def project_of(script: Path) -> Path:
    """Return the folder of a script's project, its own where nothing looks like one."""
    root = project_root(str(script.parent))
    return root if root is not None and not _is_shared(root) else script.parent


def _is_shared(folder: Path) -> bool:
    return is_too_much(folder) or folder.resolve() == Path(tempfile.gettempdir()).resolve()


def _common(*folders: Path) -> Path:
    return Path(os.path.commonpath(folders))


def make_copy(place: Workplace, copy: Path, rewritten: Mapping[Path, bytes] | None = None) -> Path:
    """Copy what is run, and what lies beside it as far as that is small; return the copy of the script.

    Large files, links and folders with too many files are linked, and cannot be written. `rewritten` says what files of the run hold in
    the copy instead of what they hold on disk. No link is followed, whatever changes meanwhile: a stranger may have made it.
    """
    root = place.root.resolve()
    changed = {path.resolve().relative_to(root): data for path, data in (rewritten or {}).items() if path.resolve().is_relative_to(root)}
    needed = [place.script.relative_to(place.root), *changed]
    copy.mkdir(parents=True)
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _copy_tree(opened, root, copy, needed)
    finally:
        os.close(opened)
    for inner, data in changed.items():
        (copy / inner).parent.mkdir(parents=True, exist_ok=True)
        (copy / inner).unlink(missing_ok=True)
        (copy / inner).write_bytes(data)
    copied = place.copied(place.script, copy)
    if copied.is_symlink() or not copied.exists():  # large, hidden or a link: whoever named it grants it
        copied.unlink(missing_ok=True)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place.script, copied)
    return copied


def _copy_tree(opened: int, root: Path, copy: Path, needed: Sequence[PurePath]) -> None:
    """Copy what lies in an open folder; the folders in which something `needed` lies are copied, however large they are."""
    total = count = 0
    waiting = deque([PurePath()])
    while waiting:
        inner = waiting.popleft()
        try:
            handle = open_beneath(opened, inner.parts)
        except OSError:  # no folder any more, or one that can't be read
            continue
        try:
            with os.scandir(handle) as found:
                entries = sorted((one for one in found if _is_taken(one, root / inner, copy)), key=lambda one: one.name)
            count += len(entries)
            if count > MOST_FILES and not any(one.is_relative_to(inner) for one in needed):
                count -= len(entries)
                (copy / inner).symlink_to(root / inner, target_is_directory=True)
                continue
            (copy / inner).mkdir(exist_ok=True)
            for entry in entries:
                target = copy / inner / entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(inner / entry.name)
                    continue
                size = entry.stat(follow_symlinks=False).st_size
                total += size
                if entry.is_symlink() or size > LARGEST_FILE or total > LARGEST_COPY:
                    target.symlink_to(os.path.realpath(root / inner / entry.name))
                else:
                    _copy_file(entry.name, handle, target)
        finally:
            os.close(handle)


def _copy_file(name: str, folder: int, target: Path) -> None:
    """Copy a file of an open folder; what can't be read, or is no file any more, is left out."""
    with contextlib.suppress(OSError):
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with open(source, "rb") as reading:
            if stat.S_ISREG(os.fstat(source).st_mode):
                with open(target, "xb") as writing:
                    shutil.copyfileobj(reading, writing)


def _is_taken(entry: os.DirEntry[str], folder: Path, copy: Path) -> bool:
    """Return whether an entry of a folder is for the copy: hidden and generated things, dangling links, pipes and sockets are not."""
    path = folder / entry.name
    if entry.name.startswith(".") or entry.name in LEFT_OUT or copy.is_relative_to(path):  # temporary folders may lie in the project
        return False
    return path.exists() if entry.is_symlink() else entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)

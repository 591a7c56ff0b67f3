"""What a confined script gets: the folder it may change, the files it may read, and its environment."""

from __future__ import annotations

import contextlib
import os
import re
import site
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import mpslint
from mpslint.core.knowledge import platform_data
from mpslint.core.outside import open_beneath

SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_KEY|PRIVATE|AUTH|_URL$|_DSN$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Beside:
    """What lies in a script's own folder and may be read."""

    entries: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Paths without a link, each with its device and number: what takes its place later is not granted."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Links of the folder that lead to one of them or below it, each with where it leads."""


@dataclass(frozen=True, slots=True)
class Room:
    """Where a confined command lives."""

    folder: Path
    """The only folder that it may change; its home and its temporary files are there too."""
    readable: tuple[Path, ...] = ()
    """What it may read beside Python, its packages and the system's libraries."""
    beside: Beside = field(default_factory=Beside)
    """What it may read of the project, links of which are not followed."""
    devices: tuple[Path, ...] = ()
    disk: int = 2 * 2**30
    """Bytes of the largest file that it may write."""

    @property
    def home(self) -> Path:
        """The home folder that the command sees."""
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        """Where the command's temporary files go."""
        return self.folder / "tmp"

    def build(self) -> None:
        """Make the folders."""
        for folder in (self.folder, self.home, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)


def python_folders() -> list[Path]:
    """Return the folders that Python, the packages installed for it and mpslint are read from."""
    named = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, site.getusersitepackages()]
    named += [entry for entry in sys.path if os.path.isabs(entry)]
    named += [str(Path(mpslint.__file__).parents[1]), str(Path(sys.executable).parent), str(Path(sys.executable).resolve().parent)]
    for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        named += filter(os.path.isabs, os.environ.get(name, "").split(os.pathsep))
    return _outermost(Path(entry) for entry in named if not is_too_much(Path(entry)))


def is_too_much(path: Path) -> bool:
    """Return whether a folder holds far more than packages: the root, the home folder or one above it."""
    home = Path.home().resolve()
    return path.resolve() in (home, *home.parents)


def _outermost(paths: Iterator[Path]) -> list[Path]:
    """Return the paths that are there and not inside another, as they are written and as they resolve."""
    known = {spelled for path in paths if path.exists() for spelled in (path, path.resolve())}
    return sorted(path for path in known if not any(parent in known for parent in path.parents))


def downloads() -> dict[str, Path]:
    """Return the caches of downloaded models, by the variable that names each to its library. They hold no tokens."""
    found = {"HF_HUB_CACHE": hub_cache(), "TORCH_HOME": _cache("TORCH_HOME", "torch")}
    return {name: path for name, path in found.items() if path.is_dir()}


def data_sets() -> Path:
    """Return the folder in which the `datasets` library keeps what was downloaded."""
    return Path(os.environ.get("HF_DATASETS_CACHE") or _cache("HF_HOME", "huggingface") / "datasets")


def hub_cache() -> Path:
    """Return the folder in which the libraries of Hugging Face keep the models that they downloaded, whether or not it is there."""
    given = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return Path(given or _cache("HF_HOME", "huggingface") / "hub")


def _cache(variable: str, name: str) -> Path:
    """Return the folder that a variable names, else the one of a name in the user's caches."""
    return Path(os.environ.get(variable) or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / name)


def lend_data_sets(room: Room) -> None:
    """Link the data sets of this machine where the command looks for them, each below folders that it may write its locks to."""
    cache = data_sets()
    for prepared in cache.glob("*/*/*/*/dataset_info.json"):
        link = room.temporary / "datasets" / prepared.parent.relative_to(cache)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(prepared.parent, target_is_directory=True)


def named_by(arguments: Sequence[str]) -> Iterator[Path]:
    """Yield the files and folders that a script's arguments name by absolute path: whoever typed them grants them."""
    for argument in arguments:
        for text in {argument, argument.partition("=")[2]}:
            path = Path(os.path.expanduser(text))
            if text and path.is_absolute() and path.exists() and not is_too_much(path):
                yield path


def passed_environment(more: Sequence[str] = (), *, is_ours: bool) -> dict[str, str]:
    """Return the variables of this process that a child gets: those on the list, and `more` that the user names."""
    table = platform_data("confinement")["environment"]
    names = {*table["passed"], *(table["own"] if is_ours else ())}
    passed = {
        name: value
        for name, value in os.environ.items()
        if (name in names or name.startswith(tuple(table["prefixes"]))) and not SECRET.search(name)
    }
    passed.update({name: os.environ[name] for name in more if name in os.environ})
    kept = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
    passed["PYTHONPATH"] = os.pathsep.join([str(Path(mpslint.__file__).parents[1]), *kept])
    return passed


def environment_in(room: Room, more: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment of a confined command: a short list of the variables here, and a home of its own."""
    table = platform_data("confinement")["environment"]
    places = {name: str(room.folder / place) for name, place in table["places"].items()}
    caches = {name: str(path) for name, path in downloads().items()}
    return {**passed_environment(more, is_ours=False), **table["fixed"], **places, **caches}


def look_beside(folder: Path, project: Path) -> Beside:
    """Return what lies in a script's own folder without hidden entries (.git, .env), which may hold secrets.

    The target of a link counts where it lies in the folder or in `project`, hidden entries of these excepted.
    """
    entries: dict[str, tuple[int, int]] = {}
    links: dict[str, str] = {}
    root, around = folder.resolve(), project.resolve()
    with contextlib.suppress(OSError), os.scandir(root) as found:
        for entry in sorted((one for one in found if not one.name.startswith(".")), key=lambda one: one.name):
            target = root / entry.name if not entry.is_symlink() else Path(os.path.realpath(entry.path))
            base = root if target.is_relative_to(root) else around
            identity = _identity(base, target) if not root.is_relative_to(target) else None
            if identity is None:
                continue
            if target.parent == root or base == around:
                entries[str(target)] = identity
            if entry.is_symlink():
                links[str(root / entry.name)] = str(target)
    return Beside(entries, links)


def _identity(base: Path, target: Path) -> tuple[int, int] | None:
    """Return the device and number of a file or folder below another folder; None for what is hidden there, elsewhere, or neither."""
    inner = target.relative_to(base).parts if target.is_relative_to(base) else ()
    if not inner or any(part.startswith(".") for part in inner):
        return None
    try:
        outer = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            holder = open_beneath(outer, inner[:-1])
        finally:
            os.close(outer)
        try:
            about = os.stat(inner[-1], dir_fd=holder, follow_symlinks=False)
        finally:
            os.close(holder)
    except OSError:
        return None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode) else None

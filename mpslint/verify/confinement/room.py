"""What a confined script gets: the folder it may change, the files it may read, and its environment."""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import mpslint
from mpslint.core.knowledge import platform_data
from mpslint.verify.confinement.beside import Beside

SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_KEY|PRIVATE|AUTH|_URL$|_DSN$", re.IGNORECASE)


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

"""Results that need not be worked out again: kept by the job and the versions in force, in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpslint import __version__
from mpslint.core.finding import ReadError
from mpslint.core.knowledge import rules_folder
from mpslint.core.outside import parse_json, read_text
from mpslint.core.own_folder import OwnFolder, user_caches

KEPT = 200


_KEPT_FILE = re.compile(r"(?:fits-[0-9a-f]{16}-)?[0-9a-f]{32}\.json")


@dataclass(frozen=True, slots=True)
class ResultsCache:
    """A folder of results, one file each; the oldest go when there are many."""

    folder: OwnFolder | None
    """None where this user has no folder for caches."""

    @classmethod
    def here(cls) -> ResultsCache:
        """Return the cache of this user."""
        try:
            return cls(OwnFolder(user_caches(), ("mpslint", "results")))
        except OSError:
            return cls(None)

    def has(self, prefix: str) -> bool:
        """Return whether a result is kept under a name with this beginning."""
        return self.folder is not None and self.folder.is_ours() and any(self.folder.path.glob(f"{prefix}*"))

    def read(self, name: str) -> Any:
        """Return what a file of it holds; None where there is none, or none that can be read."""
        if self.folder is not None and self.folder.is_ours():
            with contextlib.suppress(ReadError, ValueError):
                return parse_json(read_text(self.folder.path / name))
        return None

    def write(self, name: str, data: Any) -> None:
        """Write a file of it, if that can be."""
        if self.folder is None:
            return
        with contextlib.suppress(OSError):
            self.folder.write(name, json.dumps(data).encode())
            kept = [path for path in self.folder.path.iterdir() if _KEPT_FILE.fullmatch(path.name)]
            self.folder.delete([path.name for path in sorted(kept, key=lambda path: path.stat().st_mtime)[:-KEPT]])


def name_of(*parts: str) -> str:
    """Return the name of the file that keeps a result: by what it was asked for, and all that it depends on besides, in short."""
    from mpslint.verify.platform import versions  # check, which only reads results, does without

    text = "\n".join([*parts, __version__, str(versions("torch", "transformers", "accelerate", "peft", "numpy")), _knowledge()])
    return f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def _knowledge() -> str:
    """Return a digest of the tables and of the code that work the results out."""
    digest = hashlib.sha256()
    own = Path(__file__).parent
    for path in sorted([*(rules_folder() / "platform").rglob("*.yaml"), *own.parent.glob("_catalogue.py"), *own.rglob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def configuration_here(name: str) -> list[str]:
    """Return the content of a model's configuration, where it is on this machine; of one in the Hugging Face cache its commit."""
    from mpslint.verify.confinement.room import hub_cache

    commit = hub_cache() / f"models--{name.replace('/', '--')}" / "refs" / "main"
    paths = [Path(name) / "config.json", *([] if Path(name).is_absolute() else [commit])]
    return [read_text(path) for path in paths if path.is_file()]

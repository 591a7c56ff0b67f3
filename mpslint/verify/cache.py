"""Results that need not be worked out again, in the user's cache folder: of jobs, and what was estimated of a file until it changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mpslint import __version__
from mpslint.core.data import from_data, to_data
from mpslint.core.finding import MpslintError, ReadError
from mpslint.core.knowledge import knowledge_digest, platform_data
from mpslint.core.outside import parse_json, read_file, read_text
from mpslint.core.own_folder import OwnFolder, kept_name, user_caches
from mpslint.estimate.step import StepWork
from mpslint.source.files import FoundFile
from mpslint.verify.outcome import Estimate

if TYPE_CHECKING:
    from mpslint.session.session import Options

Record = TypeVar("Record")
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

    def read(self, name: str, kind: type[Record]) -> Record | None:
        """Return the record that a file of it holds; None where there is none, or none of this kind that can be read."""
        if self.folder is not None and self.folder.is_ours():
            with contextlib.suppress(MpslintError, ValueError):
                return from_data(kind, parse_json(read_text(self.folder.path / name)))
        return None

    def write(self, name: str, record: Any) -> None:
        """Write a record to a file of it, if that can be."""
        if self.folder is None:
            return
        with contextlib.suppress(OSError):
            self.folder.write(name, json.dumps(to_data(record)).encode())
            kept = [path for path in self.folder.path.iterdir() if _KEPT_FILE.fullmatch(path.name)]
            self.folder.delete([path.name for path in sorted(kept, key=lambda path: path.stat().st_mtime)[:-KEPT]])


def name_of(*parts: str) -> str:
    """Return the name of the file that keeps a result: by what it was asked for, and all that it depends on besides, in short."""
    from mpslint.verify.platform import versions  # check, which only reads results, does without

    text = "\n".join([*parts, __version__, str(versions("torch", "transformers", "accelerate", "peft", "numpy")), knowledge_digest()])
    return f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def configuration_here(name: str) -> list[str]:
    """Return the content of a model's configuration, where it is on this machine; of one in the Hugging Face cache its commit."""
    from mpslint.verify.confinement.room import hub_cache

    commit = hub_cache() / f"models--{name.replace('/', '--')}" / "refs" / "main"
    paths = [Path(name) / "config.json", *([] if Path(name).is_absolute() else [commit])]
    return [read_text(path) for path in paths if path.is_file()]


@dataclass(frozen=True, slots=True)
class KnownEstimate:
    """What was estimated of the run of a file."""

    largest: int
    """The largest micro-batch of the run, as it's rewritten, that fits its Mac; 0 where none does."""
    fits: str
    """The sentence on what fits."""
    run: str
    """Which run of the file it is."""
    estimates: tuple[Estimate, ...]
    """Of the run as it's written and, where that is another run, as it's rewritten."""
    work: StepWork | None = None
    """The work of a step, where times were asked for."""
    assumptions: tuple[str, ...] = ()
    is_too_big: bool = False
    """Whether the micro-batch that the code has doesn't fit."""
    spec: str = ""
    """The digest of what its plan says; '' where its own code ran."""
    files: tuple[tuple[str, str], ...] = ()
    """The files of the run, each with the digest of what it held."""

    @property
    def said(self) -> str:
        """What fits, and first that the code's own doesn't."""
        return f"the micro-batch of {self.estimates[0].batch} doesn't fit; {self.fits}" if self.is_too_big else self.fits


def keep_estimate(found: FoundFile, session: Options, estimate: KnownEstimate) -> None:
    """Keep what was estimated for a file."""
    from mpslint.session.units import files_of_runs

    if not session.started:
        of_run = [os.path.abspath(one.path) for one in files_of_runs([replace(found, is_named=True)], session)]
        kept = replace(estimate, files=tuple((path, _digest(path)) for path in of_run))
        ResultsCache.here().write(_name(found, session), kept)


def known_estimate(found: FoundFile, session: Options) -> KnownEstimate | None:
    """Return what was kept of a file as it is now, for the same Mac and options; None where there is nothing."""
    kept = ResultsCache.here().read(_name(found, session), KnownEstimate) if not session.started else None
    with contextlib.suppress(ReadError):  # one of its files was deleted
        return kept if kept is not None and all(_digest(path) == digest for path, digest in kept.files) else None
    return None


def known_fits(paths: Sequence[str], session: Options) -> list[tuple[str, bool]]:
    """Return which micro-batches fit, of those of some files of which it's known, one line each, and whether the code's own is too big."""
    cache = ResultsCache.here()
    known = ((path, known_estimate(FoundFile(path), session)) for path in paths if cache.has(kept_name(path)))
    return [(f"{path}: {one.said}", one.is_too_big) for path, one in known if one is not None]


def _name(found: FoundFile, session: Options) -> str:
    """Return the name of the file that keeps it: by the file, the Mac and all that findings depend on."""
    from mpslint.session.cache import FileKeys  # what asks whether anything is kept loads none of these
    from mpslint.session.session import configuration_for
    from mpslint.session.targeting import base_target
    from mpslint.target.target import with_mac

    target = base_target(found.path)
    for versions in (configuration_for(found.path, session).target, session.target):
        target = with_mac(target, versions.get("memory", ""))
    memory = target.memory_gib or int(platform_data("assumptions")["memory_gb"])
    others = {name: text for name, text in session.target.items() if name not in ("memory", "chip")}
    path = os.path.abspath(found.path)
    key = FileKeys(replace(session, target=others, largest_batch=None)).of(FoundFile(path))
    return f"{kept_name(path)}{hashlib.sha256(f'{memory} {key} {path}'.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _digest(path: str) -> str:
    return hashlib.sha256(read_file(path)).hexdigest()

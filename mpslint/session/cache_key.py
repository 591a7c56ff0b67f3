"""What the findings of a file depend on beside its content: rules, Target, configuration, options, and mpslint itself."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import field
from pathlib import Path

from mpslint import __version__
from mpslint.core.folders import absolute, folder_of
from mpslint.core.knowledge import knowledge_digest, own_files
from mpslint.core.record import record
from mpslint.session.configuration import OWN, Configuration
from mpslint.session.session import Options, configuration_in, ignored_in
from mpslint.session.starters import stamp_of_starters
from mpslint.session.targeting import base_target
from mpslint.source.files import FoundFile
from mpslint.target.target import Target


@record(eq=False)
class FileKeys:
    """Gives a file's key: worked out once a folder, as configuration and Target are the same for all of it."""

    options: Options
    folders: dict[str, tuple[Configuration, str]] = field(default_factory=dict)
    digests: dict[tuple[int, int], tuple[Configuration, Target, str]] = field(default_factory=dict)
    """By the ids of the configuration and the Target, which are the same objects for a whole project; and these, so that they stay."""

    def of(self, found: FoundFile) -> str:
        """Return a digest of everything but the content. Raises UsageError when the configuration is wrong."""
        folder = folder_of(found.path)
        if folder not in self.folders:
            configuration = configuration_in(folder, self.options)
            digest = self._digest(configuration, base_target(found.path))
            self.folders[folder] = configuration, f"{digest}{stamp_of_starters(absolute(folder))}"
        configuration, digest = self.folders[folder]
        names: tuple[str, ...] = ()
        if configuration.per_file_ignores or self.options.per_file_ignores:
            names = ignored_in(found.path, configuration, self.options)
        return " ".join([digest, "named" if found.is_named else "found", found.path, *names])

    def _digest(self, configuration: Configuration, target: Target) -> str:
        options, key = self.options, (id(configuration), id(target))
        if key in self.digests:
            return self.digests[key][2]
        own = [(key, _stamp(file)) for key, folder in configuration.own_folders() for file in own_files(folder, OWN[key])]
        parts = [
            __version__, sys.version, knowledge_digest(), repr(own),
            repr((configuration.select, configuration.ignore, configuration.severity, sorted(configuration.target.items()))),
            repr((options.select, options.extend_select, options.ignore, options.severity)),
            repr((sorted(options.target.items()), sorted(options.observed.items()))),
            repr((options.largest_batch, configuration.this_mac_only)),
            repr(target),
        ]  # fmt: skip
        digest = hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        self.digests[key] = configuration, target, digest
        return digest


def _stamp(file: Path) -> tuple[str, int, int]:
    stat = file.stat()
    return str(file), stat.st_size, stat.st_mtime_ns

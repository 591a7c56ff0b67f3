"""The words of `rules/platform/tensors.yaml`: which values have traits, what moves and casts them, and what the Mac's GPU lacks."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping
from types import SimpleNamespace

from mpslint.core.knowledge import platform_data, sets_of
from mpslint.core.versions import Version, VersionRange


class Kinds(SimpleNamespace):
    """What the interpreter has to know of tensors, arrays, modules and loaders beside signatures, by the keys of that file, which explains
    each; its lists are sets here, and names are qualified."""

    @functools.cached_property
    def tensors(self) -> frozenset[str]:
        """The class of tensors."""
        return frozenset({self.tensor})

    @functools.cached_property
    def modules(self) -> frozenset[str]:
        """The class of modules."""
        return frozenset({self.module})

    def is_absent(self, device: str) -> bool:
        """Return whether a device is one that no Mac has."""
        return device.partition(":")[0] in self.absent

    def is_no_device(self, text: str) -> bool:
        """Return whether a text names no device that torch knows: a type, and an index behind a colon at most."""
        kind, colon, index = text.partition(":")
        return kind not in platform_data("device_types")["known"] or bool(colon and not index.isdecimal())

    def leaves_inputs(self, method: str, versions: Mapping[str, Version]) -> bool:
        """Return whether a method of a module runs it on inputs that it leaves where they are, in the `versions` of the packages."""
        return method in self.module_runs and VersionRange.parse(self.module_runs[method]).matches(versions)

    def dtype_named(self, name: str) -> str:
        """Return the dtype that a qualified name means (`torch.float64`), '' for none."""
        if name in self.dtypes:
            return str(self.dtypes[name])
        package, _, last = name.rpartition(".")
        return last if package in self.dtype_packages.values() and last in DTYPES else ""


@functools.lru_cache(maxsize=10_000)
def fits(name: str, patterns: frozenset[str] | tuple[str, ...]) -> bool:
    """Return whether a qualified name fits one of some patterns (`torch.nn.BatchNorm*`)."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


_SIZES = {"uint": (1, (8, 16, 32, 64)), "int": (1, (8, 16, 32, 64)), "float": (2, (16, 32, 64)), "complex": (3, (64, 128))}
DTYPES: Mapping[str, tuple[int, int]] = {
    "bool": (0, 1),
    "bfloat16": (2, 16),
    **{f"{name}{bits}": (category, bits) for name, (category, sizes) in _SIZES.items() for bits in sizes},
}
"""The category of each dtype (truth, whole, real, complex numbers), and its bits."""


@functools.lru_cache(maxsize=1)
def load_kinds() -> Kinds:
    """Return them."""
    return Kinds(**sets_of("tensors"))

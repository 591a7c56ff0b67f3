"""The words of `rules/platform/tensors.yaml`: which values have traits, what moves and casts them, and what the Mac's GPU lacks."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version, VersionRange


@record(frozen=True)
class Kinds:
    """What the interpreter has to know of tensors, arrays, modules and loaders beside signatures; names are qualified."""

    tensor: str
    module: str
    tensor_questions: frozenset[str]
    parameters: frozenset[str]
    arrays: frozenset[str]
    array: str
    array_methods: frozenset[str]
    module_bases: frozenset[str]
    module_makers: frozenset[str]
    module_methods: frozenset[str]
    default_place: str
    default_dtype: str
    default_integer: str
    gpu: str
    absent: frozenset[str]
    device_class: str
    device_argument: str
    device_maps: frozenset[str]
    always_fits: int
    lacks: frozenset[str]
    default_device_setters: frozenset[str]
    default_dtype_setters: frozenset[str]
    dtypes: dict[str, str]
    dtype_packages: dict[str, str]
    place_questions: dict[str, str]
    place_numbers: frozenset[str]
    tensor_types: dict[str, str]
    without_graph: frozenset[str]
    autocasts: frozenset[str]
    autocasts_for: frozenset[str]
    autocasts_switch: str
    default_graph_setters: frozenset[str]
    moves: dict[str, dict[str, str]]
    casts: dict[str, str]
    loaders: dict[str, dict[str, Any]]
    preparing: dict[str, list[str]]
    prepared: dict[str, list[str]]
    preparing_more: frozenset[str]
    one_length: frozenset[str]
    cpu_batches: frozenset[str]
    cpu_batches_when: dict[str, str]
    wide_batches: dict[str, Any]
    tensor_data: frozenset[str]
    data_views: frozenset[str]
    data_lists: frozenset[str]
    collates: frozenset[str]
    passing: frozenset[str]
    data_readers: frozenset[str]
    data_hooks: frozenset[str]
    data_transforms: frozenset[str]
    numbers: frozenset[str]
    plain_packages: frozenset[str]
    like_operands: frozenset[str]
    own_methods: frozenset[str]
    reads: frozenset[str]
    generator: str
    generator_argument: str
    draws: frozenset[str]
    loads_onto: dict[str, tuple[int, str]]
    module_runs: dict[str, str]
    as_calls: frozenset[str]
    registering: dict[str, int]
    adding: frozenset[str]
    wrappers: frozenset[str]
    placers: dict[str, Any]
    summaries: dict[str, str]
    placed_bases: frozenset[str]
    steps: dict[str, dict[str, Any]]
    parameter_names: frozenset[str]
    stays_on_cpu: dict[str, list[Any]]
    gives_weights: dict[str, str]
    hooks: frozenset[str]
    unfollowed_bases: frozenset[str]
    modes: dict[str, bool]
    graph_switch: str
    scalar_parts: frozenset[str]
    differentiates: frozenset[str]
    emptying: frozenset[str]
    own_moves: frozenset[str]
    views: frozenset[str]
    views_without_graph: frozenset[str]
    views_swapped: frozenset[str]
    shorter: dict[str, str]
    computes: frozenset[str]
    dimension_aliases: frozenset[str]

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
            return self.dtypes[name]
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
    rows = platform_data("tensors").items()
    said: dict[str, Any] = {key: frozenset(value) if isinstance(value, list) else value for key, value in rows}
    return Kinds(**said)

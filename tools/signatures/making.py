"""The whole way: measure each public name, add what is known by hand, and write the tables."""

from __future__ import annotations

import functools
import logging
import multiprocessing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml

from signatures import modules
from signatures.calls import operators, public_names
from signatures.concluded import signature
from signatures.examples import MAKERS, OTHERS
from signatures.written import ORDER, read, tables, text

BY_HAND = Path(__file__).with_name("by_hand.yaml")
NOT_CALLED = (
    "torch.miopen_",
    "torch.cudnn_",
    "torch.mkldnn_",
    "torch.quantized_",
    "torch.fbgemm_",
    "torch.sym_",
    "torch.batch_norm_",
    "torch.native_",
)
"""Names that are public by accident: kernels, and what tracing uses."""


@functools.cache
def by_hand() -> Mapping[str, Mapping[str, Any]]:
    """What is known without measuring, by qualified name: fields that replace the measured ones, None for those that aren't known."""
    found: dict[str, dict[str, Any]] = {}
    for group in yaml.safe_load(BY_HAND.read_text(encoding="utf-8")):
        for name, one in group["names"].items():
            found.setdefault(name, {}).update((group["says"] or {}) | (one or {}))
    return found


@functools.cache
def names() -> list[str]:
    """The names to measure."""
    found = {f"torch.Tensor.{name}" for name in ATTRIBUTES} | {
        name for name in public_names() if name in operators() or name in MAKERS or name in OTHERS or name.startswith("torch.Tensor.")
    }
    return sorted(name for name in found if not name.startswith(NOT_CALLED) and not _copies_view(name.rpartition(".")[2]))


def _copies_view(name: str) -> bool:
    """Return whether a name is that of a copying form of a view (`view_copy`), which nobody calls."""
    return name.endswith("_copy") and name != "index_copy"


ATTRIBUTES = (
    "T H mT mH real imag data shape dtype device is_cuda is_cpu is_mps is_leaf is_sparse requires_grad ndim itemsize nbytes".split()
)


def _measured(name: str) -> tuple[str, dict[str, Any]]:
    logging.disable(logging.CRITICAL)  # torch logs what its fake tensors don't take
    torch.set_num_threads(1)
    if name in modules.classes():
        return name, modules.signature(name)
    said = signature(name)
    return name, said | ({"attribute": True} if name.rpartition(".")[2] in ATTRIBUTES and name.startswith("torch.Tensor.") else {})


def measure(wanted: Iterable[str], processes: int) -> dict[str, dict[str, Any]]:
    """Return what is measured of some names."""
    if processes == 1:
        return dict(map(_measured, wanted))
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return dict(pool.imap_unordered(_measured, wanted, chunksize=8))


def complete(measured: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what the tables say: the measurements where they are clear, and what is known by hand."""
    found = {}
    for name in sorted({*measured, *by_hand()}):
        said = {**measured.get(name, {}), **by_hand().get(name, {})}
        said = {key: value for key, value in said.items() if value is not None and value != []}
        if said.get("graph") == "?":
            del said["graph"]
        if said.keys() & {"gives", "in_place", "does", "weights", "registered", "inside"}:
            found[name] = said
    return found


def make(tables_folder: Path, only: Sequence[str], processes: int) -> dict[str, str]:
    """Return the text of each table, with what some names measure in it, or all."""
    found: dict[str, dict[str, Any]] = {}
    if only:
        for file in ORDER:
            found |= read(file, yaml.safe_load((tables_folder / file).read_text(encoding="utf-8")))
    every = [*names(), *modules.classes()]
    again = complete(measure(only or every, processes))
    found |= {name: said for name, said in again.items() if name in only or not only or name not in every}
    version = ".".join(torch.__version__.split("+")[0].split(".")[:2])
    return {file: text(file, entries, version) for file, entries in tables(found).items()}

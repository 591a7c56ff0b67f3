"""What models and autocast are by default: the tables against the classes of transformers and the symbols of libtorch."""

from __future__ import annotations

import ast
import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .graphs import LIBRARY
from .tables import read
from .wheels import Wheels

_FILE = re.compile(r"transformers/(?:models/\w+/configuration_\w+|configuration_utils)\.py")
_CAST = re.compile(rb"CastPolicyE(\d)ELN3c1010DeviceTypeE13E.*?_ops(\d+)(\w+)")
"""A function that autocast puts before an operator: the policy, MPS, and the operator's name behind its length."""
_POLICIES = {"half": b"0", "float32": b"1", "widest": b"4"}


def check_configurations(platform: Path, wheels: Wheels, release: str) -> tuple[list[str], int]:
    """Return the lines to print, of parameters of `models/` and `model_families.yaml` that a class lacks, and how many have its default."""
    texts = (wheels.text("transformers", release, path) or "" for path in wheels.files("transformers", release) if _FILE.fullmatch(path))
    classes = {node.name: node for text in texts for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
    types = {_fields(name, {name: node}).get("model_type"): name for name, node in reversed(classes.items())}
    counts: Counter[bool] = Counter()
    lines: list[str] = []
    for who, name, values in _rows(platform, types):
        fields = _fields(name, classes)
        counts.update(fields[key] == value for key, value in values.items() if key in fields)
        lines += (f"{who}: {name} has no {key}" for key in values if key not in fields)
    said = f"{counts[True]} parameters of models have the defaults of their classes, {counts[False]} are set by checkpoints"
    return [*lines, said], counts[True]


def check_autocast(platform: Path, wheels: Wheels, release: str) -> tuple[list[str], int]:
    """Return the lines to print, of operators that autocast casts on MPS and `autocast.yaml` lacks, and how many it has in their group."""
    table = read(platform / "autocast.yaml")
    groups = {_POLICIES[group]: tuple(names) for group, names in table.get("mps", {}).items()}
    listed = ("_", *table.get("recurrent", ()), *(name for names in groups.values() for name in names))
    found = _CAST.findall(wheels.printable("torch", release, LIBRARY) or b"")
    casts = {(policy, name[: int(size)].decode()) for policy, size, name in found}
    lines = [f"{name}: autocast casts it; autocast.yaml lacks it" for _, name in sorted(casts) if groups and not name.startswith(listed)]
    right = sum(name in groups.get(policy, ()) for policy, name in casts)
    return [*lines, f"{right} operators that autocast casts on MPS are listed as it does"], right


def _rows(platform: Path, types: Mapping[Any, str]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield each model or family with its configuration class and the parameters that a table says of it."""
    for row in (row for path in sorted((platform / "models").glob("*.yaml")) for row in read(path).values() if "defaults" in row):
        name = types.get(row["defaults"]["model_type"], "")
        yield from ((who, name, values) for who, values in {name: row["defaults"], **row["checkpoints"]}.items())
    for row in read(platform / "model_families.yaml").get("families", ()):
        yield from ((row["family"], f"{one.removesuffix('For')}Config", row["dropout"]) for one in row.get("classes", ()))


def _fields(name: str, classes: Mapping[str, ast.ClassDef]) -> dict[str, Any]:
    """Return what a class and its bases assign by name; None for what is worked out."""
    found: dict[str, Any] = {}
    for one in [*classes[name].bases, *classes[name].body] if name in classes else ():
        if not isinstance(one, (ast.Assign, ast.AnnAssign)):
            found |= _fields(ast.unparse(one), classes) if isinstance(one, ast.expr) else {}
        elif one.value is not None:
            value = None
            with contextlib.suppress(ValueError):
                value = ast.literal_eval(one.value)
            key = ast.unparse(one.target if isinstance(one, ast.AnnAssign) else one.targets[0])
            found |= {**(value or {}), key: value} if key == "attribute_map" else {key: list(value) if isinstance(value, tuple) else value}
    return found

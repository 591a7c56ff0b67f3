"""The data set of a run as its code names it: where it lies on this machine, and which columns are tokenised."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Mapped
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mpslint.facts.values import Call, Instance, Items, Known, Mapping, Value, alternatives_of
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.verify.literal_rows import makes_rows, rows_of
from mpslint.verify.spec import DataSource

FILES = ("csv", "json", "parquet", "text")
DEPTH = 12
KEEPING = {"shuffle", "with_format", "rename_column", "rename_columns", "remove_columns", "flatten_indices", "cast_column"}
"""Methods of a data set that neither add nor drop rows."""


def data_of(plan: TrainingPlan, evidence: Evidence, model: str, own: Sequence[str] = ()) -> tuple[DataSource | None, str]:
    """Return the local data set of a run, or None with the line that says why its lengths have to be assumed.

    `own` are the columns that a trainer reads and tokenises by itself.
    """
    source, said = _place(plan, evidence)
    if source is None:
        return None, said
    column, prefix = _column(plan.calls.get("tokenizer", ()), evidence)
    path = source.path
    if not column and not own:
        return None, f"which column of {path} is tokenised is not known"
    if not column and "map" in source.steps:
        return None, f"what map() makes of {path} is not known before it runs"
    target, _ = _column(plan.calls.get("target_tokenizer", ()), evidence)
    named = plan.constant("tokenizer.name")
    tokenizer = as_written(named, evidence) if isinstance(named, str) else model
    place = beside(tokenizer, evidence)
    columns = () if column else tuple(own)
    count = len(next(iter(source.rows.values()), ())) if set(source.steps) <= KEEPING else 0
    return DataSource(
        source.kind, path, column, target, source.split, source.name, prefix, place, rows=source.rows, count=count, columns=columns
    ), ""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a training set is on this machine, and the methods that are called on it before it is trained on."""

    kind: Literal["files", "disk", "cache", "rows"]
    path: str
    split: str = "train"
    name: str = ""
    rows: Mapped[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()


def _place(plan: TrainingPlan, evidence: Evidence) -> tuple[_Place | None, str]:
    """Return where the training set is on this machine, or why it is not."""
    said = "the data set is not named in the code"
    for call, steps in _loads(plan, evidence):
        if makes_rows(call):
            made = ".".join(call.name.split(".")[-2:])
            rows = rows_of(call, evidence)
            if rows:
                return _Place("rows", made, rows=rows, steps=steps), ""
            said = f"the rows of {made} are not known before it runs"
            continue
        first = _text(call.arguments[0].value) if call.arguments else _text_of(call, "path")
        split = _text_of(call, "split").partition("[")[0] or "train"
        if not first:
            continue
        if call.name.endswith("load_from_disk"):
            if Path(beside(first, evidence)).is_dir():
                return _Place("disk", beside(first, evidence), split, steps=steps), ""
            said = f"the data set {first} is not on this machine"
        elif first in FILES:
            path = beside(_file(call), evidence)
            if Path(path).is_file():
                return _Place("files", path, split, steps=steps), ""
            said = f"the data file {path or 'that is loaded'} is not on this machine"
        elif _is_cached(first):
            name = _text(call.arguments[1].value) if len(call.arguments) > 1 else _text_of(call, "name")
            return _Place("cache", first, split, name, steps=steps), ""
        else:
            said = f"the data set {first} is not in this machine's cache"
    return None, said


def _loads(plan: TrainingPlan, evidence: Evidence) -> Iterator[tuple[Call, tuple[str, ...]]]:
    """Yield the calls that load a run's training set, with the methods called on it afterwards: those behind what the Trainer is given,
    else all of the program."""
    given = [call.keywords["train_dataset"].value for call in plan.calls.get("trainer", ()) if "train_dataset" in call.keywords]
    found = [one for value in given for one in _behind(value, DEPTH)]
    others = [call for call in evidence.facts.calls if _is_load(call)]
    # Of several sets that the code writes, only the trainer says which is trained on.
    yield from found or ((call, ()) for call in others if not makes_rows(call) or len(others) == 1)


def _behind(value: Value, depth: int, steps: tuple[str, ...] = ()) -> Iterator[tuple[Call, tuple[str, ...]]]:
    """Yield the loading calls that a data set came from, through what was done to it."""
    for one in alternatives_of(value):
        if not isinstance(one, Instance) or depth <= 0:
            continue
        if one.call is not None and _is_load(one.call):
            yield one.call, steps
            continue
        called = (one.call.name.rpartition(".")[2],) if one.call is not None else ()
        before = one.owner or (one.call.receiver if one.call is not None else None)
        if before is not None:
            yield from _behind(before, depth - 1, (*called, *steps))


def _is_load(call: Call) -> bool:
    return makes_rows(call) or call.name in (
        "datasets.load_dataset",
        "datasets.load_from_disk",
        "datasets.load.load_dataset",
        "datasets.load.load_from_disk",
    )


def _text(value: Value | None) -> str:
    return value.value if isinstance(value, Known) and isinstance(value.value, str) else ""


def _text_of(call: Call, name: str) -> str:
    argument = call.keywords.get(name)
    return _text(argument.value) if argument is not None else ""


def _file(call: Call) -> str:
    """Return the first file of `data_files`: a path, a list of them, or one a split."""
    argument = call.keywords.get("data_files")
    value = argument.value if argument is not None else None
    if isinstance(value, Mapping):
        entry = value.slots.get("train") or next(iter(value.slots.values()), None)
        value = getattr(entry, "value", None)
    if isinstance(value, Items):
        value = next(iter(value.values()), None)
    return _text(value)


def as_written(name: str, evidence: Evidence) -> str:
    """Return a name as the code has it: settings hold names in lower case, folders and the Hugging Face cache don't."""
    for call in evidence.facts.calls:
        for argument in (*call.arguments, *call.keywords.values()):
            for one in alternatives_of(argument.value):
                if isinstance(one, Known) and isinstance(one.value, str) and one.value.lower() == name:
                    return one.value
    return name


def beside(path: str, evidence: Evidence) -> str:
    """Return a path of this machine in full, from here or from beside the file that names it; any other text as it is."""
    places = (Path(path), Path(evidence.document.path).parent / path) if path else ()
    return next((str(place.resolve()) for place in places if place.exists()), path)


def _is_cached(name: str) -> bool:
    """Return whether a data set lies in the Hugging Face cache, or is a folder of its own."""
    return cached_data(name).is_dir() or Path(name).is_dir()


def cached_data(name: str) -> Path:
    """Return the folder of the Hugging Face cache in which a data set lies, if it lies there."""
    return Path(os.environ.get("HF_DATASETS_CACHE") or hugging_face() / "datasets") / name.replace("/", "___")


def cached_commit(name: str) -> Path:
    """Return the file of the Hugging Face cache that names the commit of a checkpoint, if it lies there."""
    hub = Path(os.environ.get("HF_HUB_CACHE") or hugging_face() / "hub")
    return hub / f"models--{name.replace('/', '--')}" / "refs" / "main"


def hugging_face() -> Path:
    """Return the folder in which the Hugging Face libraries keep what they downloaded."""
    return Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface")


def _column(calls: tuple[Call, ...], evidence: Evidence) -> tuple[str, str]:
    """Return the column whose text a tokenizer gets, and what is put before it; empty where that is not known."""
    for call in calls:
        node = call.node.args[0] if call.node.args else next((word.value for word in call.node.keywords if word.arg == "text_target"), None)
        if isinstance(node, ast.Name):
            node = _assigned(node.id, call, evidence) or node
        for part in ast.walk(node) if node is not None else ():
            if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, str):
                return part.slice.value, _prefix(node, call, evidence) if node is not None else ""
    return "", ""


def _assigned(name: str, call: Call, evidence: Evidence) -> ast.expr | None:
    """Return the expression that a name was last given, in the function around a call or in the module."""
    bodies = [function.body for function in reversed(call.context.functions) if isinstance(function.body, list)]
    for body in (*bodies, evidence.parsed.body):
        found: ast.expr | None = None
        for statement in body:
            for part in ast.walk(statement):
                if isinstance(part, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in part.targets):
                    found = part.value
        if found is not None:
            return found
    return None


def _prefix(node: ast.expr, call: Call, evidence: Evidence) -> str:
    """Return the constant text that is put before each sample (`prefix + document`)."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            left = _assigned(part.left.id, call, evidence) if isinstance(part.left, ast.Name) else part.left
            if isinstance(left, ast.Constant) and isinstance(left.value, str):
                return left.value
    return ""

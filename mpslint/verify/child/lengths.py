"""How long the user's own samples are, when the data set and the tokenizer are on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpslint.verify.spec import DataSource, Lengths, RunSpec

READERS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet", ".txt": "text"}


def with_own_lengths(spec: RunSpec) -> tuple[RunSpec, str]:
    """Return the run with the lengths of its own data, and where they come from; unchanged, with the reason,
    when they can't be had."""
    if spec.data is None:
        return spec, ""
    try:
        rows = open_data(spec.data)
        tokenizer = open_tokenizer(spec.data.tokenizer or spec.model)
        source, target = measure(rows, tokenizer, spec)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        said = str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__
        return spec, f"lengths are assumed: {spec.data.path} could not be read with its tokenizer ({said})"
    origin = f"{len(source)} samples of {spec.data.path}"
    count = spec.train_samples or len(rows)
    changed = replace(
        spec,
        source=replace(spec.source, observed=tuple(source), origin=origin),
        train_samples=count,
        steps=spec.steps_over(count),
    )
    if target and spec.target is not None:
        changed = replace(changed, target=replace(spec.target, observed=tuple(target), origin=origin))
    return changed, f"lengths are those of {origin}"


def open_data(data: DataSource) -> Any:
    """Return the rows of a local data set, as a `datasets.Dataset`."""
    import datasets  # type: ignore[import-untyped]

    if data.kind == "rows":
        return datasets.Dataset.from_dict(dict(data.rows))
    if data.kind == "disk":
        rows = datasets.load_from_disk(data.path)
        return rows[data.split] if isinstance(rows, datasets.DatasetDict) else rows
    if data.kind == "cache":
        return datasets.load_dataset(data.path, data.name or None, split=data.split)
    path = Path(data.path)
    if not path.exists():
        raise ValueError(f"there is no {path}")
    if path.suffix not in READERS:
        raise ValueError(f"{path.suffix or path} isn't a supported file format; supported: {', '.join(READERS)}")
    return datasets.load_dataset(READERS[path.suffix], data_files=str(path), split="train")


def open_tokenizer(name: str) -> Any:
    """Return a tokenizer that is on this machine."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(name, local_files_only=True)


def measure(rows: Any, tokenizer: Any, spec: RunSpec) -> tuple[list[int], list[int]]:
    """Return the lengths of the first samples, cut as the run cuts them; no targets where the run has none."""
    assert spec.data is not None
    first = rows.select(range(min(len(rows), spec.data.most)))
    if spec.data.columns:
        return lengths(tokenizer, own_texts(first, tokenizer, spec.data.columns), spec.source), []
    source = lengths(tokenizer, (spec.data.prefix + str(text) for text in first[spec.data.column]), spec.source)
    if not spec.data.target_column or spec.target is None:
        return source, []
    return source, lengths(tokenizer, map(str, first[spec.data.target_column]), spec.target)


def own_texts(rows: Any, tokenizer: Any, columns: Iterable[str]) -> list[str]:
    """Return the texts that a trainer reads by itself: of the first of some columns that is there, chats in the tokenizer's template."""
    names = next((names for column in columns if set(names := column.split("+")) <= set(rows.column_names)), None)
    if names is None:
        raise ValueError(f"none of the columns {', '.join(rows.column_names)} is one that the trainer reads")
    return ["".join(_text(row[name], tokenizer) for name in names) for row in rows]


def _text(value: Any, tokenizer: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    if getattr(tokenizer, "chat_template", None):
        return str(tokenizer.apply_chat_template(value, tokenize=False))
    return "\n".join(str(turn.get("content", "")) for turn in value)


def lengths(tokenizer: Any, texts: Iterable[str], limits: Lengths) -> list[int]:
    """Return how many tokens each text has, cut at the limit."""
    ids = tokenizer(list(texts), truncation=True, max_length=limits.limit)["input_ids"]
    return [len(sample) for sample in ids]

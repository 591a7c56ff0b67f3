"""Data sets of the Hugging Face Hub that foreign code loads and this machine doesn't have.

Drawn rows take their place: real data sets of the library, with the columns that the set is known to have or that the code reads, and
with texts whose words are tokens. Rows repeat up to the size of the set, and what the code makes of them is made of each row once.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.verify.child.refusals import OFFLINE
from mpslint.verify.child.replaced import replaces
from mpslint.verify.child.torch_patches import Shortened

WORDS = ("the", "time", "of", "day", "is", "good", "for", "all", "who", "work", "with", "us", "and", "then", "go", "home")
"""Words that are one token each to any tokenizer."""
IMAGE, SAMPLING_RATE, SECONDS = (224, 224), 16_000, 8


def draw_missing_sets(module: ModuleType, shortened: Shortened, code: Iterable[str], scale: float) -> None:
    """Have `datasets.load_dataset` draw what can't be loaded here; `scale` multiplies lengths that are only assumed."""
    read = tuple(columns_read(code))

    @replaces(module, "load_dataset")
    def load(original: Any, path: Any, name: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(path, name, *args, **kwargs)
        except Exception as error:
            if type(error).__name__ not in OFFLINE or kwargs.get("data_files") or Path(str(path)).exists():
                raise
        made = _Drawing(str(path), str(name or ""), read, shortened, scale).splits(module)
        split = kwargs.get("split")
        found = made if split is None else [_part(made, str(one)) for one in split] if isinstance(split, list) else _part(made, str(split))
        return _streamed(found, module) if kwargs.get("streaming") else found

    library: Any = module
    library.load.load_dataset = load
    for name in ("map", "filter"):
        _once_a_row(module.Dataset, name)


def _part(made: Any, split: str) -> Any:
    """Return the rows of `train`, `train[:1000]`, `train[10%:]` or `train+test`."""
    from datasets import concatenate_datasets  # type: ignore[import-untyped]

    parts = []
    for one in split.split("+"):
        name, _, cut = one.partition("[")
        rows = made[name.strip()]
        if cut:
            ends = [_place(text, len(rows)) for text in cut.rstrip("] ").split(":")]
            rows = rows.select(range(len(rows))[slice(*ends)])
        parts.append(rows)
    return parts[0] if len(parts) == 1 else concatenate_datasets(parts)


def _place(text: str, count: int) -> int | None:
    """Return the row that `1000` or `10%` means; None where a slice has no such end."""
    text = text.strip()
    return None if not text else int(float(text[:-1]) * count / 100) if text.endswith("%") else int(text)


def _streamed(found: Any, module: ModuleType) -> Any:
    if isinstance(found, module.Dataset):
        return found.to_iterable_dataset()
    return module.IterableDatasetDict({name: rows.to_iterable_dataset() for name, rows in found.items()})


class _Drawing:
    """One data set that is drawn."""

    def __init__(self, path: str, name: str, read: tuple[str, ...], shortened: Shortened, scale: float) -> None:
        self.table = platform_data("drawn_rows")
        own = path.rsplit("/", 1)[-1].lower()
        sets = self.table["sets"]
        entry = sets.get(f"{own}/{name}") or sets.get(own) or {}
        self.sizes, self.config, self.scale = entry.get("size", {}), name, scale
        kinds = {column: kind for kind, columns in self.table["names"].items() for column in columns}
        self.columns = entry.get("columns") or {column: kinds.get(column, "text") for column in read or self.table["usual"]}
        usual = self.table["lengths"]
        is_known = all(kind not in usual for kind in self.columns.values() if isinstance(kind, str))
        shortened.has_assumed_lengths |= not is_known
        if not entry:
            shortened.guessed = path
        self.shortened = shortened
        assumed = f"texts have about {round(usual['text']['median'] * scale)} tokens, which is assumed"
        columns = f"its columns ({', '.join(self.columns)})" if entry else f"the columns that the code reads ({', '.join(self.columns)})"
        lengths = "texts are as long as its own" if is_known else assumed
        shortened.note(f"the data set {path!r} isn't on this machine: drawn rows with {columns} replace it; {lengths}")

    def splits(self, module: ModuleType) -> Any:
        """Return the set with its splits; one that is asked for and not known is drawn then."""
        drawn = self

        class Drawn(module.DatasetDict):  # type: ignore[name-defined, misc]
            def __missing__(self, split: str) -> Any:
                self[split] = drawn.rows(module, split)
                return self[split]

        Drawn.__name__ = Drawn.__qualname__ = "DatasetDict"
        return Drawn({split: self.rows(module, split) for split in self.sizes or self.table["splits"]})

    def rows(self, module: ModuleType, split: str) -> Any:
        """Return the rows of a split, as many as it has or at most may have here."""
        whole = self.sizes.get(split, 0)
        size = min(whole or self.table["size"], self.table["most"])
        count = min(self.table["rows"]["train" if split == "train" else "other"], size)
        if split == "train":
            self.shortened.times = whole / size if whole else 0.0
        draw = random.Random(f"{split} {sorted(self.columns)}")
        words = [self._length("short", draw) for _ in range(count)]
        columns = {name: [self._value(kind, draw, words[row], row) for row in range(count)] for name, kind in self.columns.items()}
        features = {name: kind for name, one in self.columns.items() if (kind := self._feature(one, module)) is not None}
        made = module.Dataset.from_dict(columns)
        for name, feature in features.items():
            made = made.cast_column(name, feature)
        return made.select([row % count for row in range(size)])

    def _length(self, kind: Any, draw: random.Random) -> int:
        """Return how many tokens a text has: as many as its set says, else what is assumed of a text or a short one."""
        if isinstance(kind, Mapping):
            return max(1, round(float(kind["text"]) * draw.lognormvariate(0.0, kind["sigma"])))
        usual = self.table["lengths"][kind]
        return max(1, round(float(usual["median"]) * self.scale * draw.lognormvariate(0.0, usual["sigma"])))

    def _text(self, count: int, draw: random.Random) -> str:
        start = draw.randrange(len(WORDS))
        return " ".join(WORDS[(start + place) % len(WORDS)] for place in range(count))

    def _value(self, kind: Any, draw: random.Random, words: int, row: int) -> Any:
        numbers = kind if isinstance(kind, Mapping) else {}
        match kind if isinstance(kind, str) else next(iter(kind)):
            case "class":
                return row % int(numbers.get("class", self.table["classes"]))
            case "words":
                return self._text(words, draw).split()
            case "tags":
                return [place % numbers.get("tags", self.table["classes"]) for place in range(words)]
            case "chat":
                return [{"role": role, "content": self._text(self._length("text", draw), draw)} for role in ("user", "assistant")]
            case "pair":
                languages = [one for one in self.config.split("-") if one] or ["en", "fr"]
                return {language: self._text(self._length("short", draw), draw) for language in languages[:2]}
            case "answers":
                return {"text": [WORDS[0]], "answer_start": [0]}
            case "number":
                return row
            case "image":
                from PIL import Image  # type: ignore[import-not-found, unused-ignore]

                return Image.new("RGB", IMAGE, (row % 256, 0, 0))
            case "audio":
                return {"array": [0.0] * (SAMPLING_RATE * SECONDS), "sampling_rate": SAMPLING_RATE, "path": ""}
        return self._text(self._length(kind, draw), draw)

    def _feature(self, kind: Any, module: ModuleType) -> Any:
        """Return the type of a column whose values don't say it: classes have names."""
        name = kind if isinstance(kind, str) else next(iter(kind))
        if name not in ("class", "tags"):
            return None
        count = int(kind[name] if isinstance(kind, Mapping) else self.table["classes"])
        label = module.ClassLabel(names=[f"class {number}" for number in range(count)])
        return label if name == "class" else module.Sequence(label)


def _once_a_row(kind: Any, name: str) -> None:
    """Have a method transform rows that repeat once, and repeat what comes of them."""

    @replaces(kind, name)
    def transform(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        places = self._indices.column(0).to_pylist() if getattr(self, "_indices", None) is not None else []
        different = list(dict.fromkeys(places))
        if not places or len(different) * 2 > len(places):
            return original(self, *args, **kwargs)
        first = {place: number for number, place in reversed(list(enumerate(places)))}
        few = self.select([first[place] for place in different])
        number = {place: row for row, place in enumerate(different)}
        if name == "filter":
            marked = few.add_column("_mpslint_row", list(range(len(few))))
            kept = set(original(marked, *args, **kwargs)["_mpslint_row"])
            return self.select([row for row, place in enumerate(places) if number[place] in kept])
        made = original(few, *args, **kwargs)
        if len(made) == len(few):
            return made.select([number[place] for place in places])
        return made.select([row % len(made) for row in range(len(made) * len(places) // len(few))]) if len(made) else made


def columns_read(code: Iterable[str]) -> Iterator[str]:
    """Yield the names by which code reads parts of things and never writes them (`examples["document"]`), those that it gives to methods of
    data sets, and those that its model needs: columns, among others."""
    table = platform_data("drawn_rows")
    read: dict[str, None] = {}
    written = {*table["splits"], *table["made"]}
    for text in code:
        read.update(dict.fromkeys(column for part, column in table["implied"].items() if part in text))
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                if isinstance(node.ctx, ast.Load):
                    read.setdefault(node.slice.value)
                else:
                    written.add(node.slice.value)
            elif isinstance(node, ast.Dict):
                written.update(key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in table["methods"]:
                given = [*node.args, *(word.value for word in node.keywords)]
                first = given[:1] if node.func.attr.startswith("rename") else given
                read.update(dict.fromkeys(text for one in first for text in _texts(one)))
    yield from (name for name in read if name not in written and name.isidentifier())


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the constant texts of an argument: its own, or those of a list or of the keys of a dict."""
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else node.keys if isinstance(node, ast.Dict) else [node]
    yield from (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def parsed(text: str) -> ast.AST:
    """Return the syntax tree of code; an empty one of what is no Python, such as a cell with magics."""
    try:
        return ast.parse(text)
    except SyntaxError:  # said where it is run
        return ast.Module([], [])

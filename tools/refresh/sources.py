"""The sources that a program can open: a file of a package's releases, and the names that are in it, or are not.

A source is checked where it says a path and versions: `transformers/training_args.py, 4.41 to 5.23 (eval_strategy)`,
`torch/_inductor/codegen/mps.py, absent in 2.6, 2.7 to 2.15`, `bitsandbytes 0.49.2 and 0.50.2, backends/mps/ops.py (gemv_4bit)`,
`torch/lib/libtorch_cpu.dylib, 2.2 ("Conv3D is not supported on MPS"), absent in 2.3`. The first and the last version that it names are
opened. Names are those in parentheses, where there is nothing but names, or one text between quotes. A semicolon separates claims.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .tables import parsed
from .wheels import LimitReached, Wheels, release_of

_PATH = re.compile(r"(?<![\w/.])[A-Za-z_]\w*(?:/[\w.]+)*\.(?:py|h|hpp|json|yaml|dylib)\b")
_VERSION = re.compile(r"(?<![\w./#-])\d+(?:\.\d+)+\b(?!/)")
_ABSENT = re.compile(r"absent (?:in|before) (\d+(?:\.\d+)+)")
_NAMES = re.compile(r"\(([\w.]+(?:(?:, | and )[\w.]+)*)\)")
_QUOTED = re.compile(r'\("([^"]+)"\)')
_COMMENT = re.compile(r"(?m)^[ \t]*# (?:[^\n]*\n[ \t]*# )*[^\n]*")
"""A comment of a table, of one line or several."""
_FOLDERS = {"ATen": ("torch", "include/ATen"), "c10": ("torch", "include/c10")}
"""Folders of headers, which the wheels of torch hold below `include`."""


@dataclass(frozen=True)
class Claim:
    """What a source says that a program can look up."""

    package: str
    path: str
    versions: tuple[str, ...]
    names: tuple[str, ...]
    absent: str | None = None
    """A version in which the file, or one of the names, is not there."""


@dataclass(frozen=True)
class Verdict:
    """A source, the rule that gives it, and what its wheels say: proved, refuted, unread or not checkable."""

    rule: str
    source: str
    word: str
    reason: str = ""


def claim(source: str, packages: Iterable[str]) -> Claim | None:
    """Return what a source claims of one file of one package; None for one that only a person can read."""
    known = set(packages)
    absent = _ABSENT.search(source)
    quoted = _QUOTED.findall(source)
    rest = _QUOTED.sub("", _ABSENT.sub("", source))
    paths = _PATH.findall(rest)
    plain = re.sub(r"\([^)]*\)", "", rest)
    versions = tuple(_VERSION.findall(_PATH.sub("", plain)))
    if not paths or not versions or "://" in source:
        return None
    folder, _, below = paths[0].partition("/")
    package, inside = _FOLDERS.get(folder, (folder.replace("_", "-"), folder))
    path = f"{inside}/{below}" if below else paths[0]
    path = path.removeprefix("torch/") if path.endswith(".h") else path
    if package not in known:
        said = re.match(r"([a-z][\w-]*) \d", source)
        package = said.group(1) if said is not None else ""
    if package not in known:
        return None
    listed = _NAMES.findall(rest) if len(paths) == 1 else []
    names = tuple(dict.fromkeys([*quoted, *(name.split(".")[-1] for one in listed for name in re.split(r", | and ", one))]))
    return Claim(package, path, tuple(dict.fromkeys((versions[0], versions[-1]))), names, absent.group(1) if absent is not None else None)


def judged(one: Claim, wheels: Wheels, releases: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Return (word, reason) of a claim."""
    for version in (*one.versions, *([one.absent] if one.absent is not None else [])):
        release = release_of(version, releases.get(one.package, ()))
        if release is None or not wheels.has(one.package, release):
            return "unread", f"no wheel of {one.package} {version}"
        lacking = _lacking(one, wheels, release)
        if bool(lacking) != (version == one.absent):
            return "refuted", f"{one.package} {release}: {lacking}" if lacking else f"{one.package} {release} has it"
    return "proved", ""


def _lacking(one: Claim, wheels: Wheels, release: str) -> str:
    """Return what of a claim a release lacks: the file, or a name in it; '' where all is there."""
    data = wheels.printable(one.package, release, one.path)
    if data is None:
        return f"{one.path} is not there"
    # The symbols of a library have the names of functions inside them.
    edges = (b"", b"") if one.path.endswith(".dylib") else (rb"(?<!\w)", rb"(?!\w)")
    missing = [name for name in one.names if not re.search(re.escape(name.encode()).join(edges), data)]
    return f"{', '.join(missing)} not in {one.path}" if missing else ""


def sources_of(rules: Path) -> Iterator[tuple[str, str]]:
    """Yield (rule or table, source) of each rule, and of the tables that are kept by hand: what their rows and their comments give."""
    for path in sorted(rules.glob("*/MPS*.yaml")):
        yield from ((path.name.split("-")[0], str(source)) for source in parsed(path.read_text(encoding="utf-8")).get("sources", ()))
    for path in sorted((rules / "platform").rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        yield from ((path.stem, source) for source in _given(parsed(text)))
        comments = (re.sub(r"\n\s*# ?", " ", found) for found in _COMMENT.findall(text))
        parts = (one for comment in comments for one in re.split(r"[()]|\.\s", comment))
        yield from ((path.stem, one) for one in parts if _PATH.search(one) and _VERSION.search(one))


def _given(value: Any) -> Iterator[str]:
    """Yield what a table gives under `source` and `sources`."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            listed = one if isinstance(one, list) else [one]
            is_source = key in ("source", "sources") and all(isinstance(said, str) for said in listed)
            yield from listed if is_source else _given(one)
    elif isinstance(value, list):
        for one in value:
            yield from _given(one)


def check_sources(rules: Path, wheels: Wheels, releases: Mapping[str, Sequence[str]]) -> list[Verdict]:
    """Return a verdict on each claim of each rule's sources; those beyond the limit of downloads are unread."""
    found: list[Verdict] = []
    for rule, source in sources_of(rules):
        claims = [one for part in source.split("; ") if (one := claim(part, releases)) is not None]
        if not claims:
            found.append(Verdict(rule, source, "not checkable"))
        for one in claims:
            try:
                found.append(Verdict(rule, source, *judged(one, wheels, releases)))
            except LimitReached as error:
                found.append(Verdict(rule, source, "unread", f"{error} is beyond the limit of downloads"))
    return found


def opened_of(value: Any, proved: Collection[str]) -> tuple[int, int]:
    """Return how many entries (values that are no list and no mapping) a table has, and how many of them stand in rows that are opened.

    Such a row gives a source that is proved, or operators, which another table has from the wheels.
    """
    if isinstance(value, Mapping):
        inner = [opened_of(one, proved) for one in value.values()]
        given = value.get("source", value.get("sources", ()))
        is_opened = "op" in value or any(one in proved for one in ([given] if isinstance(given, str) else given))
    else:
        inner, is_opened = [opened_of(one, proved) for one in value] if isinstance(value, list) else [], False
    entries = sum(number for number, _ in inner) or 1
    return entries, entries if is_opened else sum(opened for _, opened in inner)


def share_of(platform: Path, verdicts: Iterable[Verdict], rebuilt: Collection[str], compared: int) -> str:
    """Say which part of the tables' entries is rebuilt, which stands in rows that are opened, and which was compared with classes."""
    listed = list(verdicts)
    refuted = {one.source for one in listed if one.word != "proved"}
    proved = {one.source for one in listed} - refuted
    counts = {path: opened_of(parsed(path.read_text(encoding="utf-8")), proved) for path in platform.rglob("*.yaml")}
    entries = sum(number for number, _ in counts.values())
    whole = sum(number for path, (number, _) in counts.items() if path.stem in rebuilt)
    opened = sum(number for path, (_, number) in counts.items() if path.stem not in rebuilt)
    parts = (f"{whole / entries:.1%} rebuilt", f"{opened / entries:.1%} in rows that are opened", f"{compared / entries:.1%} compared")
    return f"{entries} entries in the tables: {', '.join(parts)}"


def said_of(verdicts: Iterable[Verdict]) -> list[str]:
    """Return the lines to print: a count, and each source that its wheels refute or that could not be read."""
    listed = list(verdicts)
    counts = Counter(one.word for one in listed)
    lines = [", ".join(f"{counts[word]} {word}" for word in ("proved", "refuted", "unread", "not checkable"))]
    lines += [f"{one.rule}: {one.source}: {one.word}: {one.reason}" for one in listed if one.word in ("refuted", "unread")]
    return lines

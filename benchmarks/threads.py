"""Threads of 2025 and 2026 about MPS: which of them `check` tells from the smallest script, or `diagnose` from the error text.

    python benchmarks/threads.py    the share that is told, by repository, and each thread that is not told

`benchmarks/threads.yaml` holds the threads: where each is, what it says in our words, the versions in question, a script of ours that
does the same (`code`) or the error text (`text`), the rule or message that tells it (`told`) to someone who asks without options, or why
a static look can't know it (`unknowable`: it needs values, strides, shapes or element types that only a run has).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

LIST = Path(__file__).with_suffix(".yaml")


@dataclass(frozen=True)
class Thread:
    """One thread, and what is said of it."""

    where: str
    says: str
    target: Mapping[str, str]
    code: str
    text: str
    told: tuple[str, ...]
    """The rules or messages of which at least one must tell it."""
    unknowable: str


def threads(path: Path = LIST) -> list[Thread]:
    """Return the threads of a list."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [
        Thread(
            row["thread"],
            row["says"],
            {name: str(version) for name, version in row.get("target", {}).items()},
            data["preamble"] + row["code"] if "code" in row else "",
            row.get("text", ""),
            tuple(str(row.get("told", "")).split()),
            row.get("unknowable", ""),
        )
        for row in data["threads"]
    ]


def told_by(thread: Thread) -> frozenset[str]:
    """Return the rules that `check` finds in the script of a thread, and the messages that `diagnose` finds in its text."""
    import mpslint
    from mpslint.diagnose import diagnose
    from mpslint.diagnose.log import Log

    rules = {one.rule for one in mpslint.check(thread.code, target=thread.target).findings} if thread.code else set()
    messages = {one.message.id for one in diagnose(Log("pasted", thread.text)).symptoms} if thread.text else set()
    return frozenset(rules | messages)


def is_told(thread: Thread) -> bool:
    """Return whether one of the rules or messages that are about a thread tells it."""
    return bool(set(thread.told) & told_by(thread))


def report(listed: Sequence[Thread]) -> Iterator[str]:
    """Yield the lines of the report."""
    knowable = [thread for thread in listed if not thread.unknowable]
    told = [thread for thread in knowable if is_told(thread)]
    yield f"{len(listed)} threads; a static look can know {len(knowable)}; told: {len(told)} ({100 * len(told) / len(knowable):.0f} %)"
    repositories = Counter(thread.where.split("#")[0] for thread in knowable)
    for repository, count in repositories.most_common():
        share = sum(thread.where.startswith(f"{repository}#") for thread in told)
        yield f"  {repository}: {share} of {count}"
    for thread in knowable:
        if thread not in told:
            yield f"not told: {thread.where}: {thread.says}"


if __name__ == "__main__":
    print(*report(threads()), sep="\n")

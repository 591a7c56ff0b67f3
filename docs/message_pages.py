"""The pages about error texts that `mpslint diagnose` knows: a search for the text of an error finds what it means and what to do."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mpslint.core.knowledge import knowledge_files, read_yaml
from mpslint.diagnose.catalogue import Catalogue, Explanation, Message, TextRole, catalogue
from mpslint.report.rule_page import in_general

LONGEST_HEADING = 100
"""Characters of an error text that a heading shows."""
SHOWN_TEXTS = 5
"""Texts, as people saw them, that a page shows."""
_FRONT = "---\nsearch:\n  boost: 3\n---\n\n"
"""Somebody who looks for an error's text wants its page before the rules that mention it."""


@functools.lru_cache(maxsize=1)
def entries() -> Mapping[str, tuple[Path, Mapping[str, Any]]]:
    """Return the file and the entry of each message by its id, with the texts that people pasted."""
    return {entry["id"]: (path, entry) for path in knowledge_files("messages") for entry in read_yaml(path) if "id" in entry}


def write_message_pages(folder: Path, source: str) -> None:
    """Write the index and one page a message into a folder; `source` is the address of the repository's files."""
    folder.mkdir(parents=True, exist_ok=True)
    known = catalogue()
    shown = [one for one in known.messages.values() if one.role is TextRole.CAUSE]
    (folder / "index.md").write_text(index(shown), encoding="utf-8")
    for message in shown:
        text = "\n".join(page(message, known)) + f"\n\n[The message's file]({source}rules/messages/{entries()[message.id][0].name})\n"
        (folder / f"{message.id}.md").write_text(text, encoding="utf-8")


def index(messages: list[Message]) -> str:
    """Return the page that leads from a symptom to a command, and lists every text."""
    lines = [
        "# My training died",
        "",
        "| what you have | what to run |",
        "| --- | --- |",
        "| the text of an error | `mpslint diagnose --message 'MPS backend out of memory (...)'` |",
        "| a log, or a notebook with its outputs | `mpslint diagnose train.log`, `mpslint diagnose train.ipynb` |",
        "| the script as well | `mpslint diagnose train.log --source train.py` |",
        "| no error, but NaN, a loss that doesn't fall, or swapping | `mpslint check train.py`, and `mpslint run train.py` on the Mac |",
        "| no run yet | `mpslint check .` |",
        "",
        f"`mpslint diagnose` knows {len(messages)} texts:",
        "",
    ]
    rows = [f"- [{_escaped(heading(one))}]({one.id}.md): {_escaped(in_general(one.explanation.title))}" for one in messages]
    return "\n".join([*lines, *rows]) + "\n"


def heading(message: Message) -> str:
    """Return the error as its readers search for it: the shortest text that was seen."""
    texts = [line for one in entries()[message.id][1]["texts"] if (line := _last_line(one["text"])) and len(line) <= LONGEST_HEADING]
    return min(texts, key=len, default=in_general(message.explanation.title))


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def page(message: Message, known: Catalogue) -> Iterator[str]:
    """Yield the lines of a page: what a text means, its causes, what to do, and the texts as they were seen."""
    texts = entries()[message.id][1]["texts"]
    yield f"{_FRONT}# {_escaped(heading(message))}"
    yield from _told(message.explanation, "")
    for name in dict.fromkeys(one["verdict"] for one in texts if "verdict" in one):
        yield from _told(known.verdicts[name], "## ")
    for case in message.cases:
        yield from _told(case.explanation, "## ")
    yield "\n## In your code and log\n"
    rules = message.explanation.rules
    select = f" --select {','.join(rules)}" if rules else ""
    yield f"```sh\nmpslint diagnose train.log --source train.py\nmpslint check train.py{select}\n```"
    yield "\n## Texts\n\n```text\n" + "\n\n".join(one["text"].strip() for one in texts[:SHOWN_TEXTS]) + "\n```"


def _told(explanation: Explanation, mark: str) -> Iterator[str]:
    """Yield what an explanation says, under its title."""
    title = _escaped(in_general(explanation.title))
    yield f"\n{mark}{title}" if mark else f"\n**{title}**"
    yield f"\n{_escaped(in_general(explanation.means))}"
    if explanation.does_not_mean:
        yield f"\n{_escaped(in_general(explanation.does_not_mean))}"
    if explanation.changes:
        yield "\nWhat to do:\n"
    yield from (f"- {_escaped(in_general(' '.join(change.say.split())))}" for change in explanation.changes)
    yield from (f"\n[{rule}](../rules/{rule}.md) finds it in code." for rule in explanation.rules[:1])


def _escaped(text: str) -> str:
    """Return prose as Markdown, which would take `<` for markup and `[` for a link, outside of code."""
    pieces = text.split("`")
    for number in range(0, len(pieces), 2):
        pieces[number] = pieces[number].replace("<", "&lt;").replace("[", "\\[").replace("*", "\\*")
    return "`".join(pieces)

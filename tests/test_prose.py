"""What a test can hold of the prose: titles, sentence length, template holes, and turns of phrase that a reader stumbles over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from mpslint.cli import group
from mpslint.core.knowledge import knowledge_files, read_yaml
from mpslint.report.rule_page import in_general
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Rule
from tests import ROOT

MOST_WORDS = 45
BANNED = re.compile(
    r"\b(?:is gone|are gone|nobody|is none of|leave (?:it|them) away|take it away|taken away|come to rest|switch(?:es)? itself off|mended|"
    r"without a word|for it asks|all the same|does nothing|there is none|knows nothing|knows no|comes by|goes by|given? back|gives back|"
    r"lacks or misspells|(?<!here )is no (?!longer|more)\w+|is not at hand|what is in force|of the days|stands (?:in|at|there|where|here)|no longer any|(?:which|that) MPS has(?: not|n't)|cures?|asked of|has no way to the)\b",
    re.IGNORECASE,
)
TEXT_KEYS = {"title", "message", "why", "reason", "advice", "summary", "means", "does_not_mean", "say", "says", "effect", "what"}
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
SAYING = {"complain", "echo", "print", "fail", "line", "wrapped", "Unread", "FileResult", "Found", "UsageError"}
"""Functions whose texts a user reads, beside the errors that are raised."""
RULES = load_rules()


def texts_in(data: Any, key: str = "") -> Iterator[str]:
    """Yield the texts that people read in a knowledge file."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name not in ("examples", "texts", "sources", "patterns"):
                yield from texts_in(value, str(name))
    elif isinstance(data, list):
        for value in data:
            yield from texts_in(value, key)
    elif isinstance(data, str) and key in TEXT_KEYS:
        yield " ".join(data.split())


def said_in(tree: ast.AST) -> Iterator[str]:
    """Yield the texts that a module raises or prints; `...` for what is filled in."""
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else node
        if isinstance(call, ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
            if isinstance(node, ast.Raise) or name in SAYING:
                yield from (text for value in [*call.args, *(one.value for one in call.keywords)] if (text := _text_of(value)))


def _text_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "..." for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield each command of the command line with its name."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield name, command


def stumbles(text: str) -> list[str]:
    """Return the banned turns of a text; what it quotes from elsewhere doesn't count."""
    return [match[0] for match in BANNED.finditer(re.sub(r'"[^"]*"|`[^`]*`', "", text))]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_title_is_a_noun_phrase_in_sentence_case(rule: Rule) -> None:
    """No article in front, no full stop behind, a capital letter or a name of code first."""
    first = rule.title.split()[0]

    assert first[0].isupper() or "_" in first or "." in first or first[0] == "`" or first.rstrip(",") in NAMES, rule.title
    assert first not in ("A", "An", "The")
    assert not rule.title.endswith(".")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)


NAMES = {
    *(
        "fp16",
        "bf16",
        "tf32",
        "float64",
        "float16",
        "bfloat16",
        "device_map",
        "xFormers",
        "accelerate",
        "torch",
        "vLLM",
        "pip",
        "fastai",
        "darts",
    ),
    *("detectron2", "bitsandbytes", "autocast", "export", "notebook_launcher", "channels_last", "unsloth", "8-bit", "4-bit", "16,384"),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_message_is_sentences_that_leave_no_hole(rule: Rule) -> None:
    """Also where no file fills it in, as in `mpslint explain`."""
    for outcome in rule.outcomes:
        assert outcome.message.rstrip("\"'").endswith((".", "}")), outcome.message
        told = in_general(outcome.message)
        assert "{" not in told
        stand_ins = [word for word in re.findall(r"\b[A-Z]{4,}\b", told) if word not in outcome.message]
        kinds = {word: {hole for hole in re.findall(r"\{(\w+)\}", outcome.message) if word.lower() in hole} for word in stand_ins}
        assert all(len(holes) < 2 for holes in kinds.values()), told  # one word for two different things
        assert not re.search(r"(?i)\b(\w+) \1\b", told), told


def test_what_a_file_fills_in_is_named_or_a_number() -> None:
    """The three sides of a product aren't one word three times, and what stands before its unit is a number."""
    message = "keeps {embedding__mib} MiB: {embedding__rows} x {embedding__width} x {embedding__bytes} bytes, up to {length__bound} tokens"

    assert in_general(message) == "keeps N MiB: ROWS x WIDTH x N bytes, up to LENGTH tokens"
    assert in_general("{called} raises: {written} was renamed; use {use}.") == "CALL raises: CODE was renamed; use ANOTHER."
    assert in_general("no backend of PyTorch {torch} moves it") == "no backend of PyTorch moves it"


@pytest.mark.parametrize("path", sorted((ROOT / "rules").rglob("*.yaml")), ids=lambda path: path.name)
def test_knowledge_reads_as_documentation(path: Path) -> None:
    """No banned turn, no endless sentence."""
    for text in texts_in(read_yaml(path)):
        assert not stumbles(text), text
        for sentence in re.split(r"(?<=[.:;!?])\s+", text):
            assert len(sentence.split()) <= MOST_WORDS, sentence


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_reads_as_documentation(path: Path) -> None:
    """Outside its code."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)

    assert not stumbles(text)


@pytest.mark.parametrize("path", sorted((ROOT / "mpslint").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_module_says_reads_as_documentation(path: Path) -> None:
    """Errors and lines of output."""
    assert not [stumble for text in said_in(ast.parse(path.read_text(encoding="utf-8"))) for stumble in stumbles(text)]


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else "")
def test_help_reads_as_documentation(name: str, command: click.Command) -> None:
    """The description and every option."""
    helps = [command.help or "", *(getattr(parameter, "help", None) or "" for parameter in command.params)]

    assert not [stumble for text in helps for stumble in stumbles(text)]


def test_the_catalogue_is_read() -> None:
    """The messages of diagnose are among the texts."""
    assert any(text for path in knowledge_files("messages") for text in texts_in(read_yaml(path)))

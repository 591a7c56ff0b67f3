"""A rule as a page of Markdown, the index of all rules, and the words for the parts of a rule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mpslint.core.finding import Safety, Severity
from mpslint.core.knowledge import platform_data
from mpslint.core.links import rule_url
from mpslint.rule.rule import Example, Outcome, Rule


def worst_of(rule: Rule) -> Severity:
    """Return the worst that a rule's findings can be."""
    return min((outcome.severity for outcome in rule.outcomes), key=lambda severity: severity.rank)


def outcome_versions(rule: Rule, outcome: Outcome) -> str:
    """Return the versions in which something happens, in words."""
    return str(outcome.versions) or ("otherwise" if len(rule.outcomes) > 1 else "every version")


def in_general(message: str) -> str:
    """Return a message without what is filled in for a file: `accelerate {accelerate}` is just accelerate, `{length__bound}` is LENGTH."""
    for hole, word in platform_data("rule_pages")["holes"].items():
        message = message.replace(f"{{{hole}}}", word)
    message = re.sub(r"\bPyTorch \{torch\}", "PyTorch", message)
    message = re.sub(r"(?i) (?:with|in) ([\w-]+) \{\1\}( \w)?", lambda found: _joined(message[: found.start()], found[2] or ""), message)
    message = re.sub(r"(?i)\b([\w-]+) \{\1\}", r"\1", message)
    message = re.sub(r"(?i)\{(?:\w*_)?(\w+)\} (?=\1\b)", "N ", message)  # `{embedding__mib} MiB` is N MiB
    kinds = Counter(hole.partition("__")[0] for hole in dict.fromkeys(re.findall(r"\{(\w+)\}", message)))
    return re.sub(r"\{(\w+)\}", lambda hole: _placeholder(hole[1], kinds), message)


def _joined(before: str, after: str) -> str:
    """Return the beginning of what follows a part that is left out, as the first word of a sentence where it is now that."""
    return after.upper() if before.endswith(".") or not before else after


def _placeholder(hole: str, kinds: Mapping[str, int]) -> str:
    """Return what stands for a part that each file fills in, written as the usage of a command names its arguments.

    `{length__bound}` is LENGTH, but where a message has several of one kind (`kinds`), `{embedding__width}` is WIDTH.
    """
    kind, _, detail = hole.partition("__")
    return (detail if detail and kinds[kind] > 1 else kind).upper().replace("_", " ")


def told_fixes(rule: Rule) -> list[tuple[str, str, str]]:
    """Return the fixes of a rule as head, words and reason; those that differ only in where they apply are told once."""
    told = []
    for one in rule.fixes:
        words = one.advice or one.summary or ", ".join(f"{name} = {value}" for name, value in one.set.items())
        told.append((f"Fix, {one.safety.value}" + (f" ({one.versions})" if str(one.versions) else ""), words, one.reason))
    return list(dict.fromkeys(told))


def fix_word(rule: Rule) -> str:
    """Return how a rule's findings can be fixed: safe, unsafe, by hand; '' where there is no fix."""
    safeties = {recipe.safety for recipe in rule.fixes}
    for safety, word in ((Safety.SAFE, "safe"), (Safety.UNSAFE, "unsafe"), (Safety.MANUAL, "by hand")):
        if safety in safeties:
            return word
    return ""


def first_bad(rule: Rule) -> Example | None:
    """Return the example that shows what a rule finds."""
    return next((example for example in rule.examples if example.bad and not example.known_miss), None)


def rule_page(rule: Rule) -> str:
    """Return one rule as Markdown: what happens in which versions, why, the fix, before and after, and the sources."""
    parts = [f"**{rule.title}**", _outcomes(rule), rule.why]
    for head, *said in told_fixes(rule):
        words = " ".join(filter(None, said))
        parts.append(f"**{head}**{': ' + words if words else ''}")
    example = first_bad(rule)
    if example is not None:
        parts += ["Before:", _fenced(example.bad)]
        parts += ["After:", _fenced(example.good)] if example.good else []
    parts.append("\n".join(["Sources:", "", *(f"- {source}" for source in rule.sources)]))
    return "\n\n".join(parts) + "\n"


def rule_as_data(rule: Rule) -> dict[str, Any]:
    """Return one rule as plain data."""
    return {
        "id": rule.id,
        "name": rule.name,
        "title": rule.title,
        "url": rule_url(rule.id) or None,
        "outcomes": [{"versions": str(o.versions), "severity": o.severity.value, "message": o.message} for o in rule.outcomes],
        "fix": fix_word(rule) or None,
        "why": rule.why,
        "sources": list(rule.sources),
    }


def _outcomes(rule: Rule) -> str:
    rows = ["| versions | severity | what happens |", "| --- | --- | --- |"]
    for outcome in rule.outcomes:
        cells = (outcome_versions(rule, outcome), outcome.severity.value, in_general(outcome.message))
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)


def _fenced(code: str) -> str:
    fence = "````" if "```" in code else "```"
    return f"{fence}\n{code.rstrip()}\n{fence}"


def rules_markdown(rules: Sequence[Rule]) -> str:
    """Return the index of the rules as Markdown."""
    lines = ["# Rules", "", "Generated from the rule files by `mpslint rules --format markdown`; `mpslint explain ID` shows one whole.", ""]
    for digit, title in platform_data("rule_pages")["families"].items():
        family = [rule for rule in rules if rule.id[-3] == digit]
        if not family:
            continue
        lines += [f"## {digit}xx {title}", "", "| id | name | what | worst | fix |", "| --- | --- | --- | --- | --- |"]
        for rule in family:
            link = f"[{rule.id}]({rule.path.parent.name}/{rule.path.name})"
            lines.append(f"| {link} | {rule.name} | {rule.title} | {worst_of(rule).value} | {fix_word(rule) or 'none'} |")
        lines.append("")
    return "\n".join(lines)

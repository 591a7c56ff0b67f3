"""The examples of a rule are its tests: `bad` is reported and its fix gives exactly `good`; `good` and `ok` are silent."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mpslint.core.finding import Finding, MpslintError
from mpslint.engine import Checked, check
from mpslint.program.unreached import read
from mpslint.rewrite.apply import fix
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Example, Rule
from mpslint.rule.why import why_silent
from mpslint.session.targeting import base_target
from mpslint.session.view import target_line
from mpslint.target.target import Target, default_target, with_versions
from mpslint.target.uninstallable import uninstallable_in

_HOLE = re.compile(r"\{\w+\}")


def target_of(example: Example) -> Target:
    """Return the Target that an example is for: the newest known versions but for what it says. Raises UsageError for a bad version."""
    given = {name: version for name, version in example.target.items() if name not in ("memory", "chip", "requirements")}
    target = with_versions(default_target(), given, "example")
    lines = example.target.get("requirements", "")
    target = replace(target, uninstallable=tuple(uninstallable_in(lines)))
    target = replace(target, chip=example.target.get("chip", target.chip))
    return replace(target, memory_gib=int(example.target["memory"])) if "memory" in example.target else target


def asked(rule: Rule, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return the rule alone, or all of them where it is about what the others find."""
    return tuple(rules) if rule.when[0].subject == "suppression" else (rule,)


def shown_example(rule: Rule) -> tuple[Example | None, list[Finding], str]:
    """Return an example of what a rule finds, rather one with its rewrite; what is found in it, and for which versions, in words.

    These are those of the current folder, unless the example names versions itself.
    """
    bad = [one for one in rule.examples if one.bad and not one.known_miss]
    example = next((one for one in bad if one.good), bad[0] if bad else None)
    if example is None:
        return None, [], ""
    target = target_of(example) if example.target else base_target(example.file)
    document = read(example.file, example.bad.encode())
    found = [one for one in check(document, target, asked(rule, load_rules())).findings if one.rule == rule.id]
    return example, found, target_line(target, document)


def example_problems(rule: Rule, example: Example, rules: Sequence[Rule]) -> list[str]:
    """Return what is wrong with an example of a rule, in words; `rules` are all that there are."""
    try:
        return list(_problems(rule, example, asked(rule, rules)))
    except MpslintError as error:
        return [str(error)]


def _problems(rule: Rule, example: Example, rules: tuple[Rule, ...]) -> Iterator[str]:
    if example.ok:
        yield from (f"ok is reported: {finding.message}" for finding in _found(example.ok, example, rule, rules))
        return
    checked = check(read(example.file, example.bad.encode()), target_of(example), rules)
    findings = _of(rule, checked)
    if example.known_miss:
        if findings:
            yield "this known miss is found now: take the mark away"
        return
    if not findings:
        yield "; ".join(["bad is not reported", *(line for one in checked.evidence for line in why_silent(rule, one))])
    for finding in findings:
        if _HOLE.search(finding.message):
            yield f"a placeholder is not filled: {finding.message}"
        if finding.fix is not None and _HOLE.search(finding.fix.summary):
            yield f"a placeholder of the fix is not filled: {finding.fix.summary}"
    if findings and example.good:
        yield from _problems_of_the_fix(rule, example, rules)


def _problems_of_the_fix(rule: Rule, example: Example, rules: tuple[Rule, ...]) -> Iterator[str]:
    fixed = fix(read(example.file, example.bad.encode()), target_of(example), rules, unsafe=example.unsafe).data
    if fixed.decode() != example.good:
        lines = (example.good.splitlines(), fixed.decode().splitlines())
        yield "the fix of bad does not give good:\n" + "\n".join(difflib.unified_diff(*lines, "good", "bad, fixed", n=1, lineterm=""))
    yield from (f"good is reported: {finding.message}" for finding in _found(example.good, example, rule, rules))
    if fix(read(example.file, fixed), target_of(example), rules, unsafe=example.unsafe).data != fixed:
        yield "a second fix changes what the first one wrote"


def _found(text: str, example: Example, rule: Rule, rules: tuple[Rule, ...]) -> list[Finding]:
    return _of(rule, check(read(example.file, text.encode()), target_of(example), rules))


def _of(rule: Rule, checked: Checked) -> list[Finding]:
    return [finding for finding in checked.findings if finding.rule == rule.id]

"""A rule's fix recipe -> the Fix of one finding: what to edit, how to show it, and how safe it is."""

from __future__ import annotations

import ast
import bisect
import io
import itertools
import re
import tokenize
from collections.abc import Mapping, Sequence
from typing import Any

from mpslint.core.finding import Edit, Fix, Safety, Span
from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Call, Known
from mpslint.program.walk import walk
from mpslint.rewrite.imports import asked_too_early, with_bound_names
from mpslint.rule.judge import Match, conditions_hold
from mpslint.rule.loading import check_module
from mpslint.rule.rule import FixRecipe, Rule
from mpslint.settings.evidence import Evidence, once
from mpslint.settings.setting import load_vocabulary
from mpslint.settings.spell import add_argument, alternative, edits_of, remove_argument, write_setting
from mpslint.settings.spell_config import remove_entry, write_entry
from mpslint.settings.spell_shell import remove_flag
from mpslint.settings.spelling import WrittenSetting, as_on
from mpslint.settings.translate import bound_arguments
from mpslint.source.document import Document, Kind

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
COMMENT_REASON = "it would delete a comment"
UNKNOWN_VALUE = object()
FOR_ALL_REASON = "it changes the run on other machines that use this file"
_SETS_A_VARIABLE = re.compile(r"[ \t]*(?:export[ \t]+|ENV[ \t]+|-[ \t]+)?[\"']?(?P<written>)", re.IGNORECASE)


def fix_of(rule: Rule, match: Match, evidence: Evidence) -> Fix | None:
    """Return how a rule mends one match in the Target's versions, or None when it has nothing to offer there.

    The first recipe that can be written counts; one that would delete a comment gives way to a later one that would not.
    """
    fallback: Fix | None = None
    for recipe in rule.fixes:
        if not recipe.versions.matches(evidence.target.versions) or not conditions_hold(recipe.when, recipe.unless, match, evidence):
            continue
        if recipe.matches and not re.search(recipe.matches, str(match.values.get("written", ""))):
            continue
        if recipe.safety is Safety.MANUAL:
            return fallback or Fix(Safety.MANUAL, fill(recipe.advice or recipe.summary, match, evidence))
        written = _written(recipe, match, evidence)
        if written is None or not written.edits:
            continue
        fix = _judged(recipe, written, match, evidence)
        if fix.reason != COMMENT_REASON:
            return fix
        fallback = fallback or fix
    return fallback


def _judged(recipe: FixRecipe, written: WrittenSetting, match: Match, evidence: Evidence) -> Fix:
    """Return the Fix; one that would delete a comment is unsafe."""
    summary = fill(recipe.summary, match, evidence) if recipe.summary else written.shown
    if _loses_comment(written.edits, evidence):
        return Fix(Safety.UNSAFE, summary, written.edits, COMMENT_REASON)
    if written.reason:
        return Fix(Safety.UNSAFE, summary, written.edits, written.reason)
    if recipe.safety is Safety.SAFE and (late := asked_too_early(written.edits, match, evidence)):
        return Fix(Safety.UNSAFE, summary, written.edits, late)
    if recipe.safety is Safety.SAFE and _changes_other_machines(recipe, match, evidence):
        return Fix(Safety.UNSAFE, summary, written.edits, FOR_ALL_REASON)
    return Fix(recipe.safety, summary, written.edits, fill(recipe.reason, match, evidence))


def _changes_other_machines(recipe: FixRecipe, match: Match, evidence: Evidence) -> bool:
    """Return whether a recipe writes, for every machine, a setting whose old value is right elsewhere: only Python can tell a Mac apart."""
    is_python = evidence.document.kind in (Kind.PYTHON, Kind.NOTEBOOK) and (match.setting is None or match.setting.style == "python")
    return not is_python and not evidence.target.is_only_machine and any(load_vocabulary()[name].elsewhere for name in recipe.set)


def _loses_comment(edits: Sequence[Edit], evidence: Evidence) -> bool:
    """Return whether a comment that edits take away is in none of the texts that they write."""
    old = [evidence.document.text[edit.span.start : edit.span.end] for edit in edits]
    if not any("#" in text for text in old):
        return False
    if evidence.document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):
        written = "".join(edit.text for edit in edits)
        return any(comment not in written for text in old for comment in re.findall(r"(?<!\S)#[^\r\n]*", text))
    kept = [comment for edit in edits for comment in comments_in(edit.text)]
    return any(comment not in kept for text in old for comment in comments_in(text))


def _written(recipe: FixRecipe, match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edits of a recipe, all of them or none."""
    parts: list[WrittenSetting] = []
    wanted = {name: wanted_value(value, match) for name, value in recipe.set.items()}
    if UNKNOWN_VALUE in wanted.values():
        return None
    for name, value in wanted.items():
        if match.plan is None:
            return None
        if (setting := match.plan.get(name)) is not None and setting.is_known and setting.constant == value and setting.call is match.call:
            continue
        part = write_setting(evidence, match.plan, match.call, name, value)
        if part is None:
            return None
        parts.append(part)
    for step in (_rewritten, _argument_parts, _text_parts, _statement_parts):
        found = step(recipe, match, evidence)
        if found is None:
            return None
        parts += found
    edits = edits_of(evidence, parts)
    if edits is None or _overlap(edits):
        return None
    reason = next((part.reason for part in parts if part.reason), "")
    shown = ", ".join(dict.fromkeys(part.shown for part in parts if part.shown))
    return with_bound_names(WrittenSetting(tuple(edits), shown, reason=reason), evidence)


def wanted_value(value: Any, match: Match) -> Any:
    """Return the value that a recipe gives a setting: itself, that of another setting, or what a table has for the value that was found."""
    if not isinstance(value, Mapping):
        return value
    if "same_as" in value:
        found = match.plan.constant(value["same_as"]) if match.plan is not None else None
    else:
        found = platform_data(value["table"]).get(match.values["value"])
    return UNKNOWN_VALUE if found is None else found


def _rewritten(recipe: FixRecipe, match: Match, evidence: Evidence) -> list[WrittenSetting] | None:
    """Return what a Python function of `mpslint/checks/` writes for a match."""
    if not recipe.rewrite:
        return []
    written: WrittenSetting | None = check_module(recipe.rewrite).rewrite(match, evidence)
    return None if written is None else [written]


def _argument_parts(recipe: FixRecipe, match: Match, evidence: Evidence) -> list[WrittenSetting] | None:
    """Return what a recipe does to the arguments of the call."""
    parts: list[WrittenSetting] = []
    call = match.call
    if recipe.remove_argument:
        part = _removed(match, evidence)
        if part is None:
            return None
        parts.append(part)
    setting = match.setting
    for name, text in recipe.argument.items():
        if call is None and setting is not None and setting.mapping is not None:
            written = _constant(fill(text, match, evidence))
            part = write_entry(evidence, setting.mapping, name, written.value) if written is not None else None
        else:
            part = _set_argument(evidence, match, name, as_on(evidence.target, fill(text, match, evidence))) if call is not None else None
        if part is None:
            return None
        parts.append(part)
    return parts


def _constant(text: str) -> Known | None:
    """Return a value that Python writes as a constant, which a configuration file can hold too; None for any other."""
    try:
        return Known(ast.literal_eval(text))
    except ValueError:
        return None


def _removed(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return what takes away the argument, or the key of a file, that says the matched setting."""
    setting = match.setting
    if setting is not None and setting.config is not None and setting.mapping is not None:
        return remove_entry(evidence, setting.mapping, setting.spelling)
    if setting is not None and setting.flag is not None:
        return remove_flag(setting.flag, setting.spelling)
    return remove_argument(evidence, match.call, match.node) if match.call is not None and match.node is not None else None


def _set_argument(evidence: Evidence, match: Match, name: str, text: str) -> WrittenSetting | None:
    """Give a call's argument this text, whether it has the argument or not."""
    assert match.call is not None
    matched = next((matched for matched in evidence.file_plans.matched if matched.call is match.call), None)
    given = bound_arguments(match.call, matched.pattern) if matched is not None else match.call.keywords
    existing = given.get(name)
    if existing is None:
        return add_argument(match.call, name, text) if "{old}" not in text else None
    if existing.node is None:
        return None
    old = evidence.text_of(existing.node)
    if ":=" in old:
        return None
    shown = text.replace("{old}", old if "\n" not in old else "...")
    return WrittenSetting((Edit(evidence.span_of(existing.node), text.replace("{old}", alternative(old))),), f"{name}={shown}")


def _text_parts(recipe: FixRecipe, match: Match, evidence: Evidence) -> list[WrittenSetting] | None:
    """Return what a recipe does to the text of the match itself, or to its statement."""
    parts: list[WrittenSetting] = []
    if recipe.replace:
        text = fill(recipe.replace, match, evidence)
        parts.append(WrittenSetting((Edit(match.span, text),), text))
    if recipe.remove_statement or recipe.skip_statement:
        edit = _statement_removal(match, evidence, recipe.skip_statement and not evidence.target.is_only_machine)
        if edit is None:
            return None
        parts.append(WrittenSetting((edit,), edit.text.partition("\n")[0].strip() or "removed"))
    return parts


def _statement_parts(recipe: FixRecipe, match: Match, evidence: Evidence) -> list[WrittenSetting] | None:
    """Return the lines that a recipe puts before the statements of other calls of the run."""
    parts: list[WrittenSetting] = []
    for role, template in recipe.statement.items():
        calls = match.plan.calls.get(role, ()) if match.plan is not None else ()
        own = (one for one in calls if match.setting is not None and one is match.setting.call)
        call = next(own, next(iter(calls), None))
        found = _statement_at(evidence.span_of(call.node), evidence) if call is not None else None
        if call is None or found is None:
            return None
        code = _with_arguments(template, call, evidence)
        if code is None:
            return None
        start = evidence.span_of(found[0]).start
        indent = evidence.document.text[evidence.document.line_starts[evidence.document.line_at(start) - 1] : start]
        newline = evidence.document.newline_at(start)
        if indent.strip():
            return None
        start = _above_comments(start, indent, evidence.document)
        lines = code.replace("\n", f"{newline}{indent}")
        summary = " ".join(code.split("  #")[0].split())
        parts.append(WrittenSetting((Edit(Span(start, start), f"{lines}{newline}{indent}"),), summary))
    return parts


def _above_comments(start: int, indent: str, document: Document) -> int:
    """Return where a line goes that is to stand before a statement: above the comments that stand right over it and speak of it."""
    line = document.line_at(start)
    cell = document.cell_at(start)
    first = document.line_at(cell.span.start) if cell is not None else 1
    while line > first and re.match(re.escape(indent) + r"#(?! ?%%)", document.line_text(line - 1)):
        line -= 1
    return document.line_starts[line - 1] + len(indent)


def _with_arguments(template: str, call: Call, evidence: Evidence) -> str | None:
    """Return a template with `{model}` and the like filled by a call's own arguments; None where one is no plain name."""
    matched = next((matched for matched in evidence.file_plans.matched if matched.call is call), None)
    given = bound_arguments(call, matched.pattern) if matched is not None else call.keywords
    for name in _PLACEHOLDER.findall(template):
        node = given[name].node if name in given else None
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        template = template.replace(f"{{{name}}}", ast.unparse(node))
    return template


def _statement_removal(match: Match, evidence: Evidence, on_a_mac: bool) -> Edit | None:
    """Return the edit that removes the statement a match is in: its line, or `pass` where a block would be left empty.

    Where only `on_a_mac`, it puts a test before the statement.
    """
    if evidence.document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):
        return line_removal(evidence.document, match.span)
    found = _statement_at(match.span, evidence)
    if found is None:
        return None
    statement, siblings = found
    text, span = evidence.document.text, evidence.span_of(statement)
    if span not in match.span:
        return None  # the statement does more than what was found
    if len(siblings) == 1 and statement not in evidence.parsed.body and not on_a_mac:
        return Edit(span, "pass")
    lines = evidence.document.lines_of(span)
    indent = text[lines.start : span.start]
    if indent.strip() or text[span.end : lines.end].split("#")[0].strip():
        return None
    test = f"if not {platform_data('cuda')['devices']['asks_for_mps']}:{evidence.document.newline_at(span.start)}{indent}    "
    return Edit(Span(span.start, span.start), test) if on_a_mac else Edit(lines, "")


def _statement_at(span: Span, evidence: Evidence) -> tuple[ast.stmt, Sequence[ast.stmt]] | None:
    """Return the innermost statement that holds a span, and the block it is in."""
    ordered = _statements(evidence)
    last = bisect.bisect_right(ordered, evidence.document.line_at(span.start), key=lambda one: one.lineno)
    statement = next((one for one in map(ordered.__getitem__, range(last - 1, -1, -1)) if span in evidence.span_of(one)), None)
    above = evidence.parents.get(statement) if statement is not None else None
    blocks = [evidence.parsed.body] if above is None else [block for block in vars(above).values() if isinstance(block, list)]
    return next(((statement, block) for block in blocks if statement is not None and statement in block), None)


@once
def _statements(evidence: Evidence) -> Sequence[ast.stmt]:
    """Return all statements of a program, in order."""
    return sorted((one for one in walk(*evidence.parsed.body) if isinstance(one, ast.stmt)), key=lambda one: (one.lineno, one.col_offset))


def _overlap(edits: Sequence[Edit]) -> bool:
    ordered = sorted(edits, key=lambda edit: edit.span)
    return any(a.span.end > b.span.start or a.span == b.span for a, b in itertools.pairwise(ordered))


def fill(template: str, match: Match, evidence: Evidence) -> str:
    """Return a text with its placeholders filled.

    `{value}`, `{written}` and what a check adds come from the match; `{plain}` is its expression as a method of it can be called; `{torch}`
    is the Target's version of a package; `{batch__train}` is the run's setting batch.train.
    """

    def of(found: re.Match[str]) -> str:
        name = found.group(1)
        if name in match.values:
            return str(match.values[name])
        if name == "plain":
            text = evidence.document.text[match.span.start : match.span.end]
            return text if isinstance(match.node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"
        if name in evidence.target.versions:
            return evidence.target.shown(name)
        setting = match.plan.get(name.replace("__", ".")) if match.plan is not None and "__" in name else None
        return str(setting.constant) if setting is not None and setting.is_known else found.group()

    return _PLACEHOLDER.sub(of, template)


def line_removal(document: Document, span: Span) -> Edit | None:
    """Return the edit that removes the line on which a shell text, a Dockerfile or a YAML file sets a variable.

    None where more stands on the line, where it goes on, and where it is the only entry of a YAML block.
    """
    line = document.line_at(span.start)
    start = document.line_starts[line - 1]
    text = document.line_text(line)
    before = _SETS_A_VARIABLE.match(text)
    after = text[span.end - start :].strip("\"' \t")
    if before is None or start + before.end() != span.start or (after and not after.startswith("#")):
        return None
    neighbours = [document.line_text(other) for other in (line - 1, line + 1) if 1 <= other <= len(document.line_starts)]
    if any(neighbour.endswith("\\") for neighbour in neighbours[:1]) and line > 1:
        return None
    indent = text[: len(text) - len(text.lstrip())]
    if document.kind is Kind.YAML and not any(re.match(rf"{indent}[\w\"'-]", neighbour) for neighbour in neighbours):
        return None
    return Edit(document.lines_of(span), "")


def comments_in(text: str) -> list[str]:
    """Return the comments of a piece of Python, in order; of a piece that is no whole tokens, those that can be read."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline):
            if token.type == tokenize.COMMENT:
                found.append(token.string)
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return found

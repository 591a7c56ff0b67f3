"""Output of a command that macOS lacks, used as if there were some: `os.popen("nvidia-smi -L").readlines()[0]`.

A check because it follows a text that is empty on a Mac through the methods called on it to where one raises.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, Known
from mpslint.program.walk import walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

FILE, TEXT, LINES, PARTS = "file", "text", "lines", "parts"
"""What an expression is: the open output, '' of it, no lines of it, or `"".split(",")`, which is one empty text."""
STEPS = {
    (FILE, "read"): TEXT,
    (FILE, "readline"): TEXT,
    (FILE, "readlines"): LINES,
    (TEXT, "splitlines"): LINES,
    **{(TEXT, name): TEXT for name in ("strip", "rstrip", "lstrip", "replace", "lower", "upper")},
}
"""What each method makes of it."""
NUMBERS = ("int", "float")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
TESTS = (ast.If, ast.IfExp, ast.While, ast.Assert)
MOST_NAMES = 3
"""Names that are followed one behind the other."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first place where each such output raises.

    Options: `calls` that run a text in a shell; `command`, a pattern of what is missing there, and `answers`, of what prints something even
    so; `lists`, functions that return an empty list where a command is missing, by that command.
    """
    for call in evidence.facts.calls:
        given = call.arguments[0].value if call.arguments else None
        text: Any = given.value if isinstance(given, Known) else None
        kind = ""
        if call.name in options["lists"]:
            kind, text = LINES, options["lists"][call.name]
        elif call.name in options["calls"] and isinstance(text, str) and _is_empty(text, options):
            kind = FILE
        first = next(_raising(call.node, kind, evidence, 0), None) if kind else None
        if first is not None:
            yield _match(call, *first, text, evidence)


def _is_empty(text: str, options: Mapping[str, Any]) -> bool:
    """Return whether a line of the shell prints nothing on a Mac."""
    return re.match(options["command"], text) is not None and re.search(options["answers"], text) is None


def _match(call: Call, node: ast.AST, raised: str, text: str, evidence: Evidence) -> Match:
    values = {"written": evidence.text_of(node), "raised": raised, "command": text.split()[0]}
    return Match(evidence.span_of(node), values, context=call.context, node=node)


def _raising(node: ast.AST, kind: str, evidence: Evidence, names: int) -> Iterator[tuple[ast.AST, str]]:
    """Yield the expressions around a node of a kind that raise, and what they raise."""
    parent = evidence.parents.get(node)
    if isinstance(parent, ast.Attribute):
        above = evidence.parents.get(parent)
        made = _made(kind, parent.attr, above) if isinstance(above, ast.Call) and above.func is parent else None
        if made is not None and above is not None:
            yield from _raising(above, made, evidence, names)
    elif isinstance(parent, ast.Subscript) and parent.value is node:
        index = _index(parent.slice)
        if index in (0, -1) and kind == PARTS:
            yield from _raising(parent, TEXT, evidence, names)
        elif index is not None and kind != FILE:
            yield parent, "IndexError"
    elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in NUMBERS and kind == TEXT:
        yield parent, "ValueError"
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name) and names < MOST_NAMES:
        for read in _reads(parent.targets[0], evidence):
            yield from _raising(read, kind, evidence, names + 1)


def _made(kind: str, method: str, call: ast.Call) -> str | None:
    """Return what a method makes of such an output; None where that isn't known."""
    if (kind, method) == (TEXT, "split"):
        return PARTS if call.args or call.keywords else LINES
    return STEPS.get((kind, method))


def _index(node: ast.expr) -> int | None:
    """Return the number that an index is, or None."""
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    number = node.operand if isinstance(node, ast.UnaryOp) else node
    return sign * number.value if isinstance(number, ast.Constant) and type(number.value) is int else None


def _reads(target: ast.Name, evidence: Evidence) -> list[ast.Name]:
    """Return where a name of the same function is read; nothing where it is given something else too, or a test asks for it."""
    function = evidence.above(target, FUNCTIONS)
    body = list(walk(function)) if function is not None else [one for statement in evidence.parsed.body for one in walk(statement)]
    same = [one for one in body if isinstance(one, ast.Name) and one.id == target.id]
    reads = [one for one in same if isinstance(one.ctx, ast.Load)]
    tested = {id(part) for one in body if isinstance(one, TESTS) for part in ast.walk(one.test)}
    return reads if len(same) == len(reads) + 1 and not any(id(one) in tested for one in reads) else []

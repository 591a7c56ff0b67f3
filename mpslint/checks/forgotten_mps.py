"""A choice of device that knows CUDA and the CPU only: `"cuda" if torch.cuda.is_available() else "cpu"`, as expression or statement."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpslint.checks._choice_rewrites import IS_OF_SEVERAL, asks_in_vain, constants_of, is_question, rewrite
from mpslint.checks._composed_choices import composed_choices
from mpslint.checks._idle_choices import is_idle
from mpslint.checks._named_devices import is_cpu, is_cuda, is_named_device, names_device
from mpslint.checks._uses import is_read_unknown
from mpslint.facts.facts import Choice
from mpslint.facts.values import Context, Instance, Known, alternatives_of, origin_of
from mpslint.program.platform import load_platform
from mpslint.program.walk import walk
from mpslint.rule.judge import Match, match_of
from mpslint.settings.dialects import load_dialects
from mpslint.settings.evidence import Evidence
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import device_text, is_tensor

IS_DEVICE = re.compile(r"(^|[._])device$")
"""A name that means a device, whatever it was before."""
IS_FLAG = re.compile(r"gpu|cuda", re.IGNORECASE)
"""A test that decides between CUDA and the CPU by a name of the program's own (`n_gpu_use > 0`, `args.cuda`)."""
QUESTIONS = ("cuda.is_available", "cuda.device_count")
"""One of these stands in a program that asks for CUDA before it uses it."""


__all__ = ["find", "rewrite"]


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each choice between CUDA and the CPU, at the `"cpu"` that the Mac gets; with option `whole`, those of the whole run."""
    evidence = (evidence.whole or evidence) if options.get("whole") else evidence
    for choice in evidence.facts.choices:
        if choice.source not in load_platform().cuda_questions or isinstance(choice.node, ast.Assert):
            continue
        if any(is_other(choice.node, evidence) for is_other in (_is_of_autocast, _is_of_no_parameters, _is_accelerator)):
            continue
        cpu = _of_expression(choice.node, choice) if isinstance(choice.node, ast.IfExp) else _of_statement(choice.node, choice, evidence)
        if cpu is None and isinstance(choice.node, ast.If):
            cpu = _moved_in_place(choice.node, choice, evidence)
        chosen = cpu if isinstance(choice.node, ast.If) else choice.node
        if cpu is not None and chosen is not None and not is_idle(chosen, evidence):
            shown = choice.node if isinstance(choice.node, ast.IfExp) else choice.node.test
            yield _chosen(shown, cpu, choice.node, choice.context, evidence)
    for node, taken in composed_choices(evidence):
        if not _is_of_autocast(node, evidence) and not is_idle(node, evidence):
            yield _chosen(node, taken, node, None, evidence)
    yield from _replaced(evidence)
    yield from _switched_off(evidence)
    yield from _by_flag(evidence)


def _switched_off(evidence: Evidence) -> Iterator[Match]:
    """Yield each run that is put on the CPU where there is no CUDA (`use_cpu=not torch.cuda.is_available()`)."""
    for plan in evidence.plans:
        for setting in plan.settings.get("device.cpu_only", ()):
            node = setting.node.value if isinstance(setting.node, ast.keyword) else setting.node
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and is_question(node.operand):
                match = match_of(setting, plan, evidence)
                if match is not None:
                    yield replace(match, node=node)


def _by_flag(evidence: Evidence) -> Iterator[Match]:
    """Yield each `"cuda" if n_gpu > 0 else "cpu"` by a name of the program's own that the Mac does not decide, in a program that asks
    for CUDA."""
    decided = {id(choice.node) for choice in evidence.facts.choices}
    if not any(name in evidence.document.text for name in QUESTIONS):
        return
    for node in evidence.nodes_beside("cpu"):
        if (
            not isinstance(node, ast.IfExp)
            or id(node) in decided
            or not (names_device(node.orelse, "cpu") and names_device(node.body, "cuda"))
        ):
            continue
        tested, parts = ast.unparse(node.test), list(ast.walk(node.test))
        is_flag = IS_FLAG.search(tested) is not None and not IS_OF_SEVERAL.search(tested) and "is_available" not in tested
        # `"cuda" in device` follows from the device, `x.is_cuda` from where a tensor is
        follows = any(isinstance(one, ast.expr) and names_device(one, "cuda") for one in parts) or any(
            isinstance(one, ast.Attribute) and one.attr in load_kinds().place_questions for one in parts
        )
        is_flag = is_flag and not follows and any(is_read_unknown(one, evidence) for one in parts)
        if is_flag and not _is_of_autocast(node, evidence) and not is_idle(node, evidence):
            yield _chosen(node, node.orelse, node, None, evidence)


def _replaced(evidence: Evidence) -> Iterator[Match]:
    """Yield each `if device == "cuda" and not torch.cuda.is_available(): device = "cpu"` of a device that is CUDA as a rule."""
    seen: set[int] = set()
    for setting in (s for m in evidence.file_plans.matched for s in m.settings if s.name == "device.name"):
        parts = alternatives_of(setting.value)
        if not any(isinstance(part, Known) and str(part.value).startswith("cuda") for part in parts):
            continue
        for cpu in (origin_of(part) for part in parts if isinstance(part, Known) and part.value == "cpu"):
            statement = _statement_above(cpu, evidence)
            above = evidence.parents.get(statement) if statement is not None else None
            if isinstance(above, ast.If) and id(above) not in seen and statement in above.body and asks_in_vain(above.test):
                seen.add(id(above))
                yield _chosen(above.test, statement, above, setting.context, evidence)


def _chosen(shown: ast.AST, cpu: ast.AST, node: ast.AST, context: Context | None, evidence: Evidence) -> Match:
    """Return the match of a choice, shown at one of its parts, whose CPU is in another; with what a fix would make of the CPU's name."""
    span = evidence.span_of(shown)
    instead = {id(constant): "mps" for constant in constants_of(cpu, "cpu")}
    values = {"value": "cpu", "written": evidence.document.text[span.start : span.end], "cpu": cpu, "instead": instead}
    return Match(span, values, context=context, node=node)


def _is_of_autocast(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice says what autocast or a gradient scaler is for: nothing is put there, and not every torch takes MPS."""
    parent = evidence.parents.get(node)
    call = evidence.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    return isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in ("autocast", "GradScaler")


def _is_accelerator(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice says what kind of accelerator a Trainer takes (Lightning's `accelerator=`), which is no device's name."""
    parent = evidence.parents.get(node)
    tables = (table for dialect in load_dialects().all for table in dialect.tables.values())
    return isinstance(parent, ast.keyword) and any(
        name == parent.arg for table in tables for name, _ in table.spellings_of("device.accelerator")
    )


def _is_of_no_parameters(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice is for a module without parameters: `next(self.parameters())` gave nothing."""
    handler = evidence.above(node, (ast.ExceptHandler,))
    return isinstance(handler, ast.ExceptHandler) and handler.type is not None and "StopIteration" in ast.unparse(handler.type)


def _statement_above(node: ast.AST | None, evidence: Evidence) -> ast.stmt | None:
    while node is not None and not isinstance(node, ast.stmt):
        node = evidence.parents.get(node)
    return node


def _of_expression(node: ast.IfExp, choice: Choice) -> ast.expr | None:
    taken, other = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
    is_chosen = choice.answer and isinstance(other, (ast.Name, ast.Attribute, ast.Subscript))  # "cpu" if not cuda else device
    return taken if names_device(taken, "cpu") and (is_cuda(other) or is_chosen or is_named_device(other)) else None


def _of_statement(node: ast.If, choice: Choice, evidence: Evidence) -> ast.stmt | None:
    """Return the statement that takes the CPU, where an `if`, or what stands before it, takes CUDA for the same name or returns it."""
    first, other = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
    before, after = _before(node, evidence), _after(node, evidence)
    taken = _last_branch(first)
    if not taken and any(isinstance(statement, ast.Return) for statement in other):
        taken = after[: next((n for n, statement in enumerate(after, start=1) if isinstance(statement, ast.Return)), 0)]
    cuda = _assignments(_last_branch(other) or before, is_cuda)
    if not other and any(isinstance(statement, ast.Return) for statement in first):
        cuda |= _assignments(after, is_cuda)  # `if not torch.cuda.is_available(): return "cpu"`, and CUDA after it
    cpu = _assignments(taken, is_cpu)
    if not cpu and not _assigns(taken, cuda):
        cpu = _assignments(before, is_cpu)
    found = [statement for target, statement in cpu.items() if target in cuda or _is_replaced(target, statement, node, choice, evidence)]
    if not found and choice.answer and asks_in_vain(node.test):
        found = [s for s in node.body if isinstance(s, (ast.Assign, ast.Return)) and s.value is not None and names_device(s.value, "cpu")]
    return found[-1] if found else None


def _moved_in_place(node: ast.If, choice: Choice, evidence: Evidence) -> ast.stmt | None:
    """Return the statement that moves a module to the CPU, where the other branch moves it to CUDA or there is none: a Trainer or an
    Accelerator would move it afterwards."""
    taken, other = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
    for call in evidence.calls_of_method.get("to", ()) if not evidence.has_device_chooser else ():
        asked = [device_text(one.value) for one in (*call.arguments, *call.keywords.values())]
        statement = next((one for one in taken if isinstance(one, ast.Expr) and one.value is call.node), None)
        is_moved = isinstance(call.receiver, Instance) and not is_tensor(call.receiver) and asked == [load_kinds().default_place]
        if is_moved and statement is not None and (not other or any(one.moved is call.receiver for one in choice.passed_over)):
            return statement
    return None


def _before(node: ast.stmt, evidence: Evidence) -> Sequence[ast.stmt]:
    """Return what runs before a statement, also before the tests that it is below."""
    block, above = _block_of(node, evidence), evidence.parents.get(node)
    before = block[: block.index(node)]
    return [*_before(above, evidence), *before] if isinstance(above, ast.If) and node in above.body else before


def _after(node: ast.stmt, evidence: Evidence) -> Sequence[ast.stmt]:
    """Return what runs after a statement, also behind the tests that it is below: `if name == "cuda": if is_available(): ...`."""
    block = _block_of(node, evidence)
    after = block[block.index(node) + 1 :]
    above = evidence.parents.get(node)
    is_below_test = isinstance(above, ast.If) and not any(isinstance(one, (ast.Return, ast.Raise)) for one in after)
    return [*after, *_after(above, evidence)] if is_below_test and isinstance(above, ast.If) else after


def _block_of(node: ast.stmt, evidence: Evidence) -> list[ast.stmt]:
    """Return the statements among which a statement stands."""
    parent = evidence.parents.get(node)
    if parent is None:
        return evidence.parsed.body
    blocks = (getattr(parent, field, ()) for field in ("body", "orelse", "finalbody"))
    return next((block for block in blocks if isinstance(block, list) and node in block), [node])


def _last_branch(block: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """Return the `else` of a chain of `elif` that asks for accelerators of other makers; else the block itself."""
    while len(block) == 1 and isinstance(block[0], ast.If) and block[0].orelse and _is_of_device(block[0]):
        block = block[0].orelse
    return block


def _is_of_device(node: ast.If) -> bool:
    """Return whether an `elif` asks for an accelerator, or by the device's name for the CPU (`elif name == "cpu"`)."""
    names = [part for part in walk(node.test) if isinstance(part, ast.Constant) and part.value == "cpu"]
    return "is_available" in ast.unparse(node.test) or (bool(names) and bool(_assignments(node.body, is_cpu)))


def _is_replaced(target: str, cpu: ast.stmt, node: ast.If, choice: Choice, evidence: Evidence) -> bool:
    """Return whether `if not torch.cuda.is_available():` makes a device the CPU, which may have been CUDA before."""
    above = evidence.parents.get(node)
    asked = ast.unparse(above.test) if isinstance(above, ast.If) and node in above.body else ""
    is_named = "cuda" in asked and target in asked and cpu in (*node.body, *node.orelse)
    is_alone = not node.orelse and choice.answer and isinstance(node.test, ast.UnaryOp)
    if not (is_alone or is_named) or IS_DEVICE.search(target) is None:
        return False
    return any(isinstance(node, ast.expr) and names_device(node, "cuda") for node in evidence.nodes_beside("cuda"))


def _assigns(block: Sequence[ast.stmt], targets: Mapping[str, ast.stmt]) -> bool:
    """Return whether a block gives one of the targets something of its own, or ends the program: what came before it does not hold."""
    for node in (inner for statement in block for inner in walk(statement)):
        ends = isinstance(node, (ast.Return, ast.Raise)) or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("exit"))
        if ends or (isinstance(node, ast.Assign) and any(ast.unparse(target) in targets for target in node.targets)):
            return True
    return False


def _assignments(block: Sequence[ast.stmt], is_device: Callable[[ast.expr], bool]) -> dict[str, ast.stmt]:
    """Return the assignments of a device in a block, by target; the one that is returned by the name `return`."""
    found: dict[str, ast.stmt] = {}
    for statement in block:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and is_device(statement.value):
            found[ast.unparse(statement.targets[0])] = statement
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None and is_device(statement.value):
            found[ast.unparse(statement.target)] = statement
        elif isinstance(statement, ast.Return) and statement.value is not None and is_device(statement.value):
            found["return"] = statement
    return found

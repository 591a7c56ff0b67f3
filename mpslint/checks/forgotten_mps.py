"""A choice of device that knows CUDA and the CPU only: `"cuda" if torch.cuda.is_available() else "cpu"`, as expression or statement.

A check because it weighs both ways of a choice against each other, and all uses of what it gives.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpslint.checks._choice_rewrites import IS_OF_SEVERAL, constants_of, is_question, rewrite
from mpslint.checks._uses import FUNCTIONS, call_given, is_never_taken, is_used, uses_of
from mpslint.core.knowledge import platform_data
from mpslint.facts.facts import Choice
from mpslint.facts.values import Function, Instance, Items, Known, Unknown, Value, alternatives_of, made_from, origin_of
from mpslint.facts.values import Mapping as DictValue
from mpslint.program.choices import RETURNED
from mpslint.program.platform import load_platform
from mpslint.program.walk import walk
from mpslint.rule.judge import Match, match_of
from mpslint.settings.dialects import load_dialects
from mpslint.settings.evidence import Evidence
from mpslint.settings.translate import bound_arguments
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import device_text, is_tensor

IS_FLAG = re.compile(r"gpu|cuda", re.IGNORECASE)
"""A test that decides between CUDA and the CPU by a name of the program's own (`n_gpu_use > 0`, `args.cuda`)."""
QUESTIONS = ("cuda.is_available", "cuda.device_count")
"""One of these stands in a program that asks for CUDA before it uses it."""

__all__ = ["find", "is_of_accelerator", "rewrite"]


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each choice between CUDA and the CPU, at the `"cpu"` that the Mac gets; with option `whole`, those of the whole run.

    In a file that also asks whether there is the Mac's GPU, by one of the names of option `asks`, only what is seen to be used counts.
    """
    evidence = (evidence.whole or evidence) if options.get("whole") else evidence
    part_at, asks = evidence.document.part_at, options.get("asks", ())
    asking = {part_at(evidence.span_of(choice.node).start).span for choice in evidence.facts.choices if choice.source in asks}
    for match in _choices(evidence):
        chosen: Any = match.values.get("cpu", match.node) if isinstance(match.node, ast.If) else match.node
        if part_at(match.span.start).span not in asking or _is_all_there_is(chosen, evidence):
            yield match


def _is_all_there_is(chosen: ast.AST, evidence: Evidence) -> bool:
    """Return whether what a choice gives is seen to be used where it is nothing else on any way: no other choice's "mps"."""
    whole = evidence.whole or evidence
    named = (whole.above(node, (ast.stmt,)) for node in whole.naming("mps"))
    others = whole.facts.uses.of(*(node for one in named if one is not None for node in walk(one)))
    return any(use not in others for use in uses_of(chosen, evidence, are_all=False) or ())


def _choices(evidence: Evidence) -> Iterator[Match]:
    """Yield each choice between CUDA and the CPU that decides something."""
    numbered = _numbers_of_cpu(evidence)
    for_cuda: set[ast.AST | None] = set()
    for choice in evidence.facts.choices:
        is_asked = choice.source in load_platform().cuda_questions or (isinstance(choice.node, ast.If) and not choice.source)
        if not is_asked or isinstance(choice.node, ast.Assert) or constants_of(choice.node, load_kinds().gpu):
            continue
        if any(is_other(choice.node, evidence) for is_other in (_is_of_autocast, _is_of_no_parameters)):
            continue
        names = [name for name in choice.given if _is_for_cuda_only(choice, name, for_cuda, numbered)]
        for_cuda.update(origin_of(choice.given[name]) for name in names)
        cpu = _of_statement(choice, names, evidence) if isinstance(choice.node, ast.If) else _of_expression(choice) if names else None
        if cpu is None:
            continue
        made, shown = (cpu, choice.node.test) if isinstance(choice.node, ast.If) else (choice.node, choice.node)
        if not is_of_accelerator(made, evidence, are_all=False) and not is_idle(made, evidence):
            yield _chosen(shown, cpu, choice, evidence, numbered)
    yield from _switched_off(evidence)
    yield from _by_flag(evidence)


def _numbers_of_cpu(evidence: Evidence) -> frozenset[ast.AST]:
    """Return the numbers below 0 that are given to what takes numbers for devices, and one below 0 for the CPU."""
    taking = platform_data("cuda")["devices"]["numbers"].items()
    calls = ((call, argument) for name, argument in taking for call in (evidence.whole or evidence).calls_of_name.get(name, ()))
    given = (one for call, argument in calls if argument in call.keywords for one in alternatives_of(call.keywords[argument].value))
    below = (one for one in given if isinstance(one, Known) and isinstance(one.value, int) and one.value < 0)
    return frozenset(one.origin for one in below if one.origin is not None)


def _is_for_cuda_only(
    choice: Choice, name: str, for_cuda: Container[ast.AST | None] = (), numbered: Container[ast.AST | None] = ()
) -> bool:
    """Return whether what a choice gives is the CPU, and with CUDA it would be a device of CUDA's, or one that somebody names; `for_cuda`
    has what is the CPU for want of CUDA only, `numbered` the numbers that are the CPU."""
    kinds, platform = load_kinds(), load_platform()

    def may_be_absent(value: Value) -> bool:
        if isinstance(value, Known):  # a number is an index of a device of CUDA's
            is_index = isinstance(value.value, int) and not isinstance(value.value, bool)
            is_index = is_index or (isinstance(value.value, str) and value.value[:1].isdigit())
            return is_index or value.weak or platform.is_absent_device(value.value) or value.origin in for_cuda
        if isinstance(value, Items):
            return bool(value.slots) and all(map(may_be_absent, value.values()))
        return isinstance(value, Unknown) or (isinstance(value, Instance) and value.name == kinds.device_class)

    def differs(given: Value, instead: Value) -> bool:
        if isinstance(given, Items) and isinstance(instead, Items):
            return any(map(differs, given.values(), instead.values()))
        is_named = device_text(given) == kinds.default_place
        is_cpu = isinstance(given, Known) and not given.weak and (is_named or given.origin in numbered)
        return is_cpu and any(map(may_be_absent, alternatives_of(instead)))

    return differs(choice.given[name], choice.instead.get(name, Unknown()))


def _of_expression(choice: Choice) -> ast.AST | None:
    """Return the part of an expression that the Mac gets."""
    if isinstance(choice.node, ast.IfExp):
        return choice.node.body if choice.answer else choice.node.orelse
    return origin_of(choice.given[""])


def _of_statement(choice: Choice, names: Sequence[str], evidence: Evidence) -> ast.AST | None:
    """Return the statement that takes the CPU for the name that with CUDA is a device of CUDA's; where none does, the `"cpu"` itself."""
    for name in names:
        origin = origin_of(choice.given[name])
        above = evidence.above(origin, (ast.stmt,)) if origin is not None else None
        targets = above.targets if isinstance(above, ast.Assign) else [above.target] if isinstance(above, ast.AnnAssign) else []
        is_there = name in (map(ast.unparse, targets) if targets else [RETURNED] if isinstance(above, ast.Return) else [])
        return above if is_there else origin
    return _moved_in_place(choice, evidence)


def _moved_in_place(choice: Choice, evidence: Evidence) -> ast.stmt | None:
    """Return the statement that moves a module to the CPU, where the other branch moves it to CUDA or there is none: a Trainer or an
    Accelerator would move it afterwards."""
    node = choice.node
    if not isinstance(node, ast.If) or not choice.source:
        return None
    taken, other = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
    for call in evidence.calls_of_method.get("to", ()) if not evidence.has_device_chooser else ():
        asked = [device_text(one) for one in call.given]
        statement = next((one for one in taken if isinstance(one, ast.Expr) and one.value is call.node), None)
        is_moved = isinstance(call.receiver, Instance) and not is_tensor(call.receiver) and asked == [load_kinds().default_place]
        if is_moved and statement is not None and (not other or any(one.moved is call.receiver for one in choice.passed_over)):
            return statement
    return None


def _switched_off(evidence: Evidence) -> Iterator[Match]:
    """Yield each run that is put on the CPU where there is no CUDA (`use_cpu=not torch.cuda.is_available()`)."""
    for plan in evidence.plans:
        for setting in plan.settings.get("device.cpu_only", ()):
            node = setting.node.value if isinstance(setting.node, ast.keyword) else setting.node
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and is_question(node.operand):
                match = match_of(setting, plan, evidence)
                if match is not None:
                    yield replace(match, node=node, values={**match.values, "selected": '"cpu"'})


def _by_flag(evidence: Evidence) -> Iterator[Match]:
    """Yield each `"cuda" if n_gpu > 0 else "cpu"` by a name of the program's own that the Mac does not decide, in a program that asks
    for CUDA."""
    for choice in evidence.facts.choices if any(name in evidence.document.text for name in QUESTIONS) else ():
        node = choice.node
        if choice.source or not isinstance(node, ast.IfExp) or not _is_for_cuda_only(choice, ""):
            continue
        tested = ast.unparse(node.test)
        is_flag = IS_FLAG.search(tested) is not None and not IS_OF_SEVERAL.search(tested) and "is_available" not in tested
        # `"cuda" in device` follows from the device, `x.is_cuda` from where a tensor is
        attributes = {one.attr for one in walk(node.test) if isinstance(one, ast.Attribute)}
        follows = constants_of(node.test, "cuda") or attributes & load_kinds().place_questions.keys()
        if is_flag and not follows and not _is_of_autocast(node, evidence) and not is_idle(node, evidence):
            yield _chosen(node, node.orelse, choice, evidence)


def _chosen(shown: ast.AST, cpu: ast.AST, choice: Choice, evidence: Evidence, numbered: Container[ast.AST] = ()) -> Match:
    """Return the match of a choice, shown at one of its parts, whose CPU is in another; with what a fix would make of the CPU's name."""
    span = evidence.span_of(shown)
    instead = {id(constant): "mps" for constant in constants_of(cpu, "cpu")}
    other = choice.instead.get("", choice.given.get("", Known("")))
    is_named = not isinstance(other, Known) or (other.weak and isinstance(other.origin, ast.Constant))  # `f"cuda:{args.index}"` is none
    number = next((one for one in walk(cpu) if one in numbered), None)
    values = {
        "value": "cpu",
        "selected": f"{evidence.text_of(number)} (the CPU)" if number is not None else '"cpu"',
        "written": evidence.document.text[span.start : span.end],
        "cpu": cpu,
        "instead": instead,
        "named": is_named,
    }
    return Match(span, values, context=choice.context if choice.source else None, node=choice.node)


def _is_of_autocast(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice says what autocast or a gradient scaler is for: nothing is put there, and not every torch takes MPS."""
    call = call_given(node, evidence)
    return call is not None and ast.unparse(call.func).rpartition(".")[2] in ("autocast", "GradScaler")


def is_of_accelerator(node: ast.AST, evidence: Evidence, are_all: bool = True) -> bool:
    """Return whether a choice says only what kind of accelerator a Trainer takes (Lightning's `accelerator=`), which is no device's name.

    Unless what is seen is enough (not `are_all`), nobody else may read it.
    """
    tables = (table for dialect in load_dialects().all for table in dialect.tables.values())
    names = {name for table in tables for name, _ in table.spellings_of("device.accelerator")}
    parents = [evidence.parents.get(use) for use in uses_of(node, evidence, are_all) or ()]
    return bool(parents) and all(isinstance(one, ast.keyword) and one.arg in names for one in parents)


def _is_of_no_parameters(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice is for a module without parameters: `next(self.parameters())` gave nothing."""
    handler = evidence.above(node, (ast.ExceptHandler,))
    return isinstance(handler, ast.ExceptHandler) and handler.type is not None and "StopIteration" in ast.unparse(handler.type)


def is_idle(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice, or the statement that makes it, is of no use for where anything of the program is put."""
    if not is_used(node, evidence) or _is_moved_again(node, evidence):
        return True
    return is_never_taken(node, evidence) or _is_of_states(node, evidence)


def _is_moved_again(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a device is only where models, and the batches that are made for them, wait for a Trainer, which moves both itself."""
    whole = evidence.whole or evidence
    uses = uses_of(node, evidence)
    trainers = [one for one in whole.file_plans.matched if one.pattern.role == "trainer"] if uses else []
    given = [bound_arguments(one.call, one.pattern) for one in trainers]
    models = {id(one) for said in given if "model" in said for one in made_from(said["model"].value)}
    collating = (one for said in given if "data_collator" in said for one in alternatives_of(said["data_collator"].value))
    collators = {one.node for one in collating if isinstance(one, Function)}
    moves = {id(call.node): call.receiver for call in whole.facts.calls if call.method == "to"}
    others = [use for use in uses or () if whole.above(use, FUNCTIONS) not in collators]
    return bool(uses and models) and all(id(moves.get(id(call_given(use, whole)))) in models for use in others)


def _is_of_states(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a device is only where weights lie until a model copies them: `load_state_dict(torch.load(path, device))`."""
    whole = evidence.whole or evidence
    given = [(one.call.node, bound_arguments(one.call, one.pattern)) for one in whole.file_plans.matched if one.pattern.role == "load"]
    loads = {id(said["map_location"].node): load for load, said in given if "map_location" in said}
    uses = uses_of(node, evidence)
    return bool(uses) and all(id(use) in loads and _goes_to_states(loads[id(use)], whole) for use in uses or ())


def _goes_to_states(load: ast.Call, evidence: Evidence) -> bool:
    """Return whether what is loaded is a dict of weights that a model takes over with the device it has, and no model itself."""
    copied = False
    for call in evidence.facts.calls:
        made = call.receiver.call if isinstance(call.receiver, Instance) else None
        if made is not None and made.node is load and not hasattr(dict, call.method or "forward"):
            return False
        if call.method == "load_state_dict" and any(_is_of(one.value, load) for one in call.arguments):
            if "assign" in call.keywords:
                return False  # a model takes the tensors themselves, with their device
            copied = True
    return copied


def _is_of(value: Value, load: ast.Call) -> bool:
    """Return whether a value is what a call loads, or in it."""
    if isinstance(value, (Items, DictValue)):
        return any(_is_of(getattr(one, "value", one), load) for one in value.slots.values())
    made = isinstance(value, Instance) and value.call is not None and value.call.node is load
    return made or (isinstance(value, Instance) and value.owner is not None and _is_of(value.owner, load))

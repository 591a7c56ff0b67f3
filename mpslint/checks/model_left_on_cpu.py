"""A model that stays on the CPU while its inputs move: the mirror of `left_on_cpu`.

On a Mac that selects the CPU such a program runs; as soon as its device is the GPU, it raises where the model meets the inputs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._given import parameters
from mpslint.checks._models import computed_from, plain_text
from mpslint.checks._named_devices import names_device
from mpslint.core.knowledge import platform_data
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.comparisons import fits_any
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

LOADS = "from_pretrained"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MODULES = ("nn.Module", "torch.nn.Module", "Module")
PLACES_ITSELF = re.compile(r"self\.to\(|\.cuda\(|def to\(|device *(?:[:,)=]|\bor\b)")
"""What a class says that puts its objects on a device, or takes one."""
IS_OF_TORCH = re.compile(r"(?:^|\.)nn\.([A-Z]\w*)$")
"""A class of torch.nn, and its name."""
IS_NO_MODEL = re.compile(r"Token|Process|Extractor|Config|Pipeline|Scheduler|Peft")
"""Classes of which `from_pretrained` gives no module of its own: a tokenizer, a pipeline, or an adapter around a model placed before."""
RUNS = ("generate", "forward")
"""Methods that run a model, apart from its call."""
GIVES_ITSELF = ("eval", "train", "float", "half", "bfloat16", "requires_grad_", "apply")
"""Methods whose result is the model, which can be moved or named again."""

SHOWS = ("print", "summary", "len", "type", "isinstance", "id", "display")
"""Functions that leave a model where it is."""
OWN = ("self", "args", "opt", "cfg", "config", "CFG", "Config")
"""What a program keeps its own device in."""
DEEPEST = 3
"""Functions that a model is handed on to, one after the other."""

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: ".to(" in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each model that its scope loads or makes, runs on something that it moves, and never moves itself."""
    whole = evidence.whole or evidence
    if "set_default_" in whole.text:
        return
    own = _own_modules(whole)
    made = {
        id(call.node) for call in whole.facts.calls if any(fits_any(name, tuple(platform_data("layers")["models"])) for name in call.names)
    }
    for node in {id(one): one for word in (LOADS, "nn.", "model", *own) for one in whole.nodes_beside(word)}.values():
        if not isinstance(node, ast.Assign) or not (_is_left(node.value, whole) or _is_own(node.value, own) or id(node.value) in made):
            continue
        name = plain_text(node.targets[0])
        if "device" in ast.unparse(node.value) and not _is_mapped_for_cuda(node.value, whole):
            continue
        nodes = list(_scope_of(node, whole)) if "." not in name else list(_class_of(node, name, own, whole))
        if name and _runs(name, nodes, whole):
            yield Match(whole.span_of(node), {"written": ast.unparse(node)}, node=node)


def _own_modules(evidence: Evidence) -> frozenset[str]:
    """Return the program's own classes of modules that put themselves on no device."""
    classes = [one for one in evidence.nodes_beside("class") if isinstance(one, ast.ClassDef)]
    found: set[str] = set()
    for one in (*classes, *classes):  # a base may come after what derives from it
        bases = [plain_text(base) for base in one.bases]
        if any(base in MODULES or base in found for base in bases) and not PLACES_ITSELF.search(evidence.text_of(one)):
            found.add(one.name)
    return frozenset(found)


def _is_own(value: ast.expr, own: frozenset[str]) -> bool:
    return isinstance(value, ast.Call) and plain_text(value.func).rpartition(".")[2] in own


def _class_of(node: ast.AST, name: str, own: frozenset[str], evidence: Evidence) -> Iterator[ast.AST]:
    """Yield the nodes of the class whose attribute is given a model; nothing where that may move in other places, or with the class."""
    owner = evidence.above(node, (ast.ClassDef,))
    attribute = name.removeprefix("self.")
    is_plain = isinstance(owner, ast.ClassDef) and owner.name not in own and not owner.bases and attribute.isidentifier()
    if is_plain and isinstance(owner, ast.ClassDef) and not re.search(rf"\.{attribute}\s*\.(?:to|cuda)\(", evidence.text):
        yield from (inner for statement in owner.body for inner in walk(statement))


def _is_left(value: ast.expr, evidence: Evidence) -> bool:
    """Return whether an expression loads or makes a model and leaves it where it is, with no device asked for."""
    if _holds_weights(value) and isinstance(value, ast.Call):
        return not any(keyword.arg is None or "device" in keyword.arg for keyword in value.keywords)
    if not isinstance(value, ast.Call) or called_name(value) != LOADS or not isinstance(value.func, ast.Attribute) or len(value.args) > 1:
        return False
    named = [keyword.arg for keyword in value.keywords if not _maps_for_cuda(keyword, evidence)]
    return not IS_NO_MODEL.search(plain_text(value.func.value)) and not any(
        name is None or "device" in name or "quant" in name or name.startswith("load_in") for name in named
    )


def _is_mapped_for_cuda(value: ast.expr, evidence: Evidence) -> bool:
    return isinstance(value, ast.Call) and any(_maps_for_cuda(keyword, evidence) for keyword in value.keywords)


def _maps_for_cuda(keyword: ast.keyword, evidence: Evidence) -> bool:
    """Return whether a device map is given with CUDA only: `device_map="auto" if device == "cuda" else None`."""
    value = keyword.value
    if keyword.arg == "device_map" and isinstance(value, ast.Name):
        given = [
            one.value for one in evidence.nodes_beside(value.id) if isinstance(one, ast.Assign) and plain_text(one.targets[0]) == value.id
        ]
        value = given[0] if len(given) == 1 else value
    is_choice = keyword.arg == "device_map" and isinstance(value, ast.IfExp) and "cuda" in ast.unparse(value.test)
    if not is_choice or not isinstance(value, ast.IfExp) or names_device(value.body, "cuda"):
        return False  # a device that a fix makes the Mac's GPU as well
    return isinstance(value.orelse, ast.Constant) and value.orelse.value in (None, "cpu")


def _holds_weights(value: ast.expr) -> bool:
    """Return whether an expression makes a module of torch that computes on one device only: a Linear, but no Softmax."""
    made = IS_OF_TORCH.search(plain_text(value.func)) if isinstance(value, ast.Call) else None
    layers = platform_data("layers")
    if made is None or not isinstance(value, ast.Call):
        return False
    is_of_others = made[1] in layers["contain"] and not all(_is_without_weights(argument) for argument in value.args)
    return made[1] in layers["hold_weights"] or is_of_others


def _is_without_weights(value: ast.expr) -> bool:
    """Return whether an expression certainly makes a module of torch that computes on any device."""
    return isinstance(value, ast.Call) and IS_OF_TORCH.search(plain_text(value.func)) is not None and not _holds_weights(value)


def _scope_of(node: ast.AST, evidence: Evidence) -> Iterable[ast.AST]:
    """Return the nodes of the function around a node, or of the whole run."""
    above = evidence.above(node, FUNCTIONS)
    for statement in above.body if isinstance(above, FUNCTIONS) else evidence.parsed.body:
        yield from walk(statement)


def _moved(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names of what is moved, and of what is computed from it: `inputs = inputs.to(device)`, or `inputs.to(device)` alone."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and _has_move(node.value) and LOADS not in ast.unparse(node.value):
            found |= {inner.id for target in node.targets for inner in walk(target) if isinstance(inner, ast.Name)}
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            found |= {plain_text(node.value.func.value)} if _has_move(node.value) else set()
    return computed_from(found - {""}, nodes)


def _has_move(node: ast.AST) -> bool:
    """Return whether a node moves something to a device of the program's own, and not to where something else is (`x.to(model.device)`)."""
    moves = (one for one in walk(node) if isinstance(one, ast.Call) and called_name(one) == "to" and not one.keywords)
    given = [one.args[0] for one in moves if len(one.args) == 1]
    return any(not isinstance(one, ast.Attribute) or one.attr != "device" or plain_text(one.value) in OWN for one in given)


def _meets(call: ast.Call, moved: set[str]) -> bool:
    """Return whether a call is given something that was moved, by name or in its own arguments."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(_has_move(one) or any(isinstance(inner, ast.Name) and inner.id in moved for inner in walk(one)) for one in given)


def _runs(name: str, nodes: Sequence[ast.AST], evidence: Evidence, depth: int = DEEPEST) -> bool | None:
    """Return whether a model is run on what was moved; None where something may move it: `.to()`, a second name, an unknown function."""
    moved = _moved(nodes)
    is_run = False
    for node in nodes:
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load) or plain_text(node) != name:
            continue
        above = evidence.parents.get(node)
        call = evidence.parents.get(above) if isinstance(above, ast.Attribute) else above
        if isinstance(above, ast.Attribute):
            if above.attr in ("to", "cuda") and _is_passed_over(above, evidence):
                continue
            is_statement = isinstance(evidence.parents.get(call or above), ast.Expr)
            if above.attr in ("to", "cuda") or (above.attr in GIVES_ITSELF and not is_statement):
                return None
            is_run = is_run or (above.attr in RUNS and isinstance(call, ast.Call) and _meets(call, moved))
        elif isinstance(above, ast.Call) and above.func is node:
            is_run = is_run or _meets(above, moved)
        elif isinstance(above, (ast.Call, ast.keyword)):
            inner = _handed_on(node, above, evidence, depth)
            if inner is None:
                return None
            is_run = is_run or inner
        elif not isinstance(above, ast.Expr):
            return None
    return is_run


def _handed_on(node: ast.AST, above: ast.Call | ast.keyword, evidence: Evidence, depth: int) -> bool | None:
    """Return whether a function of the program that gets a model runs it on what was moved; None where it may move it."""
    call = evidence.parents.get(above) if isinstance(above, ast.keyword) else above
    if not isinstance(call, ast.Call) or called_name(call) in SHOWS:
        return False if isinstance(call, ast.Call) else None
    called = called_name(call)
    functions = [one for one in evidence.nodes_beside(f"def {called}") if isinstance(one, FUNCTIONS) and one.name == called]
    if len(functions) != 1 or depth <= 0:
        return None
    names = parameters(functions[0])
    names = names[1:] if names[:1] == ["self"] else names
    number = call.args.index(node) if node in call.args else len(names)
    name = above.arg if isinstance(above, ast.keyword) else names[number] if number < len(names) else None
    body = [inner for statement in functions[0].body for inner in walk(statement)]
    return _runs(name, body, evidence, depth - 1) if name in names else None


def _is_passed_over(move: ast.AST, evidence: Evidence) -> bool:
    """Return whether a model moves only to the CPU or to CUDA by name: `if device == "cpu": model.to(device)`."""
    above = evidence.above(move, (ast.If, *FUNCTIONS))
    if not isinstance(above, ast.If) or evidence.above(move, (ast.stmt,)) not in above.body:
        return False
    test = above.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    return isinstance(test.comparators[0], ast.Constant) and str(test.comparators[0].value).split(":")[0] in ("cpu", "cuda")

"""Which names of a program are models, which of them are evaluated, and what is computed from what they return."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence

from mpslint.checks._gradients import is_switched_off, last_value
from mpslint.facts.values import Loop
from mpslint.program.walk import children, walk
from mpslint.rule.autograd import SWITCHES
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

MODEL_METHODS = ("eval", "train", "parameters", "named_parameters", "load_state_dict")
"""Methods that only modules have, apart from `load_state_dict`."""
OF_EVERY_MODULE = frozenset(
    {"parameters", "named_parameters", "modules", "named_modules", "children", "state_dict", "eval", "train", "to", "cuda", "cpu", "size",
     "item", "items", "keys", "values", "append", "get", "zero_grad", "register_buffer", "requires_grad_", "numel", "dim"}
)  # fmt: skip
"""Methods that compute nothing with a module's weights."""
IS_NO_MODEL = re.compile(r"optim|sched|scaler|loader|trainer|accelerator|engine|pipe|tokenizer|ema", re.IGNORECASE)
"""Names of other objects that have one of these methods."""
KEEPS_GRAPH = frozenset(
    {"mean", "squeeze", "unsqueeze", "view", "reshape", "cpu", "to", "clone", "float", "half", "norm", "flatten", "softmax", "sigmoid",
     "normalize", "contiguous", "sum", "permute", "transpose", "cat", "stack", "exp", "log", "log_softmax", "relu", "max", "pow", "sqrt",
     "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
     "smooth_l1_loss", "kl_div"}
)  # fmt: skip
"""Functions and methods whose result belongs to the same graph."""
IS_LOSS = re.compile(r"(^|_)(loss|losses|criterion|crit|loss_fn|loss_func|lossfn)(_|\d|$)", re.IGNORECASE)
"""A name that is a loss function, so that its result belongs to the graph of its arguments."""
DEEPEST = 6
"""Names that are followed back, one after the other."""


@functools.lru_cache(maxsize=1)
def model_texts(evidence: Evidence) -> frozenset[str]:
    """Return what stands for a model in the program, as it is written (`net`, `self.model`)."""
    found: set[str] = set()
    for method in MODEL_METHODS:
        for node in evidence.nodes_beside(method):
            if called_name(node) == method and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                text = plain_text(node.func.value)
                if text and not IS_NO_MODEL.search(text):
                    found.add(text)
    for node in (node for move in ("to", "cuda") for node in evidence.nodes_beside(f".{move}(")):
        if isinstance(node, ast.Assign) and _is_new_object_moved(node.value):
            found |= {text for target in node.targets if (text := plain_text(target))}
    return frozenset(found - {"self"})


def _is_new_object_moved(node: ast.expr) -> bool:
    """Return whether an expression is `Net(...).to(device)`."""
    inner = (
        node.func.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda")
        else None
    )
    made = plain_text(inner.func).rpartition(".")[2] if isinstance(inner, ast.Call) else ""
    return made[:1].isupper() and not made.isupper() and not made.endswith("Loss") and "Tensor" not in made


def plain_text(node: ast.AST) -> str:
    """Return a name or a path of attributes as it is written, '' for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = plain_text(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def called_model(call: ast.Call, models: frozenset[str] | set[str], evidence: Evidence) -> str:
    """Return the model that a call runs: by itself, by `forward`, or by a method of a module of the program; '' for another call."""
    text = plain_text(call.func)
    if text in models:
        return text
    if isinstance(call.func, ast.Attribute):
        owner = plain_text(call.func.value)
        if owner in models and (call.func.attr == "forward" or call.func.attr in own_forwards(evidence)):
            return owner
    return ""


@functools.lru_cache(maxsize=1)
def own_forwards(evidence: Evidence) -> frozenset[str]:
    """Return the methods of the program's own modules that run their layers, and leave autograd as it is."""
    found: set[str] = set()
    for node in evidence.nodes_beside("class"):
        if isinstance(node, ast.ClassDef) and any("Module" in ast.unparse(base) for base in node.bases):
            methods = {inner.name: inner for inner in node.body if isinstance(inner, ast.FunctionDef)}
            for method in methods.values():
                source = evidence.text_of(method) + "".join(ast.unparse(decorator) for decorator in method.decorator_list)
                if not method.name.startswith("_") and "self." in source and not any(word in source for word in SWITCHES):
                    found |= {method.name} if _runs_layers(method, methods, ()) else set()
    return frozenset(found - {"eval", "train", "to", "cuda", "parameters"})


def _runs_layers(method: ast.FunctionDef, methods: dict[str, ast.FunctionDef], above: tuple[str, ...]) -> bool:
    """Return whether a method of a module calls something that the module holds, itself, or by another method.

    One that only makes a mask, or counts parameters (`self.pad_idx`, `self.parameters()`), keeps no activations.
    """
    for node in walk(method):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and _held_by_self(node.iter):
            return True  # `for layer in self.layers: x = layer(x)`
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return True
        if not isinstance(node, ast.Call):
            continue
        called = plain_text(node.func)
        if called == "self" or any(_held_by_self(argument) and "weight" in plain_text(argument) for argument in node.args):
            return True
        name = called.removeprefix("self.").partition(".")[0]
        if not called.startswith("self.") or IS_NO_MODEL.search(called) or called.rpartition(".")[2] in OF_EVERY_MODULE:
            continue
        if name not in methods or called.count(".") > 1:
            return True
        if name not in above and _runs_layers(methods[name], methods, (*above, name)):
            return True
    return False


def _held_by_self(node: ast.expr) -> bool:
    """Return whether an expression is something that an object keeps (`self.layers`), counted or not (`enumerate(self.layers)`)."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        return any(_held_by_self(argument) for argument in node.args)
    return plain_text(node).startswith("self.")


def output_of(node: ast.expr, loop: Loop, evidence: Evidence, depth: int = DEEPEST) -> str:
    """Return the model of which an expression in a loop holds the output with its graph; '' where it holds none."""
    models = model_texts(evidence)
    if depth <= 0:
        return ""
    if isinstance(node, ast.Name):
        value = last_value(loop, node.id, node)
        return output_of(value, loop, evidence, depth - 1) if value is not None else ""
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        return output_of(node.value, loop, evidence, depth - 1)
    if isinstance(node, ast.BinOp):
        return output_of(node.left, loop, evidence, depth - 1) or output_of(node.right, loop, evidence, depth - 1)
    if not isinstance(node, ast.Call):
        return ""
    model = called_model(node, models, evidence)
    if model:
        return "" if is_switched_off(node, loop, evidence) else model
    name = called_name(node)
    if name not in KEEPS_GRAPH and not IS_LOSS.search(name):
        return ""
    parts = [*([node.func.value] if isinstance(node.func, ast.Attribute) else []), *node.args]
    return next((found for part in parts if (found := output_of(part, loop, evidence, depth - 1))), "")


def flows_into_backward(name: str, scope: Sequence[ast.stmt], evidence: Evidence) -> bool:
    """Return whether something computed from a name of a scope is differentiated, there or where the scope's function is called."""
    words = ("backward", "autograd.grad", "manual_backward")
    if not any(word in evidence.text for word in words):
        return False
    nodes = [node for statement in scope for node in walk(statement)]
    tainted = computed_from({name}, nodes)
    if _is_differentiated(tainted, nodes):
        return True
    function = evidence.parents.get(scope[0]) if scope else None
    returned = (node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or not any(_names(value) & tainted for value in returned):
        return False
    everywhere = [node for statement in evidence.parsed.body for node in walk(statement)]
    return _is_differentiated(computed_from({function.name}, everywhere), everywhere)


def computed_from(names: set[str], nodes: Sequence[ast.AST]) -> set[str]:
    """Return names, and those that are assigned from expressions in which one of them stands."""
    found, before = set(names), 0
    while len(found) > before:
        before = len(found)
        for node in nodes:
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None and _names(node.value) & found:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {name for target in targets for name in _names(target)}
    return found - {"self"}


def _is_differentiated(names: set[str], nodes: Sequence[ast.AST]) -> bool:
    return any(called_name(node) in ("backward", "grad", "manual_backward") and _names(node) & names for node in nodes)


def _names(node: ast.AST) -> set[str]:
    """Return the names and attributes that stand in an expression."""
    return {inner.id if isinstance(inner, ast.Name) else inner.attr for inner in walk(node) if isinstance(inner, (ast.Name, ast.Attribute))}


def is_frozen(evidence: Evidence) -> bool:
    """Return whether the program freezes a whole model: every parameter, by no test of its own."""
    if "is frozen" not in evidence.memo:
        evidence.memo["is frozen"] = _freezes_a_model(evidence)
    return bool(evidence.memo["is frozen"])


def _freezes_a_model(evidence: Evidence) -> bool:
    frozen = "requires_grad_(False)" in evidence.text
    if frozen and re.search(r"^[ \t]*(self\.)?\w+\.requires_grad_\(False\)", evidence.text, re.MULTILINE):
        return True
    return any(
        isinstance(node, ast.For) and _freezes(node) and not _is_conditional(node, evidence) for node in evidence.nodes_beside("grad")
    )


def _freezes(loop: ast.For) -> bool:
    """Return whether a loop is `for p in model.parameters(): p.requires_grad = False`, of a model and not of a part of one."""
    called = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    if not isinstance(called, ast.Attribute) or called.attr not in ("parameters", "named_parameters"):
        return False
    owner = plain_text(called.value)
    is_whole = owner.count(".") == owner.startswith("self.")
    return is_whole and any(
        isinstance(statement, ast.Assign) and "requires_grad = False" in ast.unparse(statement) for statement in loop.body
    )


def _is_conditional(node: ast.AST, evidence: Evidence) -> bool:
    above = evidence.parents.get(node)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(above, ast.If):
            return True
        above = evidence.parents.get(above)
    return False


def calls_of(function: ast.FunctionDef | ast.AsyncFunctionDef, evidence: Evidence) -> Iterator[ast.Call]:
    """Yield the calls of a function of the program that no `with` and no decorator takes autograd away from."""
    key = f"calls of {function.name}"
    if key not in evidence.memo:
        named = (node for node in evidence.nodes_beside(function.name) if called_name(node) == function.name)
        evidence.memo[key] = [node for node in named if isinstance(node, ast.Call) and not _is_switched_off(node, evidence)]
    yield from evidence.memo[key]


def _is_switched_off(node: ast.AST, evidence: Evidence) -> bool:
    above = evidence.parents.get(node)
    while above is not None:
        heads: list[ast.AST] = list(children(above)) if isinstance(above, (ast.With, ast.AsyncWith)) else []
        heads = [head for head in heads if isinstance(head, ast.withitem)]
        heads += getattr(above, "decorator_list", [])
        if any(word in ast.unparse(head) for head in heads for word in SWITCHES):
            return True
        above = evidence.parents.get(above)
    return False

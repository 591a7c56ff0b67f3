"""Tensors that a run makes on the CPU and computes with beside its model's, or that it moves for CUDA by name only.

On a Mac that selects the CPU such a program runs; as soon as its device is the GPU, it raises where the two meet. Authors who only
trained on the CPU never saw the first kind, and with CUDA the second kind is right.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._models import IS_LOSS, computed_from, model_texts, plain_text
from mpslint.checks.fed_on_cpu import FUNCTIONS, MAKES, MOVES, has_move, makes_on_cpu
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

IS_MODULE = re.compile(r"Module|Loss|Layer|Criterion")
"""A base class of what computes with tensors where they are."""
IS_OF_DATA = re.compile(r"Dataset|DataModule|Transform|Collat|Augment|Sampler|Callback|Processor|Metric|Rand|ToTensor|Normalize|Buffer|Env")
"""A class that works on the CPU, by its name or bases."""
IS_SHOWN = re.compile(r"plot|show|vis|denorm|draw|save|load|export|summary|collate|transform|^init_|^_init|^reset|extra_repr|^build|^from_")
"""A function that works on the CPU, or only before the module moves."""
GIVES_HIDDEN = re.compile(r"^_?init_?(?:hidden|state|h0|zero)", re.IGNORECASE)
"""A method that gives the first state of a recurrent layer: its callers hand it to the layer as it is."""
IS_PLAIN = frozenset({"item", "tolist", "numpy", "shape", "size", "dim", "numel", "dtype", "ndim", *MOVES})
"""What is asked of a tensor on whatever device."""
MEETS = re.compile(r"(?:_loss|cross_entropy\w*|kl_div)$|Loss$")
"""Functions of a loss."""
IS_DEVICE = re.compile(r"dev|gpu|cuda", re.IGNORECASE)
"""What is compared with "cuda" is a device, and no backend or kind of build."""
CUDA_TYPE = re.compile(r"^['\"]?torch\.cuda\.\w*Tensor['\"]?$")
IS_MOVE_TO_CUDA = re.compile(r"\.cuda\(|\.to\(\s*(?:device=)?[\"']cuda|torch\.cuda\.\w*Tensor")
RAISES = re.compile(r"\.cuda\(|torch\.cuda\.(?:synchronize|get_device|set_device|current_device|Event|Stream|\w*Tensor)")
"""What raises without CUDA."""

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: "torch" in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield where tensors of a run would lie on two devices. With option `named`, only what asks for CUDA by name."""
    whole = evidence.whole or evidence
    node = _by_name(whole) or (None if options.get("named") else _by_making(whole))
    if node is not None:
        yield Match(whole.span_of(node), {"written": ast.unparse(node)}, node=node)


@functools.lru_cache(maxsize=2)  # asked at every place that selects a device
def _by_name(evidence: Evidence) -> ast.AST | None:
    """Return the first place that treats CUDA by its name, so that another GPU is taken for the CPU, or for CUDA."""
    return next((node for node in (*evidence.nodes_beside("cuda"), *evidence.nodes_beside("cpu")) if _asks_by_name(node, evidence)), None)


def _asks_by_name(node: ast.AST, evidence: Evidence) -> bool:
    if isinstance(node, ast.IfExp) and CUDA_TYPE.match(ast.unparse(node.body)):
        return True  # Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor
    if isinstance(node, ast.Call) and called_name(node) == "set_default_tensor_type" and node.args:
        return CUDA_TYPE.match(ast.unparse(node.args[0])) is not None and evidence.above(node, (ast.If,)) is not None
    if not isinstance(node, (ast.If, ast.IfExp)):
        return False
    cuda_only = node.body if _compares_with_cpu(node.test, ast.NotEq) else node.orelse if _compares_with_cpu(node.test, ast.Eq) else []
    if cuda_only:
        return RAISES.search(_text(cuda_only)) is not None and "is_available" not in ast.unparse(node.test)
    if not _is_cuda(node.test, evidence):
        return False
    body = _text(node.body)
    return IS_MOVE_TO_CUDA.search(body) is not None and "raise" not in body and ".to(" not in _text(node.orelse)


def _text(branch: ast.expr | list[ast.stmt]) -> str:
    return "\n".join(map(ast.unparse, branch)) if isinstance(branch, list) else ast.unparse(branch)


def _compares_with_cpu(test: ast.expr, way: type[ast.cmpop]) -> bool:
    """Return whether a test is `device != "cpu"`, or `==`: what isn't the CPU is taken for CUDA."""
    named = isinstance(test, ast.Compare) and isinstance(test.ops[0], way) and isinstance(test.comparators[0], ast.Constant)
    return named and isinstance(test, ast.Compare) and ast.unparse(test.comparators[0]) == "'cpu'"


def _is_cuda(test: ast.expr, evidence: Evidence) -> bool:
    """Return whether a test is `device == "cuda"`, in one of its spellings, or a name that is given such a test."""
    if isinstance(test, ast.Name):
        asked = "is cuda", test.id
        if asked not in evidence.memo:
            given = [one for one in evidence.nodes_beside(test.id) if isinstance(one, ast.Assign) and plain_text(one.targets[0]) == test.id]
            evidence.memo[asked] = any(not isinstance(one.value, ast.Name) and _is_cuda(one.value, evidence) for one in given)
        return bool(evidence.memo[asked])
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Eq, ast.In)):
        sides = (test.left, *test.comparators)
        is_named = any(isinstance(one, ast.Constant) and str(one.value).startswith("cuda") for one in sides)
        return is_named and any(IS_DEVICE.search(ast.unparse(one)) for one in sides if not isinstance(one, ast.Constant))
    is_start = isinstance(test, ast.Call) and called_name(test) == "startswith"
    return is_start and isinstance(test, ast.Call) and bool(test.args) and ast.unparse(test.args[0]).startswith("'cuda")


@functools.lru_cache(maxsize=2)
def _by_making(evidence: Evidence) -> ast.AST | None:
    """Return the first tensor that is made on the CPU and meets others where a device was chosen for them."""
    if "set_default_" in evidence.text:
        return None
    ways = (_of_modules(evidence), _of_weights(evidence), _of_functions(evidence))
    return next((node for way in ways for node in way), None)


def _of_modules(evidence: Evidence) -> Iterator[ast.AST]:
    """Yield what the methods of modules make and compute with, and what a module keeps that isn't a buffer."""
    for cls in evidence.nodes_beside("class"):
        if not isinstance(cls, ast.ClassDef) or IS_OF_DATA.search(" ".join([cls.name, *map(ast.unparse, cls.bases)])):
            continue
        methods = [one for one in cls.body if isinstance(one, ast.FunctionDef)]
        if not any(IS_MODULE.search(ast.unparse(base)) for base in cls.bases) or "forward" not in {one.name for one in methods}:
            continue
        text = evidence.text_of(cls)
        for method in methods:
            if method.name == "__init__":
                yield from _kept(method, text, evidence)
            elif GIVES_HIDDEN.search(method.name):
                yield from _given_back(method, evidence)
            elif not IS_SHOWN.search(method.name):
                nodes = list(walk(method))
                yield from (node for node in nodes if isinstance(node, ast.Assign) and _is_left(node, nodes, evidence))


def _is_left(made: ast.Assign, nodes: Sequence[ast.AST], evidence: Evidence) -> bool:
    """Return whether a tensor is made on the CPU, and the same function computes with it there."""
    name = plain_text(made.targets[0])
    if name not in _left_names(nodes):
        return False
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)]
    if any(_is_moved(use, evidence) for use in uses):
        return False
    return any(_computes(use, evidence) for use in uses)


def _left_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that a function or script only gives tensors that it makes on the CPU, and never moves."""
    given = [(plain_text(one.targets[0]), one.value) for one in nodes if isinstance(one, ast.Assign)]
    return {name for name, value in given if _makes(value)} - {name for name, value in given if has_move(value)} - {""}


def _is_moved(use: ast.AST, evidence: Evidence) -> bool:
    above = evidence.parents.get(use)
    return isinstance(above, ast.Attribute) and above.attr in MOVES


def _computes(use: ast.AST, evidence: Evidence) -> bool:
    """Return whether a tensor is computed with, beside other tensors: indexes and numbers may lie on the CPU."""
    above = evidence.parents.get(use)
    if isinstance(above, ast.Attribute):
        return above.attr not in IS_PLAIN and not isinstance(evidence.parents.get(evidence.parents.get(above) or above), ast.Expr)
    if isinstance(above, ast.Call):
        return called_name(above) not in ("len", "int", "float", "range", "list", "zip", "print", "enumerate", "append", "size")
    if isinstance(above, ast.Tuple):
        return isinstance(evidence.parents.get(above), ast.Call)
    return isinstance(above, (ast.BinOp, ast.keyword)) and evidence.above(use, (ast.Subscript,)) is None


def _makes(value: ast.expr) -> bool:
    """Return whether an expression makes a tensor of more than one number on the CPU."""
    if isinstance(value, ast.Call) and called_name(value) == "Variable" and value.args:
        return _makes(value.args[0])
    if isinstance(value, ast.BinOp):
        return any(_makes(side) and not has_move(value) for side in (value.left, value.right))
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not makes_on_cpu(value):
        if has_move(value) or any(keyword.arg == "device" for keyword in value.keywords):
            return False
        inner = value.args[:1] if plain_text(value.func.value) == "torch" else [value.func.value]
        return value.func.attr not in IS_PLAIN and any(_makes(one) for one in inner)
    if not makes_on_cpu(value) or (isinstance(value, ast.Call) and called_name(value) in IS_PLAIN):
        return False
    maker = next((one for one in ast.walk(value) if isinstance(one, ast.Call) and MAKES.match(plain_text(one.func))), None)
    first = maker.args[0] if maker is not None and maker.args else None
    is_number = isinstance(first, (ast.Constant, ast.UnaryOp)) or (isinstance(first, ast.Call) and called_name(first) in ("float", "len"))
    follows = any(isinstance(one, ast.Attribute) and one.attr == "device" for one in ast.walk(value))
    return not follows and not (is_number and maker is not None and called_name(maker) in ("tensor", "as_tensor"))


def _kept(maker: ast.FunctionDef, text: str, evidence: Evidence) -> Iterator[ast.AST]:
    """Yield what a module keeps as a plain attribute, which `.to(device)` leaves on the CPU, and reads as it is."""
    if re.search(r"def (?:to|cuda|_apply)\(", text):
        return
    nodes = list(walk(maker))
    made = _left_names(nodes)
    for node in nodes:
        name = plain_text(node.targets[0]) if isinstance(node, ast.Assign) else ""
        if not name.startswith("self.") or not isinstance(node, ast.Assign):
            continue
        if not (_makes(node.value) or plain_text(node.value) in made):
            continue
        own = re.escape(name.partition(".")[2])
        is_moved = re.search(
            rf"self\.{own}(?:\[[^\]]*\])?\.(?:to|cuda|type_as)\(|register_buffer\(\s*[\"']{own}[\"']|self\.{own} *= *(?! |torch|None)", text
        )
        reads = [one for one in evidence.nodes_beside(name) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)]
        inside = [one for one in reads if plain_text(one) == name and evidence.above(one, (ast.FunctionDef,)) is not maker]
        if not is_moved and any(_meets(one, evidence) for one in inside):
            yield node


def _meets(read: ast.AST, evidence: Evidence) -> bool:
    """Return whether what a module keeps, or a part of it, is computed with."""
    above = evidence.parents.get(read)
    return (
        _meets(above, evidence)
        if isinstance(above, ast.Subscript) and above.value is read
        else (isinstance(above, ast.BinOp) or _computes(read, evidence))
    )


def _given_back(method: ast.FunctionDef, evidence: Evidence) -> Iterator[ast.AST]:
    """Yield the new tensors that a method returns, which no caller moves."""
    calls = [one for one in evidence.nodes_beside(method.name) if isinstance(one, ast.Call) and called_name(one) == method.name]
    statements = [evidence.above(call, (ast.stmt,)) for call in calls]
    if not calls or any(one is not None and not isinstance(one, ast.For) and has_move(one) for one in statements):
        return
    if ".to(" in (text := evidence.text_of(method)) or ".cuda(" in text or "device" in text or ".new" in text:
        return
    makers = (one for one in walk(method) if isinstance(one, ast.Call) and MAKES.match(plain_text(one.func)))
    yield from makers


def _of_weights(evidence: Evidence) -> Iterator[ast.AST]:
    """Yield each loss that is given weights on the CPU and never moved: `CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]))`."""
    for word in ("weight=", "weight =", "Loss("):
        for call in evidence.nodes_beside(word):
            if not isinstance(call, ast.Call) or not MEETS.search(called_name(call)):
                continue
            given = [keyword.value for keyword in call.keywords if keyword.arg in ("weight", "pos_weight")]
            given += call.args[:1] if called_name(call) in ("CrossEntropyLoss", "NLLLoss") else []
            statement = evidence.above(call, (ast.stmt,))
            if statement is None or _moves_what_it_makes(statement, evidence) or not any(_is_on_cpu(value, evidence) for value in given):
                continue
            yield call


def _moves_what_it_makes(statement: ast.AST, evidence: Evidence) -> bool:
    """Return whether a statement moves what it makes, or the program moves the name that it gives it."""
    names = [plain_text(target) for target in getattr(statement, "targets", ())]
    moves = "|".join(re.escape(name) for name in names if name)
    return has_move(statement) or (bool(moves) and re.search(rf"(?:{moves})\s*\.(?:to|cuda)\(", evidence.text) is not None)


def _is_on_cpu(value: ast.expr, evidence: Evidence) -> bool:
    """Return whether a value is made on the CPU, at once or by all that its name is given."""
    if not isinstance(value, ast.Name):
        return _makes(value)
    if re.search(rf"\b{value.id}\s*\.(?:to|cuda)\(", evidence.text):
        return False
    given = [one for one in evidence.nodes_beside(value.id) if isinstance(one, ast.Assign) and plain_text(one.targets[0]) == value.id]
    return bool(given) and all(_makes(one.value) for one in given)


def _of_functions(evidence: Evidence) -> Iterator[ast.AST]:
    """Yield what a function or the script itself makes and gives to a model, or to a loss beside what was moved."""
    models = model_texts(evidence)
    scopes: list[tuple[Sequence[ast.AST], bool]] = [(list(walk(one)), True) for one in _functions(evidence)]
    for part in _files(evidence):
        statements = [one for one in part.body if not isinstance(one, (*FUNCTIONS, ast.ClassDef))]
        scopes.append(([node for one in statements for node in walk(one)], False))
    for nodes, is_function in scopes:
        left = _left_names(nodes)
        placed = {
            plain_text(one.func.value)
            for one in nodes
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "to"
        }
        assigned = [one for one in nodes if isinstance(one, ast.Assign) and has_move(one.value)]
        given = {plain_text(target) for one in assigned for target in one.targets} - {""}
        placed |= given
        moved = computed_from(given, nodes)
        for call in (one for one in nodes if isinstance(one, ast.Call)):
            values = [*call.args, *(keyword.value for keyword in call.keywords)]
            meets = [one for one in values if plain_text(one) in left or _makes(one)]
            if not meets:
                continue
            called = plain_text(call.func)
            is_loss = IS_LOSS.search(called.rpartition(".")[2]) or MEETS.search(called)
            others = [one for one in values if one not in meets]
            if is_loss and any(_was_moved(one, moved, models) for one in others):
                yield call
            if called in models and (called in placed or (is_function and f"{called}.to(" in evidence.text)):
                yield call


def _was_moved(value: ast.expr, moved: set[str], models: frozenset[str]) -> bool:
    """Return whether an argument is what was moved, or what a model makes of it."""
    return has_move(value) or any(
        plain_text(one) in moved or (isinstance(one, ast.Call) and plain_text(one.func) in models) for one in walk(value)
    )


def _files(evidence: Evidence) -> Sequence[Any]:
    return evidence.parsed.files or (evidence.parsed,)


def _functions(evidence: Evidence) -> Iterator[ast.AST]:
    """Yield the functions that may move what they compute with."""
    found = {id(one): one for node in evidence.nodes_beside("torch.") if (one := evidence.above(node, FUNCTIONS)) is not None}
    for one in found.values():
        owner = evidence.parents.get(one)
        is_of_data = isinstance(owner, ast.ClassDef) and IS_OF_DATA.search(" ".join([owner.name, *map(ast.unparse, owner.bases)]))
        if isinstance(one, FUNCTIONS) and not is_of_data and not IS_SHOWN.search(one.name):
            yield one

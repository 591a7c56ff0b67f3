"""Operators on values: arithmetic, comparisons, identity and membership."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from mpslint.core.versions import parse_version
from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.joined import join_all, same
from mpslint.facts.paths import PathText
from mpslint.facts.values import (
    BEHIND,
    COMMAND_LINE,
    UNKNOWN,
    Bound,
    Class,
    DictEntry,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    OneOf,
    Symbol,
    Unknown,
    Value,
    is_weak,
    method_of,
)
from mpslint.program.exits import Raised
from mpslint.program.machine import Walker
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import is_tensor

LONGEST_SPEC = 3
"""Digits of what says how a value is formatted."""
LARGEST_RESULT = 1 << 16
"""Characters or bits of a computed constant; beyond, the value is Unknown."""
MOST_ITEMS = 4096
DEEPEST_PLAIN = 8

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)


def note_division(m: Walker, node: ast.BinOp | ast.AugAssign, op: ast.operator, left: Value, right: Value) -> None:
    """Note a division by what is 0 on this Target; `%` of a text formats it, a tensor divided by 0 raises no ZeroDivisionError, and
    a loop over nothing (`range(gpus)`) never comes to it."""
    is_exact = not isinstance(op, ast.Div)
    if (isinstance(left, Instance) and (is_tensor(left) or not (is_exact and left.owner is not None))) or (
        isinstance(left, Unknown) and left is not COMMAND_LINE and not is_exact
    ):
        return
    if m.is_silent or not isinstance(op, DIVISIONS) or not isinstance(right, Known) or not right.source or right.value != 0:
        return
    if isinstance(right.value, int) and not isinstance(right.value, bool) and not (isinstance(left, Known) and isinstance(left.value, str)):
        over_nothing = {loop for loop, one, _ in m.facts.loops if isinstance(one, Items) and not (one.slots or one.open)}
        if over_nothing.isdisjoint(m.context.all_loops):
            m.facts.events.append(TensorEvent("divided", node, (Operand(right, "", "", node),), Certainty.SURE, m.context, right.source))


def own_operator(m: Walker, node: ast.expr | ast.stmt, op: ast.operator, left: Value, right: Value, in_place: bool = False) -> Value | None:
    """Return what an operator that a class of the program defines gives for one of its objects; None where none is defined."""
    word = WORDS[type(op)]
    ways = [(left, f"__{word}__", right), (right, f"__r{word}__", left)]
    for one, name, other in ([(left, f"__i{word}__", right)] if in_place else []) + ways:
        if (own := method_of(one, name)) is not None:
            result = m.calls.call_function(m, own, [one, other], {}, False, node)
            return UNKNOWN if isinstance(result, Symbol) else result  # `NotImplemented` asks the other side
    return None


WORDS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.BitOr: "or", ast.BitAnd: "and", ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
"""What the methods of operators are called."""


def combine(left: Value, op: ast.operator, right: Value, node: ast.AST) -> Value:
    """Return `left op right`."""
    if isinstance(op, ast.BitOr) and isinstance(left, Mapping) and isinstance(right, Mapping):
        unknown = {key: DictEntry(UNKNOWN, entry.node, entry.is_sure) for key, entry in left.slots.items()}
        return united(Mapping(unknown, node, left.is_open) if right.is_open else left, right, node)
    if isinstance(left, Items) or isinstance(right, Items):
        return _combined_items(left, op, right, node)
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        lefts = left.values if isinstance(left, OneOf) else (left,)
        rights = right.values if isinstance(right, OneOf) else (right,)
        return join_all([or_unknown(combine, a, op, b, node) for a in lefts for b in rights])
    if not (isinstance(left, Known) and isinstance(right, Known)) or not _is_small(op, left.value, right.value):
        return UNKNOWN
    is_format = isinstance(op, ast.Mod) and not isinstance(left.value, PathText)  # a text may format a path
    if PathText in (type(left.value), type(right.value)) and not (is_format or isinstance(op, ast.Div)):
        raise Raised("TypeError")
    # A product is 0 because of the factor that is.
    zero = next((side for side in (left, right) if isinstance(op, ast.Mult) and side.source and side.value == 0), None)
    try:
        return Known(BINARY[type(op)](left.value, right.value), node, left.weak or right.weak, zero.source if zero is not None else "")
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Raised(type(error).__name__) from None
    except KeyError:
        return UNKNOWN


def or_unknown(work_out: Callable[..., Value], *given: Any) -> Value:
    """Return what one of several alternatives gives; unknown for one that raises."""
    try:
        return work_out(*given)
    except Raised:
        return UNKNOWN


def united(left: Mapping, right: Mapping, node: ast.AST) -> Mapping:
    """Return the dict that has the entries of two."""
    slots = dict(left.slots)
    for key, entry in right.slots.items():
        before = slots.get(key)
        slots[key] = (
            entry if entry.is_sure or before is None else DictEntry(join_all([before.value, entry.value]), entry.node, before.is_sure)
        )
    return Mapping(slots, node, left.is_open or right.is_open)


def with_more(items: Items, more: Sequence[Value]) -> Items:
    """Return a list with more behind what it has: nobody knows where, if not all that comes before is known."""
    start = BEHIND + len(items.slots) if items.open else len(items.slots)
    slots = {**items.slots, **dict(enumerate(more[: max(0, MOST_ITEMS - len(items.slots))], start))}
    return Items(items.kind, slots, items.origin, items.open or len(slots) < len(items.slots) + len(more))


def _combined_items(left: Value, op: ast.operator, right: Value, node: ast.AST) -> Value:
    """Return `left + right` and `left * number` of lists."""
    if isinstance(left, Items) and isinstance(right, Unknown) and any(map(_is_word, left.values())):
        right = Items(left.kind, {}, node, True)  # no array can be added to words
    if isinstance(op, ast.Add) and isinstance(left, Items) and isinstance(right, Items) and left.kind == right.kind:
        behind = [value for index, value in right.slots.items() if index >= BEHIND]  # nobody knows how far behind
        made = with_more(Items(left.kind, dict(left.slots), node, left.open), right.values()[: len(right.slots) - len(behind)])
        return with_more(Items(left.kind, made.slots, node, made.open or right.open), behind)
    items, count = (left, right) if isinstance(left, Items) else (right, left)
    if isinstance(op, ast.Mult) and isinstance(items, Items) and items.kind in ("list", "tuple") and not items.open:
        values = items.values()
        is_sure = isinstance(count, Known) and isinstance(count.value, int) and not count.weak
        if is_sure and isinstance(count, Known) and len(values) * max(count.value, 0) <= MOST_ITEMS:
            return Items(items.kind, dict(enumerate(values * count.value)), node)
        if values and is_weak(count):  # however many there are
            return Items(items.kind, {}, node, True, join_all(values))
    if isinstance(op, ast.Mod) and isinstance(left, Known) and isinstance(left.value, str) and isinstance(right, Items):
        return _percent(left, right, node)
    return UNKNOWN


def _is_word(value: Value) -> bool:
    return isinstance(value, Known) and isinstance(value.value, str)


def _percent(left: Known, right: Items, node: ast.AST) -> Value:
    """Return `"%s" % (a, b)` of constants."""
    values = right.values()
    given = tuple(one.value for one in values if isinstance(one, Known) and is_short(one.value))
    if right.kind != "tuple" or right.open or len(given) < len(values) or not _is_small(ast.Mod(), left.value, given):
        return UNKNOWN
    try:
        return Known(left.value % given, node, left.weak or any(map(is_weak, values)))
    except (TypeError, ValueError) as error:
        raise Raised(type(error).__name__) from None


def is_short(constant: Any) -> bool:
    """Return whether a constant makes a text of ordinary length; a huge number has none at all."""
    if isinstance(constant, int):
        return constant.bit_length() <= 1024
    return not isinstance(constant, (str, bytes)) or len(constant) <= LARGEST_RESULT


def is_wide(spec: str) -> bool:
    """Return whether what says how a value is formatted (`>10`, `.3f`) may make a text of more than ordinary length."""
    return "{" in spec or sum(letter.isdigit() for letter in spec) > LONGEST_SPEC


def formatted(value: Value, conversion: int, spec: Value) -> str | None:
    """Return what stands in an f-string for a value; None where that is not known."""
    if not isinstance(value, Known) or not is_short(value.value) or not isinstance(spec, Known) or conversion not in (-1, 114, 115):
        return None
    if is_wide(spec.value):
        return None
    try:
        return format(repr(value.value) if conversion == 114 else str(value.value) if conversion == 115 else value.value, spec.value)
    except (TypeError, ValueError) as error:
        raise Raised(type(error).__name__) from None


def is_one_index(node: ast.expr) -> bool:
    """Return whether an expression names the one GPU that a run uses (`gpu`, `str(args.gpu)`), and none of several by its process."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        node = node.args[0]
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "rank"
    return "rank" not in name.lower()


def _is_small(op: ast.operator, left: Any, right: Any) -> bool:
    """Return whether an operation cannot make a huge constant."""
    if isinstance(op, ast.Pow):
        numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
        return numbers and abs(right) <= 1024 and (isinstance(left, float) or left.bit_length() * abs(right) <= LARGEST_RESULT)
    if isinstance(op, ast.LShift):
        return isinstance(left, int) and isinstance(right, int) and left.bit_length() + right <= LARGEST_RESULT
    if isinstance(op, ast.Mult) and not (isinstance(left, (int, float, complex)) and isinstance(right, (int, float, complex))):
        length = len(left) if isinstance(left, (str, bytes)) else len(right) if isinstance(right, (str, bytes)) else 1
        count = right if isinstance(right, int) else left if isinstance(left, int) else 1
        return length * abs(count) <= LARGEST_RESULT
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        return len(left) <= 1024 and not any(mark in str(left) for mark in ("*", "0000", "9999"))
    if isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)):
        return len(left) + len(right) <= LARGEST_RESULT
    return not isinstance(left, int) or not isinstance(right, int) or left.bit_length() + right.bit_length() <= LARGEST_RESULT


COMPARE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def compare(m: Walker, left: Value, op: ast.cmpop, right: Value, node: ast.expr) -> Value:
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        lefts = left.values if isinstance(left, OneOf) else (left,)
        rights = right.values if isinstance(right, OneOf) else (right,)
        return join_all([or_unknown(compare, m, a, op, b, node) for a in lefts for b in rights])
    if isinstance(op, (ast.Is, ast.IsNot)):
        return _identity(m, left, right, isinstance(op, ast.Is), node)
    if isinstance(op, (ast.In, ast.NotIn)):
        return _membership(m, left, right, isinstance(op, ast.In), node)
    if isinstance(op, (ast.Eq, ast.NotEq)) and (is_same := _same_name(left, right)) is not None:
        return Known(is_same is isinstance(op, ast.Eq), node)
    if isinstance(op, (ast.Eq, ast.NotEq)) and (is_same := _same_member(m, left, right)) is not None:
        return Known(is_same is isinstance(op, ast.Eq), node)
    if isinstance(op, (ast.Eq, ast.NotEq)) and (answer := _equal(left, right)) is not None:
        return Known(answer is isinstance(op, ast.Eq), node)
    if not (isinstance(left, Known) and isinstance(right, Known)):
        return UNKNOWN
    a, b = _comparable(left, m), _comparable(right, m)
    if m.platform.is_absent_device(left.value) and m.platform.is_absent_device(right.value):
        return UNKNOWN
    if isinstance(a, tuple) != isinstance(b, tuple):
        a, b = (parse_version(str(side)) if isinstance(side, str) else side for side in (a, b))
    try:
        return Known(bool(COMPARE[type(op)](a, b)), node, left.weak or right.weak, left.source or right.source)
    except TypeError as error:
        raise Raised(type(error).__name__) from None
    except KeyError:
        return UNKNOWN


def _same_name(left: Value, right: Value) -> bool | None:
    """Return whether two values are one thing from outside, by their names; None where that isn't known: packages rename things."""
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        names = [_dtype_or_name(one.name) for one in (left, right)]
        # What is in one part of a package may be in another part, too: torch.nn.functional.relu is torch.relu.
        parts = {name.rpartition(".")[0].rpartition(".")[2] for name in names}
        is_apart = len(parts) == 1 and names[0].split(".")[0] == names[1].split(".")[0]
        return True if names[0] == names[1] else False if is_apart else None
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Instance) and one.name == TYPE_FROM_OUTSIDE and isinstance(other, Symbol) and other.name.startswith("builtins."):
            return False
    return None


def _dtype_or_name(name: str) -> str:
    """Return a qualified name; of a dtype the one that all of its names stand for (`torch.float32` of `torch.float`)."""
    dtype = load_kinds().dtype_named(name)
    return f"{name.split('.')[0]}.{dtype}" if dtype else name


def _same_member(m: Walker, left: Value, right: Value) -> bool | None:
    """Return whether two values are one object of an enumeration; None where they aren't known, or neither is of one."""
    members = [
        one
        for one in (left, right)
        if isinstance(one, Instance)
        and one.cls is not None
        and m.platform.enumerations.issuperset(one.cls.outside_bases())
        and one.cls.outside_bases()
        and one.cls.lookup("__eq__") is None
    ]
    is_known = len(members) == 2 or (members and any(isinstance(one, Known) for one in (left, right)))
    return left is right if is_known else None


def _equal(left: Value, right: Value) -> bool | None:
    """Return whether two lists of constants, or two dicts of them, are equal; None where that is not known."""
    values = [plain_of(one) for one in (left, right)]
    is_plain = any(isinstance(one, (Items, Mapping)) for one in (left, right)) and not any(one is NOT_PLAIN for one in values)
    return bool(values[0] == values[1]) if is_plain else None


TYPE_FROM_OUTSIDE = "builtins.type"
"""The name of what `type` gives for a tensor or an array: which of their classes isn't known, but none of Python's own."""
NOT_PLAIN = object()


def plain_of(value: Value, depth: int = 0) -> Any:
    """Return the list, dict or constant that a value certainly is; NOT_PLAIN for anything else."""
    if isinstance(value, Known) and not value.weak and not value.source:
        return value.value
    if isinstance(value, Items) and not value.open and value.kind in ("list", "tuple") and depth < DEEPEST_PLAIN:
        items = [plain_of(one, depth + 1) for one in value.values()]
        return NOT_PLAIN if any(one is NOT_PLAIN for one in items) else items if value.kind == "list" else tuple(items)
    if isinstance(value, Mapping) and not value.is_open and value.owner is None and depth < DEEPEST_PLAIN:
        entries = {key: plain_of(entry.value, depth + 1) for key, entry in value.slots.items() if isinstance(entry, DictEntry)}
        return NOT_PLAIN if len(entries) < len(value.slots) or any(one is NOT_PLAIN for one in entries.values()) else entries
    return NOT_PLAIN


def _comparable(value: Known, m: Walker) -> Any:
    """Return a constant as it compares: a package's version as numbers, a device without its index."""
    if value.source in m.platform.versions and isinstance(value.value, str):
        return parse_version(value.value)
    if value.source in m.platform.devices and isinstance(value.value, str):
        return value.value.removesuffix(":0")
    return value.value


def _identity(m: Walker, left: Value, right: Value, positive: bool, node: ast.expr) -> Value:
    if isinstance(left, Known) and isinstance(right, Known):
        is_single = any(one.value is None or isinstance(one.value, bool) for one in (left, right))
        equal = left.value is right.value if is_single else False if type(left.value) is not type(right.value) else None
        weak, source = left.weak or right.weak, left.source or right.source
        return UNKNOWN if equal is None else Known(equal is positive, node, weak, source)
    for a, b in ((left, right), (right, left)):
        if isinstance(b, Known) and b.value is None and isinstance(a, (Instance, Items, Mapping, Function, Class, Bound)):
            if isinstance(a, Instance) and not a.kind and (a.owner is not None or a.cls is None) and not _is_constructed(a):
                return UNKNOWN  # an outside call or attribute may well give None, where nothing says what it is
            return Known(not positive, node)
    if (is_same := _same_name(left, right)) is not None:
        return Known(is_same is positive, node)
    own = (Items, Mapping, Function, Class)
    kinds = [isinstance(one, own) or (isinstance(one, Instance) and one.cls is not None and one.owner is None) for one in (left, right)]
    if all(kinds) and not any(isinstance(one, Mapping) and one.owner is not None for one in (left, right)):  # a view is made anew each time
        is_same = left is right
        is_told = is_same or not any(isinstance(one, Items) and one.kind != "list" for one in (left, right))  # `() is ()`
        is_told = is_told and not (is_same and id(left.slots if isinstance(left, Instance) else left) in m.store.several)
        return Known(is_same is positive, node) if is_told else UNKNOWN
    return UNKNOWN


def _is_constructed(value: Instance) -> bool:
    """Return whether a value is what a class from outside makes, told by its capital letter."""
    return value.call is not None and not value.call.method and value.call.name.rpartition(".")[2][:1].isupper()


def _membership(m: Walker, item: Value, container: Value, positive: bool, node: ast.expr) -> Value:
    if isinstance(item, Known) and item.value in m.platform.absent_modules and not isinstance(container, (Items, Mapping)):
        is_set = ("environment", item.value) in m.module.slots  # by the program itself
        return UNKNOWN if is_set else Known(not positive, node)  # in sys.modules, in str(get_ipython()), in os.environ
    if isinstance(item, Known) and m.platform.is_absent_device(item.value):
        values = container.values() if isinstance(container, Items) else [container]
        if any(isinstance(value, Known) and m.platform.is_absent_device(value.value) for value in values):
            return UNKNOWN
    if isinstance(container, Known) and isinstance(container.value, PathText):
        raise Raised("TypeError")
    if isinstance(item, Known) and isinstance(container, Known) and isinstance(container.value, (str, bytes)):
        try:
            found = item.value in container.value
        except TypeError as error:
            raise Raised(type(error).__name__) from None
        return Known(found is positive, node, item.weak or container.weak, item.source or container.source)
    if isinstance(container, Mapping) and isinstance(item, Known) and is_hashable(item.value):
        entry = container.slots.get(item.value)
        is_there = entry is not None and entry.is_sure
        return Known(is_there is positive, node, item.weak) if is_there or (entry is None and not container.is_open) else UNKNOWN
    if isinstance(container, Items) and not container.open and all(_same_name(item, one) is False for one in container.values()):
        return Known(not positive, node)
    if isinstance(container, Items) and isinstance(item, (Known, Symbol)):
        values, source = container.values(), item.source if isinstance(item, Known) else ""
        equal = [one for one in values if same(item, one) or (_are_plain(item, one) and item.value == one.value)]  # type: ignore[union-attr]
        if equal:
            return Known(positive, node, is_weak(item) or all(map(is_weak, equal)), source)
        if not container.open and all(isinstance(value, type(item)) for value in values):
            return Known(not positive, node, any(map(is_weak, (item, *values))), source)
    return UNKNOWN


def _are_plain(item: Value, value: Value) -> bool:
    """Return whether two values are constants that say nothing of the platform: 1 and True are the same to a list."""
    return isinstance(item, Known) and isinstance(value, Known) and not item.source and not value.source


def is_hashable(value: Any) -> bool:
    """Return whether a constant can be a key."""
    return value.__hash__ is not None

"""Shapes: how long the dimensions of a tensor are, as far as the program says, and what that means for what is computed of it."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence

from mpslint.facts.values import COMMAND_LINE, UNKNOWN, Argument, AtMost, Instance, Items, Known, Lengths, Shape, Value, is_weak
from mpslint.tensors.arguments import GivenByName
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.signatures import Signature
from mpslint.tensors.traits import NUMBER, SHAPE, Machine, is_none, is_number, joined_trait


class _Unclear(Exception):
    """Something that decides a shape isn't known."""


class _ShapeCall:
    """The arguments of a call, as shapes are worked out of them; remembers whether one was a default that may be another."""

    def __init__(self, signature: Signature, given: GivenByName) -> None:
        self.given, self.names, self.is_weak = given, signature.called_with or signature.operands, False

    def lengths(self, value: Value | None) -> Lengths:
        found = joined_trait(value, SHAPE) if value is not None else UNKNOWN
        if not isinstance(found, Known):
            raise _Unclear
        self.is_weak = self.is_weak or found.weak
        return _shape(found).lengths

    @property
    def first(self) -> Lengths:
        return self.lengths(self.given.value(self.names[0]))

    def length(self, value: Value) -> int | None:
        self.is_weak = self.is_weak or is_weak(value)
        return value.value if isinstance(value, Known) and type(value.value) is int else None

    def number(self, name: str, default: int | None = None) -> int:
        value = self.given.value(name)
        found = default if value is None else self.length(value)
        if found is None:
            raise _Unclear
        return found

    def numbers(self, *names: str) -> Lengths:
        """Return what the first of some arguments says that is given: one number, several, or a tuple of them."""
        name = next((one for one in names if one in self.given.values), "")
        values = [one.value for one in self.given.all([name])]
        if len(values) == 1 and isinstance(values[0], Items) and not values[0].open:
            return tuple(map(self.length, values[0].values()))
        if not values or (len(values) == 1 and not (values[0] is COMMAND_LINE or is_number(values[0])) and self.length(values[0]) is None):
            raise _Unclear
        return tuple(map(self.length, values))

    def dimensions(self, name: str) -> set[int]:
        """Return the dimensions of the first operand that an argument names, from the front."""
        return {_at(self.first, one) for one in self.numbers(name)}

    def all(self) -> list[Lengths]:
        """Return the lengths of all operands, of which numbers have none."""
        values = [one.value for one in self.given.all(self.names) if not is_none(one.value)]
        return [() if is_number(one) or isinstance(one, Known) else self.lengths(one) for one in values]

    def listed(self, name: str) -> list[Lengths]:
        """Return the lengths of the tensors in a list."""
        value = self.given.value(name)
        if not isinstance(value, Items) or value.open or not value.slots:
            raise _Unclear
        return [self.lengths(one) for one in value.values()]


def _shape(known: Known) -> Shape:
    found: Shape = known.value
    return found


def shape_of(value: Value) -> Shape | None:
    """Return what is known of a tensor's shape; None for one of which nothing is."""
    found = joined_trait(value, SHAPE)
    return _shape(found) if isinstance(found, Known) else None


def shape_by(signature: Signature, given: GivenByName) -> Value:
    """Return the shape of what a call of a function with a signature gives; Unknown where that isn't known."""
    word, *names = signature.shape.split() if signature.shape else [""]
    first = given.value((*signature.called_with, *signature.operands, "")[0]) if word and word not in OF_OTHERS else None
    if isinstance(first, Instance) and SHAPE not in first.slots:
        return UNKNOWN  # asked of each call of a program
    if not word or given.is_open or not load_kinds().dimension_aliases.isdisjoint(given.values):
        return UNKNOWN
    asked = _ShapeCall(signature, given)
    try:
        lengths = WORDS[word](asked, *names)
        source = joined_trait(given.value(asked.names[0]) or UNKNOWN, SHAPE) if word in VIEWS else None
    except (_Unclear, ArithmeticError, LookupError, ValueError):  # where these sizes don't go together, the call raises
        return UNKNOWN
    memory = None if word.startswith("expanded") else _shape(source).memory if isinstance(source, Known) else lengths
    return Known(Shape(lengths, memory), None, asked.is_weak)


def shape_told(value: Value, dimension: Value | None = None) -> Value:
    """Return the lengths of a tensor's dimensions as the program reads them, or that of one dimension; Unknown where none is known."""
    found = joined_trait(value, SHAPE)
    if not isinstance(found, Known):
        return UNKNOWN
    told = [NUMBER if length is None or isinstance(length, AtMost) else Known(length, None, found.weak) for length in _shape(found).lengths]
    if dimension is None:
        return Items("tuple", dict(enumerate(told)))
    at = dimension.value if isinstance(dimension, Known) and type(dimension.value) is int else len(told)
    return told[at] if -len(told) <= at < len(told) else NUMBER


def row_shape(value: Value) -> Value:
    """Return the shape of what going through a tensor gives."""
    found = joined_trait(value, SHAPE)
    lengths = _shape(found).lengths if isinstance(found, Known) else ()
    return Known(Shape(lengths[1:], lengths[1:]), None, is_weak(found)) if lengths else UNKNOWN


def batch_of(row: Value, size: Value) -> Value:
    """Return the shape of a batch of a number of rows that have one shape."""
    if not (isinstance(row, Known) and isinstance(size, Known)):
        return UNKNOWN
    lengths = (size.value, *_shape(row).lengths)
    return Known(Shape(lengths, lengths), None, row.weak or size.weak)


PRODUCT, TOGETHER = (Signature("", operands=("left", "right"), shape=word) for word in ("product", "all"))
"""What the operator `@` and the others do to shapes."""


def shape_of_operator(left: Value, right: Value, is_product: bool) -> Value:
    """Return the shape of what an operator makes of two operands."""
    given = GivenByName({"left": Argument(left, None), "right": Argument(right, None)}, False)
    return shape_by(PRODUCT if is_product else TOGETHER, given)


def part_shape(m: Machine, base: Value, index: ast.expr, value: Value) -> Value:
    """Return the shape of `base[index]`, of which the index is a `value`."""
    found = joined_trait(base, SHAPE)
    values = value.values() if isinstance(value, Items) and value.kind == "tuple" and not value.open else [value]
    nodes = index.elts if isinstance(index, ast.Tuple) else [index] * len(values)
    if not isinstance(found, Known) or len(nodes) != len(values):
        return UNKNOWN
    lengths, made = list(_shape(found).lengths), list[int | None]()
    taken = sum(1 for node, one in zip(nodes, values, strict=True) if not (isinstance(one, Known) and one.value in (None, Ellipsis)))
    for node, one in zip(nodes, values, strict=True):
        if isinstance(one, Known) and one.value is None:
            made.append(1)
        elif isinstance(one, Known) and one.value is Ellipsis:
            made += lengths[: len(lengths) - taken]
            del lengths[: len(lengths) - taken]
        elif isinstance(node, ast.Slice) and lengths:
            taken -= 1
            made.append(_sliced(m, lengths.pop(0), node))
        elif lengths and (is_number(one) or (isinstance(one, Known) and type(one.value) is int)):
            taken -= 1
            del lengths[0]
        else:
            return UNKNOWN
    return Known(Shape((*made, *lengths), _shape(found).memory), None, found.weak)


def _sliced(m: Machine, length: int | None, node: ast.Slice) -> int | None:
    bounds = [None if one is None else m.looked_at(one) for one in (node.lower, node.upper, node.step)]
    if not any(bounds):
        return length
    known = [one.value if isinstance(one, Known) and type(one.value) is int and not one.weak else None for one in bounds]
    if length is None or [one is None for one in known] != [one is None for one in bounds] or known[2] == 0:
        return None
    left = len(range(length)[slice(*known)])
    return AtMost(left) if isinstance(length, AtMost) else left


def product_of(lengths: Lengths) -> int | None:
    """Return how many numbers there are in some lengths; None where that isn't known."""
    known = [one for one in lengths if one is not None]
    return math.prod(known) if len(known) == len(lengths) else None


def _together(lengths: Sequence[int | None]) -> int | None:
    others = [one for one in lengths if one not in (None, 1)]
    return next((one for one in others if isinstance(one, AtMost)), others[0]) if others else None if None in lengths else 1


def _broadcast(shapes: Sequence[Lengths]) -> Lengths:
    longest = max(map(len, shapes), default=0)
    return tuple(map(_together, zip(*((1,) * (longest - len(one)) + one for one in shapes), strict=True)))


def _all(asked: _ShapeCall, least: str = "1") -> Lengths:
    shapes = asked.all()
    if len(shapes) < int(least):
        raise _Unclear
    return _broadcast(shapes)


def _matmul(asked: _ShapeCall, *_: str) -> Lengths:
    left, right = asked.all()[:2]
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    if not left or not right:
        raise _Unclear
    return (*_broadcast([left[:-2], right[:-2]]), *rows, *columns)


def _at(lengths: Lengths, dimension: int | None, more: int = 0) -> int:
    """Return a dimension by its number from the front. Raises where there is none."""
    if dimension is None:
        raise _Unclear
    number = dimension + len(lengths) + more if dimension < 0 else dimension
    if not 0 <= number < len(lengths) + more:
        raise _Unclear
    return number


def _reshaped(asked: _ShapeCall, *names: str) -> Lengths:
    before, wanted = asked.first, asked.numbers(*names)
    lengths = [None if one == -1 else one for one in wanted]
    if lengths.count(None) == 1 and (total := product_of(before)) is not None:
        rest = math.prod(one for one in lengths if one is not None)
        if not rest or total % rest:
            raise _Unclear
        left = total // rest
        lengths[lengths.index(None)] = AtMost(left) if any(isinstance(one, AtMost) for one in before) else left
    return tuple(lengths)


def _swapped(asked: _ShapeCall, *names: str) -> Lengths:
    made = list(asked.first)
    one, other = (_at(asked.first, int(name) if name.lstrip("-").isdecimal() else asked.number(name)) for name in names)
    made[one], made[other] = made[other], made[one]
    return tuple(made)


def _ordered(asked: _ShapeCall, name: str) -> Lengths:
    before, order = asked.first, asked.numbers(name)
    if len(order) != len(before):
        raise _Unclear
    return tuple(before[_at(before, one)] for one in order)


def _of_argument(asked: _ShapeCall, name: str, at: str = "") -> int | None:
    """Return the number that an argument is, or how long a dimension of it is; None for one below 0, which leaves it to the values."""
    number = asked.lengths(asked.given.value(name))[int(at)] if at else asked.number(name)
    return number if number is None or number >= 0 else None


def _reduced(asked: _ShapeCall, name: str) -> Lengths:
    before = asked.first
    gone = asked.dimensions(name) if asked.given.value(name) is not None else set(range(len(before)))
    kept = asked.given.value("keepdim")
    if kept is not None and not isinstance(kept, Known):
        raise _Unclear
    is_kept = kept is not None and bool(kept.value)
    return tuple(1 if n in gone else one for n, one in enumerate(before) if n not in gone or is_kept)


def _joined(asked: _ShapeCall, name: str) -> Lengths:
    shapes = [one for one in asked.listed(name) if one != (0,)]
    at = _at(shapes[0], asked.number("dim", 0))
    total = [one[at] for one in shapes]
    length = None if None in total else sum(one or 0 for one in total)
    length = AtMost(length) if length is not None and any(isinstance(one, AtMost) for one in total) else length
    return (*shapes[0][:at], length, *shapes[0][at + 1 :])


def _stacked(asked: _ShapeCall, name: str) -> Lengths:
    shapes = asked.listed(name)
    at = _at(shapes[0], asked.number("dim", 0), 1)
    return (*shapes[0][:at], len(shapes), *shapes[0][at:])


def _inserted(asked: _ShapeCall, name: str) -> Lengths:
    at = _at(asked.first, asked.number(name), 1)
    return (*asked.first[:at], 1, *asked.first[at:])


def _of_data(data: Value | None) -> Lengths:
    """Return the lengths of a number, of a list of numbers, and of a list of such lists."""
    if isinstance(data, Items) and not data.open:
        inner = set(map(_of_data, data.values()))
        if len(inner) < 2:
            return (len(data.slots), *next(iter(inner), ()))
    elif data is not None and (is_number(data) or (isinstance(data, Known) and isinstance(data.value, (int, float, complex)))):
        return ()
    raise _Unclear


def _squeezed(asked: _ShapeCall, name: str) -> Lengths:
    before = asked.first
    gone = asked.dimensions(name) if name in asked.given.values else None
    may_go = [one for n, one in enumerate(before) if gone is None or n in gone]
    if None in may_go or any(isinstance(one, AtMost) for one in may_go):
        raise _Unclear
    return tuple(one for n, one in enumerate(before) if one != 1 or (gone is not None and n not in gone))


def _flat(asked: _ShapeCall, default: str, start: str, end: str) -> Lengths:
    before = asked.first or (1,)
    first, last = _at(before, asked.number(start, int(default))), _at(before, asked.number(end, -1))
    inner = before[first : last + 1]
    total = product_of(inner)
    total = AtMost(total) if total is not None and any(isinstance(one, AtMost) for one in inner) else total
    return (*before[:first], total, *before[last + 1 :])


def _expanded(asked: _ShapeCall, name: str) -> Lengths:
    before, wanted = asked.first, asked.numbers(name)
    before = (None,) * (len(wanted) - len(before)) + before
    return tuple(old if new == -1 else new for old, new in zip(before, wanted, strict=True))


def _repeated(asked: _ShapeCall, name: str) -> Lengths:
    before, times = asked.first, asked.numbers(name)
    before = (1,) * (len(times) - len(before)) + before
    return tuple(None if old is None or new is None else old * new for old, new in zip(before, times, strict=True))


def _pieces(asked: _ShapeCall, size: str) -> Lengths:
    """Return the lengths of each piece: of the first, that of all but the last."""
    before, at = asked.first, _at(asked.first, asked.number("dim", 0))
    length, number = before[at], asked.number(size)
    step = None if length is None or number < 1 else -(-length // number) if size == "chunks" else number
    piece = None if step is None or length is None or length % step else step
    return (*before[:at], piece, *before[at + 1 :])


def _counted(asked: _ShapeCall, *names: str) -> Lengths:
    numbers = [asked.number(name) for name in names if name in asked.given.values]
    return (len(range(*numbers)),)


def _window(asked: _ShapeCall, dimensions: str, channels: str = "", at: str = "") -> Lengths:
    """Return the lengths that are left of a convolution or a pooling over some of the last dimensions."""
    number = int(dimensions)
    before, made = asked.first, list[int | None]()
    outer = before[:-number]
    if channels:
        outer = (*outer[:-1], _of_argument(asked, channels, at))
    kernel = asked.lengths(asked.given.value(channels))[2:] if at else _of_each(asked, "kernel_size", number)
    stride = _of_each(asked, "stride", number, 1 if channels else None) if channels or asked.given.value("stride") else kernel
    padding = asked.given.value("padding")
    is_same = isinstance(padding, Known) and padding.value == "same"
    pads = (0,) * number if isinstance(padding, Known) and padding.value == "valid" else _of_each(asked, "padding", number, 0)
    gaps = _of_each(asked, "dilation", number, 1)
    rounded = asked.given.value("ceil_mode")
    if rounded is not None and not (isinstance(rounded, Known) and not rounded.value):
        raise _Unclear
    for length, size, step, pad, gap in zip(before[-number:], kernel, stride, before[-number:] if is_same else pads, gaps, strict=True):
        if length is None or size is None or step is None or pad is None or gap is None:
            made.append(None)
        else:
            made.append(length if is_same else (length + 2 * pad - gap * (size - 1) - 1) // step + 1)
    return (*outer, *made)


def _of_each(asked: _ShapeCall, name: str, number: int, default: int | None = None) -> Lengths:
    if asked.given.value(name) is None and default is not None:
        return (default,) * number
    if isinstance(asked.given.value(name), Known) and asked.length(asked.given.values[name].value) is None:
        return (None,) * number
    found = asked.numbers(name)
    if len(found) not in (1, number):
        raise _Unclear
    return found * number if len(found) == 1 else found


def _resized(asked: _ShapeCall, dimensions: str, size: str, factor: str = "") -> Lengths:
    """Return the lengths after the last dimensions, or all behind the second one (0), are brought to a size, or made a factor longer."""
    number, sizes = int(dimensions) or len(asked.first) - 2, asked.given.value(size)
    outer, inner = asked.first[:-number], asked.first[-number:]
    if not factor or not (sizes is None or is_none(sizes)):
        return (*outer, *_of_each(asked, size, number))
    grown = zip(inner, _of_each(asked, factor, number), strict=True)
    return (*outer, *(None if one is None or by is None else one * by for one, by in grown))


def _summed(asked: _ShapeCall, equation: str, operands: str) -> Lengths:
    """Return the lengths of an `einsum` that says what is left."""
    written = asked.given.value(equation)
    text = written.value.replace(" ", "") if isinstance(written, Known) and isinstance(written.value, str) else ""
    inputs, arrow, left = text.partition("->")
    shapes = [asked.lengths(one.value) for one in asked.given.all([operands])]
    named: dict[str, int | None] = {}
    for letters, shape in zip(inputs.split(","), shapes, strict=False):
        if len(letters) != len(shape):
            raise _Unclear
        for letter, length in zip(letters, shape, strict=True):
            named[letter] = _together([length, named.get(letter, 1)])
    if not arrow or not all(letter in named for letter in left):
        raise _Unclear
    return tuple(named[letter] for letter in left)


WORDS: Mapping[str, Callable[..., Lengths]] = {
    "same": lambda asked: asked.first,
    "kept": lambda asked: asked.first,
    "all": _all,
    "data": lambda asked, name: _of_data(asked.given.value(name)),
    "size": lambda asked, *names: asked.numbers(*names),
    "product": _matmul,
    "reshaped": _reshaped,
    "swapped": _swapped,
    "turned": lambda asked: asked.first[::-1],
    "ordered": _ordered,
    "last": lambda asked, *of: (*asked.first[:-1], _of_argument(asked, *of)),
    "more": lambda asked, *of: (*asked.first, _of_argument(asked, *of)),
    "reduced": _reduced,
    "joined": _joined,
    "stacked": _stacked,
    "inserted": _inserted,
    "squeezed": _squeezed,
    "flat": _flat,
    "expanded": _expanded,
    "expanded_like": lambda asked, name: asked.lengths(asked.given.value(name)),
    "like": lambda asked, name: asked.lengths(asked.given.value(name)),
    "repeated": _repeated,
    "pieces": _pieces,
    "counted": _counted,
    "window": _window,
    "resized": _resized,
    "summed": _summed,
}
"""What works out the lengths by the first word of a signature's `shape`, given the others."""
OF_OTHERS = frozenset({"data", "size", "like", "expanded_like", "counted"})
"""The words that ask for no shape of the first operand."""
VIEWS = frozenset({"kept", "reshaped", "swapped", "turned", "ordered", "inserted", "squeezed", "flat", "pieces"})
"""The words of what lies in the memory of its first operand."""

"""What each function, method and class makes of the tensors and arrays that it is given: the tables of `rules/signatures/`."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from mpslint.core.knowledge import knowledge_files, read_yaml
from mpslint.core.record import record


@record(frozen=True, eq=False)
class Signature:
    """One function, method or class of a library."""

    name: str
    """Its qualified name: `torch.add`, `torch.Tensor.add_`, `numpy.ndarray.astype`."""
    parameters: tuple[str, ...] = ()
    """Those that can be given by position, in order; a method's first is its object. Others are given by name only."""
    rest: str = ""
    """The parameter that takes all further positional arguments, or one list of them: `size` of `torch.zeros(2, 3)`."""
    operands: tuple[str, ...] = ()
    """Parameters whose tensors (also those in a list) must lie on one device."""
    anywhere: tuple[str, ...] = ()
    """Parameters whose tensors may also lie on the CPU."""
    on_cpu: tuple[str, ...] = ()
    """Parameters whose tensors must lie on the CPU."""
    alike: tuple[str, ...] = ()
    """Parameters whose tensors must have one dtype: `input`, `weight` and `bias` of `linear`."""
    scalars: bool = False
    """Whether a CPU tensor without dimensions goes with operands on any device."""
    gives: str = ""
    """The class of what it gives (`torch.Tensor`); `python` for a plain object, `self` for the first argument, `none`; '' for anything."""
    scalar: str = ""
    """The class of what it gives instead where that has no dimensions (`builtins.float`), if it is another one."""
    wraps: bool = False
    """Whether it gives an object of the first operand's class where that is no array and not plain (`numpy.exp` of a Series)."""
    gives_back: int = 0
    """How many times it gives back each argument without a name, in a list, in their order (`train_test_split`: 2); of its own
    class where `gives` says none."""
    parts: tuple[Any, ...] = ()
    """The dtype of each tensor, where it gives a tuple of them; a tuple in it is a tuple there: (`same`, (`same`, `same`)) for an LSTM."""
    places: tuple[str, ...] = ()
    """The device that each of these tensors always lies on, '' for that of the operands."""
    part_classes: tuple[str, ...] = ()
    """The class of each of them, where they aren't all what it gives; '' for one that isn't known."""
    each: bool = False
    """Whether it gives a list of such tensors."""
    dtype: str = ""
    """A dtype by name, or how it follows from the operands': `same` (promoted), `first` (the first operand's), `data` (of the numbers or
    the arrays given, a plain number being as strong as an array), `number` (the same, where NumPy's numbers count as plain ones), `array`
    (the same, of what is an array for sure), `float` (the default float for whole numbers and bools), `widened` (int64 for them), `inexact`
    (as ufuncs: of whole numbers float16 for 8 bits, float32 for 16, else float64), `real` (of complex numbers their real counterpart),
    `widest` (int64 for whole numbers, else float64); '' for one that isn't known."""
    dtype_argument: str = ""
    """The parameter that names the dtype instead."""
    place_argument: str = ""
    """The parameter that names the device of the result, which else is that of the operands."""
    makes: bool = False
    """Whether it makes a tensor of its own, on the device that is named, else on the default device."""
    keeps_place: str = ""
    """The parameter whose device it is made on, unless one is named, where a tensor itself is given and no list: `data` of `tensor`."""
    place: str = ""
    """The device that the result always lies on."""
    graph: bool = True
    """Whether what it gives carries the graph of its operands."""
    zero: str = ""
    """When the result has no dimensions: `always`, `never`, `same` (as the first tensor given), `all` (where none has any), `unless NAME`
    is given or `keepdim` is true, `all unless NAME`, `reduced` (by a loss, unless its argument `reduction` is "none"), `maybe` (an
    array may be a scalar); '' where that isn't known."""
    shape: str = ""
    """How long the dimensions of what it gives are, of several tensors those of the first, or of each: a word of `shapes.WORDS`, and what
    that works them out of (`last out_features`); '' where that isn't known."""
    copies: tuple[int, ...] = ()
    """How many tensors as large as the first operand lie in memory together at least: when it has run, and in its backward pass."""
    size: str = ""
    """What says how many dimensions an array that it gives has: a parameter that is its size, or the number itself."""
    in_place: bool = False
    """Whether it changes its first argument and gives that, with the dtype, device and dimensions that it has."""
    data: str = ""
    """The parameter whose numbers give the dtype `data`, where it isn't the first; "*" for those of all parameters together."""
    layout: str = ""
    """How what it gives lies in memory: `swapped`, a view with the dimensions in another order, `repeated`, one that may have numbers in
    several places, or `kept`, as its first argument does."""
    attribute: bool = False
    """Whether it is an attribute, which is read and not called."""
    called_with: tuple[str, ...] = ()
    """For a class of modules: the parameters of a call of its object; each tensor of them must lie where the weights do. What is given,
    dtype, graph and dimensions are of the call too; `parameters`, `dtype_argument` and `place_argument` are of the class."""
    weights: bool = False
    """For a class of modules: whether an object of it has parameters or buffers, which stay where they were made until it is moved."""
    does: str = ""
    """For a class of modules: the function that a call of its object is, by its qualified name, with arguments of the class by name."""
    registered: tuple[str, ...] = ()
    """For a class of modules: arguments whose tensors move with the module."""
    inside: tuple[str, ...] = ()
    """For a class of modules: arguments whose modules it calls one after the other."""
    takes: str = ""
    """For a class of modules: the dtype of what a call takes: `weights` (that of its weights), `whole` (whole numbers, looked up)."""
    with_arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Other fields where an argument of a name is given and is neither None nor False (`max` with `dim` gives two tensors). `NAME+NAME`:
    where both are, which goes before one of them."""
    with_tensors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Other fields, of all that is said here, where the argument of a name is a tensor (`max` with a tensor in the place of `dim`)."""

    @property
    def is_module(self) -> bool:
        """Whether it is a class of modules."""
        may_have = any(said.get("weights") for said in self.with_arguments.values())
        return bool(self.called_with or self.inside or self.registered or self.weights or may_have)


class _Signatures(Mapping[str, Signature]):
    """Signatures by qualified name, each made of what a table says when it is asked for: a file needs few of them."""

    def __init__(self, said: Mapping[str, Mapping[str, Any]]) -> None:
        self.said, self.made = said, dict[str, Signature]()

    def __getitem__(self, name: str) -> Signature:
        if name not in self.made:
            self.made[name] = signature_of(name, self.said[name])
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.said)

    def __len__(self) -> int:
        return len(self.said)


@functools.lru_cache(maxsize=1)
def load_signatures() -> Mapping[str, Signature]:
    """Return the signatures by qualified name."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in knowledge_files("signatures"):
        table = read_yaml(path)
        forms = table["forms"]
        for key, said in table["entries"].items():
            for form in said.get("forms", table.get("default_forms", ())):
                pattern = forms[form]
                name = pattern["name"].replace("{}", key)
                found[name] = {**pattern.get("adds", {}), **{one: value for one, value in said.items() if one != "forms"}}
    return _Signatures(found)


def signature_of(name: str, said: Mapping[str, Any]) -> Signature:
    """Return the signature of a name, made of what a table says."""
    return Signature(name, **_tuples(said))


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(one) for key, one in value.items()}
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value


@functools.lru_cache(maxsize=10_000)
def with_arguments(signature: Signature, given: frozenset[str], tensors: frozenset[str] = frozenset()) -> Signature:
    """Return a signature as it is where some arguments are given, neither None nor False, and some of them are tensors."""
    for name, said in signature.with_tensors.items():
        if name in tensors:
            return signature_of(signature.name, said)
    for names in sorted(signature.with_arguments, key=lambda names: -names.count("+")):
        if all(name in given for name in names.split("+")):
            own = {key: getattr(signature, key) for key in Signature.__annotations__ if key != "name"}
            return signature_of(signature.name, {**own, **signature.with_arguments[names], "with_arguments": {}})
    return signature

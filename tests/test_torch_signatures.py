"""What `rules/signatures/` says of torch is what torch does: on the CPU, and with `meta` and fake tensors in the place of MPS."""

from __future__ import annotations

import functools
import os
import random
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from mpslint.facts.values import Argument, Instance, Items, Known, Shape, Value
from mpslint.tensors.arguments import GivenByName
from mpslint.tensors.shapes import shape_by
from mpslint.tensors.signatures import Signature, load_signatures
from mpslint.tensors.traits import SHAPE

from . import some_of

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "rules" / "signatures"
MEASURED = (TABLES / "torch.yaml").read_text(encoding="utf-8").split("measures torch ")[1].partition(". ")[0]
"""The version of torch that the tables were made with."""

if not torch.__version__.startswith(f"{MEASURED}."):
    pytest.skip(f"the tables are of torch {MEASURED}, this is {torch.__version__}", allow_module_level=True)
pytest.importorskip("expecttest", reason="torch's own operator tests, whose samples are run here, need it")
sys.path.insert(0, str(ROOT / "tools"))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from signatures import calls, making, measured, modules, written
    from signatures.concluded import on_gpu

SIGNATURES = {name: said for name, said in load_signatures().items() if name.startswith("torch.")}
CALLS = 3
"""Calls that are drawn for a name and a dtype."""
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


@pytest.fixture(autouse=True)
def quiet_torch() -> Iterable[None]:
    """Keep torch from logging what its fake tensors can't do, and from seeding the numbers of other tests."""
    import logging

    logging.disable(logging.CRITICAL)
    with torch.random.fork_rng(devices=[]):
        yield
    logging.disable(logging.NOTSET)


def drawn(name: str, dtype: torch.dtype) -> list[calls.Call]:
    """Return some calls of a name with tensors of a dtype that torch takes."""
    found = []
    for call in calls.calls(name, dtype, 4):
        try:
            measured.run(name, copy_of(call))
        except Exception:
            continue
        found.append(call)
    return random.sample(found, min(CALLS, len(found)))


def copy_of(call: calls.Call) -> calls.Call:
    """Return a call with tensors of its own, which may be changed in place."""
    return call.mapped(lambda _, one: one.detach().clone())


def said_of(name: str, call: calls.Call) -> Signature:
    """Return the signature of a name as it holds for a call."""
    said = SIGNATURES[name]
    for way, holds in (
        (said.with_tensors, lambda value: isinstance(value, torch.Tensor)),
        (said.with_arguments, lambda value: value is not None and value is not False),
    ):
        for key, fields in way.items():
            value = call.bound.get(key)
            if way is said.with_tensors and key in said.parameters and value is None:
                position = said.parameters.index(key)
                value = call.positional[position] if position < len(call.positional) else None
            if holds(value):
                said = replace(said, **fields)
                if way is said.with_tensors:
                    break
    return said


def operands_of(said: Signature, call: calls.Call) -> list[Any]:
    """Return the tensors and numbers that promotion goes over."""
    if said.rest in said.operands and said.rest not in call.bound:
        return [one for value in call.positional for one in calls.leaves(value)]
    keys = {*said.operands, *said.anywhere, *said.alike}
    found: list[Any] = []
    for key, value in call.bound.items():
        if key in keys or not keys:
            found += [value] if isinstance(value, (bool, int, float, complex)) else list(calls.leaves(value))
    return found


def dtype_of(word: str, said: Signature, call: calls.Call) -> torch.dtype | None:
    """Return the dtype that a word of a signature means for a call; None where it says none."""
    if word in ("", "data", "number", "array"):
        return None
    if word not in ("same", "float", "widened", "first", "real", "complex"):
        found = getattr(torch, word)
        assert isinstance(found, torch.dtype)
        return found
    values = operands_of(said, call)
    tensors = [one for one in values if isinstance(one, torch.Tensor)]
    if word == "first":
        first = next(one for key in said.operands for one in calls.leaves(call.bound.get(key, ())))
        return first.dtype
    ranks = [[one.dtype for one in tensors if one.dim()], [one.dtype for one in tensors if not one.dim()]]
    found = None
    for rank in ranks:
        for dtype in rank:
            if found is None:
                found = dtype
            elif rank is ranks[0] or not ranks[0] or _kind(dtype) > _kind(found):
                found = torch.promote_types(found, dtype)
    for number in (one for one in values if not isinstance(one, torch.Tensor)):
        found = torch.result_type(torch.empty(1, dtype=found), number)
    if word == "float" and found in WHOLE:
        return torch.float32
    if word == "widened" and found in WHOLE:
        return torch.int64
    if word == "complex" and found is not None:
        return torch.result_type(torch.empty(1, dtype=found), 1j)
    if word == "real" and found is not None:
        return torch.empty(0, dtype=found).abs().dtype if found.is_complex else found
    return found


def _kind(dtype: torch.dtype) -> int:
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype == torch.bool else 1


def without_dimensions(said: Signature, call: calls.Call) -> bool | None:
    """Say whether what a call gives has no dimensions; None where its signature doesn't say."""
    dims = [one.dim() for given in call.tensors().values() for one in given]
    first = next((one.dim() for given in call.tensors().values() for one in given), None)
    if said.zero in ("always", "never"):
        return said.zero == "always"
    if said.zero == "same":
        return first == 0
    if said.zero == "all":
        return not any(dims)
    given = call.bound.get(said.zero.removeprefix("unless "))
    if said.zero.startswith("unless ") and given in (None, False) and not call.bound.get("keepdim"):
        return True
    if said.zero == "reduced" and call.bound.get("reduction", "mean") != "none":
        return True
    return None


def has(call: calls.Call, said: Signature) -> bool:
    """Whether a call names the dtype of its result, or asks a class for another."""
    return any(isinstance(value, torch.dtype) for value in call.positional) or call.bound.get(said.dtype_argument or "dtype") is not None


FUNCTIONS = [name for name in sorted(SIGNATURES) if not name.startswith("torch.nn.") or name.startswith("torch.nn.functional.")]


@pytest.mark.parametrize("name", some_of(FUNCTIONS, 5))
def test_an_operator_is_what_its_signature_says(name: str) -> None:
    """Drawn calls agree with it: what they give, the names of parameters, and where operands lie."""
    if name not in making.names():  # asked here, for it imports torch's own tests: that takes seconds, in every process that collects
        pytest.skip("known by hand, and called by none of torch's own tests")
    other = random.choice((torch.float64, torch.int64, torch.bool, torch.complex64, torch.float16))
    by_dtype = {dtype: drawn(name, dtype) for dtype in (torch.float32, other)}
    for call in (*by_dtype[torch.float32], *by_dtype[other]):
        said = said_of(name, call)
        fresh = copy_of(call)
        value = measured.run(name, fresh)
        if said.in_place:
            assert value is next(iter(fresh.bound.values()))
            assert value.dtype == next(iter(call.tensors().values()))[0].dtype
        else:
            agrees(said, call, value)
    for call in by_dtype[torch.float32]:
        carries(said_of(name, call), name, call)
    for call in (by_dtype[torch.float32] or by_dtype[other])[:1]:
        said = said_of(name, call)
        lies(said, name, call)
        if not said.attribute:
            is_called(said, name, call)


def as_known(given: Any) -> Value:
    """Return an argument as the interpreter knows it."""
    if isinstance(given, torch.Tensor):
        return Instance("", None, {SHAPE: Known(Shape(tuple(given.shape), None))}, kind="torch.Tensor")
    return Items("list", dict(enumerate(map(as_known, given)))) if isinstance(given, (list, tuple)) else Known(given)


def shape_said(said: Signature, call: calls.Call) -> tuple[int | None, ...] | None:
    """Return the shape that a signature's word means for a call; None where it means none."""
    rest = [Argument(as_known(one), None) for one in call.bound.get(call.rest, ())]
    named = {key: Argument(as_known(one), None) for key, one in call.bound.items() if key != call.rest}
    found = shape_by(said, GivenByName({**named, **({said.rest: rest[0]} if rest else {})}, False, tuple(rest[1:]), said.rest))
    return found.value.lengths if isinstance(found, Known) else None


def agrees(said: Signature, call: calls.Call, value: Any) -> None:
    """Hold what a call gave against its signature."""
    if said.gives == "torch.Tensor" and (said.each or said.parts):
        tensors = list(value)
        assert all(isinstance(one, torch.Tensor) for one in tensors)
        words: Sequence[str] = said.parts or [said.dtype] * len(tensors)
        assert len(tensors) == len(words)
    elif said.gives == "torch.Tensor":
        assert isinstance(value, torch.Tensor)
        tensors, words = [value], [said.dtype]
        zero = without_dimensions(said, call)
        assert zero is None or zero == (value.dim() == 0)
    elif said.gives in ("python", "none"):
        assert (value is None) == (said.gives == "none")
        assert not list(calls.leaves(value)) or isinstance(value, (tuple, list))
        return
    else:
        return
    shape = shape_said(said, call)
    assert shape is None or all(a in (None, b) for a, b in zip(shape, tensors[0].shape, strict=True))
    if not has(call, said):
        for word, tensor in zip(words, tensors, strict=True):
            expected = dtype_of(word, said, call)
            assert expected is None or tensor.dtype == expected


def carries(said: Signature, name: str, call: calls.Call) -> None:
    """Hold whether results require grad where every operand does against a signature."""
    if said.in_place or said.gives != "torch.Tensor":
        return
    leaf = call.mapped(lambda _, one: one.detach().clone().requires_grad_() if one.is_floating_point() else one.detach().clone())
    try:
        tensors = list(calls.leaves(measured.run(name, leaf)))
    except Exception:  # what changes a leaf in place, and what has no derivative
        return
    able = any(one.requires_grad for given in leaf.tensors().values() for one in given) and any(one.is_floating_point() for one in tensors)
    if tensors and able and not has(call, said):
        assert any(one.requires_grad for one in tensors) == said.graph


def lies(said: Signature, name: str, call: calls.Call) -> None:
    """On the accelerator, the result lies there; with one operand left on the CPU torch raises, and doesn't with one that may lie anywhere."""
    if call.bound.get(said.place_argument) is not None:
        return
    given = call.tensors()
    on_real = functools.partial(measured_on_gpu, name)
    for key, verdicts in measured.places(name, call).items():
        found = set(verdicts.values()) - {""}
        if key == "" and not said.on_cpu and said.gives != "python" and (said.operands or said.place):
            assert found <= {said.place or "accelerator", "accepts", measured.RAISES if name in LENIENT else "accelerator"}
        elif key in said.anywhere and key not in on_real("stays", "joins"):
            assert measured.RAISES not in found
        elif key in said.operands and any(one.dim() for one in given[key]) and found and key not in on_real("raises", "follows", "differs"):
            assert measured.RAISES in found


def measured_on_gpu(name: str, *ways: str) -> set[str]:
    """Return the parameters of which a real GPU says one of some things: it overrules meta tensors and fake ones."""
    return {key for way in ways for key in on_gpu().get(name, {}).get(way, ())}


LENIENT = {"torch.nn.functional.scaled_dot_product_attention"}
"""Names whose fake kernels have no implementation for some calls."""


def is_called(said: Signature, name: str, call: calls.Call) -> None:
    """A call that gives by name what it gave by position, in the order of the signature, gives the same."""
    if said.rest or call.order != said.parameters[: len(call.order)]:
        return  # `std(input, unbiased)`: another overload
    named = dict(zip(said.parameters, copy_of(call).positional, strict=False))
    first = [named.pop(said.parameters[0])] if named else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert type(calls.resolve(name)(*first, **named, **call.named)) is type(measured.run(name, copy_of(call)))


@pytest.mark.parametrize("name", some_of([name for name in modules.classes() if name in SIGNATURES], 2))
def test_a_class_of_modules_is_what_its_signature_says(name: str) -> None:
    """Weights, registered tensors, and what calls give; a call refuses another dtype where it takes that of its weights."""
    said = SIGNATURES[name]
    for number, (module, bound, call) in enumerate(modules.built(name, torch.float32)):
        if number == 0 and not list(calls.leaves(tuple(bound.values()))):
            assert bool(module.state_dict()) == said.weights
        for kept in (value for key in said.registered for value in calls.leaves(bound.get(key))):
            assert any(kept.data_ptr() == one.data_ptr() for one in module.buffers())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = module(*call.positional, **call.named)
            if said.parts:
                assert shaped(value) == tuple(said.parts)
            elif said.gives == "torch.Tensor":
                assert isinstance(value, torch.Tensor)
                assert said.dtype != "same" or value.dtype == torch.float32
            wide = call.mapped(lambda _, one: one.double() if one.is_floating_point() else one)
            if said.takes == "weights" and module.state_dict():
                with pytest.raises((RuntimeError, ValueError)):
                    module(*wide.positional, **wide.named)


def shaped(value: Any) -> Any:
    """Return the parts of what a call gives, each tensor of the dtype of the weights."""
    return "same" if isinstance(value, torch.Tensor) else tuple(shaped(one) for one in value) if value is not None else "same"


def test_the_tables_are_what_the_program_writes() -> None:
    """Written again from what they say, the tables are the same text."""
    for file in written.ORDER:
        text = (TABLES / file).read_text(encoding="utf-8")
        assert written.text(file, yaml.safe_load(text)["entries"], MEASURED) == text


def test_what_the_program_measures_is_in_the_tables() -> None:
    """Some names, drawn; all of them with MPSLINT_DEEP=1."""
    every = [*making.names(), *modules.classes()]
    wanted = every if os.environ.get("MPSLINT_DEEP") else random.sample(every, 12)
    found = making.complete(making.measure(wanted, 1))
    said: dict[str, Any] = {}
    for file in written.ORDER:
        said |= written.read(file, yaml.safe_load((TABLES / file).read_text(encoding="utf-8")))
    for name in wanted:
        assert kept(said.get(name)) == kept(found.get(name)), name


def kept(said: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return what a table keeps: a form that changes its first argument says nothing of what it gives."""
    if not said or not said.get("in_place"):
        return said
    return {key: value for key, value in said.items() if key not in written.LEFT_TO_THE_FIRST or key == "in_place"}

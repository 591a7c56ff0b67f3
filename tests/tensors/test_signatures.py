"""The tables of signatures say only what a signature can say; tests/test_torch_signatures.py holds them against torch."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mpslint.tensors import shapes
from mpslint.tensors.signatures import load_signatures, signature_of

SIGNATURES = load_signatures()
DTYPES = {
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex32",
    "complex64",
    "complex128",
}
WORDS = {"", "same", "float", "inexact", "widened", "widest", "first", "data", "array", "number", "real", "complex"}
ZERO = {"", "always", "maybe", "never", "same", "all", "reduced"}


def dtypes_of(said: Any) -> Iterator[str]:
    """Yield the dtypes in parts, those of nested parts too."""
    for one in said:
        yield from [one] if isinstance(one, str) else dtypes_of(one)


def test_signatures_say_what_they_can() -> None:
    """Words are known, and what is spoken of exists."""
    for name, said in SIGNATURES.items():
        for one in (said, *(replace(said, **fields) for fields in (*said.with_arguments.values(), *said.with_tensors.values()))):
            assert {one.dtype, *dtypes_of(one.parts)} <= DTYPES | WORDS, name
            assert one.zero in ZERO or "unless" in one.zero.split(), name
            assert one.takes in ("", "weights", "whole"), name
            word, *names = one.shape.split() or [""]
            assert word in ("", "told") or inspect.signature(shapes.WORDS[word]).bind(None, *names), name
            assert {one.place, *one.places} <= {"", "cpu", "cuda"}, name
            assert not set(one.operands) & {*one.anywhere, *(one.on_cpu if one.gives == "torch.Tensor" else ())}, name
            assert one.does == "" or one.does in SIGNATURES, name
            assert not (one.parts and one.each), name
            assert len(set(one.parameters)) == len(one.parameters), name


def test_lists_are_tuples_at_every_depth() -> None:
    """What an LSTM gives is a tuple of a tensor and of a tuple of two."""
    said = signature_of("x", {"parts": ["same", ["same", "same"]], "with_arguments": {"dim": {"parts": ["int64"]}}})

    assert (said.parts, said.with_arguments) == (("same", ("same", "same")), {"dim": {"parts": ("int64",)}})
    assert SIGNATURES["torch.nn.LSTM"].parts == ("same", ("same", "same"))

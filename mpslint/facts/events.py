"""What would happen on the Target where tensors, modules and devices meet."""

from __future__ import annotations

import ast
import enum

from mpslint.core.record import record
from mpslint.facts.values import Context, Value


class Certainty(enum.Enum):
    """How far an event is known to happen where its place is reached."""

    SURE = "sure"
    """On every path, by values that nothing outside decides."""
    GUARDED = "guarded"
    """On one of several paths, or with a default that an option may change."""
    ASSUMED = "assumed"
    """It rests on something that the program doesn't show, such as what a loader gives."""
    UNKNOWN = "unknown"
    """An operand isn't known: it may happen."""


@record(frozen=True, slots=True, eq=False)
class Operand:
    """One of the values that meet."""

    value: Value
    place: str
    """Its device (`mps`, `cpu`, `cuda:0`); '' where it isn't known."""
    dtype: str
    """Its dtype (`float32`); '' where it isn't known."""
    node: ast.AST | None = None
    """The expression that stands there."""
    origin: ast.AST | None = None
    """The expression that put it on its device, or gave it its dtype."""


@record(frozen=True, slots=True, eq=False)
class TensorEvent:
    """Something that happens: `mismatch` (operands on two devices), `float64` (on the Mac's GPU), `numpy` (of a tensor that isn't on the
    CPU or requires grad), `host` (a function of torch takes it on the CPU only), `refused` (a library takes models on CUDA and the CPU
    only), `generator` (of random numbers, isn't on the device on which they are drawn), `absent` (a Mac lacks the device), `no_device`
    (torch knows none of this name), `swapped` (a layer or a function gets a tensor whose dimensions are swapped, not copied), `written`
    (from the GPU into a part of a CPU tensor), `frozen` (a layer that is trained gets what needs no gradient), `with_graph` (a model in
    evaluation mode records a graph that nobody differentiates), `kept` (it outlives the round of the loop in which it was computed),
    `large` (what is made, with its operands, takes more than a GiB of the GPU: the last operand is the largest), `autocast` (of another
    device than the GPU, on which something is computed in it), `left` (the move of a model to a device that the Mac lacks is passed over),
    `unfollowed` (the interpreter doesn't follow what is computed), `divided` (by what is 0 on the Target, in answer to the platform
    question that is meant by `of`), `ended` (the program ends there by an exception that nothing catches), `empty` (it does because the
    command `of` printed nothing; the exception is its `name`)."""

    kind: str
    node: ast.AST
    """The operation in which it happens."""
    operands: tuple[Operand, ...]
    certainty: Certainty
    context: Context
    of: str = ""
    """What meets: `operation`, `module`, `loss`, `index`, `move`, `make`, `cast`; of some kinds, the name of what it happens to."""
    name: str = ""
    """The qualified name of the operation, or of the exception, where it has one."""

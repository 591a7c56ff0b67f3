"""What the loader of foreign code gives after the steps that were run: its batch shapes tell which compiled graphs are still to come."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from mpslint.verify.outcome import RunResult

STEPS = 200
"""Steps up to which batches are looked at."""
SECONDS = 10.0


@dataclass(slots=True)
class Fetched:
    """The training batches that were fetched: their shapes, and where the next ones come from."""

    shapes: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    """Numbers in each of the batches."""
    rest: Iterable[Any] = ()
    again: Callable[[], Iterable[Any]] = tuple
    """Begins the loader's next pass."""

    may_change: bool = False
    """Whether shapes may come to vary: a function of the code or a sampler makes the batches, or each is one sample; what torch itself
    puts together has one shape."""

    @property
    def may_vary(self) -> bool:
        """Whether the shapes of the batches vary, or may later."""
        return self.may_change or len(set(self.shapes)) > 1

    def add(self, batch: Any) -> None:
        """Note a batch."""
        self.shapes.append(shape_of(batch))
        self.sizes.append(sum(tensor.numel() for tensor in tensors_of(batch)))

    def look_ahead(self, wanted: int) -> None:
        """Fetch up to `wanted` more batches, as long as the code's own loader gives them and time allows."""
        end = time.monotonic() + SECONDS
        with contextlib.suppress(Exception, SystemExit):
            batches = self.rest
            while wanted > 0:
                empty = True
                for batch in batches:
                    empty = False
                    self.add(batch)
                    wanted -= 1
                    if wanted <= 0 or time.monotonic() > end:
                        return
                if empty:
                    return
                batches = self.again()


def tensors_of(batch: Any) -> list[torch.Tensor]:
    """Return the tensors of a batch, those in it by name or in order."""
    if isinstance(batch, torch.Tensor):
        return [batch]
    try:
        return [value for value in (batch.values() if hasattr(batch, "values") else batch) if isinstance(value, torch.Tensor)]
    except TypeError:
        return []


def shape_of(batch: Any) -> str:
    """Return the shapes of the tensors of a batch as text."""
    return " ".join(dict.fromkeys("x".join(map(str, tensor.shape)) for tensor in tensors_of(batch)))


def with_what_comes(result: RunResult, fetched: Fetched) -> RunResult:
    """Return the result of a run with what its loader gives after the last step: more graphs, and larger batches."""
    compiled = [record.new_graph_keys for record in result.steps if record.what == "train"]
    each = len(fetched.shapes) // max(len(compiled), 1)
    if not (compiled and each and fetched.may_vary):
        return result
    fetched.look_ahead((STEPS - len(compiled)) * each)
    ran = each * len(compiled)
    return replace(
        result,
        ahead=new_graphs(compiled, fetched.shapes, each),
        larger_ahead=max(fetched.sizes) / max(*fetched.sizes[:ran], 1),
        planned_retained=sum(one.size for one in result.retained) * len(set(fetched.shapes)) // len(set(fetched.shapes[:ran])),
    )


def new_graphs(compiled: Sequence[int], shapes: Sequence[str], each: int) -> tuple[float, ...]:
    """Return how many graphs each step after those run is likely to compile.

    `compiled` says how many each of them compiled; `shapes` is of all batches, those of the steps run and those after them, `each` of which
    make a step. A step compiles graphs for each shape, and each combination of shapes, that no step before it had.
    """
    known: set[str] = set()
    fresh = []
    for start in range(0, len(shapes) - each + 1, each):
        found = {part for text in shapes[start : start + each] for part in (text, *map(str, enumerate(text.split())))}
        fresh.append(len(found - known))
        known |= found
    ran = list(zip(compiled, fresh, strict=False))[1:] or [(compiled[0], 1)]
    usual = [count for count, new in ran[len(ran) // 2 :] if not new]
    besides = sum(usual) / len(usual) if usual else 0.0
    things = sum(new for _, new in ran)
    for_one = max(0.0, sum(count - besides for count, new in ran if new) / things) if things else float(compiled[0])
    return tuple(besides + for_one * new for new in fresh[len(compiled) :])

"""What is known of a tensor's shape is what real torch says, with `meta` tensors; drawn chains of operations, and batches of loaders."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mpslint.facts.values import AtMost, Known, Lengths
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import SHAPE, joined_trait
from tests.tensors.array_calls import resolved
from tests.tensors.walked import names_of

HEAD = (
    "import torch\nimport torch.nn.functional as F\nfrom torch import nn\nfrom torch.utils.data import DataLoader, Dataset, TensorDataset\n"
)
PROGRAMS, STEPS = 40, 8
"""How many programs are drawn, and how many operations each has."""
MOST_UNKNOWN = 0.1

Shape = tuple[int, ...]


def lengths_of(code: str) -> dict[str, Lengths | None]:
    """Return what is known of the shapes of a program's names."""
    shapes = {name: joined_trait(value, SHAPE) for name, value in names_of(code).items()}
    return {name: one.value.lengths if isinstance(one, Known) else None for name, one in shapes.items()}


def any_shape(x: str, s: Shape, r: random.Random) -> Iterator[str]:
    """Yield operations that take a tensor of any shape."""
    yield from (f"torch.relu({x})", f"{x} * 2", f"-{x}", f"{x} == {x}", f"{x}.masked_fill({x} > 0, 0.0)", f"torch.where({x} > 0, {x}, 0.0)")
    yield from (f"F.gelu({x})", f"nn.Dropout(0.1)({x})", f"torch.zeros_like({x})", f"torch.randn({x}.shape)", f"{x}.float().contiguous()")
    yield from (f"{x}.unsqueeze({r.randint(-len(s) - 1, len(s))})", f"{x}.detach().unsqueeze_(0)", f"{x}[None]", f"{x}[..., None]")
    yield from (f"torch.stack([{x}, {x}, {x}])", f"{x}.sum()", f"{x}.flatten()", f"{x}.reshape(-1)", f"{x}.squeeze()", f"{x}.max()")
    yield from (f"torch.zeros({x}.shape[-1:]).expand_as({x})", f"{x}.reshape_as(torch.ones({x}.shape))", f"{x}.float().clone().relu_()")
    yield f"{x}.reshape(1, -1, *{x}.shape[1:])" if s else f"{x}.view(1)"


def with_dimensions(x: str, s: Shape, r: random.Random) -> Iterator[str]:
    """Yield operations on one or two of a tensor's dimensions."""
    d, e, n, last = r.randrange(-len(s), len(s)), r.randrange(len(s)), r.randint(1, 7), s[-1]
    order = r.sample(range(len(s)), len(s))
    yield from (
        f"{x}.transpose({d}, {e})",
        f"{x}.permute({', '.join(map(str, order))})",
        f"torch.permute({x}, {order})",
        f"{x}.squeeze({d})",
    )
    yield from (
        f"{x}.softmax({d})",
        f"F.log_softmax({x}, dim={d})",
        f"{x}.mean({d})",
        f"torch.sum({x}, ({d},), keepdim=True)",
        f"{x}.argmax(dim={d})",
    )
    yield from (
        f"nn.Linear({last}, {n})({x}.float())",
        f"nn.LayerNorm({last})({x}.float())",
        f"F.linear({x}.float(), torch.zeros({n}, {last}))",
    )
    yield from (f"{x}.float() @ torch.zeros({last}, {n})", f"torch.matmul({x}.float(), torch.zeros({last}))", f"{x} + torch.ones({last})")
    yield from (f"torch.cat([{x}, {x}], {d})", f"torch.cat(({x}, {x}), dim={e})", f"torch.stack([{x}, {x}], dim={d})")
    yield from (
        f"{x}[{r.randrange(s[0])}]",
        f"{x}[:{n}]",
        f"{x}[..., :-1]",
        f"{x}[{-n}:]",
        f"{x}[..., ::2]",
        f"{x}[..., {r.randrange(last)}]",
    )
    yield from (
        f"{x}.chunk(2, dim={d})[0]",
        f"{x}.split({s[d]}, dim={d})[0]",
        f"{x}.max({d})[0]",
        f"torch.max({x}, {d}).values",
        f"{x}.flatten({e})",
    )
    yield from (
        f"{x}.expand(3, *{x}.shape)",
        f"{x}.repeat(2, *[1] * {len(s)})",
        f"{x}.reshape({x}.size(0), -1)",
        f"torch.zeros({x}.size({d}), {n})",
    )
    yield from (f"{x}.contiguous().view(-1, {x}.shape[-1])", f"{x} * torch.ones({n}, *{[1] * len(s)})", f"torch.arange({x}.shape[{d}])")
    yield from (f"F.one_hot(torch.zeros({s}, dtype=torch.long), {n})", f"nn.Embedding(9, {n})(torch.zeros({s}, dtype=torch.long))")


def matrices(x: str, s: Shape, r: random.Random) -> Iterator[str]:
    """Yield operations on two dimensions or more."""
    n, letters = r.randint(1, 7), "abcdefghij"[: len(s)]
    yield from (
        f"{x}.mT",
        f"{x}.transpose(-1, -2).float() @ {x}.float()",
        f"{x}.flatten(0, 1)",
        f"{x}[:, {r.randrange(s[1])}]",
        f"{x}[:, :{n}]",
    )
    yield from (f"torch.einsum('{letters},{letters}->{letters[::-1]}', {x}.float(), {x}.float())", f"nn.Flatten()({x})", f"{x}.sum((0, 1))")
    if len(s) == 2:
        yield from (f"{x}.T", f"{x}.t()", f"torch.mm({x}.float(), torch.zeros({s[1]}, {n}))")
    if len(s) == 3:
        yield from (
            f"torch.bmm({x}.float(), torch.zeros({s[0]}, {s[2]}, {n}))",
            f"nn.MultiheadAttention({s[2]}, 1, batch_first=True)({x}.float(), {x}.float(), {x}.float())[0]",
        )
        yield from (f"F.scaled_dot_product_attention({x}.float(), {x}.float(), {x}.float())", f"nn.Conv1d({s[1]}, {n}, 1)({x}.float())")
    if len(s) == 4:
        k, stride, pad = r.randint(1, 3), r.randint(1, 2), r.randint(0, 1)
        yield from (f"nn.Conv2d({s[1]}, {n}, {k}, stride={stride}, padding={pad + 1})({x}.float())", f"nn.BatchNorm2d({s[1]})({x}.float())")
        yield from (
            f"F.conv2d({x}.float(), torch.zeros({n}, {s[1]}, {k}, 1), padding=({pad + 2}, {pad}))",
            f"nn.Conv2d({s[1]}, {n}, 3, padding='same')({x}.float())",
        )
        yield from (
            f"F.max_pool2d({x}.float(), 1, {stride})",
            f"nn.AvgPool2d(1)({x}.float())",
            f"F.adaptive_avg_pool2d({x}.float(), ({n}, {k}))",
            f"nn.AdaptiveAvgPool2d({k})({x}.float())",
            f"F.interpolate({x}.float(), size=({k}, {n}), mode='area')",
            f"F.interpolate({x}.float(), scale_factor={stride})",
            f"nn.MaxPool2d(3, padding=1, stride=2)({x}.float())",
        )


def drawn_program(seed: int) -> tuple[str, dict[str, Shape]]:
    """Return a chain of operations that real torch carries out, with the shape that each gives."""
    r = random.Random(seed)
    size = [r.choice((1, 2, 3, 4, 6, 8)) for _ in range(r.randint(1, 4))]
    made: dict[str, Any] = {}
    lines = [
        r.choice((f"x0 = torch.zeros({', '.join(map(str, size))})", f"x0 = torch.randint(0, 9, {tuple(size)})", f"x0 = torch.rand({size})"))
    ]
    exec(HEAD + lines[0], made)
    kinds: tuple[Callable[[str, Shape, random.Random], Iterator[str]], ...] = (any_shape, with_dimensions, matrices)
    for number in range(1, STEPS):
        for _ in range(20):
            last = f"x{number - 1}"
            shape = tuple(made[last].shape)
            line = f"x{number} = {r.choice(list(r.choice(kinds[: len(shape) + 1])(last, shape, r)))}"
            try:
                exec(line, made)
            except (RuntimeError, TypeError, IndexError, ValueError):
                continue
            if 0 < made[f"x{number}"].numel() < 10_000:
                lines.append(line)
                break
        else:
            break
    return "\n".join(lines), {name: tuple(one.shape) for name, one in made.items() if isinstance(one, torch.Tensor)}


def test_what_is_known_of_a_shape_is_what_torch_gives() -> None:
    """Never another length; and of nearly all tensors all lengths are known."""
    tensors = unknown = 0
    with torch.device("meta"):
        programs = [drawn_program(random.randrange(1 << 30)) for _ in range(PROGRAMS)]
    for code, real in programs:
        told = lengths_of(HEAD + code)
        for name, shape in real.items():
            known = told.get(name)
            tensors += 1
            unknown += known is None or None in known
            assert known is None or (len(known) == len(shape) and all(a in (b, None) for a, b in zip(known, shape, strict=True))), (
                name,
                code,
            )
    assert unknown <= MOST_UNKNOWN * tensors


LOADERS = {
    "rows of tensors": "data = TensorDataset(torch.zeros(100, 4, 5), torch.zeros(100))\nfor x, y in DataLoader(data, batch_size=16):\n    break\n",
    "fewer rows than a batch": "data = TensorDataset(torch.zeros(10, 4), torch.zeros(10))\nfor x, y in DataLoader(data, 16):\n    break\n",
    "a data set of the program": "class Data(Dataset):\n    def __len__(self):\n        return 50\n    def __getitem__(self, i):\n        return torch.zeros(3, 8), 1\nfor x, y in DataLoader(Data(), shuffle=True, batch_size=4):\n    break\n",
    "a dict for a row": "class Data(Dataset):\n    def __len__(self):\n        return 6\n    def __getitem__(self, i):\n        return {'x': torch.zeros(3, 8), 'y': 1}\nfor batch in DataLoader(Data(), batch_size=8):\n    x, y = batch['x'], batch['y']\n    break\n",
    "one row by default": "for x, in DataLoader(TensorDataset(torch.zeros(9, 2))):\n    y = x.flatten()\n    break\n",
}


@pytest.mark.parametrize("code", LOADERS.values(), ids=LOADERS)
def test_the_first_batch_has_the_shape_that_is_known(code: str) -> None:
    """Which the last may not reach: what the program reads of its first dimension isn't known."""
    made: dict[str, Any] = {}
    exec(HEAD + code, made)
    told = lengths_of(HEAD + code + "n = torch.zeros(x.shape[0], x.shape[1])\n")

    assert told["x"] == tuple(made["x"].shape)
    assert isinstance((told["x"] or ())[0], AtMost)
    assert told["n"] == (None, made["x"].shape[1])
    assert told["y"] in (tuple(made["y"].shape), None)


class Alive(TorchDispatchMode):
    """Counts the most bytes that tensors have at one moment."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[int, int] = {}
        self.most = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        made = func(*args, **(kwargs or {}))
        for one in tree_leaves(made):
            if isinstance(one, torch.Tensor) and (key := (storage := one.untyped_storage())._cdata) not in self.held:
                self.held[key] = storage.nbytes()
                weakref.finalize(storage, self.held.pop, key, None)
        self.most = max(self.most, sum(self.held.values()))
        return made


LARGE = 64 * 1000 * 4
"""Bytes of what the functions below are given; the other tensors are small."""


@pytest.mark.parametrize("name", [name for name, said in load_signatures().items() if said.copies])
@pytest.mark.parametrize("is_trained", [False, True])
def test_as_many_tensors_lie_in_memory_together_as_the_tables_say(name: str, is_trained: bool) -> None:
    """What is given is let go before the backward pass, as a program may do."""
    function = resolved(name)[0]
    target = [torch.zeros(64, dtype=torch.long)] if name.endswith("cross_entropy") else [-1]
    weights = torch.zeros(1000, 4, requires_grad=is_trained)
    with Alive() as alive:
        before = torch.zeros(64, 4) @ weights.t()
        result = function(before, *target)
        del before
        if is_trained:
            (result[..., :2] if result.dim() else result).sum().backward()

    assert alive.most // LARGE == load_signatures()[name].copies[is_trained]


@pytest.mark.parametrize("data", ["3.0", "[1, 2]", "[[1.0], [2.0], [3.0]]", "[]", "[[], []]", "(True, n)"])
def test_a_tensor_of_numbers_has_the_lengths_of_their_lists(data: str) -> None:
    found = lengths_of(f"{HEAD}n = len(input())\nx = torch.tensor({data})\n")

    assert found["x"] == tuple(torch.tensor(eval(data, {"n": 1})).shape)

"""Arguments for functions that torch's own operator tests don't run in the form that users call them in."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy
import torch

from signatures.declared import OBJECT, overloads, resolve

Given = tuple[tuple[Any, ...], dict[str, Any]]


class Maker:
    """Makes tensors of one dtype."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def __call__(self, *shape: int) -> torch.Tensor:
        """A tensor of the dtype, with numbers between 0 and 1."""
        return torch.rand(shape).to(self.dtype)

    def whole(self, *shape: int, below: int = 2) -> torch.Tensor:
        """An int64 tensor."""
        return torch.randint(0, below, shape)

    def truth(self, *shape: int) -> torch.Tensor:
        """A tensor of bools."""
        return torch.rand(shape) > 0.5

    @property
    def number(self) -> Any:
        """A Python number of that kind."""
        return torch.ones((), dtype=self.dtype).item()


def given(*positional: Any, **named: Any) -> Given:
    """Arguments as they are given."""
    return positional, named


Examples = Callable[[Maker], list[Given]]

_size = [given(2, 3), given((2, 3)), given(4), given(2, 3, dtype=torch.float64), given(2, dtype=torch.int64)]
_window = [given(4), given(7), given(4, dtype=torch.float64), given(5, True)]
_unary = [((0,), {}), ((3,), {}), ((2, 3), {})]


def _each_shape(*rest: Any, **named: Any) -> Examples:
    return lambda t: [
        given(t(), *rest, **named),
        given(t(3), *rest, **named),
        given(t(2, 3), *rest, **named),
        given(t(1, 2, 3), *rest, **named),
    ]


def _vector_images(*rest: Any, dims: int, **named: Any) -> Examples:
    return lambda t: [given(t(*shape, *(6,) * dims), *rest, **named) for shape in ((2, 3), (1, 2), (3, 1))]


def _waves(t: Maker, *shape: int) -> torch.Tensor:
    return torch.stft(t(*shape), 16, window=torch.ones(16, dtype=t.dtype), return_complex=True)


MAKERS: Mapping[str, Examples] = {
    **{f"torch.{name}": lambda t: _size for name in ("zeros", "ones", "empty", "rand", "randn")},
    **{f"torch.{name}_window": lambda t: _window for name in ("hann", "hamming", "bartlett", "blackman", "kaiser")},
    "torch.full": lambda t: [given((2, 3), t.number), given((4,), t.number), given((2,), t.number, dtype=torch.float64)],
    "torch.scalar_tensor": lambda t: [given(t.number), given(3), given(2.5), given(1, dtype=torch.float64)],
    "torch.arange": lambda t: (
        [given(3), given(2, 9), given(0, 9, 3)] if t.dtype == torch.int64 else [given(3.0), given(0.5, 3.5), given(0.0, 1.0, 0.1)]
    ),
    "torch.range": lambda t: [given(0, 3), given(0.0, 3.0), given(0, 4, 2)],
    "torch.linspace": lambda t: [given(0, 1, 5), given(0.0, 1.0, 4), given(start=0, end=2, steps=3), given(0, 1, 5, dtype=torch.float64)],
    "torch.logspace": lambda t: [given(0, 1, 5), given(0.0, 1.0, 4), given(0, 1, 5, dtype=torch.float64)],
    "torch.eye": lambda t: [given(3), given(2, 3), given(2, dtype=torch.int64), given(4)],
    "torch.randint": lambda t: [given(3, (2, 3)), given(1, 5, (4,)), given(0, 2, (2, 2), dtype=torch.float32), given(high=4, size=(2,))],
    "torch.randperm": lambda t: [given(4), given(n=3), given(3, dtype=torch.float32), given(9)],
    "torch.tril_indices": lambda t: [given(3, 3), given(2, 4), given(3, 3, 1), given(row=3, col=3)],
    "torch.triu_indices": lambda t: [given(3, 3), given(2, 4), given(3, 3, 1), given(row=3, col=3)],
    "torch.fft.fftfreq": lambda t: [given(4), given(7, 0.5), given(4, dtype=torch.float64), given(9)],
    "torch.fft.rfftfreq": lambda t: [given(4), given(7, 0.5), given(4, dtype=torch.float64), given(9)],
    "torch.empty_strided": lambda t: [
        given((2, 3), (3, 1)),
        given((2,), (1,)),
        given((4, 1), (1, 1)),
        given((2, 2), (2, 1), dtype=torch.float64),
    ],
    "torch.tensor": lambda t: [
        given([t.number] * 2),
        given(t.number),
        given([[t.number]]),
        given(data=[t.number]),
        given(t.number, dtype=torch.float64),
    ],
    "torch.as_tensor": lambda t: [
        given([t.number] * 2),
        given(t.number),
        given([[t.number]]),
        given(data=[t.number]),
        given(t.number, dtype=torch.float64),
    ],
    "torch.asarray": lambda t: [given([t.number] * 2), given(t.number), given([[t.number]]), given(t.number, dtype=torch.float64)],
    "torch.sparse_coo_tensor": lambda t: [given([[0, 1], [2, 0]], [t.number] * 2, (2, 3)), given([[0, 1], [2, 0]], [t.number] * 2)],
}
"""Functions that make a tensor of numbers."""

OTHERS: Mapping[str, Examples] = {
    "torch.where": lambda t: [
        given(t.truth(2, 3), t(2, 3), t(2, 3)),
        given(t.truth(3), t(3), t()),
        given(t.truth(), t(), t()),
        given(t.truth(2, 3), t(3), t.number),
        given(t.truth(2, 3), t.number, t(2, 1)),
        given(t.truth(2, 3)),
        given(t.truth(3)),
        given(t(3)),
    ],
    "torch.Tensor.where": lambda t: [
        given(t(2, 3), t.truth(2, 3), t(2, 3)),
        given(t(3), t.truth(3), t()),
        given(t(), t.truth(), t()),
        given(t(3), t.truth(2, 3), 0),
    ],
    "torch.normal": lambda t: [
        given(t(2, 3), t(2, 3)),
        given(t(3), 1.0),
        given(0.5, t(3)),
        given(0.0, t(2, 1)),
        given(t(2), t(2)),
        given(t()),
    ],
    "torch.einsum": lambda t: [
        given("ij,jk", t(2, 3), t(3, 2)),
        given("ij,ij->", t(2, 3), t(2, 3)),
        given("bi,bj->bij", t(2, 3), t(2, 4)),
        given("ii", t(2, 2)),
    ],
    "torch.meshgrid": lambda t: [given(t(2), t(3)), given(t(2), t(3), t(4)), given([t(2), t(3)]), given(t(2), t(3), indexing="ij")],
    "torch.broadcast_tensors": lambda t: [given(t(2), t(3, 2)), given(t(2), t(1), t(3, 2)), given(t(2, 2), t())],
    "torch.block_diag": lambda t: [given(t(2, 2), t(3, 3)), given(t(2, 2)), given(t(2, 1), t(2), t())],
    "torch.cartesian_prod": lambda t: [given(t(2), t(3)), given(t(2), t(2), t(3)), given(t(2))],
    "torch.chain_matmul": lambda t: [given(t(2, 2), t(2, 3)), given(t(2, 2), t(2, 2), t(2, 3))],
    "torch.relu": _each_shape(),
    "torch.selu": _each_shape(),
    "torch.celu": _each_shape(),
    "torch.rrelu": _each_shape(),
    "torch.poisson": _each_shape(),
    "torch.detach": _each_shape(),
    "torch.threshold": _each_shape(0.5, 0.0),
    "torch.dropout": _each_shape(0.5, True),
    "torch.alpha_dropout": _each_shape(0.5, True),
    "torch.vander": lambda t: [given(t(3)), given(t(4)), given(t(3), 2), given(t(2))],
    "torch.slogdet": lambda t: [given(t(2, 2)), given(t(3, 2, 2)), given(t(1, 1))],
    "torch.binomial": lambda t: [given(t(3), t(3)), given(t(2, 3), t(2, 3)), given(t(), t())],
    "torch.numel": _each_shape(),
    "torch.is_tensor": _each_shape(),
    "torch.is_floating_point": _each_shape(),
    "torch.is_complex": _each_shape(),
    "torch.is_nonzero": lambda t: [given(t()), given(t(1))],
    "torch.polygamma": lambda t: [given(1, t()), given(1, t(3)), given(2, t(2, 3)), given(1, t(1, 2))],
    "torch.special.polygamma": lambda t: [given(1, t()), given(1, t(3)), given(2, t(2, 3)), given(1, t(1, 2))],
    "torch.bincount": lambda t: [given(t.whole(4)), given(t.whole(3), minlength=4), given(t.whole(4).int())],
    "torch.Tensor.bincount": lambda t: [given(t.whole(4)), given(t.whole(3), minlength=4), given(t.whole(4).int())],
    "torch.svd_lowrank": lambda t: [given(t(4, 3), 2), given(t(2, 4, 3), 2), given(t(3, 3), 1)],
    "torch.pca_lowrank": lambda t: [given(t(4, 3), 2), given(t(2, 4, 3), 2), given(t(3, 3), 1)],
    "torch.istft": lambda t: [given(_waves(t, *shape), 16, window=torch.ones(16, dtype=t.dtype)) for shape in ((64,), (2, 64), (1, 64))],
    "torch.nn.functional.one_hot": lambda t: [
        given(t.whole(3)),
        given(t.whole(2, 3), 4),
        given(t.whole()),
        given(t.whole(3), num_classes=5),
    ],
    "torch.nn.functional.ctc_loss": lambda t: [
        given(t(5, 2, 3).log_softmax(-1), torch.ones(2, 2, dtype=torch.int64), torch.tensor([5, 5]), torch.tensor([2, 1])),
        given(
            t(5, 2, 3).log_softmax(-1), torch.ones(2, 2, dtype=torch.int64), torch.tensor([5, 5]), torch.tensor([2, 1]), reduction="none"
        ),
        given(t(5, 1, 3).log_softmax(-1), torch.ones(1, 1, dtype=torch.int64), torch.tensor([5]), torch.tensor([1]), reduction="sum"),
    ],
    "torch.nn.functional.logsigmoid": _each_shape(),
    "torch.nn.functional.gumbel_softmax": lambda t: [given(t(3)), given(t(2, 3)), given(t(2, 3), hard=True), given(t(2, 3), 0.5, dim=0)],
    "torch.nn.functional.upsample": lambda t: [given(t(1, 2, 4), 8), given(t(1, 2, 4, 4), scale_factor=2), given(t(2, 1, 4, 4), (3, 3))],
    "torch.nn.functional.fold": lambda t: [
        given(t(1, 4, 9), (4, 4), 2),
        given(t(2, 4, 9), (4, 4), 2),
        given(t(1, 8, 9), (4, 4), 2),
        given(t(4, 9), (4, 4), 2),
    ],
    "torch.nn.functional.lp_pool1d": _vector_images(2.0, 2, dims=1),
    "torch.nn.functional.lp_pool2d": _vector_images(2.0, 2, dims=2),
    "torch.nn.functional.lp_pool3d": _vector_images(2.0, 2, dims=3),
    "torch.nn.functional.affine_grid": lambda t: [
        given(t(2, 2, 3), (2, 1, 4, 4)),
        given(t(1, 2, 3), [1, 1, 2, 2]),
        given(t(1, 3, 4), (1, 1, 2, 2, 2)),
    ],
    **{f"torch.nn.functional.{name}_": _each_shape() for name in ("relu", "elu", "celu", "selu", "leaky_relu", "hardtanh", "rrelu")},
    "torch.nn.functional.threshold_": _each_shape(0.5, 0.0),
    **{f"torch.nn.functional.{name}": _each_shape() for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "rrelu")},
    "torch.nn.functional.dropout1d": lambda t: [given(t(2, 3)), given(t(2, 3, 4)), given(t(1, 1, 2)), given(t(2, 2), 0.5, False)],
    "torch.nn.functional.dropout2d": lambda t: [given(t(2, 3, 4)), given(t(2, 3, 4, 4)), given(t(1, 1, 2)), given(t(2, 2, 2), 0.5, False)],
    "torch.nn.functional.dropout3d": lambda t: [
        given(t(2, 3, 4, 4)),
        given(t(2, 3, 4, 4, 4)),
        given(t(1, 1, 2, 2)),
        given(t(2, 2, 2, 2), 0.5, False),
    ],
    "torch.nn.functional.embedding": lambda t: [
        given(t.whole(3), t(4, 2)),
        given(t.whole(2, 3), t(4, 2)),
        given(t.whole(), t(4, 2)),
        given(t.whole(2).int(), t(4, 2), 0),
    ],
    "torch.nn.functional.embedding_bag": lambda t: [
        given(t.whole(3, 2), t(4, 2)),
        given(t.whole(4), t(4, 2), torch.tensor([0, 2])),
        given(t.whole(1, 2), t(4, 2), mode="sum"),
    ],
    "torch.nn.functional.scaled_dot_product_attention": lambda t: [
        given(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)),
        given(t(2, 3, 4), t(2, 3, 4), t(2, 3, 4)),
        given(t(1, 2, 3, 4), t(1, 2, 5, 4), t(1, 2, 5, 4), t(3, 5)),
        given(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), is_causal=True),
        given(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), attn_mask=t.truth(3, 3) | True),
    ],
    "torch.Tensor.copy_": lambda t: [given(t(2, 3), t(2, 3)), given(t(2, 3), t(3)), given(t(), t()), given(t(3), torch.rand(3))],
    "torch.Tensor.type_as": lambda t: [given(t(2, 3), torch.rand(2)), given(t(), torch.rand(())), given(t(3), torch.rand(2).half())],
    "torch.Tensor.new_tensor": lambda t: [
        given(t(2), [1.0, 2.0]),
        given(t(2), 3),
        given(t(), [[1]]),
        given(t(2, 2), [1], dtype=torch.float64),
    ],
    "torch.Tensor.requires_grad_": _each_shape(),
    "torch.Tensor.retain_grad": lambda t: [given(t(2).requires_grad_() * 2), given(t(2, 2).requires_grad_() * 2)],
    "torch.Tensor.resize_": lambda t: [given(t(2, 3), 3, 2), given(t(2, 3), (6,)), given(t(4), 2)],
    "torch.Tensor.fill_diagonal_": lambda t: [given(t(2, 3), 1), given(t(3, 3), 0.0)],
    "torch.Tensor.size": lambda t: [given(t(2, 3)), given(t(2, 3), 0), given(t(2, 3), dim=1)],
    "torch.Tensor.stride": lambda t: [given(t(2, 3)), given(t(2, 3), 0)],
    "torch.Tensor.to_dense": lambda t: [given(t(2, 3)), given(t(2, 3).to_sparse())],
    "torch.Tensor.coalesce": lambda t: [given(t(2, 3).to_sparse()), given(t(3, 3).to_sparse())],
    "torch.Tensor.values": lambda t: [given(t(2, 3).to_sparse().coalesce()), given(t(3, 3).to_sparse().coalesce())],
    "torch.Tensor.indices": lambda t: [given(t(2, 3).to_sparse().coalesce()), given(t(3, 3).to_sparse().coalesce())],
    **{
        f"torch.Tensor.{name}_": _each_shape()
        for name in ("bernoulli", "random", "exponential", "normal", "uniform", "log_normal", "cauchy")
    },
    "torch.Tensor.geometric_": _each_shape(0.5),
    "torch.max": lambda t: [given(t(2, 3), t(2, 3)), given(t(3), t(2, 3)), given(t(), t()), given(t(3), t())],
    "torch.min": lambda t: [given(t(2, 3), t(2, 3)), given(t(3), t(2, 3)), given(t(), t()), given(t(3), t())],
    "torch.Tensor.max": lambda t: [given(t(2, 3), t(2, 3)), given(t(3), t(2, 3)), given(t(), t()), given(t(3), t())],
    "torch.Tensor.min": lambda t: [given(t(2, 3), t(2, 3)), given(t(3), t(2, 3)), given(t(), t()), given(t(3), t())],
    "torch.from_numpy": lambda t: [
        given(t(2, 3).numpy()),
        given(t(3).numpy()),
        given(numpy.ones(()).astype(str(t.dtype).removeprefix("torch."))),
    ],
    "torch.Tensor.bfloat16": _each_shape(),
    "torch.clamp": lambda t: [
        given(t(2, 3), 0, 1),
        given(t(3), t(3), t(3)),
        given(t(), 0, 1),
        given(t(3), min=t()),
        given(t(2, 3), max=t(2, 3)),
    ],
}


@functools.cache
def single(name: str) -> bool:
    """Whether a tensor is all that a function needs."""
    return any(one.required in ({one.positional[0]}, {OBJECT}) for one in overloads(name) if one.positional) and callable(resolve(name))


def examples(name: str, dtype: torch.dtype) -> Iterator[Given]:
    """Yield arguments for a qualified name."""
    torch.manual_seed(0)
    made = MAKERS.get(name) or OTHERS.get(name)
    with contextlib.suppress(RuntimeError, NotImplementedError):  # some can't be made with every dtype
        yield from made(Maker(dtype)) if made else ()

"""What the tables say of metrics, graphs, images and patterns of einops is what these libraries do, where they are installed."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mpslint.tensors.signatures import load_signatures
from tests.tensors.array_calls import resolved

SAID = load_signatures()
OPTIONS: tuple[dict[str, Any], ...] = (
    *(
        {},
        {"task": "binary"},
        {"num_classes": 3},
        {"num_labels": 3},
        {"data_range": 1.0},
        {"p": 2},
        {"beta": 1.0},
        {"beta": 1.0, "num_classes": 3},
    ),
    *({"beta": 1.0, "num_labels": 3}, {"threshold": 0.5}, {"task": "multiclass", "num_classes": 3}, {"things": {0, 1}, "stuffs": {2}}),
    *({"fs": 16000, "personalized": False},),
)
BATCHES = (
    *(
        (torch.rand(8), torch.randint(0, 2, (8,))),
        (torch.rand(8, 3).softmax(1), torch.randint(0, 3, (8,))),
        (torch.rand(8, 3), torch.randint(0, 2, (8, 3))),
    ),
    *((torch.rand(8), torch.rand(8)), (torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48)), (torch.rand(2, 800), torch.rand(2, 800))),
    (torch.zeros(1, 4, 4, 2, dtype=torch.long), torch.zeros(1, 4, 4, 2, dtype=torch.long)),
)
OF_VALUES = {"MeanMetric", "SumMetric", "CatMetric"}
"""Metrics that look at the values that they are given, which tensors without a device have none of."""
METRICS = sorted(
    name for name in SAID if name.startswith("torchmetrics.") and "Retrieval" not in name and name.rpartition(".")[2] not in OF_VALUES
)


class _TwoDevices(TorchDispatchMode):
    """Refuses what changes a tensor in place by one of another device, as real devices do."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operands = [one.device for one in args if isinstance(one, torch.Tensor)]
        if function._schema.is_mutable and "copy_" not in str(function) and len(set(operands)) > 1:
            raise RuntimeError(f"{function} of two devices")
        return function(*args, **(kwargs or {}))


def _updated(name: str) -> Iterator[str]:
    """Yield what each metric of a class says to a batch of another device, '' where it takes that."""
    cls = resolved(name)[0]
    for options, batch in itertools.product(OPTIONS, BATCHES):
        try:
            cls(**options).update(*batch)
        except ModuleNotFoundError:
            raise
        except Exception:  # these are arguments of other metrics
            continue
        metric = cls(**options)
        if hasattr(metric, "validate_args"):
            metric.validate_args = False
        try:
            with _TwoDevices():
                metric.update(*(one.to("meta") for one in batch))
        except Exception as error:
            yield str(error)
        else:
            yield ""


@pytest.mark.parametrize("name", METRICS)
def test_metrics_that_keep_state_refuse_another_device(name: str) -> None:
    pytest.importorskip("torchmetrics")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = list(_updated(name))
        except ModuleNotFoundError:  # torchmetrics leaves out what other packages of its own compute
            pytest.skip("needs another library")

    assert found, "no update got through"
    unseen = ("bincount", "nonzero", "item()")  # operators that tensors without a device don't have: nothing is learned
    told = [one for one in found if not any(word in one for word in unseen)]
    assert all(bool(one) == SAID[name].weights for one in told)
    if not told:
        assert any(isinstance(one, torch.Tensor) for one in _first_made(name)._defaults.values()) == SAID[name].weights


def _first_made(name: str) -> Any:
    cls = resolved(name)[0]
    for options in OPTIONS:
        try:
            return cls(**options)
        except Exception:  # it needs other arguments
            continue
    raise AssertionError(f"{name} can't be made")


GRAPHS = sorted(name for name, said in SAID.items() if name.startswith("torch_geometric.nn.") and not said.parameters)


@pytest.mark.parametrize("name", GRAPHS)
def test_layers_of_graphs_have_weights_as_is_said(name: str) -> None:
    pytest.importorskip("torch_geometric")
    cls = resolved(name)[0]
    for numbers in ((), (4,), (4, 4), (4, 4, 2), (4, 4, 2, 2), (0.5,), (2,)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = cls(*numbers)
            except Exception:  # it takes other arguments
                continue
        assert bool([*made.parameters(), *made.buffers()]) == SAID[name].weights
        return
    assert inspect.isclass(cls)
    assert SAID[name].weights


NODES, LABELS, EDGES = torch.rand(3, 4), torch.tensor([0, 0, 1]), torch.tensor([[0, 1, 1], [1, 0, 2]])
OF_GRAPHS: dict[str, list[Any]] = {
    "nn.global_add_pool": [NODES, LABELS], "nn.global_max_pool": [NODES, LABELS], "nn.global_mean_pool": [NODES, LABELS], "utils.scatter": [NODES, LABELS],
    "utils.softmax": [NODES, LABELS], "utils.degree": [LABELS], "utils.one_hot": [LABELS], "utils.to_undirected": [EDGES], "utils.coalesce": [EDGES],
    "utils.add_self_loops": [EDGES], "utils.remove_self_loops": [EDGES], "utils.add_remaining_self_loops": [EDGES], "utils.negative_sampling": [EDGES],
    "utils.to_dense_adj": [EDGES], "utils.to_dense_batch": [NODES, LABELS], "utils.dense_to_sparse": [NODES[:, :3]], "utils.dropout_edge": [EDGES],
    "utils.index_to_mask": [LABELS], "utils.mask_to_index": [LABELS == 0],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(OF_GRAPHS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_of_graphs_give_the_dtypes_that_are_said(name: str, dtype: torch.dtype) -> None:
    pytest.importorskip("torch_geometric")
    given = [one.to(dtype) if one.is_floating_point() else one for one in OF_GRAPHS[name]]
    said = SAID[f"torch_geometric.{name}"]

    result = resolved(said.name)[0](*given)

    parts = said.parts or (said.dtype,)
    results = result if said.parts else (result,)
    assert len(parts) == len(results)
    for part, one in zip(parts, results, strict=True):
        assert part == "" or one.dtype == (given[0].dtype if part == "first" else getattr(torch, part))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_einops_keeps_class_device_and_dtype(dtype: str) -> None:
    einops = pytest.importorskip("einops")
    for made in (
        np.ones((2, 3), dtype),
        torch.ones(2, 3, dtype=getattr(torch, dtype)),
        torch.ones(2, 3, dtype=getattr(torch, dtype), device="meta"),
    ):
        for result in (
            einops.rearrange(made, "a b -> b a"),
            einops.reduce(made, "a b -> a", "mean"),
            einops.repeat(made, "a b -> a b c", c=2),
        ):
            assert type(result) is type(made)
            assert result.dtype == made.dtype
            assert getattr(result, "device", None) == getattr(made, "device", None)
    assert einops.asnumpy(torch.ones(2, dtype=getattr(torch, dtype), requires_grad=True)).dtype == dtype


IMAGES = sorted(name for name, said in SAID.items() if name.startswith("torchvision.transforms.functional.") and said.dtype == "same")
MORE: dict[str, list[Any]] = {
    "affine": [10, [0, 0], 1.0, [0.0, 0.0]], "center_crop": [4], "crop": [0, 0, 4, 4], "erase": [0, 0, 2, 2, torch.zeros(())], "gaussian_blur": [3], "pad": [1], "rotate": [10],
    "normalize": [[0.5] * 3, [0.5] * 3], "perspective": [[[0, 0], [7, 0], [7, 7], [0, 7]], [[0, 0], [6, 0], [7, 7], [0, 7]]], "posterize": [4], "resize": [4],
    "resized_crop": [0, 0, 4, 4, 4], "solarize": [0.5], "adjust_brightness": [1.1], "adjust_contrast": [1.1], "adjust_gamma": [1.1], "adjust_hue": [0.1],
    "adjust_saturation": [1.1], "adjust_sharpness": [1.1],
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_transforms_of_images_keep_the_dtype(name: str) -> None:
    pytest.importorskip("torchvision")
    function = resolved(name)[0]
    for dtype in (torch.float32, torch.float64, torch.uint8):
        try:
            result = function(torch.rand(3, 8, 8).to(dtype), *MORE.get(name.rpartition(".")[2], []))
        except TypeError:  # takes no such images
            continue
        assert result.dtype == dtype

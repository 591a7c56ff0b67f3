"""The events of small programs, against real torch: `meta` stands for the Mac's GPU, which raises for the same operands."""

from __future__ import annotations

import ast
import traceback

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mpslint.facts.events import Certainty, TensorEvent
from tests.tensors.programs import HEAD, PROGRAMS
from tests.tensors.walked import events_of

WIDE = (torch.float64, torch.complex128)


class LikeMps(TorchDispatchMode):
    """Raise for a float64 tensor on `meta`, as MPS does, and for operands on two devices."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        kwargs = kwargs or {}
        tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        on_gpu = any(one.device.type == "meta" for one in tensors)
        if on_gpu and func is torch.ops.aten._to_copy.default and torch.device(kwargs.get("device") or "meta").type == "cpu":
            return torch.zeros(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype)  # `meta` has nothing to copy
        takes_indices = func in (torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default)
        held = args[:1] if takes_indices and args[0].device.type == "meta" else tensors
        if on_gpu and func is not torch.ops.aten.copy_.default and any(one.device.type == "cpu" and one.dim() for one in held):
            raise RuntimeError("Expected all tensors to be on the same device")  # some kernels of `meta` don't look
        made = func(*args, **kwargs)
        for one in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(one, torch.Tensor) and one.device.type == "meta" and one.dtype in WIDE:
                raise TypeError("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64.")
        return made


def line_that_raises(code: str) -> int:
    """Return the line of a program in which it raises with `meta` for `mps`, 0 where it doesn't."""
    before = torch.get_default_dtype()
    try:
        with LikeMps():
            exec(compile(code.replace("'mps'", "'meta'"), "<program>", "exec"), {"__name__": "__main__"})
    except Exception as error:
        return [frame.lineno or 0 for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<program>"][-1]
    finally:
        torch.set_default_dtype(before)
        torch.set_default_device(None)
    return 0


def lines_of(event: TensorEvent) -> range:
    """Return the lines of an event's operation."""
    assert isinstance(event.node, (ast.expr, ast.stmt))
    return range(event.node.lineno, (event.node.end_lineno or event.node.lineno) + 1)


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_what_raises_is_an_event(code: str) -> None:
    """A program that raises has a sure event in the line that raises, and none before; one that doesn't raise has none."""
    line = line_that_raises(HEAD + code)

    sure = [event for event in events_of(HEAD + code) if event.certainty is Certainty.SURE]

    if line:
        assert any(line in lines_of(event) for event in sure)
    else:
        assert [ast.unparse(event.node) for event in sure] == []


@pytest.mark.parametrize(
    "code",
    [
        "x = torch.tensor(np.ones(3), device=dev).view(-1)\ny = x * 2\n",
        "x = torch.tensor(np.ones(3)).to(dev).reshape(-1)\n",
        "x = torch.randn(3, device=dev)\ny = x * np.ones(3)\n",
    ],
)
def test_what_has_raised_is_noted_once(code: str) -> None:
    """Of what comes of an operation that raises nothing is said, and an array that meets a tensor isn't cast."""
    assert line_that_raises(HEAD + code)
    assert len([event for event in events_of(HEAD + code) if event.certainty is Certainty.SURE]) == 1


@pytest.mark.parametrize(
    "layers",
    ["*list(resnet.children())[:-1]", "*(list(resnet.fc._modules.values())[:-1] + [nn.Linear(4, 2)])", "nn.ReLU(), make_layer()"],
)
def test_layers_that_nobody_sees_may_have_weights(layers: str) -> None:
    """A container around layers that aren't known isn't taken for one without weights, to which any input would be right."""
    code = f"from torchvision.models import resnet18\nfrom layers import make_layer\nresnet = resnet18()\nnet = nn.Sequential({layers}).to(dev)\n"

    told = [event for event in events_of(HEAD + code + "y = net(torch.ones(1, 4))\n") if event.kind == "mismatch"]

    assert [event.certainty for event in told] == [Certainty.ASSUMED]


def test_what_may_be_on_the_gpu_or_unknown_meets_others() -> None:
    """One of two values isn't known: that the other one lies on the GPU isn't forgotten, so that no fix is proved by it."""
    code = "from elsewhere import load\nx = load()\nif x.wanted:\n    x = torch.ones(4).to(dev)\ny = x + torch.ones(4)\n"

    assert [event.certainty for event in events_of(HEAD + code) if event.kind == "mismatch"] in ([Certainty.GUARDED], [Certainty.UNKNOWN])

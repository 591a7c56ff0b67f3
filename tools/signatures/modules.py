"""What the classes of torch.nn are: whether they hold weights, which function a call of an object is, and what it takes and gives."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from signatures.calls import Call, leaves, mapped
from signatures.concluded import facts, is_given
from signatures.declared import resolve
from signatures.measured import Observed, result_of

DTYPES = (torch.float32, torch.float64, torch.float16)
Built = tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], dict[str, Any]]
"""The arguments of a class by position and by name, and those of a call of its object."""


def _built(*positional: Any, call: Sequence[Any], **named: Any) -> Built:
    return positional, named, tuple(call), {}


def _numbers(*shape: int) -> torch.Tensor:
    return torch.rand(shape)


def _layer() -> nn.Module:
    return nn.TransformerDecoderLayer(4, 2, 8)


EXAMPLES: Mapping[str, Callable[[], list[Built]]] = {
    "AdaptiveLogSoftmaxWithLoss": lambda: [_built(4, 8, [4], call=(_numbers(3, 4), torch.tensor([0, 3, 6])))],
    "ChannelShuffle": lambda: [_built(2, call=(_numbers(1, 4, 3, 3),))],
    "CosineSimilarity": lambda: [_built(call=(_numbers(2, 3), _numbers(2, 3))), _built(0, call=(_numbers(3), _numbers(3)))],
    "CrossMapLRN2d": lambda: [_built(2, call=(_numbers(1, 3, 4, 4),))],
    **{
        name: lambda: [_built(call=(_numbers(2, 3),)), _built(0.2, call=(_numbers(2, 3),))]
        for name in ("Dropout", "AlphaDropout", "FeatureAlphaDropout")
    },
    "Dropout1d": lambda: [_built(call=(_numbers(2, 3, 4),))],
    "Dropout2d": lambda: [_built(call=(_numbers(2, 3, 4, 4),))],
    "Dropout3d": lambda: [_built(call=(_numbers(2, 3, 4, 4, 4),))],
    "EmbeddingBag": lambda: [
        _built(4, 3, call=(torch.tensor([[0, 1], [2, 3]]),)),
        _built(4, 3, call=(torch.tensor([0, 1, 2]), torch.tensor([0, 2]))),
    ],
    "Flatten": lambda: [_built(call=(_numbers(2, 3, 4),)), _built(0, call=(_numbers(2, 3),))],
    "Unflatten": lambda: [_built(1, (2, 2), call=(_numbers(3, 4),))],
    "Fold": lambda: [_built((4, 4), 2, call=(_numbers(1, 4, 9),))],
    "Unfold": lambda: [_built(2, call=(_numbers(1, 2, 4, 4),))],
    "Hardsigmoid": lambda: [_built(call=(_numbers(2, 3),))],
    "RReLU": lambda: [_built(call=(_numbers(2, 3),))],
    "Identity": lambda: [_built(call=(_numbers(2, 3),)), _built(5, call=(_numbers(3),))],
    **{
        f"Lazy{kind}{dims}d": lambda dims=dims: [_built(call=(_numbers(2, 3, *(4,) * dims),))]
        for kind in ("BatchNorm", "InstanceNorm")
        for dims in (1, 2, 3)
    },
    "LazyLinear": lambda: [_built(3, call=(_numbers(2, 4),))],
    **{f"MaxUnpool{dims}d": lambda dims=dims: [_unpooled(dims)] for dims in (1, 2, 3)},
    "PairwiseDistance": lambda: [_built(call=(_numbers(2, 3), _numbers(2, 3)))],
    "PixelShuffle": lambda: [_built(2, call=(_numbers(1, 4, 3, 3),))],
    "PixelUnshuffle": lambda: [_built(2, call=(_numbers(1, 1, 4, 4),))],
    "TransformerDecoder": lambda: [_built(_layer(), 2, call=(_numbers(3, 1, 4), _numbers(2, 1, 4)))],
    "TripletMarginLoss": lambda: [_built(call=(_numbers(2, 3), _numbers(2, 3), _numbers(2, 3)))],
    "TripletMarginWithDistanceLoss": lambda: [_built(call=(_numbers(2, 3), _numbers(2, 3), _numbers(2, 3)))],
    "Upsample": lambda: [_built(8, call=(_numbers(1, 2, 4),)), _built(scale_factor=2, call=(_numbers(1, 2, 4, 4),))],
    "UpsamplingBilinear2d": lambda: [_built(8, call=(_numbers(1, 2, 4, 4),))],
    "UpsamplingNearest2d": lambda: [_built(8, call=(_numbers(1, 2, 4, 4),))],
    "LSTM": lambda: [
        _built(3, 4, call=(_numbers(2, 5, 3),)),
        _built(3, 4, call=(_numbers(2, 5, 3), (_numbers(1, 5, 4), _numbers(1, 5, 4)))),
    ],
    "GRU": lambda: [_built(3, 4, call=(_numbers(2, 5, 3),)), _built(3, 4, call=(_numbers(2, 5, 3), _numbers(1, 5, 4)))],
    "RNN": lambda: [_built(3, 4, call=(_numbers(2, 5, 3),)), _built(3, 4, call=(_numbers(2, 5, 3), _numbers(1, 5, 4)))],
    "LSTMCell": lambda: [_built(3, 4, call=(_numbers(5, 3),)), _built(3, 4, call=(_numbers(5, 3), (_numbers(5, 4), _numbers(5, 4))))],
}
"""Objects and calls of the classes that torch's own module tests don't have, or have in too many forms."""


def _unpooled(dims: int) -> Built:
    values, indices = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)(_numbers(1, 1, *(4,) * dims))
    return _built(2, call=(values, indices))


def classes() -> tuple[str, ...]:
    """The classes of modules that torch.nn has."""
    names = (name for name in dir(nn) if inspect.isclass(getattr(nn, name)) and issubclass(getattr(nn, name), nn.Module))
    return tuple(f"torch.nn.{name}" for name in names if name not in ("Module", "Container", "RNNBase", "RNNCellBase", "DataParallel"))


def built(name: str, dtype: torch.dtype) -> Iterator[tuple[nn.Module, dict[str, Any], Call]]:
    """Yield objects of a class with the arguments they are made of, and a call of each."""
    kind = resolve(name)
    torch.manual_seed(0)
    for positional, named, given, by_name in _arguments(kind, dtype):
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bound = inspect.signature(kind).bind(*positional, **named).arguments
            module = kind(*positional, **named)
            if type(module) is kind and not name.startswith("torch.nn.Lazy"):
                module = module.to(dtype)
            taken = inspect.signature(kind.forward).bind(module, *given, **by_name).arguments
            taken = {key: value for number, (key, value) in enumerate(taken.items()) if number}
            yield module, dict(bound), Call(taken, tuple(taken)[: len(given)])


def _arguments(kind: type[nn.Module], dtype: torch.dtype) -> Iterator[Built]:
    if kind.__name__ in EXAMPLES:
        for positional, named, given, by_name in EXAMPLES[kind.__name__]():
            yield positional, named, mapped(given, lambda one: one.to(dtype) if one.is_floating_point() else one), by_name
        return
    from torch.testing._internal.common_modules import module_db  # with all of torch's own tests, which take seconds to import

    for info in module_db:
        if info.module_cls is kind:
            with contextlib.suppress(Exception):
                for one in info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=True)[:12]:
                    made, taken = one.constructor_input, one.forward_input
                    if taken is not None and not any(isinstance(value, dict) for value in taken.args):
                        yield tuple(made.args), dict(made.kwargs), tuple(taken.args), dict(taken.kwargs)


def signature(name: str) -> dict[str, Any]:
    """Return what the measurements say of a class."""
    parameters = [one for one in inspect.signature(resolve(name)).parameters.values() if one.kind is not one.KEYWORD_ONLY]
    rest = next((one.name for one in parameters if one.kind is one.VAR_POSITIONAL), "")
    said: dict[str, Any] = {"parameters": [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]}
    if rest and rest != "args":
        said["rest"] = rest
    forward = list(inspect.signature(resolve(name).forward).parameters.values())[1:]
    if not any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in forward):
        said["called_with"] = [one.name for one in forward]
    names = inspect.signature(resolve(name)).parameters
    said |= {field: key for field, key in (("dtype_argument", "dtype"), ("place_argument", "device")) if key in names}
    objects = [(dtype, *one) for dtype in DTYPES for one in built(name, dtype)]
    if not objects:
        return said
    if any(list(module.state_dict()) for _, module, _, _ in objects[:1]):
        said["weights"] = True
    if registered := _registered(objects):
        said["registered"] = registered
    if "inplace" in said["parameters"]:
        said["with_arguments"] = {"inplace": {"in_place": True}}
    does = {_does(module, call) for _, module, _, call in objects}
    if len(does) == 1 and "" not in does and not said.get("weights"):
        return said | {"does": does.pop()}
    return said | _called(name, objects, bool(said.get("weights")))


def _registered(objects: Sequence[tuple[Any, nn.Module, dict[str, Any], Call]]) -> list[str]:
    found = set()
    for _, module, bound, _ in objects:
        kept = [
            one.data_ptr()
            for one in (*module.buffers(), *module.parameters())
            if not isinstance(one, nn.parameter.UninitializedTensorMixin)
        ]
        found |= {key for key, value in bound.items() if isinstance(value, torch.Tensor) and value.data_ptr() in kept}
    return sorted(found)


def _does(module: nn.Module, call: Call) -> str:
    """The function whose result is that of the module."""
    outermost: list[tuple[str, Any]] = []
    depth = 0

    def watched(name: str, function: Any) -> Any:
        def inner(*positional: Any, **named: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                result = function(*positional, **named)
            finally:
                depth -= 1
            if depth == 0:
                outermost.append((name, result))
            return result

        return inner

    with contextlib.ExitStack() as stack:
        for space, holder in (("torch.nn.functional", nn.functional), ("torch", torch)):
            for name in dir(holder):
                function = getattr(holder, name)
                if (
                    not name.startswith("_")
                    and callable(function)
                    and not inspect.isclass(function)
                    and (space != "torch" or name in ("sigmoid", "tanh"))
                ):
                    stack.callback(setattr, holder, name, function)
                    setattr(holder, name, watched(f"{space}.{name}", function))
        try:
            result = module(*call.positional, **call.named)
        except Exception:
            return ""
    return outermost[0][0] if len(outermost) == 1 and outermost[0][1] is result else ""


def _called(name: str, objects: Sequence[tuple[Any, nn.Module, dict[str, Any], Call]], weights: bool) -> dict[str, Any]:
    """Say what calls give, and what they take where the module holds weights."""
    observed, refused, whole = [], set(), set()
    for dtype, module, bound, call in objects:
        if is_given(bound.get("return_indices")):
            continue
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = module(*call.positional, **call.named)
            result = result_of(value, call)
            leaf = call.mapped(lambda _, one: one.detach().clone().requires_grad_() if one.is_floating_point() else one)
            carries = tuple(one.requires_grad for one in leaves(module(*leaf.positional, **leaf.named)))
            observed.append(Observed(call, dtype, result, carries))
            if weights and dtype == torch.float32:
                refused.add(_refuses(module, call, torch.float64))
                whole.add(all(not one.is_floating_point() for one in leaves(next(iter(call.bound.values())))))
    said = facts(name, observed, False) if observed else None
    nested = (
        {str(_structure(module(*call.positional, **call.named))) for _, module, _, call in objects[:2]}
        if observed and observed[0].result.nested
        else set()
    )
    if len(nested) == 1:
        said = {"gives": "torch.Tensor", "parts": _structure(objects[0][1](*objects[0][3].positional, **objects[0][3].named))}
    found = dict(said or {})
    if weights and whole == {True}:
        found["takes"] = "whole"
    elif weights and refused == {True}:
        found["takes"] = "weights"
    return found


def _structure(value: Any) -> Any:
    return "same" if isinstance(value, torch.Tensor) else [_structure(one) for one in value]


def _refuses(module: nn.Module, call: Call, dtype: torch.dtype) -> bool:
    wide = call.mapped(lambda _, one: one.to(dtype) if one.is_floating_point() else one)
    try:
        module(*wide.positional, **wide.named)
    except Exception:
        return True
    return False

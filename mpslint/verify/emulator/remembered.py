"""What operators make, remembered by what they are given: shapes, strides, dtypes and plain values decide it on tensors without values,
and torch works it out in Python, which takes most of a run's time. Layers repeat, so most calls were seen before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from mpslint.verify.emulator.intercept import to_host

Made = tuple[tuple[int, ...], tuple[int, ...], torch.dtype]
"""Shape, strides and dtype of a tensor."""
PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)
TENSORS = (torch.Tensor, torch.nn.Parameter)


class Remembered:
    """Calls operators on tensors without values, each only once for the same arguments."""

    def __init__(self) -> None:
        self._made: dict[Any, list[Made | None] | None] = {}
        """What a call makes, None for a gradient that it was not asked for; None for all where that has to be worked out each time."""
        self._is_plain: dict[Any, bool] = {}

    def call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Return what an operator returns."""
        is_plain = self._is_plain.get(func)
        if is_plain is None:
            is_plain = self._is_plain[func] = makes_new_tensors(func)
        key = _key(func, args, kwargs) if is_plain else None
        if key is None:
            return func(*args, **kwargs)
        if key in self._made:
            known = self._made[key]
            if known is None:
                return func(*args, **kwargs)
            made = [None if one is None else torch.empty_strided(one[0], one[1], dtype=one[2], device="meta") for one in known]
            return made[0] if len(func._schema.returns) == 1 else tuple(made)
        out = _made_by(func, args, kwargs)
        self._made[key] = _described(out, args)
        return out


def _made_by(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return what an operator makes; of one that torch can't run without values, such as `linalg_lstsq`, what it makes of neutral ones."""
    try:
        return func(*args, **kwargs)
    except NotImplementedError:
        given = tree_map_only(torch.Tensor, to_host, (args, kwargs))
        return tree_map_only(torch.Tensor, lambda made: made.to("meta"), func(*given[0], **given[1]))


def makes_new_tensors(func: Any) -> bool:
    """Return whether an operator returns tensors, by its schema none of them its arguments or views of them."""
    schema = func._schema
    if any(argument.alias_info is not None for argument in (*schema.arguments, *schema.returns)):
        return False
    return bool(schema.returns) and all(str(value.type) == "Tensor" for value in schema.returns)


def _key(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return what decides about the result of a call; None where more does."""
    found: list[Any] = [func]
    if not _describe(args, found):
        return None
    for name in kwargs:
        found.append(name)
        if not _describe((kwargs[name],), found):
            return None
    return tuple(found)


def _describe(values: Any, found: list[Any]) -> bool:
    for value in values:
        kind = type(value)
        if kind in TENSORS:
            if not value.is_meta:
                return False
            found += (value.shape, value.stride(), value.dtype)
        elif kind in (list, tuple, torch.Size):
            found.append(len(value))
            if not _describe(value, found):
                return False
        elif isinstance(value, PLAIN):
            found += (kind, value)
        else:
            return False
    return True


def _described(out: Any, args: Any) -> list[Made | None] | None:
    """Return what was made, None where it is not simply new memory of its own."""
    given = {tensor.untyped_storage()._cdata for tensor in tensors_in(args)}
    made: list[Made | None] = []
    for tensor in out if isinstance(out, (list, tuple)) else (out,):
        if tensor is None:
            made.append(None)
            continue
        if type(tensor) is not torch.Tensor or not tensor.is_meta or tensor.layout is not torch.strided or tensor.storage_offset():
            return None
        storage = tensor.untyped_storage()
        like = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
        if storage._cdata in given or like.untyped_storage().nbytes() != storage.nbytes():
            return None
        given.add(storage._cdata)
        made.append((tuple(tensor.shape), tensor.stride(), tensor.dtype))
    return made


def tensors_in(values: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors among the arguments of a call, those in lists too."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)

"""Batches whose samples are stacked: torch's own collation, and what transformers does by default, take only samples of one shape.

That says nothing of batches of one sample, nor of those that a sampler puts together by their lengths.
"""

from __future__ import annotations

from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Argument, Call, Instance, Known, Symbol, alternatives_of
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.translate import bound_arguments


def stacking_call(plan: TrainingPlan) -> Call | None:
    """Return the Trainer or loader that stacks the samples of a run's batches; None where another function makes them, or may."""
    given = plan.get("padding.collator")
    if given is not None and given.call is not None and given.pattern is not None:
        if plan.constant("batch.train") == 1:
            return None
        collator = bound_arguments(given.call, given.pattern).get("data_collator")
        if not _is_none(collator):
            return given.call if _stacks(collator) else None
        by_default = plan.constant("padding.collator") is False and plan.constant("padding.tokenizer") is False
        return given.call if by_default and not loads_itself(given.call) else None
    said = plan.settings.get("loader.batch", ())
    loaders = [(one, one.call, one.pattern) for one in said if one.call is not None and one.pattern is not None]
    for setting, call, pattern in loaders:
        bound = bound_arguments(call, pattern)
        collator = bound.get("collate_fn")
        is_single = setting.is_known and setting.constant in (1, None)
        is_plain = call.name in platform_data("batches")["stacking"]["loaders"] and not call.is_open and not is_single
        if not (is_plain and _is_none(bound.get("batch_sampler")) and (_is_none(collator) or _stacks(collator))):
            return None
    return loaders[0][1] if loaders else None


def loads_itself(call: Call | None) -> bool:
    """Return whether a Trainer of the program makes its own loaders, and so its own batches."""
    cls = call.result.cls if call is not None and call.result is not None else None
    return cls is not None and cls.lookup("get_train_dataloader") is not None


def _is_none(argument: Argument | None) -> bool:
    return argument is None or (isinstance(argument.value, Known) and argument.value.value is None)


def _stacks(collator: Argument | None) -> bool:
    """Return whether what is given as a collate function is one that stacks."""
    known = platform_data("batches")["stacking"]["functions"]
    given = alternatives_of(collator.value) if collator is not None else ()
    return bool(given) and all(isinstance(one, (Symbol, Instance)) and one.name in known for one in given)

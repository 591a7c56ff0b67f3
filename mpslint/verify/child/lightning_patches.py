"""What is changed in Lightning while foreign code runs: its Trainer gets its own flags for a short run."""

from __future__ import annotations

import functools
import importlib
import inspect
import platform
from types import ModuleType
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.verify.child.clock import Clock
from mpslint.verify.child.conductor import MOST_SIZED
from mpslint.verify.child.torch_patches import Shortened


def shorten_lightning(module: ModuleType, clock: Clock, shortened: Shortened, evaluation_batches: int, *, is_emulated: bool) -> None:
    """Give Lightning's Trainer the flags of a short run."""
    trainer: Any = module.Trainer
    init = trainer.__init__
    if is_emulated:
        platform.processor = lambda: "arm"

    @functools.wraps(init)
    def short_init(self: Any, *args: Any, **kwargs: Any) -> None:
        clock.cuts_epochs = False
        given = inspect.signature(init).bind(self, *args, **kwargs).arguments
        given.pop("self", None)
        given.pop("args", None)
        table = platform_data("shortened")
        changed = {**table["lightning"], **({} if is_emulated else table["lightning_on_cpu"])}
        changed["logger"] = _silent_logger(module) if given.get("logger") is not False else False
        changed["max_steps"] = clock.steps + (MOST_SIZED if clock.conductor is not None else 0)
        changed["val_check_interval"] = max(4, -(-clock.steps // 2))  # an epoch that was cut would free what the whole one keeps
        changed["check_val_every_n_epoch"] = None
        changed |= dict.fromkeys(("limit_val_batches", "limit_test_batches", "limit_predict_batches"), evaluation_batches)
        if callbacks := given.get("callbacks"):
            callbacks = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
            changed["callbacks"] = [one for one in callbacks if not any(word in type(one).__name__ for word in table["dropped"])]
        for name, value in changed.items():
            if name in given and given[name] != value:
                shortened.note(f"Trainer({name}={_shown(given[name])}) → {_shown(value)}"[:120])
        if not given.get("max_steps") or given["max_steps"] < 0:
            shortened.note(f"Trainer(max_steps={clock.steps})")
        init(self, **{**given, **changed})

    trainer.__init__ = short_init


def _shown(value: Any) -> str:
    """Return a value as a report names it: an object by its class."""
    return repr(value) if value is None or isinstance(value, (str, int, float, list, tuple, dict)) else type(value).__name__


def _silent_logger(module: ModuleType) -> Any:
    """Return Lightning's own logger that takes everything and writes nothing: code may log images with the logger's own methods."""
    try:
        return importlib.import_module(f"{module.__name__.partition('.trainer')[0]}.loggers.logger").DummyLogger()
    except (ImportError, AttributeError):
        return False

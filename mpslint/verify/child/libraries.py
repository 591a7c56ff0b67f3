"""Which libraries are changed after foreign code imports them, and by what; Lightning here: its Trainer gets its own flags for a
short run."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import inspect
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.verify.child.clock import Clock
from mpslint.verify.child.conductor import MOST_SIZED
from mpslint.verify.child.drawn_data import drawn_sets, score_nothing, untrained_where_missing
from mpslint.verify.child.drawn_rows import draw_missing_sets
from mpslint.verify.child.drawn_tokenizers import stand_in_for_missing
from mpslint.verify.child.replaced import replaces
from mpslint.verify.child.torch_patches import Report, Shortened
from mpslint.verify.child.transformers_patches import (
    HUB,
    known_configurations,
    models_without_weights,
    one_pass_generation,
    one_process,
    shorten_trainer,
)
from mpslint.verify.job import ScriptRun


def library_changes(
    clock: Clock, shortened: Shortened, script: ScriptRun, report: Report, code: Iterable[str]
) -> dict[str, Callable[[ModuleType], None]]:
    """Return what is done to each library, by the name of its module; `code` are the user's texts."""
    batches, is_emulated = script.evaluation_batches, script.device == "emulated"

    def lightning(module: ModuleType) -> None:
        shorten_lightning(module, clock, shortened, batches, is_emulated=is_emulated)

    def datasets(module: ModuleType) -> None:
        transformed_in_scratch(module, shortened)
        draw_missing_sets(module, shortened, code, script.lengths)

    found: dict[str, Callable[[ModuleType], None]] = {
        "transformers.trainer": lambda module: shorten_trainer(module, clock, shortened, batches),
        "transformers.modeling_utils": lambda module: models_without_weights(module, shortened, is_emulated=is_emulated),
        "transformers.configuration_utils": known_configurations,
        "transformers.tokenization_utils_base": lambda module: stand_in_for_missing(module, shortened, HUB),
        "accelerate.accelerator": one_process,
        "lightning.pytorch.trainer.trainer": lightning,
        "pytorch_lightning.trainer.trainer": lightning,
        "huggingface_hub": no_login,
        "datasets": datasets,
        "evaluate": lambda module: score_nothing(module, shortened),
        "torchvision.models._api": untrained_where_missing(shortened),
        **drawn_sets(shortened),
    }
    if is_emulated:
        found["transformers.generation.utils"] = lambda module: one_pass_generation(module, clock, shortened, report)
    return found


def no_login(module: ModuleType) -> None:
    """Let a login to the Hub do nothing."""
    for name in ("login", "notebook_login", "interpreter_login"):
        if hasattr(module, name):
            setattr(module, name, lambda *args, **kwargs: None)


def transformed_in_scratch(module: ModuleType, shortened: Shortened) -> None:
    """Have transformed data kept in a scratch folder instead of beside the user's own data set, and transformed in this process.

    A confined process has neither the shared memory nor the sockets of a pool of processes.
    """
    module.disable_caching()
    streams: Any = module.iterable_dataset
    if hasattr(streams, "_maybe_share_with_torch_persistent_workers"):  # the number of an epoch, in shared memory
        streams._maybe_share_with_torch_persistent_workers = lambda value: value
    for kind, name in ((kind, name) for kind in ("Dataset", "DatasetDict") for name in ("map", "filter")):
        if hasattr(getattr(module, kind, None), name):
            _in_one_process(getattr(module, kind), name, shortened)


def _in_one_process(kind: Any, name: str, shortened: Shortened) -> None:
    @replaces(kind, name)
    def transform(original: Any, *args: Any, **kwargs: Any) -> Any:
        if (kwargs.get("num_proc") or 0) > 1:
            shortened.note(f"num_proc {kwargs['num_proc']} → 1")
            kwargs["num_proc"] = None
        return original(*args, **kwargs)


Change = Callable[[ModuleType], None]


def _execute(execute: Change, change: Change, module: ModuleType) -> None:
    """Do what a module's own loader does, and then what is to be done to the module."""
    execute(module)
    change(module)


class AfterImport(importlib.abc.MetaPathFinder):
    """Finds modules as ever, and has some of them changed once they are loaded.

    A module of the code's own may have the name of a library (`datasets.py`): one that lies in the `copy` that runs is left as it is. A
    part of a package that is called like a library's (`transformers.trainer`) is taken for a copy of that library.
    """

    def __init__(self, changes: dict[str, Change], copy: Path) -> None:
        self.changes, self.copy = changes, copy

    def install(self) -> None:
        """Change what is loaded already, and wait for the rest."""
        for name in list(self.changes):
            if name in sys.modules:
                self.changes.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Return the module's spec whose loader also makes the change; None for all other modules."""
        if name not in self.changes:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                if "." in name or not Path(spec.origin or "").is_relative_to(self.copy):
                    spec.loader.exec_module = functools.partial(_execute, spec.loader.exec_module, self.changes.pop(name))  # type: ignore[method-assign]
                return spec
        return None


def shorten_lightning(module: ModuleType, clock: Clock, shortened: Shortened, evaluation_batches: int, *, is_emulated: bool) -> None:
    """Give Lightning's Trainer the flags of a short run."""
    if is_emulated:
        platform.processor = lambda: "arm"

    @replaces(module.Trainer, "__init__")
    def short_init(init: Any, self: Any, *args: Any, **kwargs: Any) -> None:
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


def _shown(value: Any) -> str:
    """Return a value as a report names it: an object by its class."""
    return repr(value) if value is None or isinstance(value, (str, int, float, list, tuple, dict)) else type(value).__name__


def _silent_logger(module: ModuleType) -> Any:
    """Return Lightning's own logger that takes everything and writes nothing: code may log images with the logger's own methods."""
    try:
        return importlib.import_module(f"{module.__name__.partition('.trainer')[0]}.loggers.logger").DummyLogger()
    except (ImportError, AttributeError):
        return False

"""Which libraries are changed after foreign code imports them, and by what."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from mpslint.verify.child import lightning_patches, transformers_patches
from mpslint.verify.child.clock import Clock
from mpslint.verify.child.torch_patches import Report, Shortened


def library_changes(
    clock: Clock, shortened: Shortened, batches: int, report: Report, *, is_emulated: bool
) -> dict[str, Callable[[ModuleType], None]]:
    """Return what is done to each library, by the name of its module."""

    def trainer(module: ModuleType) -> None:
        transformers_patches.shorten_trainer(module, clock, shortened, batches)

    def models(module: ModuleType) -> None:
        transformers_patches.models_without_weights(module, shortened, is_emulated=is_emulated)

    def generation(module: ModuleType) -> None:
        transformers_patches.one_pass_generation(module, clock, shortened, report)

    def lightning(module: ModuleType) -> None:
        lightning_patches.shorten_lightning(module, clock, shortened, batches, is_emulated=is_emulated)

    found: dict[str, Callable[[ModuleType], None]] = {
        "transformers.trainer": trainer,
        "transformers.modeling_utils": models,
        "transformers.configuration_utils": transformers_patches.known_configurations,
        "transformers.tokenization_utils_base": transformers_patches.clear_offline_errors,
        "accelerate.accelerator": transformers_patches.one_process,
        "lightning.pytorch.trainer.trainer": lightning,
        "pytorch_lightning.trainer.trainer": lightning,
        "huggingface_hub": no_login,
        "datasets": transformed_in_scratch,
    }
    if is_emulated:
        found["transformers.generation.utils"] = generation
    return found


def no_login(module: ModuleType) -> None:
    """Let a login to the Hub do nothing."""
    for name in ("login", "notebook_login", "interpreter_login"):
        if hasattr(module, name):
            setattr(module, name, lambda *args, **kwargs: None)


def transformed_in_scratch(module: ModuleType) -> None:
    """Have transformed data kept in a scratch folder instead of beside the user's own data set."""
    module.disable_caching()

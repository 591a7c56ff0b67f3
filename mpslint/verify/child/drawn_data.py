"""Data and weights that foreign code would download: image sets are drawn where they can't be read here, pretrained weights are left as
they were initialised. The memory and the operators of a run depend on neither; every replacement is told."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch

from mpslint.core.finding import ReadError
from mpslint.core.knowledge import platform_data
from mpslint.verify.child.replaced import replaces
from mpslint.verify.child.torch_patches import Shortened

MISSING = (OSError, RuntimeError)
"""What a class raises whose files aren't there and can't be downloaded; refused access is an OSError too."""


def drawn_sets(shortened: Shortened) -> dict[str, Callable[[ModuleType], None]]:
    """Return what is done to each module with image sets, by its name."""
    known = platform_data("drawn_data")
    entries = [(name, entry, fill) for table, fill in (("sets", _fill), ("folders", _fill_folder)) for name, entry in known[table].items()]
    return {name: functools.partial(_draws, entry=entry, fill=fill, shortened=shortened) for name, entry, fill in entries}


def _draws(module: ModuleType, *, entry: Mapping[str, Any], fill: Callable[..., str], shortened: Shortened) -> None:
    """Have a class of a module draw its samples where it finds none."""
    served = entry.get("for", (entry["class"],))

    @replaces(getattr(module, entry["class"]), "__init__")
    def init(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            original(self, *args, **kwargs)
        except MISSING:
            own = next((base.__name__ for base in type(self).__mro__ if base.__module__ == module.__name__), "")
            if own not in served or not hasattr(self, "root"):
                raise
            given = inspect.signature(original).bind(self, *args, **kwargs).arguments
            said = fill(self, entry, given, own)
            shortened.note(f"{own}({str(given.get('root', ''))!r}) can't be read here: {said}")


def _fill(made: Any, entry: Mapping[str, Any], given: Mapping[str, Any], own: str) -> str:
    """Give a set random images and labels; return what they are in words."""
    import numpy as np

    split = str(given.get("split") or ("train" if given.get("train", True) else "test"))
    count = entry["size"].get(split, entry["size"]["train"])
    classes = entry["classes"][own] if isinstance(entry["classes"], Mapping) else entry["classes"]
    draw = np.random.default_rng(0)
    images = draw.integers(0, 256, (count, *entry["shape"]), dtype=np.uint8)
    labels = draw.integers(0, classes, count)
    is_tensor = entry["as"] == "tensor"
    setattr(made, entry["images"], torch.from_numpy(images) if is_tensor else images)
    is_list = entry.get("labels_as") == "list"
    setattr(made, entry["labels"], labels.tolist() if is_list else torch.from_numpy(labels) if is_tensor else labels)
    if entry.get("named"):
        made.classes = [f"class {number}" for number in range(classes)]
        made.class_to_idx = {name: number for number, name in enumerate(made.classes)}
    return f"{count} drawn images of {' x '.join(map(str, entry['shape']))} in {classes} classes"


def _fill_folder(made: Any, entry: Mapping[str, Any], given: Mapping[str, Any], own: str) -> str:
    """Give a folder of images drawn ones; return what they are in words."""
    import numpy as np
    from PIL import Image  # type: ignore[import-not-found, unused-ignore]

    count, classes, sizes = entry["samples"], entry["classes"], entry["sizes"]
    draw = np.random.default_rng(0)
    images = [Image.fromarray(draw.integers(0, 256, (high, wide, 3), dtype=np.uint8)) for wide, high in sizes]
    made.classes = [f"class {number}" for number in range(classes)]
    made.class_to_idx = {name: number for number, name in enumerate(made.classes)}
    made.samples = made.imgs = [(f"{number}.png", number % classes) for number in range(count)]
    made.targets = [label for _, label in made.samples]
    made.extensions = (".png",)
    made.loader = lambda path: images[int(path.partition(".")[0]) % len(images)].copy()
    if made.transform is not None:
        made.transform = _Settled(made.transform, str(given.get("root", "")))
    return f"{count} drawn images of {len(sizes)} sizes in {classes} classes; how many there really are isn't known"


class _Settled:
    """A transform that has to give every image the same size: without it, the size of a batch isn't known."""

    def __init__(self, own: Callable[[Any], Any], folder: str) -> None:
        self.own, self.folder = own, folder
        self.shape: tuple[int, ...] | None = None

    def __call__(self, image: Any) -> Any:
        """Return the transformed image. Raises ReadError where images of different sizes stay different."""
        made = self.own(image)
        if isinstance(made, torch.Tensor):
            if self.shape is not None and tuple(made.shape) != self.shape:
                raise ReadError(f"the images in {self.folder!r} can't be read here, and the transform doesn't give them one size")
            self.shape = tuple(made.shape)
        return made


class Untrained(dict[str, Any]):
    """The weights of a checkpoint that isn't on this machine, whatever is asked of them."""

    def __missing__(self, name: str) -> Any:
        return Untrained()

    def pop(self, name: str, *default: Any) -> Any:
        """Return what there is of a name."""
        return super().pop(name, *default) if name in self or default else Untrained()


def untrained_where_missing(shortened: Shortened) -> Callable[[ModuleType], None]:
    """Have models keep their random weights where those to load can't be downloaded; return what is done to torchvision's for that."""

    @replaces(torch.hub, "load_state_dict_from_url")
    def download_or_none(download: Any, url: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return download(url, *args, **kwargs)
        except OSError:
            shortened.note(f"the weights {url.rpartition('/')[2]} aren't on this machine: random ones in their place")
            return Untrained()

    @replaces(torch.nn.Module, "load_state_dict")
    def load_what_is_there(load: Any, self: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(state_dict, Untrained):
            return torch.nn.modules.module._IncompatibleKeys([], [])
        return load(self, state_dict, *args, **kwargs)

    def serve(module: ModuleType) -> None:
        module.load_state_dict_from_url = download_or_none  # type: ignore[attr-defined]

    return serve


NAME = "evaluate"


class Scores(dict[str, float]):
    """Scores by name, 0 whichever is asked for."""

    def __missing__(self, name: str) -> float:
        return 0.0


class Metric:
    """A metric that scores nothing."""

    def __init__(self, *names: str) -> None:
        self.name = "_".join(names)

    def compute(self, *args: Any, **kwargs: Any) -> Scores:
        """Return a score of 0."""
        return Scores({self.name: 0.0})

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Take a prediction."""

    add_batch = add


class Metrics(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the library where nothing else does: an empty one, whose metrics score nothing."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Return the spec of the library; None for all other modules."""
        return importlib.machinery.ModuleSpec(name, self) if name == NAME else None

    def exec_module(self, module: ModuleType) -> None:
        """Fill the library."""


def score_nothing(module: ModuleType, shortened: Shortened) -> None:
    """Have the library load metrics that score nothing where it can't load its own."""
    own = getattr(module, "load", None)

    def load(path: Any, *args: Any, **kwargs: Any) -> Any:
        if own is not None:
            try:
                return own(path, *args, **kwargs)
            except (OSError, ImportError):
                pass
        shortened.note(f"the metric {str(path)!r} isn't on this machine: its scores are 0")
        return Metric(str(path))

    def combine(metrics: Sequence[Any], *args: Any, **kwargs: Any) -> Metric:
        return Metric(*map(str, metrics))

    library: Any = module
    library.load = load
    if own is None:
        library.combine = combine

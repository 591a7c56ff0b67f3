"""Calls of NumPy and of the libraries around it that try what the tables say."""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch

from mpslint.tensors.signatures import Signature, load_signatures

SQUARE = [[4, 1, 1], [1, 5, 1], [1, 1, 6]]
DTYPES = ("float32", "float64", "float16", "int64", "int32", "uint8", "bool", "complex64")
PLAIN = (2.5, 3, [[4.0, 1, 1], [1, 5, 1], [1, 1, 6]], [1, 2, 3], np.float64(2.5), np.float32(2.5), np.int64(3), 0.5)
LISTED = ([np.ones(3, "float32")] * 2, [np.ones(3, "float32"), np.ones(3)], [np.float32(1), 2.0, 3.0], [np.float32(1)] * 3)
DRAWN: tuple[Any, ...] = tuple(np.array(SQUARE, dtype=one) for one in DTYPES) + PLAIN + LISTED
USUAL: Mapping[str, tuple[Any, ...]] = {
    "numpy": DRAWN,
    "pandas": (*(np.array(SQUARE, dtype=one) for one in ("float32", "float64", "int64")), *PLAIN[:2], np.ones(3, "float32"), np.ones(3)),
    "scipy": (*(np.array(SQUARE, dtype=one) for one in ("float32", "float64", "int64")), *PLAIN[:2], np.ones(3, "float32"), np.ones(3)),
    "sklearn": tuple(np.array(SQUARE, dtype=one) for one in ("float32", "float64", "int64")),
}
"""What the functions of a library are given."""
COMPLEX = {"real", "same", "first", "inexact", "data"}
"""What is said of complex numbers too; the others are of real ones, as those of training are."""
LABELS = np.array([0, 1, 0])
ARGUMENTS: Mapping[str, Any] = {
    "actions": LABELS[:1], "alpha": np.ones(3), "angle": 30, "axis": 0, "axis1": 0, "axis2": 1, "by": 0, "bit_generator": np.random.PCG64(), "code": 4, "colors": [2, 3],
    "choicelist": [np.ones(3, "float32")], "classes": [0, 1], "condition": [True, False, True], "condlist": [[True, False, True]], "cov": np.eye(3),
    "class_weight": "balanced", "ddof": 0, "decimals": 1, "deg": 1, "destination": 1, "dimensions": (2, 2), "dims": (4, 4), "dtype": np.float32, "fill_value": 1.5,
    "full": True, "index": 0, "indices": [0, 1], "indices_or_sections": 3, "k": 0, "kth": 1, "labels": LABELS, "labels_pred": LABELS, "labels_true": LABELS,
    "length": 3, "M": 3, "mean": np.ones(3), "minlength": 9, "N": 3, "n": 3, "new_shape": (2, 2), "nsample": 2, "num": 3, "obj": 0, "offset": 0, "ord": 2,
    "out": None, "pad_width": 1, "pvals": np.ones(3) / 3, "q": 50, "repeats": 2, "reps": 2, "seed": 3, "shape": (9,), "shift": 1, "sigma": 1, "size": (3, 3),
    "source": 0, "value": 1, "values": 1, "X": np.array(SQUARE), "Y": np.array(SQUARE), "x": [1, 2], "y": LABELS, "y_pred": LABELS, "y_score": LABELS, "y_true": LABELS,
    "zoom": 2, "action": 0, "id": "CartPole-v1", "num_envs": 1, "n_dim": 3, "other": 2,
}  # fmt: skip
"""What is given for a parameter of a name that isn't an operand."""
INDICES = np.array([3, 1, 2])
IMAGE = np.zeros((8, 8, 3), "uint8")
OWN: Mapping[str, Mapping[str, Any]] = {
    "numpy.allclose": {"b": 1},
    "numpy.array_equal": {"b": 1},
    "numpy.bincount": {"x": INDICES, "weights": np.ones(3, "float32")},
    "numpy.clip": {"a_min": 1, "a_max": 3},
    "numpy.digitize": {"bins": [0, 1, 2]},
    "numpy.einsum": {"subscripts": "...,...->..."},
    "numpy.frombuffer": {"buffer": bytes(8)},
    "numpy.fromfile": {"file": os.devnull},
    "numpy.fromiter": {"iter": [1, 2]},
    "numpy.genfromtxt": {"fname": ["1 2", "3 4"]},
    "numpy.kaiser": {"beta": 2.0},
    "numpy.linalg.norm": {"axis": (0, 1)},
    "numpy.loadtxt": {"fname": ["1 2", "3 4"]},
    "numpy.nanpercentile": {"q": 50},
    "numpy.nanquantile": {"q": 0.5},
    "numpy.ndarray.searchsorted": {"a": INDICES, "v": 2},
    "numpy.percentile": {"q": 50},
    "numpy.quantile": {"q": 0.5},
    "numpy.ravel_multi_index": {"indices": ([1, 2], [1, 2])},
    "numpy.save": {"file": os.devnull, "arr": INDICES},
    "numpy.savetxt": {"file": os.devnull, "arr": INDICES},
    "numpy.searchsorted": {"a": [1, 2, 3], "v": 2},
    "numpy.select": {"condlist": [[True, False, True]], "choicelist": [np.ones(3, "float32")]},
    "numpy.take_along_axis": {"indices": np.array([[0, 1, 2]])},
    "numpy.unravel_index": {"indices": [1, 2], "shape": (3, 3)},
    "pandas.DataFrame": {"data": np.array(SQUARE)},
    "pandas.DataFrame.isin": {"values": [1]},
    "pandas.DataFrame.select_dtypes": {"include": "number"},
    "pandas.Series.isin": {"values": [1]},
    "pandas.factorize": {"values": LABELS},
    "scipy.ndimage.binary_dilation": {"input": np.array(SQUARE)},
    "scipy.ndimage.binary_erosion": {"input": np.array(SQUARE)},
    "scipy.ndimage.binary_fill_holes": {"input": np.array(SQUARE)},
    "scipy.ndimage.distance_transform_edt": {"input": np.array(SQUARE)},
    "scipy.optimize.linear_sum_assignment": {"cost_matrix": np.array(SQUARE)},
    "scipy.spatial.distance.cdist": {"XA": np.array(SQUARE), "XB": np.array(SQUARE)},
    "scipy.spatial.distance.cosine": {"u": INDICES, "v": INDICES},
    "scipy.spatial.distance.euclidean": {"u": INDICES, "v": INDICES},
    "scipy.spatial.distance.pdist": {"X": np.array(SQUARE)},
    "scipy.spatial.distance_matrix": {"x": np.array(SQUARE), "y": np.array(SQUARE)},
    **{one: {"x": INDICES, "y": np.array([2, 1, 3])} for one in ("scipy.stats.kendalltau", "scipy.stats.pearsonr")},
    "scipy.signal.butter": {"N": 3, "Wn": 0.2},
    "scipy.signal.filtfilt": {"b": [1.0, 2.0], "a": [1.0, 0.5], "x": np.ones(30, "float32")},
    "scipy.signal.savgol_filter": {"window_length": 3, "polyorder": 1},
    "scipy.signal.get_window": {"window": "hann", "Nx": 8},
    "sklearn.preprocessing.MultiLabelBinarizer.fit": {"y": [[1], [0]]},
    "sklearn.preprocessing.MultiLabelBinarizer.fit_transform": {"y": [[1], [0]]},
    "sklearn.preprocessing.MultiLabelBinarizer.transform": {"y": [[1], [0]]},
    "sklearn.model_selection.train_test_split": {"arrays": np.array(SQUARE, "float32")},
}  # fmt: skip
"""What is given for the parameters of one function."""
NEEDED = {"numpy.einsum": 3, "numpy.ndarray.reshape": 2, "numpy.ndarray.transpose": 2, "numpy.where": 3}
"""How many arguments a function takes, where its signature doesn't say that."""
PUBLIC = {"Generator": "numpy.random", "RandomState": "numpy.random", "DataFrame": "pandas", "Series": "pandas"}
"""The modules that users import a class from, where it is defined in another."""
BY_HAND = (
    *("pandas.get_dummies", "pandas.merge", "pandas.read_", "scipy.io", "sklearn.datasets.load_"),
    *("sklearn.model_selection.cross_val_score", "sklearn.utils.class_weight.compute_class_weight"),
)
"""The beginnings of names that these calls don't try: they need files, or an argument that is no array."""
PAIRED = {"X", "y", "y_true", "y_pred", "y_score", "labels", "labels_true", "labels_pred"}
"""Parameters whose arguments must go with each other."""
OLDER = {"numpy.float_", "numpy.in1d", "numpy.product", "numpy.row_stack", "numpy.trapz"}
"""Names that a newer release no longer has."""
OPTIONS = {
    "n_clusters": 2,
    "n_components": 3,
    "perplexity": 1.0,
    "n_neighbors": 2,
    "n_quantiles": 3,
    "max_iter": 300,
    "n_estimators": 2,
    "n_init": 1,
}
"""What objects of scikit-learn are made with, to learn from three rows."""


def entries(*libraries: str) -> dict[str, Signature]:
    """Return what the tables say of the libraries, as far as the releases that are installed have it."""
    found = {name: said for name, said in load_signatures().items() if name.partition(".")[0] in libraries and not name.startswith(BY_HAND)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: said for name, said in found.items() if name not in OLDER or hasattr(np, name.partition(".")[2])}


def resolved(name: str) -> tuple[Any, Any]:
    """Return what a name stands for, and the class that it is an attribute of, or None. Raises ImportError for a name that isn't there."""
    parts = name.split(".")
    owner, found = None, importlib.import_module(parts[0])
    for position, part in enumerate(parts[1:], 2):
        if inspect.ismodule(found) and not hasattr(found, part):
            importlib.import_module(".".join(parts[:position]))
        owner, found = found, getattr(found, part, None)
    return found, owner if inspect.isclass(owner) else None


def called(name: str, arguments: list[Any], named: Mapping[str, Any]) -> Any:
    """Return what a function, a method or an attribute gives. Raises what it raises."""
    found, owner = resolved(name)
    if owner is not None:
        found, arguments = getattr(arguments[0], name.rpartition(".")[2]), arguments[1:]
    return found(*arguments, **named) if callable(found) else found


def needed(said: Signature) -> tuple[str, ...]:
    """Return the parameters that a call must give."""
    if said.name in NEEDED:
        return said.parameters[: NEEDED[said.name]]
    try:
        found = list(inspect.signature(resolved(said.name)[0]).parameters.values())
    except (TypeError, ValueError):
        least = max((position for position, one in enumerate(said.parameters, 1) if one in said.operands), default=1)
    else:
        least = sum(one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in found)
        least += inspect.isclass(resolved(said.name)[0]) - 1 if found and found[0].name == "self" and resolved(said.name)[1] is None else 0
    return tuple(one for one in said.parameters[: max(least, 1)] if one != "size")


def object_of(owner: Any, data: Any) -> Any:
    """Return an object of a class to call methods of: made of the data, or one that has learned from it. Raises what the class raises."""
    library = owner.__module__.partition(".")[0]
    if library == "pandas":
        return owner(data[0] if owner.__name__ == "Series" else data)
    if library == "sklearn":
        options = {one: value for one, value in OPTIONS.items() if one in inspect.signature(owner).parameters}
        made = owner(**options)
        learned = {"X": data, "y": [[1], [0]] if "Multi" in owner.__name__ else LABELS}
        return made.fit(*(value for one, value in learned.items() if one in inspect.signature(made.fit).parameters))
    if owner is np.random.Generator:
        return np.random.default_rng(3)
    return owner(3) if owner is np.random.RandomState else owner()


def calls(said: Signature) -> Iterator[tuple[list[Any], dict[str, Any], list[Any]]]:
    """Yield arguments, arguments by name, and the operands among them: all drawn operands, then each other parameter that may be given."""
    own = OWN.get(said.name, {})
    least = needed(said)
    _, owner = resolved(said.name)
    library = said.name.partition(".")[0]
    given = {one: own[one] if one in own else ARGUMENTS.get(one) for one in said.parameters}
    drawn = [one for one in least if one in said.operands and one not in own]
    of_array = owner in (np.ndarray,) and said.parameters[0] in drawn
    candidates = USUAL[library] if len(drawn) < 3 else USUAL[library][::3]
    for values in itertools.product(candidates, repeat=len(drawn)):
        if (of_array and not isinstance(values[0], np.ndarray | np.generic)) or (
            said.dtype not in COMPLEX and any(map(np.iscomplexobj, values))
        ):
            continue
        start = {**given, **dict(zip(drawn, values, strict=True))}
        if "self" in start:
            try:
                start["self"] = object_of(owner, values[0] if values else np.array(SQUARE))
            except Exception:  # this class doesn't take such data
                continue
        arguments = [start[one] for one in least]
        operands = [start[one] for one in least if one in said.operands]
        fresh = [np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments]
        yield fresh, {said.dtype_argument: None} if said.dtype_argument in least else {}, operands
        for position, one in enumerate(said.parameters[len(least) :]):
            if (
                one != said.dtype_argument
                and one not in said.operands
                and start[one] is not None
                and (not position or one in said.with_arguments)
            ):
                yield arguments, {one: start[one]}, operands
        for one in said.with_arguments:
            yield arguments, {name: start.get(name) if start.get(name) is not None else True for name in one.split("+")}, operands
        if said.dtype_argument:
            yield arguments, {said.dtype_argument: np.float32}, operands


def raised(said: Signature, parameter: str, tensor: torch.Tensor) -> Iterator[Exception | None]:
    """Yield what each call raises that has a tensor in the place of an argument, where the same call goes well with an array."""
    own = OWN.get(said.name, {})
    names = said.parameters[: max(len(needed(said)), *(said.parameters.index(one) + 1 for one in (parameter, *own)))]
    read = {*said.operands, *said.on_cpu}
    wraps: tuple[Callable[[Any], Any], ...] = (lambda one: one, lambda one: [one, one])
    tries = 0
    for array, wrap in itertools.product((np.array(SQUARE, "float32"), np.array([1.0, 2, 3]), LABELS, LABELS == 1, IMAGE, 2.0, 0.5), wraps):
        given = {one: own.get(one, ARGUMENTS.get(one)) if one in own or one not in read - PAIRED else wrap(array) for one in names} | {
            parameter: wrap(array)
        }
        if tries == 2:  # the others would say the same
            return
        if "self" in given:
            given["self"] = object_of(resolved(said.name)[1], np.array(SQUARE, "float32"))
        try:
            called(said.name, list(given.values()), {})
        except Exception:  # this one isn't for such arguments
            continue
        tries += 1
        try:
            called(said.name, list({**given, parameter: wrap(tensor)}.values()), {})
        except Exception as error:
            yield error
        else:
            yield None

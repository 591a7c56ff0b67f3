"""What the tables say of environments, images, sound and data sets is what the libraries give, where they are installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpslint.tensors.signatures import load_signatures
from tests.tensors.array_calls import resolved
from tests.tensors.test_array_signatures import differences

SAID = load_signatures()
DATA_SETS = [name for name in SAID if name.startswith("sklearn.datasets.load_") and name.count(".") == 2]
COLOURS = np.zeros((8, 8, 3), "uint8")


@pytest.mark.parametrize("name", DATA_SETS)
def test_a_data_set_of_scikit_learn_has_arrays_of_the_dtypes_that_are_said(name: str) -> None:
    pytest.importorskip("sklearn")
    found = resolved(name)[0]

    assert [*differences(SAID[name], found(return_X_y=True), [], {"return_X_y": True}, [])] == []
    for one in ("data", "target"):
        assert [*differences(SAID[f"{name}.{one}"], getattr(found(), one), [], {}, [])] == []


@pytest.mark.parametrize("kind", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_vector_environments_keep_rewards_in_float64(kind: str) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    environments = getattr(gymnasium.vector, kind)([lambda: gymnasium.make("CartPole-v1")] * 2)
    name = f"gymnasium.vector.{kind}"

    try:
        assert [*differences(SAID[f"{name}.reset"], environments.reset(), [], {}, [])] == []
        assert [*differences(SAID[f"{name}.step"], environments.step(np.array([0, 1])), [], {}, [])] == []
    finally:
        environments.close()


@pytest.mark.parametrize("world", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_environments_give_what_is_said(world: str) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it needs of other libraries
        try:
            environment = gymnasium.make(world)
        except Exception:
            pytest.skip("needs another library")
        assert isinstance(environment, resolved(SAID["gymnasium.make"].gives)[0])
        assert [*differences(SAID["gymnasium.Env.reset"], environment.reset(), [], {}, [])] == []
        assert [*differences(SAID["gymnasium.Env.step"], environment.step(environment.action_space.sample()), [], {}, [])] == []
        several = gymnasium.make_vec(world, 2)
        assert isinstance(several, resolved(SAID["gymnasium.make_vec"].gives)[0])
        assert [*differences(SAID["gymnasium.vector.VectorEnv.reset"], several.reset(), [], {}, [])] == []
        assert [*differences(SAID["gymnasium.vector.VectorEnv.step"], several.step(several.action_space.sample()), [], {}, [])] == []
        several.close()


@pytest.mark.parametrize(
    ("name", "arguments"), [("Discrete", [3]), ("MultiBinary", [3]), ("MultiDiscrete", [[2, 3]]), ("Box", [0, 1, (2,)])]
)
def test_spaces_give_samples_of_the_dtype_that_is_said(name: str, arguments: list[Any]) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    space = getattr(gymnasium.spaces, name)(*arguments)

    assert [*differences(SAID[f"gymnasium.spaces.{name}.sample"], space.sample(), [space], {}, [])] == []


IMAGE_CALLS = {
    "addWeighted": [0.5, COLOURS, 0.5, 0], "bitwise_and": [COLOURS], "bitwise_not": [], "bitwise_or": [COLOURS], "blur": [(3, 3)], "Canny": [1, 2], "copyMakeBorder": [1, 1, 1, 1, 0],
    "cvtColor": [4], "dilate": [np.ones((3, 3))], "erode": [np.ones((3, 3))], "filter2D": [-1, np.ones((3, 3))], "flip": [1], "GaussianBlur": [(3, 3), 0], "medianBlur": [3],
    "normalize": [None], "remap": [np.zeros((4, 4), "float32"), np.zeros((4, 4), "float32"), 1], "resize": [(4, 4)], "rotate": [0], "split": [], "merge": None,
    "warpAffine": [np.eye(3)[:2], (8, 8)], "warpPerspective": [np.eye(3), (8, 8)],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(IMAGE_CALLS))
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
def test_opencv_keeps_the_dtypes_that_are_said(name: str, dtype: str) -> None:
    cv2 = pytest.importorskip("cv2")
    image = COLOURS.astype(dtype)
    more = IMAGE_CALLS[name]
    arguments = [[image[..., 0]] * 3] if more is None else [image, *more]

    try:
        result = getattr(cv2, name)(*arguments)
    except cv2.error:  # takes no such images
        assert dtype != "uint8"
    else:
        assert [*differences(SAID[f"cv2.{name}"], result, arguments, {}, [arguments[0] if more is not None else image])] == []


def test_images_that_are_read_are_uint8(tmp_path: Path) -> None:
    pillow, cv2 = pytest.importorskip("PIL.Image"), pytest.importorskip("cv2")
    made = pillow.fromarray(COLOURS)
    made.save(tmp_path / "image.png")
    read = pillow.open(tmp_path / "image.png")

    for name, value in {"fromarray": made, "open": read, "Image.convert": read.convert("L"), "Image.resize": read.resize((4, 4))}.items():
        assert [*differences(SAID[f"PIL.Image.{name}"], value, [], {}, [])] == []
    assert [*differences(SAID["cv2.imread"], cv2.imread(str(tmp_path / "image.png")), [], {}, [])] == []
    assert np.asarray(read).dtype == "uint8"
    assert (np.asarray(read) / 255.0).dtype == "float64"


def test_sound_that_is_read_has_the_dtype_that_is_said(tmp_path: Path) -> None:
    soundfile, librosa = pytest.importorskip("soundfile"), pytest.importorskip("librosa")
    path = tmp_path / "sound.wav"
    soundfile.write(path, np.zeros(1600), 16000)

    assert [*differences(SAID["soundfile.read"], soundfile.read(path), [], {}, [])] == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it needs of Python's old modules
        assert [*differences(SAID["librosa.load"], librosa.load(path), [], {}, [])] == []


SOUND_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "amplitude_to_db": lambda call, y: call(y), "db_to_amplitude": lambda call, y: call(y), "db_to_power": lambda call, y: call(y), "power_to_db": lambda call, y: call(y),
    "effects.preemphasis": lambda call, y: call(y), "effects.trim": lambda call, y: call(y), "feature.spectral_centroid": lambda call, y: call(y=y),
    "feature.zero_crossing_rate": lambda call, y: call(y), "resample": lambda call, y: call(y, orig_sr=16000, target_sr=8000), "stft": lambda call, y: call(y),
    "to_mono": lambda call, y: call(y), "util.fix_length": lambda call, y: call(y, size=9), "util.normalize": lambda call, y: call(y), "feature.mfcc": lambda call, y: call(y=y),
    "feature.melspectrogram": lambda call, y: call(y=y), "feature.rms": lambda call, y: call(y=y), "feature.chroma_stft": lambda call, y: call(y=y),
    "mel_frequencies": lambda call, y: call(), "fft_frequencies": lambda call, y: call(), "filters.mel": lambda call, y: call(sr=16000, n_fft=400),
    "get_duration": lambda call, y: call(y=y),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SOUND_CALLS))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_librosa_gives_the_dtypes_that_are_said(name: str, dtype: str) -> None:
    pytest.importorskip("librosa")
    sound = np.linspace(0.1, 1, 4000).astype(dtype)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = SOUND_CALLS[name](resolved(f"librosa.{name}")[0], sound)

    assert [*differences(SAID[f"librosa.{name}"], result, [], {}, [sound])] == []

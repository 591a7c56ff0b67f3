"""Cases of messages: the traceback, the names, the words around and the versions of a log say what its message means there."""

from __future__ import annotations

import pytest

from mpslint.diagnose import Diagnosis, Explained, diagnose, log_of_bytes

SITE = "/opt/env/lib/python3.12/site-packages"
FLOAT64 = (
    "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use float32 instead."
)


def diagnosed(text: str) -> Diagnosis:
    """Return the diagnosis of a text."""
    return diagnose(log_of_bytes(text.encode(), "log"))


def title(text: str) -> str:
    """Return the title of the first cause of a text."""
    cause = diagnosed(text).cause
    assert cause is not None
    return cause.explanation.title


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (f'File "{SITE}/lightning/pytorch/callbacks/lr_monitor.py", line 217, in <dictcomp>', "A learning rate from NumPy was sent to MPS"),
        (f'File "{SITE}/ignite/metrics/precision.py", line 84, in update', "A metric of ignite counts in float64 on MPS"),
        (f"File {SITE}/torchrl/envs/libs/gym.py:812, in GymWrapper.read_reward(self, reward)", "An environment of torchrl was put on MPS"),
        (
            f"File {SITE}/lightning/fabric/utilities/apply_func.py:104, in move_data_to_device.<locals>.batch_to(data)",
            "A batch with float64 was sent to MPS",
        ),
        (
            'python3.10/site-packages/ultralytics/yolo/v8/detect/train.py", line 168, in __call__',
            "Ultralytics before 8.0.74 makes boxes of float64",
        ),
        (f'File "{SITE}/trl/trainer/ppo_trainer.py", line 1032, in loss', "PPOTrainer before trl 0.4.7 computes in float64"),
        (f"│ {SITE}/torchmetrics/metric.py:12 in update │", "A metric of torchmetrics computes in float64 on MPS"),
        ('File "/home/me/train.py", line 3, in <module>', "A float64 tensor was sent to MPS"),
    ],
)
def test_the_frames_decide(frame: str, expected: str) -> None:
    """The same text means another thing where another library made the tensor, however its traceback is printed."""
    assert title(f"Traceback (most recent call last)\n{frame}\n    x = y\n{FLOAT64}") == expected


def test_what_a_message_names_decides() -> None:
    """Types of numbers that differ on MPS are no tensor on another device, a complex number is no float64, and LoftQ asks for CUDA itself."""
    assert title("RuntimeError: Input type (MPSFloatType) and weight type (MPSHalfType) should be the same") == (
        "Input and weights are of different number types"
    )
    assert title("RuntimeError: Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same") == (
        "Input and weights are on different devices, or of different number types"
    )
    no_type = "TypeError: Trying to convert {} to the MPS backend but it does not have support for that dtype."
    assert title(no_type.format("ComplexDouble")) == "A complex number reached MPS"
    assert title(no_type.format("UInt16")) == "MPS has no such number type"
    loftq = f'Traceback (most recent call last):\n  File "{SITE}/peft/utils/loftq_utils.py", line 206, in loftq_init\n    x = y\n'
    assert title(f"{loftq}AssertionError: Torch not compiled with CUDA enabled") == "LoftQ of peft quantizes on CUDA"


def test_numpy_of_a_graph_is_a_fault_of_torch_only_while_saving() -> None:
    """torch.save of 1.12 fails by itself for a parameter on MPS; elsewhere the program asks for it."""
    text = 'Traceback (most recent call last):\n  File "{}", line 9, in {}\nRuntimeError: Can\'t call numpy() on Tensor that requires grad.'
    assert title(text.format(f"{SITE}/torch/_tensor.py", "_reduce_ex_internal")) == "torch 1.12 can't save this tensor on MPS"
    assert title(text.format("/home/me/train.py", "<module>")) == "A tensor of an autograd graph was given to NumPy"


def test_frames_of_another_traceback_decide_nothing() -> None:
    """Only the traceback that ends at the message counts."""
    earlier = f'Traceback (most recent call last):\n  File "{SITE}/ignite/metrics/precision.py", line 84, in update\nKeyError: 3\n'
    later = f'Traceback (most recent call last):\n  File "/home/me/train.py", line 3, in <module>\n{FLOAT64}'
    assert title(earlier + later) == "A float64 tensor was sent to MPS"


CAUGHT = 'Traceback (most recent call last):\n  File "/me/train.py", line 3, in fit\n    step()\nAssertionError: Torch not compiled with CUDA enabled\n'
HANDLING = "\nDuring handling of the above exception, another exception occurred:\n\n"
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"


def raised(function: str, line: str, heading: str = "") -> str:
    """Return the traceback of a float64 error that a line of a function raises."""
    return f'{heading}Traceback (most recent call last):\n  File "/me/train.py", line 9, in {function}\n    {line}\n{FLOAT64}\n'


@pytest.mark.parametrize("between", ["on the CPU, then\n", HANDLING])
def test_what_ended_the_run_comes_before_what_was_caught(between: str) -> None:
    """An error that was handled, or while another one was raised, is not the one to read first."""
    assert title(CAUGHT + between + raised("fall_back", "move(x)")) == "A float64 tensor was sent to MPS"
    assert title(CAUGHT + between + raised("fall_back", "move(x)", "TypeError     ")) == "A float64 tensor was sent to MPS"


@pytest.mark.parametrize(
    ("between", "last"),
    [
        (CAUSE, raised("fall_back", "move(x)")),
        (CAUSE, raised("f", "g()", "TypeError    ")),
        (HANDLING, raised("fit", "raise TypeError(why)")),
    ],
)
def test_a_cause_comes_before_what_was_raised_from_it(between: str, last: str) -> None:
    """`raise ... from` names its cause, and a `raise` in the function that caught an error says it in other words."""
    assert title(CAUGHT + between + last) == title(CAUGHT) != "A float64 tensor was sent to MPS"


def test_what_nobody_knows_leaves_open_what_it_was_raised_in() -> None:
    """An unknown error that ended the run while a known one was handled is said, and the known one settles nothing."""
    unknown = 'Traceback (most recent call last):\n  File "/me/train.py", line 20, in save\n    write()\nWriterError: closed\n'
    assert diagnosed(CAUGHT + HANDLING + unknown).outcome is Explained.UNCERTAIN
    assert diagnosed(CAUGHT + CAUSE + unknown).outcome is Explained.EXPLAINED


@pytest.mark.parametrize("code", ['  File "/me/run.py", line 9, in f\n    {}\n', "--> 365     {}\n", "│ ❱ 365 │   │   {}\n"])
def test_the_line_that_raises_is_not_counted(code: str) -> None:
    """The code that a traceback shows holds the words of what it raises; the message is what was raised."""
    line = code.format('raise ValueError(f"fp16 mixed precision requires a GPU (not {self.device.type!r}).")')
    symptom = diagnosed(f"Traceback (most recent call last):\n{line}ValueError: fp16 mixed precision requires a GPU (not 'mps').").symptoms[
        0
    ]
    assert (symptom.times, symptom.quote) == (1, "ValueError: fp16 mixed precision requires a GPU (not 'mps').")


def test_the_words_around_any_place_of_a_message_decide() -> None:
    """A message that a program logs before its traceback is explained by the traceback."""
    assert title(f"ERROR: {FLOAT64}, {'. ' * 300}{raised('f', 'x = x.double()')}") == ".double() was called on a tensor on MPS"


@pytest.mark.parametrize("said", ["The number of training batches (27) is smaller than the interval.", "UserWarning: few batches"])
def test_where_a_warning_comes_from_is_no_frame(said: str) -> None:
    """A library's warning ends no traceback of what is raised behind it."""
    assert title(f"{SITE}/lightning/pytorch/loops/fit_loop.py:293: {said}\nEpoch 0: 0%\n{FLOAT64}") == "A float64 tensor was sent to MPS"


def test_a_function_has_to_be_the_one_that_is_asked_for() -> None:
    """A large buffer is the metric's only where torchmetrics counts its bins."""
    text = 'Traceback (most recent call last):\n  File "{}/torchmetrics/utilities/data.py", line 207, in {}\nRuntimeError: Invalid buffer size: 122.07 GiB'
    assert title(text.format(SITE, "_bincount")) == "A metric of torchmetrics asks for 122.07 GiB on MPS"
    assert title(text.format(SITE, "to_onehot")) == "One tensor is larger than Metal's largest buffer"


def test_the_versions_of_the_log_decide() -> None:
    """A log that names torch 2.5 and ends in the backward pass settles what the text alone doesn't."""
    text = "RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces)."
    backward = f'Traceback (most recent call last):\n  File "{SITE}/torch/autograd/__init__.py", line 347, in backward\n    x = y\n'
    assert diagnosed(backward + text).outcome is Explained.UNCERTAIN
    assert diagnosed(f"torch==2.5.1\n{text}").outcome is Explained.UNCERTAIN
    assert diagnosed(f"torch==2.5.1\n{backward}{text}").outcome is Explained.EXPLAINED
    assert title(f"torch==2.7.1\n{backward}{text}") == "The backward pass of BatchNorm fails before torch 2.14"
    assert diagnosed(f"torch==2.14.0\n{backward}{text}").outcome is Explained.UNCERTAIN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("module 'torch.mps' has no attribute 'is_available'", "is_available needs torch 2.5"),
        ("module 'torch.accelerator' has no attribute 'get_memory_info'", "get_memory_info needs torch 2.13"),
        ("module 'torch.mps' has no attribute 'manual_seed_all'", "No torch up to 2.15 has torch.mps.manual_seed_all as a public name"),
        ("module 'torch.accelerator' has no attribute 'no_such_name'", "This torch has no no_such_name there"),
    ],
)
def test_a_missing_name_says_which_torch_has_it(text: str, expected: str) -> None:
    """What rules/platform/names.yaml knows is said; of a module whose names aren't all known, nothing is made up."""
    assert title(f"AttributeError: {text}") == expected


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("mps", "This torch is older than MPS"),
        ("MPS", "torch doesn't have a device called MPS"),
        ("mps_device", "torch doesn't have a device called mps_device"),
        ("gpu", "torch doesn't have a device called gpu"),
    ],
)
def test_the_name_that_is_captured_decides(device: str, expected: str) -> None:
    """Only the exact name of the device speaks of an old torch; the case and what follows it count."""
    assert title(f"RuntimeError: Expected one of cpu, cuda, mps, meta device type at start of device string: {device}") == expected


@pytest.mark.parametrize(
    "text",
    [
        "iter 120: loss nan, time 412.11ms, mfu 3.01%",
        "Epoch 3: 100%|###| 12/12 [00:01<00:00, train_loss=nan]",
        "steps: 1%| | 20/2000 [00:40<1:06:00, avr_loss=nan]",
        "Epoch 11/100 | Loss: nan",
        "{'loss': nan, 'learning_rate': 4.9e-05, 'epoch': 0.1}",
        "[12/400] G_LOSS = NaN",
        "step 4: loss tensor(nan, device='mps:0', grad_fn=<NllLossBackward0>)",
        '{"step": 3, "train/loss": NaN}',
    ],
)
def test_losses_of_nan_in_logs_written_by_hand(text: str) -> None:
    """However a loop prints it."""
    assert [symptom.message.id for symptom in diagnosed(text).symptoms] == ["loss-is-nan"]


@pytest.mark.parametrize(
    "text", ["loss: 0.31, nan_count: 0", "the loss\nnan", "loss nanometer", "loss_fn(nan_mask)", "lossless: nanobot", "accuracy: nan"]
)
def test_other_words_with_nan_are_no_loss(text: str) -> None:
    """A number, a name, a line end or another word between decides."""
    assert diagnosed(text).symptoms == ()


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (
            f'File "{SITE}/captum/attr/_core/integrated_gradients.py", line 362, in <listcomp>',
            "captum before 0.8 makes step sizes of float64",
        ),
        (
            f'File "{SITE}/segment_anything/automatic_mask_generator.py", line 286, in _process_batch',
            "segment-anything makes its points in float64",
        ),
        (f'File "{SITE}/whisper/timing.py", line 151, in dtw', "Whisper's word timestamps compute in float64"),
        (f'File "{SITE}/mace/modules/models.py", line 569, in forward', "MACE adds its energies in float64"),
        (f'File "{SITE}/stable_baselines3/common/utils.py", line 486, in obs_as_tensor', "An environment gives float64 to a policy on MPS"),
    ],
)
def test_the_library_that_makes_float64_is_named(frame: str, expected: str) -> None:
    """A library whose own code makes float64 tensors is named, with what to change."""
    assert title(f"Traceback (most recent call last)\n{frame}\n    x = y\n{FLOAT64}") == expected


def test_the_line_that_the_traceback_shows_decides() -> None:
    """The line above the error says who converts to float64, or who asks for CUDA."""
    head = 'Traceback (most recent call last)\nFile "/home/me/train.py", line 3, in <module>\n    '
    assert title(f"{head}energy = e.clone().double()\n{FLOAT64}") == ".double() was called on a tensor on MPS"
    assert title(f"{head}scale = torch.arange(0, dim, 2, dtype=torch.float64, device=pos.device)\n{FLOAT64}") == (
        "A tensor of float64 was asked for on MPS"
    )
    cuda = "AssertionError: Torch not compiled with CUDA enabled"
    assert title(f"{head}model.cuda()\n{cuda}") == ".cuda() was called"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (f'File "{SITE}/bitsandbytes/optim/optimizer.py", line 517, in update_step', "bitsandbytes asks for CUDA"),
        (
            'File "/Users/me/.cache/huggingface/modules/transformers_modules/ocr/modeling.py", line 7, in infer',
            "The model's own code asks for CUDA",
        ),
        (
            f'File "{SITE}/torch/cuda/__init__.py", line 544, in get_device_name',
            "The code asks for the name, size or abilities of a CUDA GPU",
        ),
        (f'File "{SITE}/torch/cuda/__init__.py", line 408, in set_device', "A function of torch.cuda was called"),
        ('File "/home/me/train.py", line 3, in <module>', "The code asks for CUDA"),
    ],
)
def test_who_asks_for_cuda_is_named(frame: str, expected: str) -> None:
    """What a Mac lacks is asked for by a package, a model's own code or a function of torch.cuda, and the traceback says by which."""
    assert title(f"Traceback (most recent call last)\n{frame}\n    x = y\nAssertionError: Torch not compiled with CUDA enabled") == expected


def test_a_key_of_a_table_is_dgl_or_anything() -> None:
    """A KeyError of 'mps' is a table without an entry for it; in DGL it settles that DGL knows no MPS."""
    assert title(
        f"Traceback (most recent call last)\nFile \"{SITE}/dgl/_ffi/runtime_ctypes.py\", line 157, in __init__\n    x = y\nKeyError: 'mps'"
    ) == ("DGL does not know MPS")
    assert diagnosed("KeyError: 'mps'").outcome is Explained.UNCERTAIN


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (
            f'  File "{SITE}/gradsuite/loading.py", line 12, in fetch\n    return torch.load(path)\n',
            "gradsuite loads a file of CUDA tensors as it is",
        ),
        ("", "A checkpoint is loaded onto CUDA, which is not available"),
    ],
)
def test_a_case_may_ask_that_the_traceback_ends_in_a_library(last: str, expected: str) -> None:
    """torch's own frames below it don't count, and its package is named."""
    text = (
        'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    weights = fetch("a.pt")\n'
        f'{last}  File "{SITE}/torch/serialization.py", line 90, in load\n    return loader(f)\n'
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False."
    )

    assert title(text) == expected
    library = diagnosed(text).symptoms[0].library
    assert str(library) == ("gradsuite/loading.py, line 12 (fetch): return torch.load(path)" if last else "None")


def test_the_library_of_an_error_that_is_not_known_is_named() -> None:
    """Where it ends, whichever way the traceback is printed."""
    text = (
        'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    fit()\n'
        f'  File "{SITE}/gradsuite/fit.py", line 7, in <lambda>\n    go()\nGradsuiteError: no such thing'
    )

    (unknown,) = diagnosed(text).unknown

    assert str(unknown.library) == "gradsuite/fit.py, line 7 (lambda): go()"


def test_the_users_own_code_is_no_library() -> None:
    """A frame of theirs below the library's, as in a callback, is where the traceback ends."""
    text = (
        f'Traceback (most recent call last):\n  File "{SITE}/gradsuite/fit.py", line 7, in fit\n    go()\n'
        '  File "train.py", line 9, in go\n    model.cuda()\nAssertionError: Torch not compiled with CUDA enabled'
    )

    assert diagnosed(text).symptoms[0].library is None
    assert title(text) == ".cuda() was called"


@pytest.mark.parametrize(
    ("line", "torch", "outcome"),
    [
        ("padded = F.pad(image, sizes)", (1, 13, 1), Explained.EXPLAINED),
        ("x = torch.nn.functional.pad(x, (0, 0, 0, 1))", (1, 13), Explained.EXPLAINED),
        ("padded = F.pad(image, sizes)", (2, 0), Explained.UNCERTAIN),
        ("total = x.sum(3)", (1, 13), Explained.UNCERTAIN),
    ],
)
def test_a_missing_dimension_is_explained_where_torch_1_13_pads(line: str, torch: tuple[int, ...], outcome: Explained) -> None:
    """Elsewhere the text is one of shapes, and says nothing of MPS."""
    text = (
        f'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    {line}\n'
        "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 2)"
    )

    assert diagnose(log_of_bytes(text.encode(), "log"), {"torch": torch}).outcome is outcome


def test_the_path_of_a_kernel_names_its_package_where_the_frames_are_cut() -> None:
    """The kernels of torch_sparse and its kin say in which file they are; those of other packages lie elsewhere."""
    text = 'RuntimeError: row.device().is_cpu() INTERNAL ASSERT FAILED at "{}":7, please report a bug to PyTorch. row must be CPU tensor'
    told = [diagnosed(text.format(path)).cause for path in ("csrc/cpu/diag_cpu.cpp", "detectron2/layers/csrc/nms_cpu.cpp")]

    assert [cause is not None and "torch_sparse" in cause.explanation.means for cause in told] == [True, False]


NOT_IMPLEMENTED = "NotImplementedError: The operator 'aten::{}' is not currently implemented for the MPS device."


def test_each_operator_of_a_log_is_told() -> None:
    """Two operators in one log are two causes, and the same one twice is one, found two times."""
    log = "\n".join(map(NOT_IMPLEMENTED.format, ("max_pool3d_with_indices", "upsample_trilinear3d.out", "max_pool3d_with_indices")))
    told = [(one.captures["operator"], one.times) for one in diagnosed(log).causes]
    assert told == [("aten::max_pool3d_with_indices", 2), ("aten::upsample_trilinear3d.out", 1)]


def test_a_fallback_of_lerp_is_the_cause_of_the_complex_number_behind_it() -> None:
    """The abort of torch 2.0 behind a call of lerp_ speaks of no complex number of the program."""
    abort = "c10::TypeError: Trying to convert ComplexFloat to the MPS backend but it does not have support for that dtype."
    assert title(f"  self.cluster_size.data.lerp_(cluster_size, 1 - self.decay)\nlibc++abi: terminating: {abort}") == (
        "lerp_ ended in this abort, not a complex number of yours"
    )
    assert title(abort) == "A complex number reached MPS"


def test_an_eight_bit_float_needs_another_type_or_torch() -> None:
    """torch 2.15 brought float8_e4m3fn to MPS: what runs it has no use for the advice to install it."""
    text = "TypeError: Trying to convert Float8_e4m3fn to the MPS backend but it does not have support for that dtype."
    said = [diagnose(log_of_bytes(text.encode(), "log"), {"torch": version}).causes[0].explanation for version in ((2, 9), (2, 15))]
    assert [len(one.changes) for one in said] == [2, 1]


def test_a_strategy_of_ray_is_not_answered_with_auto() -> None:
    """Ray's prepare_trainer refuses what isn't a strategy of its own, so that accelerator="cpu" is what helps."""
    text = "ValueError: You set `strategy=<{}Strategy object at 0x17f>` but strategies from the DDP family are not supported on the MPS accelerator."
    assert title(text.format("ray.train.lightning.RayDDP")) == "Lightning refuses Ray's strategy on MPS"
    assert title(text.format("lightning.pytorch.strategies.DDP")) == "Lightning refuses this strategy on MPS"


def test_code_of_torchscript_is_named_where_it_was_running() -> None:
    text = "RuntimeError: The following operation failed in the TorchScript interpreter.\n    return torch.einsum(x, self.vectors)\n"
    error = "RuntimeError: Placeholder storage has not been allocated on MPS device!"
    assert title(text + error) == "Code of a TorchScript file met a tensor that isn't on MPS"
    assert title(error) == "A tensor that an MPS operation needs is not on MPS"
    assert not diagnosed(text + error).unknown

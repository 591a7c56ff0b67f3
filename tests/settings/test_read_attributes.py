"""An attribute that is only read leaves what the call said, on whatever path it is read."""

from __future__ import annotations

import pytest

from mpslint.settings.evidence import gather_evidence
from mpslint.source.reader import read
from mpslint.target.target import default_target

READS = [
    "print(args.fp16, args.optim)",
    "for step in range(3):\n    print(args.fp16, args.optim)",
    "for step in steps:\n    print(args.fp16, args.optim)",
    "while going():\n    print(args.fp16, args.optim)",
    "if asked():\n    print(args.fp16, args.optim)",
    "if asked():\n    print(args.fp16)\nelse:\n    print(args.optim)",
    "try:\n    print(args.fp16, args.optim)\nexcept ValueError:\n    pass",
    "def show(given):\n    if given.local_rank == 0:\n        print(given.fp16, given.optim)\n\nshow(args)",
    "with open('log') as log:\n    for line in log:\n        log.write(f'{args.fp16} {args.optim}')",
]


@pytest.mark.parametrize("reading", READS)
@pytest.mark.parametrize(
    "arguments", ["'out', fp16=True, optim='adafactor'", "**{'output_dir': 'out', 'fp16': True, 'optim': 'adafactor'}"]
)
def test_reading_changes_nothing(reading: str, arguments: str) -> None:
    """Also where the path may not be taken, or is taken more than once."""
    text = f"from transformers import Trainer, TrainingArguments\nargs = TrainingArguments({arguments})\n{reading}\ntrainer = Trainer(model, args)\n"

    (plan, *_) = gather_evidence(read("train.py", text.encode()), text, default_target()).plans

    assert [setting.constants for setting in plan.settings["precision.mixed"]] == [("fp16",)]
    assert [setting.constants for setting in plan.settings["optimizer.name"]] == [("adafactor",)]


@pytest.mark.parametrize("reading", READS)
def test_reading_what_nobody_set_leaves_its_default(reading: str) -> None:
    """The call itself says nothing of it."""
    text = (
        f"from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('out')\n{reading}\ntrainer = Trainer(model, args)\n"
    )

    (plan, *_) = gather_evidence(read("train.py", text.encode()), text, default_target()).plans

    assert [setting.constants for setting in plan.settings["optimizer.name"]] == [("adamw_torch_fused",)]


@pytest.mark.parametrize("writing", ["if asked():\n    args.fp16 = False", "for step in steps:\n    args.fp16 = step"])
def test_writing_on_such_a_path_leaves_it_open(writing: str) -> None:
    """Even where it was read before."""
    text = f"from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('out', fp16=True)\nprint(args.fp16)\n{writing}\n"
    text += "trainer = Trainer(model, args)\n"

    (plan, *_) = gather_evidence(read("train.py", text.encode()), text, default_target()).plans

    assert [setting.constants for setting in plan.settings["precision.mixed"]] != [("fp16",)]


def test_the_device_of_a_model_is_read_in_the_training_loop() -> None:
    """As most people write it; what the model was loaded to stays known."""
    text = 'import whisper\nmodel = whisper.load_model("small", "mps")\nfor x in loader:\n    model(x.to(model.device)).sum().backward()\n'

    assert gather_evidence(read("train.py", text.encode()), text, default_target()).runs_on("mps")

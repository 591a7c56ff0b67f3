"""Where a fix writes, in whose style, and how several of them come to rest together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import mpslint
from mpslint.engine import check
from mpslint.rewrite.apply import Fixed, fix
from mpslint.rule.loading import load_rules
from mpslint.source.reader import read
from mpslint.target.target import default_target
from tests.notebooks import code_cell, notebook

SAMPLES = Path(__file__).parents[2] / "samples"
IMPORT = "import torch\nfrom transformers import TrainingArguments\n"
CAUSAL = (
    "import torch\n"
    "from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments\n"
    'tokenizer = AutoTokenizer.from_pretrained("gpt2")\n'
)
PADDED = CAUSAL + 'data = data.map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=1024, padding="max_length"))\n'
VARYING = CAUSAL + 'data = data.map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=1024))\n'
MODEL = 'AutoModelForCausalLM.from_pretrained("gpt2")'
SPLIT = (
    "per_device_train_batch_size=4 if torch.backends.mps.is_available() else {old}, "
    "gradient_accumulation_steps={more} if torch.backends.mps.is_available() else {steps}"
)
"""A batch that is split for the Mac alone."""

RULES = [rule for rule in load_rules() if rule.id in ("MPS101", "MPS104", "MPS201", "MPS202", "MPS301")]
"""Those that the texts of this file are about: others may have more to say of them one day."""


def fixed_by_some(text: str) -> Fixed:
    """Return what the fixes of those rules make of a script."""
    return fix(read("train.py", text.encode()), default_target(), RULES)


PLACES = {
    "the argument": (
        IMPORT + 'args = TrainingArguments("out", fp16=True)  # half\n',
        {
            'args = TrainingArguments("out", fp16=True)  # half': 'args = TrainingArguments("out", fp16=not torch.backends.mps.is_available())  # half'
        },
    ),
    "the constant that is nothing but this setting": (
        IMPORT + 'use_fp16 = True  # on CUDA\nargs = TrainingArguments("out", fp16=use_fp16)\n',
        {"use_fp16 = True  # on CUDA": "use_fp16 = not torch.backends.mps.is_available()  # on CUDA"},
    ),
    "the argument, where the constant is read elsewhere, too": (
        IMPORT + 'fast = True\nargs = TrainingArguments("out", fp16=fast)\nprint(fast)\n',
        {
            'args = TrainingArguments("out", fp16=fast)': 'args = TrainingArguments("out", fp16=False if torch.backends.mps.is_available() else fast)'
        },
    ),
    "inside a dict": (
        IMPORT + 'config = {"output_dir": "out", "fp16": True, "seed": 3}\nargs = TrainingArguments(**config)\n',
        {'"fp16": True': '"fp16": not torch.backends.mps.is_available()'},
    ),
    "inside dict()": (
        IMPORT + 'args = TrainingArguments(**dict(output_dir="out", fp16=True))\n',
        {"fp16=True": "fp16=not torch.backends.mps.is_available()"},
    ),
    "the default of a dataclass": (
        "from dataclasses import dataclass\n"
        + IMPORT
        + "@dataclass\nclass Config:\n    fp16: bool = True\nargs = TrainingArguments('out', fp16=Config().fp16)\n",
        {"fp16: bool = True": "fp16: bool = not torch.backends.mps.is_available()"},
    ),
    "the default of the command line": (
        "import argparse\n"
        + IMPORT
        + 'parser = argparse.ArgumentParser()\nparser.add_argument("--half", type=bool, default=True)\n'
        + 'args = TrainingArguments("out", fp16=parser.parse_args().half)\n',
        {"default=True": "default=not torch.backends.mps.is_available()"},
    ),
    "both trainers, and not the constant that they share": (
        PADDED
        + "BATCH = 16\n"
        + 'first = TrainingArguments("first", per_device_train_batch_size=BATCH)\n'
        + 'second = TrainingArguments("second", per_device_train_batch_size=BATCH, gradient_accumulation_steps=2)\n'
        + f"Trainer({MODEL}, first, train_dataset=data).train()\nTrainer({MODEL}, second, train_dataset=data).train()\n",
        {
            '"first", per_device_train_batch_size=BATCH': '"first", ' + SPLIT.format(old="BATCH", steps=1, more=4),
            '"second", per_device_train_batch_size=BATCH, gradient_accumulation_steps=2': '"second", '
            + SPLIT.format(old="BATCH", steps=2, more=8),
        },
    ),
    "once, where two trainers share their arguments": (
        PADDED
        + 'args = TrainingArguments("out", per_device_train_batch_size=16)\n'
        + f"Trainer({MODEL}, args, train_dataset=data).train()\nTrainer({MODEL}, args, train_dataset=data).train()\n",
        {"per_device_train_batch_size=16": SPLIT.format(old=16, steps=1, more=4)},
    ),
    "calls within a call, padding before the batch is split": (
        VARYING
        + f"Trainer({MODEL}, TrainingArguments('out', fp16=True, per_device_train_batch_size=16), train_dataset=data,\n"
        + "        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))\n",
        {
            "fp16=True, per_device_train_batch_size=16": "fp16=not torch.backends.mps.is_available(), "
            + SPLIT.format(old=16, steps=1, more=4),
            "mlm=False": "mlm=False, pad_to_multiple_of=64",
        },
    ),
    "what asks the machine keeps its answer for CUDA": (
        IMPORT + 'args = TrainingArguments("out", fp16=not torch.cuda.is_bf16_supported())\n',
        {"fp16=not": "fp16=not torch.backends.mps.is_available() and not"},
    ),
    "what is compared, too": (
        IMPORT + 'dtype = torch.float16\nargs = TrainingArguments("out", fp16=dtype == torch.float16)\n',
        {"fp16=dtype": "fp16=not torch.backends.mps.is_available() and dtype"},
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_where_a_fix_writes(name: str) -> None:
    """These texts change, and nothing else."""
    before, replaced = PLACES[name]
    expected = before
    for old, new in replaced.items():
        assert before.count(old) == 1
        expected = expected.replace(old, new)

    assert fixed_by_some(before).data.decode() == expected


STYLES = {
    "one line": ('("out", seed=1)', '("out", seed=1, dataloader_num_workers=0)'),
    "a line each, with a comma": ('(\n    "out",\n    seed=1,\n)', '(\n    "out",\n    seed=1,\n    dataloader_num_workers=0,\n)'),
    "a line each, without": ('(\n    "out",\n    seed=1\n)', '(\n    "out",\n    seed=1,\n    dataloader_num_workers=0\n)'),
    "a comment at the end": ('(\n    "out",\n    seed=1,  # one\n)', '(\n    "out",\n    seed=1,  # one\n    dataloader_num_workers=0,\n)'),
    "blanks around =": ('("out", seed = 1)', '("out", seed = 1, dataloader_num_workers = 0)'),
    "tabs": ('(\n\t"out",\n\tseed=1,\n)', '(\n\t"out",\n\tseed=1,\n\tdataloader_num_workers=0,\n)'),
    "two to a line": ('(\n    "out", seed=1,\n    tf32=None)', '(\n    "out", seed=1,\n    tf32=None,\n    dataloader_num_workers=0)'),
    "no arguments": ("()", "(dataloader_num_workers=0)"),
    "unpacked at the end": ('("out", **more)', '("out", **more, dataloader_num_workers=0)'),
}


@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_new_argument_has_the_style_of_the_call(name: str, newline: str) -> None:
    """Its lines, commas, blanks, tabs and line ends."""
    from mpslint.program.call_text import with_argument

    before, after = (text.replace("\n", newline) for text in STYLES[name])

    assert with_argument(f"Arguments{before}", "dataloader_num_workers", "0") == f"Arguments{after}"


def test_a_new_argument_stands_beside_those_it_belongs_with() -> None:
    """Where each has its own line; a comment stays with what it is about."""
    arguments = '\n    "out",\n    per_device_train_batch_size=16,  # fits an A100\n    seed=1,\n'
    before = PADDED + f"args = TrainingArguments({arguments})\nTrainer({MODEL}, args, train_dataset=data).train()\n"
    expected = before.replace(
        "size=16,  # fits an A100\n",
        "size=4 if torch.backends.mps.is_available() else 16,  # fits an A100\n    gradient_accumulation_steps=4 if torch.backends.mps.is_available() else 1,\n",
    )

    assert fixed_by_some(before).data.decode() == expected


def test_a_fix_that_makes_others_unnecessary() -> None:
    """One edit where the value is written mends every run that has it; nothing is edited twice."""
    before = IMPORT + 'config = {"fp16": True}\nfirst = TrainingArguments("a", **config)\nsecond = TrainingArguments("b", **config)\n'
    fixed = fixed_by_some(before)

    assert fixed.data.decode() == before.replace("True", "not torch.backends.mps.is_available()")
    assert fixed.after.findings == ()


def test_one_cause_is_mended_once() -> None:
    """Where the shapes vary they are bounded; that nothing empties the cache is not said besides."""
    before = (
        VARYING
        + f"Trainer({MODEL}, TrainingArguments('out'), train_dataset=data, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))\n"
    )
    found = {finding.rule for finding in mpslint.check(before).findings}
    fixed = mpslint.fix(before)

    assert "MPS301" in found
    assert "MPS202" not in found
    assert {finding.rule for finding in fixed.applied} == {"MPS301"}
    assert "MPS202" not in {finding.rule for finding in fixed.left}


def test_lines_that_are_no_python() -> None:
    """`%env`, `!` and `%%bash` are mended in their own language, and the magics stay magics."""
    cells = [
        "%env PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.7\n",
        "!accelerate launch --mixed_precision fp16 train.py\n",
        "%%bash\nexport PYTORCH_MPS_HIGH_WATERMARK_RATIO=3.0\n",
    ]
    fixed = json.loads(mpslint.fix(notebook(*cells).decode(), filename="n.ipynb", unsafe=True).text)
    sources = ["".join(cell["source"]) for cell in fixed["cells"]]

    assert sources[0].startswith("%env PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.7\n")
    assert "PYTORCH_MPS_LOW_WATERMARK_RATIO" in sources[0]
    assert sources[1] == "!accelerate launch --mixed_precision no train.py\n"
    assert sources[2].startswith("%%bash\n")


def test_a_comment_is_not_deleted() -> None:
    """A safe fix that would take one away is unsafe, and says why."""
    text = IMPORT + 'args = TrainingArguments("out", tf32=(\n    # faster on an A100\n    True\n))\n'
    (finding,) = check(read("train.py", text.encode()), default_target(), RULES).findings

    assert finding.rule == "MPS104"
    assert "# faster on an A100" in fixed_by_some(text).data.decode()


def test_the_summarization_sample() -> None:
    """No error is left, the effective batch is the same, shapes are bounded; --unsafe goes on from there."""
    text = (SAMPLES / "summarization.ipynb").read_text(encoding="utf-8")
    old = {"torch": "2.6", "transformers": "4.49", "accelerate": "1.3"}
    assert "error" in {finding.severity for finding in mpslint.check(text, filename="s.ipynb", target=old).findings}
    for target in ({}, old):
        safe = mpslint.fix(text, filename="s.ipynb", target=target)
        unsafe = mpslint.fix(text, filename="s.ipynb", unsafe=True, target=target)

        assert {finding.rule for finding in safe.left if finding.severity != "note"} == {"MPS402"}  # its fix changes what is generated
        for wanted in (
            *SPLIT.format(old="batch_size", steps=1, more=4).split(", "), "per_device_eval_batch_size=", "fp16=not torch.backends.mps.is_available()",
            "pad_to_multiple_of=64", "max_input_length = 1024",
        ):  # fmt: skip
            assert wanted in safe.text, wanted
        for wanted in (
            "max_input_length = 512",
            "max_target_length = 64",
            "generation_max_length=128",
            SPLIT.format(old="batch_size", steps=1, more=4).split(", ")[0],
        ):
            assert wanted in unsafe.text, wanted
        assert {(finding.severity, finding.safety) for finding in unsafe.left} <= {("note", "manual")}


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_unsafe_goes_on_where_safe_ends(sample: str, tmp_path: Path) -> None:
    """Safe fixes come first, so that --unsafe adds to them and replaces none."""
    copy = tmp_path / sample
    shutil.copy(SAMPLES / sample, copy)
    text = copy.read_text(encoding="utf-8")
    safe = mpslint.fix(text, filename=sample).text

    assert mpslint.fix(safe, filename=sample, unsafe=True).text == mpslint.fix(text, filename=sample, unsafe=True).text


CUDA_CELLS = [
    "import torch\nimport numpy",
    "def f(x):\n    return x.to('cuda')\n\nf(torch.ones(1))",
    "y = torch.ones(2).cuda()\nz = y.to('cuda')",
]
CHOICE = "'cuda' if torch.cuda.is_available() else 'mps' if torch.backends.mps.is_available() else 'cpu'"


def test_one_choice_of_device_for_a_notebook() -> None:
    """It stands before the first statement that needs it, and is used in the cells below."""
    fixed = json.loads(mpslint.fix(notebook(*CUDA_CELLS).decode(), filename="n.ipynb").text)
    sources = ["".join(cell["source"]) for cell in fixed["cells"]]

    assert sources[0] == CUDA_CELLS[0]
    assert sources[1] == f"device = {CHOICE}\n\n\n" + CUDA_CELLS[1].replace("'cuda'", "device")
    assert sources[2] == "y = torch.ones(2).to(device)\nz = y.to(device)"


def test_prompts_stay() -> None:
    """What is added to a cell of pasted prompts has a prompt, too."""
    cells = [">>> from transformers import AutoModel\n>>> model = AutoModel.from_pretrained('x').to('cuda')\n>>> model(x.to(model.device))"]
    fixed = json.loads(mpslint.fix(notebook(*cells).decode(), filename="n.ipynb").text)

    assert "".join(fixed["cells"][0]["source"]).startswith(">>> import torch\n>>> from transformers")


def test_names_that_mean_something_else_are_left_alone() -> None:
    """`DEVICE` is taken, and `device` is a parameter where CUDA is hard-coded."""
    text = (
        "import torch\n\nDEVICE = 3\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n\n\n"
        "def f(x, device):\n    return x.to('cuda')\n\n\n"
        "def g(x):\n    return x.to('cuda') + f(x, DEVICE)\n\n\ng(torch.ones(1))\n"
    )
    fixed = mpslint.fix(text).text

    assert f"def f(x, device):\n    return x.to({CHOICE})" in fixed
    assert "def g(x):\n    return x.to(device)" in fixed
    assert "DEVICE = 3" in fixed


def test_outputs_of_a_changed_cell_stay() -> None:
    """With its id, its metadata and its execution count."""
    output = {"name": "stdout", "output_type": "stream", "text": ["0.5\n"]}
    cell = code_cell([IMPORT, 'TrainingArguments("out", fp16=True)'], id="a1", outputs=[output], metadata={"tags": ["x"]})
    before = json.loads(notebook(cell))
    after = json.loads(mpslint.fix(notebook(cell).decode(), filename="n.ipynb").text)

    assert after["cells"][0].pop("source") != before["cells"][0].pop("source")
    assert after == before

"""A tokenizer that isn't on this machine is stood in for: its texts keep their lengths, and a run of empty texts passes for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mpslint.verify.process import ChildLimits
from mpslint.verify.report import VerifyReport
from mpslint.verify.script import ScriptOptions, verify_script

pytest.importorskip("torch")
pytest.importorskip("transformers")

CODE = """\
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

name = {name!r}
tokenizer = AutoTokenizer.from_pretrained(name)
{prepare}
texts = ["one word after another, " * 40] * 64
config = AutoConfig.from_pretrained("gpt2", n_layer=1, n_embd=32, n_head=2)
model = AutoModelForCausalLM.from_config(config).to("mps")
optimizer = torch.optim.AdamW(model.parameters())
rows = [torch.tensor(ids) for ids in tokenizer(texts, truncation=True, max_length=128)["input_ids"]]
for batch in torch.utils.data.DataLoader(rows, batch_size=8):
    batch = batch.to("mps")
    model(input_ids=batch, labels=batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def verified(folder: Path, name: str, prepare: str = "") -> VerifyReport:
    """Return the report on a training whose tokenizer has a name."""
    (folder / "train.py").write_text(CODE.format(name=name, prepare=prepare))
    return verify_script(folder / "train.py", ScriptOptions(backend="emulated", limits=ChildLimits(seconds=120)))


def test_its_texts_keep_their_lengths(tmp_path: Path) -> None:
    """An empty tokenizer would give batches without a token; the report says in one line what stood in."""
    report = verified(tmp_path, "gpt2")
    assert report.status == "pass", report.problem
    assert {record.shapes for run in report.runs for record in run.steps} == {"8x128"}
    said = [change for run in report.runs for change in run.changes if "tokenizer" in change]
    assert len(said) == 1
    assert "the tokenizer of 'gpt2' isn't on this machine" in said[0]
    assert "50257" in said[0]


def test_one_that_lies_beside_the_code_is_taken_as_it_is(tmp_path: Path) -> None:
    """Its own tokens count: two for each of these words."""
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<unk>": 0, "one": 1}, unk_token="<unk>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Split(",", "isolated")
    transformers.PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>").save_pretrained(tmp_path / "own")
    report = verified(tmp_path, "own")
    assert {record.shapes for run in report.runs for record in run.steps} == {"8x81"}, report.problem
    assert not [change for run in report.runs for change in run.changes if "tokenizer" in change]


def test_one_of_a_model_that_nobody_knows_is_not_invented(tmp_path: Path) -> None:
    """Without a configuration there is no size of a vocabulary."""
    report = verified(tmp_path, "somebody/something")
    assert report.status == "not run"
    assert "'somebody/something' isn't on this machine" in report.problem


@pytest.mark.parametrize(
    ("name", "prepare"),
    [
        ("gpt2", "assert len(tokenizer) == 50257 and tokenizer.pad_token is None and tokenizer.model_max_length == 1024"),
        ("facebook/opt-125m", "assert tokenizer.pad_token_id == 1"),
        ("bert-base-uncased", "ids = tokenizer('a', 'b')\nassert ids['token_type_ids'] == [0, 0, 0, 1, 1] and tokenizer.mask_token == '[MASK]'"),
        ("distilbert-base-uncased", "assert 'token_type_ids' not in tokenizer('a')"),
        ("t5-small", "assert tokenizer(text_target='a b')['input_ids'][-1] == tokenizer.eos_token_id == 1"),
        ("bart-base", "ids = tokenizer(['a', 'a b'], padding=True)\nassert ids['input_ids'][0][-1] == 1 and len(ids['input_ids'][1]) == 4"),
    ],
    ids=lambda value: value if "=" not in str(value) else "",
)  # fmt: skip
def test_it_behaves_as_the_models_own(tmp_path: Path, name: str, prepare: str) -> None:
    """Size of the vocabulary, special tokens, limit and columns are those of the model."""
    report: Any = verified(tmp_path, name, prepare + "\nraise SystemExit(0)")
    assert "ends the code before the first training step" in report.problem, report

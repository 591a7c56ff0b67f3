"""What a safe fix rewrites trains the same: each script is run as written and as rewritten, on the CPU, and its losses are compared.

The scripts build a tiny model with random weights, a fixed seed and no dropout; nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import mpslint

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

HEAD = """\
import json
import random

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    DataCollatorForLanguageModeling, DataCollatorForSeq2Seq, DataCollatorWithPadding, BertConfig, BertForSequenceClassification, GPT2Config,
    GPT2LMHeadModel, PreTrainedTokenizerFast, Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration, Trainer,
    TrainingArguments, set_seed,
)

set_seed(7)
random.seed(7)
vocabulary = {"<pad>": 0, "</s>": 1, **{f"w{i}": i + 2 for i in range(60)}}
core = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="</s>")


def words(low, high):
    return " ".join(f"w{random.randrange(60)}" for _ in range(random.randrange(low, high)))


rows = [{"text": words(4, 40), "summary": words(2, 12), "label": i % 2} for i in range(64)]
"""

TAIL = """
trainer.train()
log = trainer.state.log_history
print("RESULT", json.dumps({"loss": [row["loss"] for row in log if "loss" in row], "eval": trainer.evaluate()["eval_loss"]}))
"""

T5 = """\
def prepare(batch):
    encoded = tokenizer(batch["text"], max_length=1024, truncation=True)
    encoded["labels"] = tokenizer(text_target=batch["summary"], max_length=128, truncation=True)["input_ids"]
    return encoded


data = Dataset.from_list(rows).map(prepare, batched=True, remove_columns=["text", "summary", "label"])
config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0, decoder_start_token_id=0)
model = T5ForConditionalGeneration(config)
collator = DataCollatorForSeq2Seq(tokenizer, model=model)
args = Seq2SeqTrainingArguments(
    "OUT", max_steps=4, per_device_train_batch_size=BATCH, per_device_eval_batch_size=16, learning_rate=1e-3, logging_steps=1, seed=3,
    report_to="none", save_strategy="no", use_cpu=True, EXTRA
)
trainer = Seq2SeqTrainer(model, args, train_dataset=data, eval_dataset=data, data_collator=collator, METRICS)
"""

GPT2 = """\
def prepare(batch):
    return tokenizer(batch["text"], max_length=1024, truncation=True)


data = Dataset.from_list(rows).map(prepare, batched=True, remove_columns=["text", "summary", "label"])
config = GPT2Config(vocab_size=64, n_positions=1024, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(config)
args = TrainingArguments(
    "OUT", max_steps=4, per_device_train_batch_size=BATCH, per_device_eval_batch_size=16, learning_rate=1e-3, logging_steps=1, seed=3,
    report_to="none", save_strategy="no", use_cpu=True, EXTRA
)
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
trainer = Trainer(model=model, args=args, train_dataset=data, eval_dataset=data, data_collator=collator, METRICS)
"""

BERT = """\
def prepare(batch):
    return tokenizer(batch["text"], max_length=1024, truncation=True)


data = Dataset.from_list(rows).map(prepare, batched=True, remove_columns=["text", "summary"])
config = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                    max_position_embeddings=1024, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForSequenceClassification(config)
args = TrainingArguments(
    "OUT", max_steps=4, per_device_train_batch_size=BATCH, per_device_eval_batch_size=16, learning_rate=1e-3, logging_steps=1, seed=3,
    report_to="none", save_strategy="no", use_cpu=True, EXTRA
)
trainer = Trainer(model=model, args=args, train_dataset=data, eval_dataset=data, data_collator=DataCollatorWithPadding(tokenizer), METRICS)
"""

METRICS = 'eval_strategy="no",'
KEEPS_LOGITS = "compute_metrics=lambda prediction: {}"

EXACT = 1e-5
"""Where the framework computes the very same loss."""
WEIGHTED = 0.02
"""Where it averages the micro-batches' means, which weighs tokens a little differently: the losses stay this near."""

CASES = {
    "padding, seq2seq": (T5, 8, "", "", {"MPS301"}, EXACT),
    "padding, causal": (GPT2, 8, "", "", {"MPS301"}, EXACT),
    "padding, classification": (BERT, 8, "", "", {"MPS301"}, EXACT),
    "accumulation after padding, causal": (GPT2, 16, "", "", {"MPS301", "MPS201"}, EXACT),
    "accumulation after padding, classification": (BERT, 16, "", "", {"MPS301", "MPS201"}, EXACT),
    "accumulation after padding, seq2seq": (T5, 16, "", "", {"MPS301", "MPS201"}, WEIGHTED),
    "accumulation that there is already": (GPT2, 16, "gradient_accumulation_steps=2,", "", {"MPS301", "MPS201"}, EXACT),
}


def script(template: str, batch: int, extra: str, metrics: str, out: Path) -> str:
    """Return a whole training script."""
    body = template.replace("BATCH", str(batch)).replace("EXTRA", extra).replace("METRICS", metrics).replace("OUT", str(out))
    return HEAD + body + TAIL


RUNNER = """\
import os, runpy, sys
import accelerate, datasets, tokenizers, torch, transformers
from transformers import Seq2SeqTrainer

waiting = sys.argv[1:]
running = 0
while waiting or running:
    while waiting and running < 2:
        path = waiting.pop(0)
        if os.fork() == 0:
            os.dup2(os.open(path + ".out", os.O_WRONLY | os.O_CREAT), 1)
            os.dup2(1, 2)
            runpy.run_path(path, run_name="__main__")
            sys.stdout.flush()
            os._exit(0)
        running += 1
    os.wait()
    running -= 1
"""
"""Runs scripts, each in a process of its own that has the libraries loaded already: loading them takes longer than the training."""


@dataclass(frozen=True)
class Case:
    """One script: the rules that rewrite it, and where it and its rewrite lie."""

    applied: frozenset[str]
    before: Path
    after: Path


@pytest.fixture(scope="module")
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """Return the chosen cases, each script run as it is written and as it is rewritten."""
    folder = tmp_path_factory.mktemp("scripts")
    items = [item for item in request.session.items if isinstance(item, pytest.Function) and item.module is request.module]
    cases: dict[str, Case] = {}
    for number, name in enumerate(item.callspec.params["name"] for item in items if hasattr(item, "callspec")):
        template, batch, extra, metrics, _, _ = CASES[name]
        text = script(template, batch, extra, metrics, folder / f"out{number}")
        fixed = mpslint.fix(text, filename="train.py")
        case = Case(frozenset(finding.rule for finding in fixed.applied), folder / f"before{number}.py", folder / f"after{number}.py")
        case.before.write_text(text)
        case.after.write_text(fixed.text)
        cases[name] = case
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "PYTHONWARNINGS": "ignore",
    }
    paths = [str(path) for case in cases.values() for path in (case.before, case.after)]
    subprocess.run([sys.executable, "-c", RUNNER, *paths], cwd=folder, env=environment, check=True, timeout=1200)
    return cases


def result_of(path: Path) -> dict[str, object]:
    """Return what a script printed as its result."""
    shown = Path(f"{path}.out").read_text()
    lines = [line for line in shown.splitlines() if line.startswith("RESULT ")]
    assert lines, shown[-2000:]
    found: dict[str, object] = json.loads(lines[-1].removeprefix("RESULT "))
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_rewrite_trains_the_same(name: str, trained: dict[str, Case]) -> None:
    """The same losses in training and in evaluation."""
    *_, rules, tolerance = CASES[name]
    case = trained[name]
    written, rewritten = result_of(case.before), result_of(case.after)

    assert rules <= case.applied
    assert rewritten["loss"] == pytest.approx(written["loss"], abs=tolerance)
    assert rewritten["eval"] == pytest.approx(written["eval"], abs=tolerance)

"""What a safe fix rewrites trains the same: each script is run as written and as rewritten, on the CPU, and its losses are compared.

The scripts build a tiny model with random weights, a fixed seed and no dropout; nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


def result_of(text: str, folder: Path, name: str) -> dict[str, object]:
    """Run a script in a process of its own and return what it prints."""
    path = folder / name
    path.write_text(text)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True, env=environment, timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-2000:]
    found: dict[str, object] = json.loads(lines[-1].removeprefix("RESULT "))
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_rewrite_trains_the_same(name: str, tmp_path: Path) -> None:
    """The same losses in training and in evaluation."""
    template, batch, extra, metrics, rules, tolerance = CASES[name]
    before = script(template, batch, extra, metrics, tmp_path / "out")
    fixed = mpslint.fix(before, filename="train.py")
    written, rewritten = result_of(before, tmp_path, "before.py"), result_of(fixed.text, tmp_path, "after.py")

    assert rules <= {finding.rule for finding in fixed.applied}
    assert rewritten["loss"] == pytest.approx(written["loss"], abs=tolerance)
    assert rewritten["eval"] == pytest.approx(written["eval"], abs=tolerance)

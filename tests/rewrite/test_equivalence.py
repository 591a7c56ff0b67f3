"""What a safe fix rewrites trains the same: each script is run as written and as rewritten, on the CPU, and its losses are compared.

The scripts build a tiny model with random weights, a fixed seed and no dropout; nothing is downloaded. One process runs all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
evaluated = trainer.evaluate()
RESULT = {"loss": [row["loss"] for row in log if "loss" in row], "eval": evaluated["eval_loss"], "metric": evaluated.get("eval_mean")}
"""

RUNNER = """
import json, sys, warnings
warnings.simplefilter("ignore")
results = []
for text in json.load(open(sys.argv[1])):
    space = {"__name__": "__main__"}
    try:
        exec(compile(text, "train.py", "exec"), space)
        results.append(space["RESULT"])
    except Exception as error:
        results.append({"error": f"{type(error).__name__}: {error}"})
print("RESULTS", json.dumps(results))
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
    report_to="none", save_strategy="no", EXTRA
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
    report_to="none", save_strategy="no", EXTRA
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
    report_to="none", save_strategy="no", EXTRA
)
trainer = Trainer(model=model, args=args, train_dataset=data, eval_dataset=data, data_collator=DataCollatorWithPadding(tokenizer), METRICS)
"""

MEAN = "compute_metrics=lambda found: {'mean': float(found.predictions[found.label_ids != -100].mean())}"
"""A metric of every logit that evaluation keeps, padding aside."""

OLD = {"transformers": "4.40", "accelerate": "0.34", "torch": "2.4"}
"""Where fp16 and bf16 raise on a Mac."""

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
    "a metric of every logit": (GPT2, 8, 'eval_strategy="epoch",', MEAN, {"MPS301"}, EXACT),
}
PRECISIONS = {"fp16": "fp16=True,", "bf16": "bf16=True,"}


def script(template: str, batch: int, extra: str, metrics: str, out: Path) -> str:
    """Return a whole training script."""
    body = template.replace("BATCH", str(batch)).replace("EXTRA", extra).replace("METRICS", metrics).replace("OUT", str(out))
    return HEAD + body + TAIL


def results_of(texts: list[str], folder: Path) -> list[dict[str, Any]]:
    """Run scripts one after the other in a process of their own and return what each computes, or the error that it raises.

    They run on the CPU wherever the tests do, with the values that a Mac gets; as they are written they do not say so, for nothing is
    rewritten for MPS in a run on the CPU.
    """
    on_a_mac = [text.replace("torch.backends.mps.is_available()", "True") for text in texts]
    on_cpu = [text.replace('report_to="none",', 'report_to="none", use_cpu=True,') for text in on_a_mac]
    assert all("use_cpu=True" in text for text in on_cpu)
    (folder / "scripts.json").write_text(json.dumps(on_cpu))
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder),
    }
    command = [sys.executable, "-c", RUNNER, str(folder / "scripts.json")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    assert lines, done.stderr[-2000:]
    found: list[dict[str, Any]] = json.loads(lines[-1].removeprefix("RESULTS "))
    return found


@dataclass(frozen=True)
class Pair:
    """A script as written and as rewritten, and what each gives."""

    fixed: mpslint.FixResult
    written: dict[str, Any]
    rewritten: dict[str, Any]


@dataclass(frozen=True)
class Trained:
    """What all scripts give."""

    pairs: dict[str, Pair]
    faster: dict[str, Any]
    """A case as written, with another learning rate."""
    added_up: dict[str, Any]
    """The same as rewritten, without the Trainer's averaging."""


CHANGED = "accumulation after padding, seq2seq"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Every case by name; those of half precision are compared with the run without it, for none of them runs there."""
    folder = tmp_path_factory.mktemp("runs")
    texts = {name: script(*case[:4], folder / "out") for name, case in CASES.items()}
    texts |= {name: script(GPT2, 4, extra, "", folder / "out") for name, extra in PRECISIONS.items()}
    fixed = {name: mpslint.fix(text, filename="train.py", target=OLD if name in PRECISIONS else None) for name, text in texts.items()}
    before = [text.replace(PRECISIONS[name], "") if name in PRECISIONS else text for name, text in texts.items()]
    changed = [texts[CHANGED].replace("1e-3", "2e-3"), fixed[CHANGED].text.replace("model.accepts_loss_kwargs = False", "pass")]
    results = results_of([*before, *(one.text for one in fixed.values()), *changed], folder)
    pairs = {name: Pair(fixed[name], results[i], results[i + len(texts)]) for i, name in enumerate(texts)}
    return Trained(pairs, *results[-2:])


@pytest.mark.parametrize("name", CASES)
def test_the_rewrite_trains_the_same(name: str, trained: Trained) -> None:
    """The same losses in training and in evaluation, and the same metrics."""
    rules, tolerance = CASES[name][4:]
    pair = trained.pairs[name]

    assert rules <= {finding.rule for finding in pair.fixed.applied}
    assert len(pair.written["loss"]) == 4
    assert pair.rewritten["loss"] == pytest.approx(pair.written["loss"], abs=tolerance)
    assert pair.rewritten["eval"] == pytest.approx(pair.written["eval"], abs=tolerance)
    assert pair.rewritten["metric"] == pytest.approx(pair.written["metric"], abs=tolerance)


@pytest.mark.parametrize("name", PRECISIONS)
def test_without_half_precision_the_run_is_the_fp32_run(name: str, trained: Trained) -> None:
    """What raises on a Mac as written trains as if nobody had asked for it."""
    pair = trained.pairs[name]

    assert {"fp16": "MPS101", "bf16": "MPS102"}[name] in {finding.rule for finding in pair.fixed.applied}
    assert pair.rewritten["loss"] == pytest.approx(pair.written["loss"], abs=EXACT)
    assert pair.rewritten["eval"] == pytest.approx(pair.written["eval"], abs=EXACT)


def test_the_comparison_can_fail(trained: Trained) -> None:
    """Another learning rate is another run, and splitting without the Trainer's averaging is, too."""
    pair = trained.pairs[CHANGED]

    assert "accepts_loss_kwargs = False" in pair.fixed.text
    assert trained.faster["loss"] != pytest.approx(pair.written["loss"], abs=WEIGHTED)
    assert trained.added_up["loss"] != pytest.approx(pair.written["loss"], abs=WEIGHTED)

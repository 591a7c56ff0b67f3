"""The script of a run gives the same numbers as the run built from the same settings: a step's peak within 0.2 %, and no new graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpslint.core.finding import ReadError
from mpslint.verify.generate import script_of
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import Frozen, Lengths, RunSpec, VerifiedMac
from mpslint.verify.verify import VerifyOptions, run_spec

pytest.importorskip("transformers")
MAC = VerifiedMac("2.13", 16)
T5 = {"model_type": "t5", "vocab_size": 512, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4,
      "decoder_start_token_id": 0}  # fmt: skip
GPT2 = {"model_type": "gpt2", "vocab_size": 512, "n_embd": 64, "n_layer": 2, "n_head": 4}
BERT = {
    "model_type": "bert",
    "vocab_size": 512,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
}
VIT = {"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 64}
TEXT: dict[str, Any] = {"model": "tiny", "task": "causal_lm", "source": Lengths(64), "config": GPT2, "train_batch": 4}
RUNS = {
    "gpt2": RunSpec(**TEXT),
    "gpt2 in bf16": RunSpec(**TEXT, precision="bf16", precision_by="autocast"),
    "gpt2, accumulated": RunSpec(**TEXT, accumulation=3, max_grad_norm=0.0),
    "gpt2, checkpointed": RunSpec(**TEXT, gradient_checkpointing=True),
    "gpt2, eager, sgd": RunSpec(**TEXT, attention="eager", optimizer="sgd_momentum"),
    "t5": RunSpec("tiny", "seq2seq_lm", Lengths(64), T5, Lengths(16), train_batch=4, optimizer="adafactor"),
    "bert": RunSpec("tiny", "sequence_classification", Lengths(64), BERT, optimizer="adamw_torch_fused", dropout=0.0),
    "bert, half of it frozen": RunSpec("tiny", "token_classification", Lengths(64), BERT, frozen=(Frozen("bert.embeddings"),)),
    "vit": RunSpec("tiny", "image_classification", Lengths(1), VIT, train_batch=2),
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep no result of these tests in the user's cache."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", RUNS)
def test_the_script_of_a_run_gives_its_numbers(name: str, tmp_path: Path) -> None:
    """From the second step on, when the optimizer has its state: the highest peak, and the graphs of all steps."""
    spec = RUNS[name]
    path = tmp_path / "run.py"
    path.write_text(script_of(spec))
    report = verify_script(path, ScriptOptions(MAC, "emulated", steps=5))
    assert report.runs, report.problem
    own = report.runs[0]
    planned, _ = run_spec(spec, VerifyOptions(MAC, steps=5), None)
    assert not own.failure, own.failure
    assert own.steps[4].peak == pytest.approx(planned.steps[4].peak, rel=0.002)
    assert own.steps[4].new_graph_keys == planned.steps[4].new_graph_keys == 0


def test_what_no_script_describes_says_so() -> None:
    """Losses of their own, and optimizers that don't run on MPS."""
    with pytest.raises(ReadError, match="has a loss of its own"):
        script_of(replace(RUNS["gpt2"], task="preference"))
    with pytest.raises(ReadError, match="does not run on MPS"):
        script_of(replace(RUNS["gpt2"], optimizer="paged_adamw_8bit"))

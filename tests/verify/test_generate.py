"""The scripts of runs: each task trains, and what the settings mean for memory shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mpslint.core.finding import ReadError
from mpslint.verify.generate import script_of
from mpslint.verify.spec import Evaluation, RunSpec, VerifiedMac
from mpslint.verify.verdict import check_run
from tests.verify.planned import BERT, GPT2, LLAMA, MAC, T5, VIT, WAV2VEC2, WHISPER, done, spec_of

pytest.importorskip("transformers")

MEASURED: list[tuple[str, str, tuple[int, ...], dict[str, Any], float]] = [
    ("bert-mini", "masked_lm", (8, 256), {}, 1149.0),
    ("bert-mini", "sequence_classification", (8, 128), {"optimizer": "sgd_momentum"}, 197.7),
    ("bert-mini", "sequence_classification", (8, 128), {"optimizer": "adafactor"}, 153.3),
    ("t5-small", "seq2seq_lm", (2, 256, 32), {"accumulation": 2}, 1397.9),
    ("t5-small", "seq2seq_lm", (2, 256, 32), {"optimizer": "adamw_torch_fused"}, 1256.6),
    ("t5-small", "seq2seq_lm", (2, 256, 64), {"precision": "bf16", "precision_by": "autocast"}, 1181.6),
    ("pythia-70m", "causal_lm", (2, 256), {}, 1332.9),
]


@pytest.mark.parametrize(("model", "task", "shape", "settings", "measured"), MEASURED)
def test_peaks_are_what_the_profiler_measured(
    model: str, task: str, shape: tuple[int, ...], settings: dict[str, Any], measured: float
) -> None:
    """The peaks that torch.profiler saw in real steps on the CPU, within a tenth of a percent."""
    assert done(spec_of(model, task, shape, **settings)).steps[4].peak / 1e6 == pytest.approx(measured, rel=1e-3)


TASKS: dict[str, RunSpec] = {
    "token_classification": spec_of("x", "token_classification", (2, 16), config=BERT, dropout=0.0, weights_dtype="bfloat16"),
    "question_answering": spec_of("x", "question_answering", (2, 16), config=BERT, optimizer="rmsprop"),
    "image_classification": spec_of("x", "image_classification", (2, 1), config=VIT, optimizer="adagrad", max_grad_norm=0.0),
    "speech_seq2seq": spec_of("x", "speech_seq2seq", (2, 200, 8), config=WHISPER, attention="eager", precision="bf16"),
    "ctc": spec_of("x", "ctc", (2, 4000, 8), config=WAV2VEC2, precision="fp16", precision_by="autocast"),
}


@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains(task: str) -> None:
    """With the optimizers, precisions and weights that a plan may say; no two steps compile new graphs."""
    result = done(TASKS[task], machine=VerifiedMac("2.15", 16, "5.24", "1.15", "27"))
    assert not result.failure
    assert [record.new_graph_keys for record in result.steps][2:5] == [0, 0, 0]
    assert [trouble.message for trouble in result.troubles if trouble.severity == "error"] == []


def test_weights_are_kept_as_the_checkpoint_was_published() -> None:
    """A dtype of `auto` is that of its configuration, and the verdict is about that one."""
    spec = spec_of("x", "causal_lm", (2, 16), config={**GPT2, "dtype": "bfloat16"}, weights_dtype="auto", steps=5)
    found = [check for check in check_run(done(spec), MAC, spec, 5) if check.name == "gradients"]
    assert [check.status for check in found] == ["inconclusive"]
    assert "published, and is loaded, in bfloat16" in found[0].reason


def test_checkpointing_and_adapters_need_less() -> None:
    """What saves memory on paper saves it here; dropout in a checkpointed layer is told."""
    plain = spec_of("x", "causal_lm", (2, 64), config=LLAMA)
    peak = done(plain).steps[-1].peak
    assert done(replace(plain, gradient_checkpointing=True)).steps[-1].peak < peak
    again = done(spec_of("x", "causal_lm", (2, 64), config=GPT2, gradient_checkpointing=True))
    assert "checkpoint-dropout" in {trouble.name for trouble in again.troubles}
    pytest.importorskip("peft")
    assert done(replace(plain, lora_rank=4, gradient_checkpointing=True)).steps[-1].peak < peak


def test_kept_logits_grow_evaluation_and_leave_with_accumulation_steps() -> None:
    """Kept logits stay on the device to the end; with accumulation steps they go to the host."""
    plain = spec_of("x", "seq2seq_lm", (4, 64, 16), config=T5, evaluation=Evaluation(8, 160))
    kept = replace(plain, evaluation=Evaluation(8, 160, keeps_logits=True))
    moved = replace(plain, evaluation=Evaluation(8, 160, keeps_logits=True, accumulation_steps=1))
    ends = [next(record for record in done(spec, 10).steps if record.what == "evaluate") for spec in (plain, moved, kept)]
    assert ends[2].peak > ends[1].peak >= ends[0].peak
    assert ends[1].host > 0 == ends[0].host


def test_empty_cache_forgets_graphs_from_2_13_on() -> None:
    """torch_empty_cache_steps frees cached memory in all versions, and compiled graphs from 2.13 on."""
    spec = spec_of("x", "causal_lm", (4, 64), config=GPT2, empty_cache_steps=2)
    late, early = (done(spec, 6, replace(MAC, torch=version)).steps for version in ("2.13", "2.12"))
    assert [record.new_graph_keys > 0 for record in late[2:6]] == [True, False, True, False]
    assert [record.new_graph_keys for record in early[2:6]] == [0, 0, 0, 0]


def test_what_no_script_describes_says_so() -> None:
    """Optimizers that don't run on MPS, and unknown ones."""
    spec = spec_of("x", "causal_lm", (4, 64), config=GPT2)
    with pytest.raises(ReadError, match="does not run on MPS"):
        script_of(replace(spec, optimizer="paged_adamw_8bit"), [])
    with pytest.raises(ReadError, match="'lion' is not known"):
        script_of(replace(spec, optimizer="lion"), [])

"""The emulator: peaks that a profiler measured, keys, families worked out exactly, operators that MPS lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from torch import nn

from mpslint.verify.child.batches import train_shapes
from mpslint.verify.child.emulate import emulate
from mpslint.verify.child.lengths import with_own_lengths
from mpslint.verify.child.rig import Rig
from mpslint.verify.emulator.keys import GraphCache, describe
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.operators import Coverage
from mpslint.verify.emulator.segment import SegmentFamily
from mpslint.verify.emulator.watch import Watch
from mpslint.verify.outcome import StepRecord
from mpslint.verify.platform import graph_operators
from mpslint.verify.spec import DataSource, Evaluation, Lengths, RunSpec, VerifiedMac

# Libraries beside torch deprecate each other; that is not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

TINY = {
    "model_type": "t5", "vocab_size": 512, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4,
    "decoder_start_token_id": 0,
}  # fmt: skip
SPEC = RunSpec("tiny", "seq2seq_lm", Lengths(256, 90), config=TINY, target=Lengths(32, 12), train_batch=4)


def silent(done: int, total: int, record: StepRecord) -> None:
    """Take progress, and do nothing about it."""


def peak_of(model: str, task: str, shape: tuple[int, ...], **settings: object) -> float:
    """Return the emulated peak of the second step, in MB."""
    rig = Rig(RunSpec(model, task, Lengths(shape[1]), train_batch=shape[0], **settings), VerifiedMac())  # type: ignore[arg-type]
    for _ in range(2):
        rig.discard()
        for _ in range(rig.spec.accumulation):
            rig.micro_batch(shape)
        rig.optimizer_step()
    return rig.memory.peak / 1e6


@pytest.mark.parametrize(
    ("model", "task", "shape", "settings", "measured"),
    [
        ("bert-mini", "masked_lm", (8, 256), {}, 1149.0),
        ("bert-mini", "sequence_classification", (8, 128), {"optimizer": "sgd_momentum"}, 197.7),
        ("bert-mini", "sequence_classification", (8, 128), {"optimizer": "adafactor"}, 153.3),
        ("t5-small", "seq2seq_lm", (2, 256, 32), {"accumulation": 2}, 1397.9),
        ("t5-small", "seq2seq_lm", (2, 256, 32), {"optimizer": "adamw_torch_fused"}, 1256.6),
        ("t5-small", "seq2seq_lm", (2, 256, 64), {"precision": "bf16"}, 1181.6),
        ("pythia-70m", "causal_lm", (2, 256), {}, 1332.9),
    ],
)
def test_peaks_are_what_the_profiler_measured(
    model: str, task: str, shape: tuple[int, ...], settings: dict[str, object], measured: float
) -> None:
    """The peaks that torch.profiler saw in real steps on the CPU, within a tenth of a percent."""
    assert peak_of(model, task, shape, **settings) == pytest.approx(measured, rel=1e-3)


def test_a_family_is_what_was_recorded() -> None:
    """Shapes that are worked out have the very numbers that recording them gives."""
    rig = Rig(SPEC, VerifiedMac())
    rig.micro_batch((4, 64, 8))
    rig.cut()
    rig.optimizer_step()
    shapes = [shape for shapes in train_shapes(SPEC, 60) for shape in shapes]
    family = SegmentFamily(rig.record_first, shapes)
    left = [shape for shape in dict.fromkeys(shapes) if shape not in family.recorded]

    assert family.is_fitted
    assert len(family.recorded) < 12 < len(left)
    for shape in left[:5]:
        worked_out, recorded = family.at(shape), rig.record_first(shape)
        assert worked_out.pattern == recorded.pattern
        assert (worked_out.numbers == recorded.numbers).all()
        assert family.keys_at(shape) == recorded.keys()


def test_later_torch_compiles_fewer_graphs() -> None:
    """The same run keeps fewer graphs in 2.15 than in 2.13, and fewer there than in 2.5."""
    counts = [emulate(SPEC, VerifiedMac(torch=version), 4, silent).graph_keys for version in ("2.5", "2.13", "2.15")]

    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) == 3


def test_kept_logits_grow_evaluation_and_leave_with_accumulation_steps() -> None:
    """Kept logits need the device twice over while they are joined; with accumulation steps they go to the host."""
    settings = {"batch": 8, "samples": 24, "keeps_logits": True}
    kept = emulate(replace(SPEC, evaluation=Evaluation(**settings)), VerifiedMac(), 2, silent)  # type: ignore[arg-type]
    moved = emulate(replace(SPEC, evaluation=Evaluation(**settings, accumulation_steps=1)), VerifiedMac(), 2, silent)  # type: ignore[arg-type]
    plain = emulate(replace(SPEC, evaluation=Evaluation(8, 24)), VerifiedMac(), 2, silent)

    assert kept.steps[-1].peak > moved.steps[-1].peak >= plain.steps[-1].peak
    assert moved.steps[-1].host == kept.steps[-1].host > 0
    assert plain.steps[-1].host == 0
    assert kept.steps[-1].live == plain.steps[-1].live


def test_generation_makes_new_graphs_with_every_token() -> None:
    """Each token has a cache one longer, so each compiles graphs of its own;
    nothing of the cache is left at the end."""
    result = emulate(replace(SPEC, evaluation=Evaluation(4, 4, generates=True, generation_limit=12)), VerifiedMac(), 2, silent)
    generated = result.steps[-1]

    assert generated.what == "generate"
    assert generated.new_graph_keys > 12
    assert generated.live == result.steps[0].live


def test_empty_cache_forgets_graphs_from_2_13_on() -> None:
    """torch_empty_cache_steps frees cached memory in all versions, and compiled graphs from 2.13 on."""
    spec = replace(SPEC, empty_cache_steps=2)
    late, early = (emulate(spec, VerifiedMac(torch=version), 4, silent) for version in ("2.13", "2.12"))

    assert late.graph_keys < early.graph_keys
    assert late.steps[-1].driver <= emulate(SPEC, VerifiedMac(), 4, silent).steps[-1].driver


def test_checkpointing_and_lora_need_less() -> None:
    """What saves memory on paper saves it here."""
    llama = {
        "model_type": "llama", "vocab_size": 2000, "hidden_size": 128, "intermediate_size": 344, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2,
    }  # fmt: skip
    plain = peak_of("llama", "causal_lm", (2, 256), config=llama)

    assert peak_of("llama", "causal_lm", (2, 256), config=llama, gradient_checkpointing=True) < plain
    pytest.importorskip("peft")
    assert peak_of("llama", "causal_lm", (2, 256), config=llama, lora_rank=4) < plain


def test_floats_are_no_part_of_a_key() -> None:
    """AdamW's step size changes at every step and compiles nothing new; a shape or a dtype does."""
    tensor = torch.ones(2, 3, device="meta")

    assert describe("mul_", (tensor, 0.1), {}) == describe("mul_", (tensor, 0.2), {})
    assert describe("mul_", (tensor, 1), {}) != describe("mul_", (tensor, 2), {})
    assert describe("mul_", (tensor.half(), 0.1), {}) != describe("mul_", (tensor, 0.1), {})


def test_casts_keep_a_graph_only_in_old_torch() -> None:
    """A copy with another dtype compiled a graph up to 2.12; a plain copy never did."""
    tensor = torch.ones(2, device="meta")
    old, new = (GraphCache(graph_operators(version)) for version in ("2.12", "2.13"))

    assert old.is_graph("_to_copy", (tensor,), {"dtype": torch.float16})
    assert not old.is_graph("_to_copy", (tensor,), {"dtype": torch.float32})
    assert not new.is_graph("_to_copy", (tensor,), {"dtype": torch.float16})


def test_memory_counts_what_is_alive() -> None:
    """A storage counts once, however many tensors look at it, until the last one goes."""
    memory = LiveMemory()
    with Watch(memory, GraphCache(frozenset())):
        kept = torch.ones(1000, device="meta") + 1
        view = kept.view(10, 100)
        assert memory.live == 4000
        del kept
        assert memory.live == 4000
        del view
    assert memory.live == 0
    assert memory.peak == 8000


def test_gradients_are_summed_in_place_as_without_a_mode() -> None:
    """Two gradients of one tensor need no third buffer, as in a run that nobody watches."""
    memory = LiveMemory(keeps_log=False)
    weight = torch.ones(1000, device="meta", requires_grad=True)
    memory.see(weight)
    with Watch(memory, GraphCache(frozenset())):
        doubled = weight * 2
        loss = ((doubled * 3).exp() + (doubled * 4).exp()).sum()
        memory.peak = memory.live
        loss.backward()  # type: ignore[no-untyped-call]

    assert memory.peak <= 4 * 7 * 1000 + 8


@pytest.mark.parametrize(
    ("version", "run", "name"),
    [
        ("2.13", lambda: nn.AdaptiveMaxPool3d(2)(torch.ones(1, 1, 4, 4, 4, device="meta")), "adaptive_max_pool3d"),
        ("2.13", lambda: nn.AdaptiveAvgPool2d(7)(torch.ones(1, 1, 32, 32, device="meta")),
        "adaptive-pool-not-divisible"),
        ("2.13", lambda: torch.ones(2, device="meta", dtype=torch.float64) + 1, "float64"),
        ("2.13", lambda: torch.ones(2, device="meta", dtype=torch.complex128) + 1, "complex128"),
        ("2.2", lambda: torch.ones(2, device="meta", dtype=torch.bfloat16) + 1, "bfloat16"),
        ("2.13", lambda: torch.bmm(*2 * [torch.ones(64, 4200, 4200, device="meta")]), "tensor-over-4-gib"),
        ("2.13", lambda: torch.ones(64, 40000, device="meta") @ torch.ones(40000, 64, device="meta"),
        "linear-many-rows"),
        ("2.13", lambda: nn.Embedding(8, 4, max_norm=1.0, device="meta")(torch.ones(2, device="meta").long()),
        "embedding_renorm_"),
    ],
)  # fmt: skip
def test_what_mps_refuses_is_reported(version: str, run: object, name: str) -> None:
    """Missing kernels, refused cases and CPU fallbacks, each by its name."""
    coverage = Coverage(version)
    with Watch(LiveMemory(), GraphCache(frozenset()), coverage.see):
        run()  # type: ignore[operator]

    assert name in {trouble.name for trouble in coverage.troubles.values()}


@pytest.mark.parametrize(
    ("version", "run"),
    [
        ("2.15", lambda: torch.ones(2, device="meta", dtype=torch.bfloat16) + 1),
        ("2.13", lambda: nn.AdaptiveAvgPool2d(8)(torch.ones(1, 1, 32, 32, device="meta"))),
        ("2.14", lambda: torch.ones(64, 40000, device="meta") @ torch.ones(40000, 64, device="meta")),
        ("2.13", lambda: nn.GroupNorm(2, 4, device="meta")(torch.ones(1, 4, 8, 8, device="meta"))),
    ],
)
def test_what_mps_takes_is_silent(version: str, run: object) -> None:
    """The same calls in a version or a shape that works."""
    coverage = Coverage(version)
    with Watch(LiveMemory(), GraphCache(frozenset()), coverage.see):
        run()  # type: ignore[operator]

    assert not coverage.troubles


def test_lengths_come_from_the_users_own_data(tmp_path: Path) -> None:
    """A local file and a local tokenizer give the lengths; what can't be read is said, and lengths are assumed."""
    pytest.importorskip("datasets")
    tokenizers = pytest.importorskip("tokenizers")
    from transformers import PreTrainedTokenizerFast

    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<unk>": 0, "<pad>": 1, "w": 2}, unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", pad_token="<pad>").save_pretrained(tmp_path / "tok")
    rows = [{"text": "w " * (5 + number % 7), "summary": "w " * (1 + number % 3)} for number in range(50)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data = DataSource("files", str(tmp_path / "data.jsonl"), "text", "summary", prefix="w ", tokenizer=str(tmp_path / "tok"))
    known, said = with_own_lengths(replace(SPEC, data=data))

    assert said.startswith("lengths are those of 50 samples of ")
    assert set(known.source.observed) == set(range(6, 13))
    assert known.target is not None
    assert set(known.target.observed) == {1, 2, 3}
    assert known.train_samples == 50
    missing, why = with_own_lengths(replace(SPEC, data=replace(data, path="nowhere.csv")))
    assert missing.source == SPEC.source
    assert "lengths are assumed: nowhere.csv could not be read" in why


EVALUATIONS = {
    "values": lambda x: (x.mean().item(), float(x.sum()), int(x.argmax()), bool((x == x).all())),
    "attention": lambda x: nn.functional.scaled_dot_product_attention(*3 * [x.view(2, 4, 64, 16)]),
    "layers": lambda x: nn.functional.cross_entropy(nn.Linear(16, 8, device="meta")(x.view(-1, 16)), torch.ones(512, device="meta").long()),
    "recurrent": lambda x: nn.GRU(16, 8, device="meta")(x.view(2, -1, 16)),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x.view(64, -1), x.view(64, -1)),
    "eigenvalues": lambda x: torch.linalg.eigvals(x.view(2, 64, 64)),
    "float64": lambda x: x.to(torch.float64).mean(),
}


@pytest.mark.parametrize("evaluation", EVALUATIONS.values(), ids=list(EVALUATIONS))
def test_inference_mode_shows_what_no_grad_shows(evaluation: Callable[[torch.Tensor], object]) -> None:
    """The same peak, graphs, operators and troubles: without autograd a mode gets composite operators whole."""
    seen = []
    for context in (torch.no_grad, torch.inference_mode):
        memory, coverage = LiveMemory(), Coverage("2.13")
        with Watch(memory, GraphCache(graph_operators("2.13")), coverage.see, keeps_calls=True) as watch, context():
            evaluation(torch.empty(8192, device="meta") + 1)
        seen.append((memory.peak, sorted({trouble.name for trouble in coverage.troubles.values()}), [call for call, _ in watch.calls]))

    assert seen[0] == seen[1]

"""What compiled graphs keep for each new shape, and the run that dies of it."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from mpslint.verify.emulator.allocator import AllocatorModel, OutOfMemoryError
from mpslint.verify.emulator.keys import graph_cache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.pools import Block
from mpslint.verify.emulator.watch import Watch
from mpslint.verify.last import driver_words
from mpslint.verify.outcome import RunResult, StepRecord
from mpslint.verify.page import as_page
from mpslint.verify.platform import heap_rules
from mpslint.verify.report import VerifyReport, as_csv, to_export
from mpslint.verify.script import ScriptOptions
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac
from mpslint.verify.verdict import check_run
from mpslint.verify.verify import run_spec

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
MB = 2**20
ROWS, WIDTH = 32128, 512
SHALLOW = {
    "model_type": "t5", "vocab_size": ROWS, "d_model": WIDTH, "d_kv": 64, "d_ff": 64, "num_layers": 1, "num_heads": 8,
    "decoder_start_token_id": 0,
}  # fmt: skip
SEED = RunSpec(
    "t5-small of one layer",
    "seq2seq_lm",
    Lengths(512, 190),
    config=SHALLOW,
    target=Lengths(32, 12),
    train_batch=4,
    steps=600,
    optimizer="sgd",
)
"""The embedding of t5-small, batches of many lengths: the run of Hugging Face's forum 175777, made small."""


def emulated(spec: RunSpec, version: str) -> RunResult:
    """Return the run on a Mac with 8 GB."""
    return run_spec(spec, ScriptOptions(VerifiedMac(version, 8, "5.24", "1.15"), use_cache=False))[0]


def test_every_new_length_keeps_the_gradient_of_the_embedding() -> None:
    """Up to torch 2.12 a graph of each length keeps vocabulary x width x 4 bytes, until the Mac's memory is full."""
    result = emulated(SEED, "2.12")
    kept = {one.operator: one for one in result.retained}
    check = next(check for check in check_run(result, VerifiedMac("2.12", 8), SEED, SEED.steps) if check.name == "driver memory")

    assert kept["embedding_dense_backward"].largest == ROWS * WIDTH * 4
    assert check.status == "fail"
    assert "because compiled graphs keep" in check.reason


@pytest.mark.parametrize(
    ("spec", "version"),
    [(SEED, "2.15"), (replace(SEED, padding="max_length", target=Lengths(32)), "2.12")],
    ids=["late torch", "fixed shapes"],
)
def test_the_run_lives_where_nothing_is_kept(spec: RunSpec, version: str) -> None:
    """From 2.15 on both operators are Metal kernels; with one shape there is one graph."""
    result = emulated(spec, version)

    assert (result.out_of_memory, result.failure) == (0, "")
    found = {check.name: check.status for check in check_run(result, VerifiedMac(version, 8), spec, spec.steps)}
    assert (found["driver memory"], found["fits"]) == ("pass", "pass")


def grown(version: str, lengths: list[int]) -> AllocatorModel:
    """Return the allocator after an embedding was trained on batches of some lengths."""
    allocator = AllocatorModel(heap_rules(version))
    table = torch.nn.Embedding(1000, 64, device="meta")
    with Watch(LiveMemory(), graph_cache(version, allocator.retain)):
        for length in lengths:
            table(torch.zeros(length, dtype=torch.int64, device="meta")).sum().backward()
            table.zero_grad()
    return allocator


@pytest.mark.parametrize(("version", "kept"), [("2.12", 3), ("2.13", 0)])
def test_a_length_counts_once(version: str, kept: int) -> None:
    """Only a length that is new keeps memory, and from 2.13 on none does."""
    assert grown(version, [7, 9, 7, 11, 9]).retained == kept * 1000 * 64 * 4


def test_dropped_graphs_are_compiled_again() -> None:
    """empty_cache() of late torch gives back what graphs kept; the next step keeps it again."""
    allocator = AllocatorModel(heap_rules("2.13"))
    keys = graph_cache("2.13", allocator.retain)
    scores = torch.randn(6, 50, device="meta", requires_grad=True)
    with Watch(LiveMemory(), keys):
        for _ in range(2):
            torch.nn.functional.cross_entropy(scores, torch.zeros(6, dtype=torch.int64, device="meta")).backward()
            assert allocator.retained == allocator.driver == 6 * 50 * 4
            keys.forget_graphs()
            allocator.release_graphs()

    assert (allocator.retained, allocator.driver) == (0, 0)


@pytest.mark.parametrize(("version", "graphs"), [("2.11", 3), ("2.12", 0)])
def test_a_fill_compiles_a_graph_for_each_value(version: str, graphs: int) -> None:
    """Up to 2.11 the value of a fill is part of the key."""
    keys = graph_cache(version)
    with Watch(LiveMemory(), keys):
        for value in (0.25, 0.5, 0.25, 0.75):
            torch.full((4,), value, device="meta")

    assert len(keys.graph_keys) == graphs


def test_the_whole_cache_is_released_before_memory_runs_out() -> None:
    """Past the high watermark torch gives back what is cached, of all sizes, and raises only when that is not enough."""
    allocator = AllocatorModel(heap_rules("2.12", high_watermark=2000 * MB))
    blocks = [allocator.allocate(600 * MB) for _ in range(3)]
    for block in blocks:
        assert isinstance(block, Block)
        allocator.free(block)
    allocator.allocate(1900 * MB)
    with pytest.raises(OutOfMemoryError, match=r"MPS allocated: 1\.86 GiB, other allocations: 0 bytes, max allowed: 1\.95 GiB"):
        allocator.allocate(200 * MB)

    assert allocator.driver == 1900 * MB


def test_a_small_run_is_given_as_a_range() -> None:
    """Below 2 GiB one heap more or less decides, and the driver needs some memory itself."""
    steps = tuple(StepRecord(number, live=MB, blocks=2 * MB, peak=3 * MB, driver=40 * MB) for number in range(1, 21))
    checks = check_run(RunResult("run", "emulated", steps, driver_peak=40 * MB), VerifiedMac("2.12", 16), None, 100)
    shown = {item.label: item.value for check in checks for item in check.evidence}

    assert shown["driver memory on a Mac"] == "between 26.0 MiB and 1.1 GiB"


@pytest.mark.parametrize(("driver", "least", "most"), [(40 * MB, 26 * MB, 1088 * MB), (3000 * MB, 3000 * MB, 3000 * MB)])
def test_each_output_says_the_range_where_there_is_one(driver: int, least: int, most: int) -> None:
    """The page, the steps as CSV and as JSON, and what `mpslint report` keeps; one number where the model says only that."""
    steps = tuple(StepRecord(number, live=MB, blocks=2 * MB, peak=3 * MB, driver=driver) for number in (1, 2))
    report = VerifyReport("train.py", VerifiedMac("2.12", 16), (RunResult("run", "emulated", steps, driver_peak=driver),))
    row = next(csv.DictReader(io.StringIO(as_csv([report]))))
    data = to_export(report)["runs"][0]
    names = re.findall(r"<title>(run[^<]*)</title>", as_page([report]).partition("Peak of live memory")[0])

    assert (int(row["driver_least_bytes"]), int(row["driver_most_bytes"])) == (least, most)
    assert [tuple(data["driver_peak"]), *(tuple(step["driver"]) for step in data["steps"])] == [(least, most)] * 3
    assert names == (["run"] if least == most else ["run, at least", "run, at most"])
    assert driver_words(report.runs[0]) == ("2.9 GiB to 2.9 GiB" if least == most else "between 26.0 MiB and 1.1 GiB")


@pytest.mark.parametrize(("slope", "settings", "status"), [(64 * MB, 20_000, "inconclusive"), (64 * MB, 250, "pass"), (0, 20_000, "pass")])
def test_driver_memory_that_goes_on_growing_is_no_pass(slope: int, settings: int, status: str) -> None:
    """What each new shape keeps fills the Mac after the steps that were played, unless the run ends before or no new shapes come."""
    steps = tuple(StepRecord(number, live=3000 * MB, peak=3200 * MB, driver=3200 * MB + number * slope) for number in range(1, 101))
    checks = check_run(RunResult("run", "emulated", steps, driver_peak=steps[-1].driver), VerifiedMac("2.12", 24), None, settings)
    check = next(check for check in checks if check.name == "driver memory")

    assert check.status == status
    assert ("full at about step" in check.reason) is (status == "inconclusive")


def test_every_public_report_has_its_run_and_its_row() -> None:
    """The page on what people reported shows every report of the table, and each has a source."""
    root = Path(__file__).parents[2]
    reports = yaml.safe_load((root / "benchmarks" / "reality" / "reports.yaml").read_text(encoding="utf-8"))
    page = (root / "docs" / "reality.md").read_text(encoding="utf-8")

    for report in reports:
        assert report["source"].startswith("https://")
        assert "spec" in report or (root / "benchmarks" / "reality" / report["script"]).is_file()
        assert f"| {report['name']} |" in page

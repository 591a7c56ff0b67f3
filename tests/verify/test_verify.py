"""Runs without a file's own code: which are done for a report, and what is said where one can't be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mpslint.verify import verify
from mpslint.verify.estimate import estimate_spec
from mpslint.verify.outcome import Check, RunResult
from mpslint.verify.script import ScriptOptions
from mpslint.verify.spec import Lengths, RunSpec
from mpslint.verify.verify import run_spec
from tests.verify.planned import BERT, MAC, T5

SPEC = RunSpec("tiny", "seq2seq_lm", Lengths(256, 90), T5, Lengths(32, 12), train_batch=4)


@pytest.mark.parametrize(
    ("after", "runs"),
    [(replace(SPEC, name="as rewritten"), 1), (replace(SPEC, name="as rewritten", train_batch=2, accumulation=2), 2), (None, 1)],
    ids=["the same run", "another run", "no rewrite"],
)
def test_a_rewrite_that_changes_nothing_of_the_run_is_not_run_again(
    monkeypatch: pytest.MonkeyPatch, after: RunSpec | None, runs: int
) -> None:
    """Both verdicts are there all the same, each under its name, and whether a step takes as many samples."""
    done: list[str] = []

    def run(spec: RunSpec, options: ScriptOptions, progress: object = None) -> tuple[RunResult, list[Check]]:
        done.append(spec.name)
        return RunResult(spec.name, "emulated"), [Check("starts", "pass", "it does")]

    monkeypatch.setattr(verify, "run_spec", run)
    report = verify.verify_specs(SPEC, after, ScriptOptions())
    assert len(done) == runs
    assert [verdict.name for verdict in report.verdicts] == [spec.name for spec in (SPEC, after) if spec is not None]
    assert [check.status for check in report.comparison] == ["pass"] * (after is not None)
    other = verify.verify_specs(SPEC, replace(SPEC, name="as rewritten", train_batch=2), ScriptOptions())
    assert [check.reason for check in other.comparison] == ["an optimizer step takes 2 samples in place of 4"]


def test_a_run_has_the_peak_of_its_estimate() -> None:
    """`verify --plan`, `plan --estimate` and `fix --fit` say the same number; more memory never takes less."""
    pytest.importorskip("transformers")
    result, checks = run_spec(SPEC, ScriptOptions(MAC, use_cache=False))
    estimate = estimate_spec(replace(SPEC, source=Lengths(256), target=Lengths(32)), MAC)
    assert result.largest_peak == estimate.composition.peak == sum(estimate.composition.parts.values())
    assert len([record for record in result.steps if record.what == "train"]) == 200
    assert {check.name: check.status for check in checks}["starts"] == "pass"
    batches = [fit.largest_batch for fit in estimate.fits]
    assert batches == sorted(batches)
    assert batches[0] > 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (RunSpec("nobody/nothing", "causal_lm", Lengths(8)), "the configuration of 'nobody/nothing' isn't on this machine"),
        (RunSpec("x", "causal_lm", Lengths(8), {"model_type": "no-such-model"}), "no-such-model"),
        (RunSpec("x", "image_classification", Lengths(8), BERT), "AutoModelForImageClassification"),
    ],
    ids=["no configuration", "an unknown model", "a task that it doesn't have"],
)
def test_what_cannot_be_built_is_no_verdict(spec: RunSpec, said: str) -> None:
    """It's not run, with the reason."""
    pytest.importorskip("transformers")
    _, (check, *_) = run_spec(spec, ScriptOptions(MAC, use_cache=False))
    assert check.status == "not run"
    assert said in check.reason

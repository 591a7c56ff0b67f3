"""Which runs are done for a report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mpslint.verify import verify
from mpslint.verify.job import Job
from mpslint.verify.outcome import Check, RunResult, StepRecord
from mpslint.verify.process import ChildLimits
from mpslint.verify.record import to_data
from mpslint.verify.spec import Lengths, RunSpec
from mpslint.verify.work import Answer, do_jobs

SPEC = RunSpec("gpt2", "causal_lm", Lengths(64))


@pytest.mark.parametrize(
    ("after", "runs"),
    [(replace(SPEC, name="as rewritten"), 1), (replace(SPEC, name="as rewritten", pad_to_multiple_of=64), 2), (None, 1)],
    ids=["the same run", "another run", "no rewrite"],
)
def test_a_rewrite_that_changes_nothing_of_the_run_is_not_run_again(
    monkeypatch: pytest.MonkeyPatch, after: RunSpec | None, runs: int
) -> None:
    """Both verdicts are there all the same, each under its name."""
    done: list[str] = []

    def run_spec(spec: RunSpec, options: verify.VerifyOptions, progress: object, known: object) -> tuple[RunResult, list[Check]]:
        done.append(spec.name)
        return RunResult(spec.name, "emulated"), [Check("starts", "pass", "it does")]

    monkeypatch.setattr(verify, "run_spec", run_spec)
    monkeypatch.setattr(verify, "_done_together", lambda *arguments: {})
    report = verify.verify_specs(SPEC, after, verify.VerifyOptions(values=False))

    assert len(done) == runs
    assert [verdict.name for verdict in report.verdicts] == [spec.name for spec in (SPEC, after) if spec is not None]


def done_by(monkeypatch: pytest.MonkeyPatch, after: RunSpec, answer: Answer) -> tuple[list[int], list[str]]:
    """Return how many jobs each process was given, and which were done alone, where every job has one answer."""
    together: list[int] = []
    alone: list[str] = []

    def do_jobs(jobs: list[tuple[Job, str]], *others: object) -> list[Answer]:
        together.append(len(jobs))
        return [answer] * len(jobs)

    def do_job(job: Job, limits: object, progress: object, name: str) -> Answer:
        alone.append(name)
        return Answer(to_data(RunResult(name, "emulated")))

    monkeypatch.setattr(verify, "do_jobs", do_jobs)
    monkeypatch.setattr(verify, "do_job", do_job)
    verify.verify_specs(SPEC, after, verify.VerifyOptions(values=False, use_cache=False, steps=1))
    return together, alone


@pytest.mark.parametrize(
    ("after", "count"),
    [(replace(SPEC, name="as rewritten", train_batch=2), 2), (replace(SPEC, name="as rewritten", averages=True), 1)],
    ids=["another batch", "another average"],
)
def test_the_first_runs_are_done_by_one_process(monkeypatch: pytest.MonkeyPatch, after: RunSpec, count: int) -> None:
    """Each run that memory can differ in once, and none of them again alone."""
    result = RunResult("", "emulated", (StepRecord(1),) * 40, largest_peak=1, driver_peak=1)

    assert done_by(monkeypatch, after, Answer(to_data(result)))[0] == [count]


def test_a_run_that_died_beside_another_is_done_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ended it may have been the other one's memory."""
    after = replace(SPEC, name="as rewritten", train_batch=2)
    together, alone = done_by(monkeypatch, after, Answer(problem="it died", kind="died"))

    assert together == [2]
    assert {"as written", "as rewritten"} <= set(alone)


@pytest.mark.cold
def test_one_process_does_several_jobs() -> None:
    """Each gets its own answer, also where another one fails."""
    pytest.importorskip("transformers")
    bert = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    good = RunSpec("tiny", "sequence_classification", Lengths(8), config={**bert, "vocab_size": 50}, train_batch=2)
    bad = replace(good, config={"model_type": "no-such-model"})
    jobs = [(Job("emulate", specs=(one,), steps=2), one.model) for one in (good, bad)]
    done, failed = do_jobs(jobs, ChildLimits(seconds=120))

    assert len(done.data["steps"]) == 2
    assert "no-such-model" in failed.problem

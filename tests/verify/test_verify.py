"""Which runs are done for a report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mpslint.verify import verify
from mpslint.verify.outcome import Check, RunResult
from mpslint.verify.spec import Lengths, RunSpec

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

    def run_spec(spec: RunSpec, options: verify.Options, progress: object) -> tuple[RunResult, list[Check]]:
        done.append(spec.name)
        return RunResult(spec.name, "emulated"), [Check("starts", "pass", "it does")]

    monkeypatch.setattr(verify, "run_spec", run_spec)
    report = verify.verify_specs(SPEC, after, verify.Options(values=False))

    assert len(done) == runs
    assert [verdict.name for verdict in report.verdicts] == [spec.name for spec in (SPEC, after) if spec is not None]

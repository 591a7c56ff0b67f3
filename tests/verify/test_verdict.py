"""From records to verdicts: what fails, what passes, and what cannot be told."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mpslint.core.finding import Finding, Fix, Safety, Severity, Span
from mpslint.session.view import ShownFinding
from mpslint.source.document import Place
from mpslint.source.reader import read
from mpslint.verify.outcome import Check, Composition, RunResult, StepRecord, Trouble, Verdict, size
from mpslint.verify.page import as_page, reading_sections
from mpslint.verify.reading import FileReading, findings_in
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac
from mpslint.verify.text import sparkline
from mpslint.verify.verdict import alone, check_run, decide

MB, GB = 2**20, 2**30
MACHINE = VerifiedMac("2.13", 16, "5.23", "1.15")
SPEC = RunSpec("gpt2", "causal_lm", Lengths(512))


def run(steps: int = 100, leak: int = 0, driver: int = 3 * GB, keys: int = 0, **settings: object) -> RunResult:
    """Return a run of even steps."""
    records = tuple(
        StepRecord(number, live=GB + number * leak, peak=2 * GB, driver=driver, new_keys=keys, new_graph_keys=keys)
        for number in range(1, steps + 1)
    )
    plain = RunResult("run", "emulated", records, Composition(2 * GB, "forward"), largest_peak=2 * GB, driver_peak=driver)
    return replace(plain, **settings)  # type: ignore[arg-type]


def failed(result: RunResult, spec: RunSpec | None = None, horizon: int = 2000) -> dict[str, str]:
    """Return the names and reasons of the checks that do not pass."""
    return {check.name: check.reason for check in check_run(result, MACHINE, spec, horizon) if check.status != "pass"}


def test_an_even_run_passes() -> None:
    """Nothing grows, everything fits."""
    assert failed(run()) == {}
    assert decide("run", list(check_run(run(), MACHINE, SPEC, 2000))).status == "pass"


def test_growth_that_fills_nothing_is_not_called_flat() -> None:
    """32 KiB a step are 60 MiB in 2,000 steps: a pass, with the numbers."""
    said = {
        leak: next(one for one in check_run(run(leak=leak, settings_steps=2000), MACHINE, SPEC, 2000) if one.name == "live memory")
        for leak in (0, 2**15)
    }
    assert {one.status for one in said.values()} == {"pass"}
    assert said[0].reason == "flat over 100 steps"
    assert said[2**15].reason == "grows by 32.0 KiB a step: only 59.4 MiB more over the 2000 steps of the run"


def test_memory_that_grows_fits_only_as_far_as_it_was_seen() -> None:
    """The peak of the steps that ran is no answer for the steps after them."""
    checks = {check.name: check for check in check_run(run(20, 100 * MB), MACHINE, SPEC, 2000)}
    assert checks["live memory"].status == "fail"
    assert {checks[name].status for name in ("driver memory", "fits")} == {"not run"}
    assert checks["fits"].reason.startswith("in 20 steps the peak of 2.0 GiB fits a 16 GB Mac")


def test_steps_that_were_played_are_not_said_to_have_run() -> None:
    """Those that come after the run's own end, neither."""
    said = [next(iter(check_run(run(200, ran=20), MACHINE, None, horizon))).reason for horizon in (2000, 50, 20)]
    assert said[0] == "20 optimizer steps emulated, and 180 more played from their recordings, without an exception"
    assert "30 more" in said[1]
    assert said[2] == "20 optimizer steps emulated without an exception"


def test_what_comes_after_the_last_step_is_no_fault_of_the_run() -> None:
    """More steps are emulated than a short run takes (`max_steps=50`): by then memory is full, but the run has ended."""
    growing = tuple(replace(record, driver=3 * GB + record.step * GB // 10) for record in run(200).steps)
    full = replace(run(200), steps=growing, driver_peak=23 * GB)

    assert "driver memory" in failed(full, SPEC, 200)
    assert "driver memory" not in failed(full, SPEC, 50)
    assert "driver memory" not in failed(replace(full, out_of_memory=120), SPEC, 50)


def test_a_run_on_the_cpu_says_nothing_about_mps() -> None:
    """Its script selects another device: 0 bytes on the GPU neither fit nor pass."""
    steps = tuple(StepRecord(number, live=0, peak=0, driver=0, new_graph_keys=0) for number in range(1, 21))
    checks = list(check_run(RunResult("run", "emulated", steps, largest_peak=0), MACHINE, None, 20))

    assert [(check.name, check.status) for check in checks] == [("device", "inconclusive")]
    assert "trains on the CPU" in checks[0].reason


@pytest.mark.parametrize(
    ("result", "spec", "name", "said"),
    [
        (run(leak=MB), None, "live memory", "grows by 1.0 MiB a step"),
        (run(driver=20 * GB), None, "driver memory", "PyTorch raises at"),
        (run(keys=20), None, "compiled graphs", "20.0 new compiled graphs a step"),
        (run(largest_peak=12 * GB), None, "fits", "does not fit a 16 GB Mac"),
        (run(largest_peak=30 * GB), None, "fits", "raises at"),
        (run(failure="RuntimeError: no"), None, "starts", "RuntimeError: no"),
        (run(troubles=(Trouble("x", "error", "no kernel"),)), None, "operators", "no kernel"),
        (run(), replace(SPEC, weights_dtype="float16"), "gradients", "float16"),
        (run(), replace(SPEC, weights_dtype="bfloat16"), "gradients", "hardly moves"),
    ],
)
def test_each_defect_has_its_check(result: RunResult, spec: RunSpec | None, name: str, said: str) -> None:
    """A defect fails the check that is about it, in words that name it."""
    assert said in failed(result, spec)[name]


@pytest.mark.parametrize(
    ("new", "status"),
    [
        ([300, *[20] * 19], "inconclusive"),
        ([300, *[20] * 79], "fail"),
        ([300, *[20] * 39, *[12] * 20, *[6] * 20], "inconclusive"),
        ([300, *[20] * 99, *[12] * 50, *[6] * 50], "fail"),
        ([300, *[20] * 99, *[0] * 100], "pass"),
    ],
    ids=["short", "goes on", "slows", "slows, and is long enough", "settles"],
)
def test_whether_graphs_settle_is_told_by_enough_steps(new: list[int], status: str) -> None:
    """A short run is not carried on by its own rate, nor a longer one by a rate that falls."""
    steps = tuple(StepRecord(number, live=GB, peak=GB, driver=GB, new_graph_keys=count) for number, count in enumerate(new, start=1))
    result = RunResult("run", "emulated", steps, graph_keys=sum(new))
    assert {check.name: check.status for check in check_run(result, MACHINE, None, 9000)}["compiled graphs"] == status


@pytest.mark.parametrize(("leak", "steps", "status"), [(50_000, 0, "inconclusive"), (50_000, 3000, "pass"), (4, 0, "pass")])
def test_growth_without_a_known_end(leak: int, steps: int, status: str) -> None:
    """50 kB a step are nothing in 3,000 steps; in a million they fill the Mac. The sum of a loss never does."""
    found = check_run(run(leak=leak, settings_steps=steps), MACHINE, None, 2000)
    assert {check.name: check.status for check in found}["live memory"] == status


def test_look_alikes_pass() -> None:
    """A warning, LoRA on bfloat16 weights, few shapes at the start."""
    assert failed(run(troubles=(Trouble("x", "warning", "slow"),))) == {}
    assert failed(run(), replace(SPEC, weights_dtype="bfloat16", lora_rank=8)) == {}
    assert failed(run(keys=20), None, horizon=100) == {}


def test_precision_is_judged_by_the_versions_in_force() -> None:
    """fp16 works with late versions and raises with early ones."""
    spec = replace(SPEC, precision="fp16")
    early = VerifiedMac("2.13", 16, "4.57", "1.10")

    assert failed(run(), spec) == {}
    assert "fp16 mixed precision requires a GPU" in next(
        check.reason for check in check_run(run(), early, spec, 2000) if check.name == "precision"
    )


def test_evaluation_that_does_not_fit_is_its_own_check() -> None:
    """Training fits, evaluation does not: kept logits, on the device or in the process."""
    device = StepRecord(100, "evaluate", live=GB, peak=15 * GB, driver=3 * GB)
    host = StepRecord(100, "evaluate", live=GB, peak=3 * GB, driver=3 * GB, host=20 * GB)

    assert "logits of every batch" in failed(replace(run(), steps=(*run().steps, device)))["evaluation"]
    assert "collects 20.0 GiB" in failed(replace(run(), steps=(*run().steps, host)))["evaluation"]


def values(losses: list[float], moved: bool = True) -> RunResult:
    """Return a run on the CPU."""
    records = tuple(StepRecord(number, loss=loss, gradient_norm=1.0) for number, loss in enumerate(losses, start=1))
    return RunResult("run", "cpu", records, moved=moved)


@pytest.mark.parametrize(
    ("result", "status", "said"),
    [
        (values([3.0, 2.0, 1.0]), "pass", "finite"),
        (values([3.0, float("nan")]), "fail", "the loss is nan at step 2"),
        (values([3.0, 3.0], moved=False), "fail", "no weight changes"),
        (replace(values([3.0, 3.0], moved=False), learning_rate=0.0), "fail", "the learning rate is 0"),
        (replace(values([3.0] * 9), learning_rate=0.1, rested=5), "fail", "the learning rate is 0 from step 5 on"),
        (replace(values([3.0] * 9), learning_rate=0.1, rested=1), "pass", "the weights move"),
        (values([3.0, 40.0, 500.0, 9000.0]), "fail", "diverges"),
        (values([0.05, 0.05, 5.4, 5.45, 5.5, 5.52]), "pass", "the weights move"),
        (values([]), "not run", "no loss"),
    ],
)
def test_values_by_themselves(result: RunResult, status: str, said: str) -> None:
    """A loss must be finite and the weights must move."""
    own = alone(result)

    assert own.status == status
    assert said in own.reason


def test_a_rate_that_warms_up_from_zero_is_no_failure() -> None:
    """A slow run on the CPU ends after the step that has it; the emulated one has seen others."""
    first = replace(values([3.0], moved=False), learning_rate=0.0)

    assert alone(first, RunResult("a.py", "emulated", learning_rate=1e-4)).status == "not run"
    assert alone(first, RunResult("a.py", "emulated", learning_rate=0.0)).status == "fail"


def test_a_report_answers_for_all_its_runs() -> None:
    """The worst verdict counts, so a run that passes only as it is rewritten fails; values that differ fail too; exit codes follow."""
    bad, good = Verdict("as written", "fail", ""), Verdict("as rewritten", "pass", "")
    report = VerifyReport("x", MACHINE, (run(),), (bad, good))

    assert (report.status, report.exit_code()) == ("fail", 1)
    both = replace(report, verdicts=(good, good))
    assert (both.status, both.exit_code()) == ("pass", 0)
    apart = replace(both, comparison=(Check("same training", "fail", ""),))
    assert (apart.status, apart.exit_code()) == ("fail", 1)
    doubt = replace(report, verdicts=(replace(good, status="inconclusive"),))
    assert (doubt.exit_code(), doubt.exit_code(strict=True)) == (0, 1)
    assert replace(report, problem="no torch").exit_code() == 3


def test_words_promise_no_more_than_was_run() -> None:
    """Emulated is a prediction; only a run on MPS is called measured on MPS."""
    assert "not measured" in VerifyReport("x", MACHINE, (run(),)).basis
    assert "measured on MPS" not in VerifyReport("x", MACHINE, (run(),)).basis
    real = replace(run(), backend="mps", versions={"torch": "2.15", "chip": "arm"})
    assert VerifyReport("x", MACHINE, (real,)).basis == "measured on MPS (arm, torch 2.15)"
    assert "not of MPS" in VerifyReport("x", MACHINE, (replace(run(), backend="cuda"),)).basis


def shown(rule: str, name: str, message: str) -> ShownFinding:
    """Return an error on the first line."""
    return ShownFinding(rule, name, "error", message, "", Place(1, 1), Place(1, 2), (0, 1), "x", ((1, "x"),), (0, 1), (), "")


def test_a_page_is_one_file_and_escapes_what_it_shows() -> None:
    """No scripts, no links to elsewhere; text from a run cannot become HTML."""
    found = shown("MPS1", "<u>", "<script>")
    reading = FileReading("<u>", "<u>", ("<u>",), (found,), ("<u>",), (found,), (("<u>", ("+<u>",)),))
    report = VerifyReport("<b>x</b>", MACHINE, (run(notes=("<script>",)),), (Verdict("run", "pass", "<i>"),), reading=reading)
    page = as_page([report, report])

    assert "<b>x</b>" not in page
    assert "<script" not in page
    assert "<u>" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<svg") == 8


def test_small_texts() -> None:
    """Bytes and curves as people read them."""
    assert [size(count) for count in (12, 2048, 3 * MB, 5 * GB)] == ["12 B", "2.0 KiB", "3.0 MiB", "5.0 GiB"]
    assert sparkline([0, 1, 2, 4], 4) == "▁▃▅█"
    assert sparkline([]) == ""


def test_the_page_names_notes_last_and_says_how_each_is_mended() -> None:
    """What goes wrong comes by its place; what a fix cannot do is said to be done by hand."""
    document = read("train.py", b"a\nb\nc\n")
    manual, safe = Fix(Safety.MANUAL, "Take it away."), Fix(Safety.SAFE, "fp16=False", ())
    rows = [(Severity.NOTE, None), (Severity.ERROR, manual), (Severity.WARNING, safe)]
    findings = [Finding(f"MPS10{n}", "x", severity, "y", Span(2 * n, 2 * n + 1), "", fix) for n, (severity, fix) in enumerate(rows)]
    page = "".join(reading_sections(FileReading("run", "torch", findings=tuple(findings_in(document, findings)))))

    assert re.findall(r"MPS\d+", page) == ["MPS101", "MPS102", "MPS100"]
    assert "By hand: Take it away.</span>" in page
    assert "Fix (safe): fp16=False.</span>" in page

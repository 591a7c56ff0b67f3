"""A Mac's numbers: what is printed says nothing of a person, and the benchmarks take it in as it is."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from mpslint.doctor.machine import ThisMachine, gpu_cores
from mpslint.estimate.step import Operators, StepWork
from mpslint.estimate.timing import chip_of, step_time
from mpslint.report.measurement import Predicted, measurement
from mpslint.verify.last import MeasuredRun, MemoryAt, emulated_memory, keep, keep_watched, last_run, memory_of
from mpslint.verify.outcome import RunResult, StepRecord
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac
from tests.warm_command import mpslint

ROOT = Path(__file__).parents[2]
MIB = 2**20
MAC = ThisMachine("Darwin", (26, 1), "Apple M3 Pro", "arm64", 36 * 2**30, False, False, None)
RUN = MeasuredRun(
    "/Users/ann.lee/secret-project/train_for_acme.py",
    "mps",
    "2.13.0",
    180,
    (0.41234, 0.39, 0.45),
    tuple(MemoryAt(step, 800 * MIB, (900 + step) * MIB, 1) for step in (1, 10, 100, 180)),
    ("float32",),
    {"float16": 120, "float32": 30},
)
WORK = StepWork(
    (
        Operators("matmul", "matmul", "float32", 4e9, 6e6, 96.0),
        Operators("matmul", "matmul", "float32", 4e9, 6e6, 96.0),
        Operators("elementwise", "memory", "float32", 0.0, 5e7, 400.0),
    ),
    samples=16,
    waits=1.0,
)


def benchmark(name: str) -> ModuleType:
    """Return a program of benchmarks/ as a module."""
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location(f"measured_{name}", ROOT / "benchmarks" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(folder)


def printed(run: MeasuredRun = RUN, machine: ThisMachine = MAC) -> str:
    """Return the YAML of a run on an M3 Pro with 18 cores."""
    chip = chip_of(machine.chip, 18)
    time = step_time(WORK, chip) if chip is not None else None
    predicted = Predicted(WORK, time, 850 * MIB, (MemoryAt(1, 780 * MIB, 880 * MIB), MemoryAt(180, 790 * MIB, 1000 * MIB)))
    return measurement(run, machine, chip, 18, predicted)


def test_it_holds_the_numbers_and_no_name() -> None:
    """Chip, cores, memory, macOS, torch, seconds, memory by step and the work are in it; the path of the script isn't."""
    found = yaml.safe_load(printed())
    memory, time = found["reality"][0], found["step_time_points"][0]
    assert {name: memory[name] for name in ("chip", "cores", "memory", "macos", "torch", "step", "live", "driver")} == {
        "chip": "M3 Pro",
        "cores": 18,
        "memory": 36,
        "macos": "26.1",
        "torch": "2.13.0",
        "step": 180,
        "live": 800.0,
        "driver": 1080.0,
    }
    assert [row["step"] for row in memory["by_step"]] == [1, 10, 100, 180]
    assert (time["seconds"], time["use"]) == (0.4123, "fit")
    assert [(one["kind"], one["count"]) for one in time["work"]] == [("elementwise", 400.0), ("matmul", 192.0)]
    assert not any(word in printed() for word in ("ann", "lee", "Users", "secret", "acme", "train"))


def test_words_from_the_run_are_no_way_in() -> None:
    """A torch that calls itself anything, and a dtype that is none, are cut down to plain words; the YAML stays one."""
    hostile = MeasuredRun("/x.py", "mps", "2.13\n- evil: {", 20, RUN.seconds, (), ("a: b\n",), {"\u202e}": 1})
    found = yaml.safe_load(printed(hostile))
    assert set(found) == {"reality", "step_time_points"}
    assert found["reality"][0]["torch"] == "2.13"
    assert "evil" not in printed(hostile)


def test_an_unknown_chip_is_shown_and_not_fitted() -> None:
    """A chip of which nothing is known keeps its name and its cores, and no time is predicted."""
    found = yaml.safe_load(measurement(RUN, MAC, None, None, Predicted()))
    assert found["step_time_points"][0]["use"] == "loose"
    assert found["step_time_points"][0]["predicted"].keys() == {"by"}


def test_the_benchmarks_take_it_in(tmp_path: Path) -> None:
    """Both entries, with the link of the issue: a step time beside its estimate, and memory beside what was predicted."""
    found = yaml.safe_load(printed())
    points = tmp_path / "points.yaml"
    points.write_text(yaml.safe_dump([{"source": "issue 7", "points": found["step_time_points"]}]))
    point = benchmark("step_time").published(points)[0]
    chip = chip_of("Apple M3 Pro", 18)
    assert chip is not None
    assert (point.source, point.chip, point.seconds, point.use) == ("issue 7", chip, 0.4123, "fit")
    assert step_time(point.work, chip).seconds == pytest.approx(step_time(WORK, chip).seconds, rel=0.01)

    rows = list(benchmark("reality").measured_rows({**found["reality"][0], "source": "issue 7"}))
    assert [(row.name.rpartition(" ")[2], row.what, row.is_right) for row in rows] == [
        ("1", "live", True),
        ("1", "driver", True),
        ("180", "live", True),
        ("180", "driver", True),
    ]


def test_a_run_is_kept_and_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing kept and a file are one line each; a kept run is printed, without the work of a step where its script is gone."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))

    def asked(*more: str) -> tuple[int, str, str]:
        done = mpslint(["report", "--measurement", *more], tmp_path, os.environ)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    code, output, errors = asked()
    assert (code, output, errors.count("\n")) == (3, "", 1)
    assert "mpslint run" in errors
    keep_watched(replace(RUN, device="cuda"))
    assert asked()[0] == 3
    keep_watched(RUN)
    assert last_run() == RUN
    code, output, errors = asked()
    assert (code, yaml.safe_load(output)["reality"][0]["live"]) == (0, 800.0)
    assert "the work of a step isn't in it" in errors
    assert asked("x.log")[0] == 2


def test_the_last_verify_of_the_same_file_is_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory by step of an emulated run, found by the file's own path."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    steps = tuple(StepRecord(number, live=number * MIB, driver=9 * MIB) for number in range(1, 13))
    keep([VerifyReport("train.py", VerifiedMac(), (RunResult("as written", "emulated", steps),))])
    assert [one.step for one in emulated_memory(str(tmp_path / "train.py"))] == [1, 2, 5, 10, 12]
    assert emulated_memory(str(tmp_path / "other.py")) == ()


def test_steps_without_memory_are_left_out() -> None:
    """Where the probe measured nothing, there is nothing to keep."""
    assert memory_of([(1, 5, 6, None), (2, None, None, 1), (3, 7, None, 1)]) == (MemoryAt(1, 5, 6, -1), MemoryAt(3, 7, -1, 1))
    assert memory_of([]) == ()


@pytest.mark.parametrize(("said", "cores"), [('  "gpu-core-count" = 18\n', 18), ('  "gpu-core-count" = x\n', None), ("", None)])
def test_cores_are_those_that_the_driver_says(said: str, cores: int | None) -> None:
    """ioreg names them; without its answer they aren't known."""
    assert gpu_cores(lambda _: said) == cores

"""Doctor says what is known of this machine and environment, what is broken in it, and what it cannot know."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from mpslint.core.system import printed_by
from mpslint.core.versions import parse_version
from mpslint.diagnose.catalogue import catalogue
from mpslint.doctor import Examination, examine
from mpslint.doctor.environment import TorchProbe, find_accelerate_config, installed_packages, known_packages, probe_torch, versions_of
from mpslint.doctor.machine import Run, ThisMachine, examine_machine
from mpslint.doctor.problems import (
    broken_combinations,
    config_problems,
    machine_problems,
    variable_problems,
)
from mpslint.report.console import console
from mpslint.report.doctor import examination_json, operator_rows, print_examination
from mpslint.target.packages import combinations
from mpslint.verify.platform import missing_operators

MAC = ThisMachine("Darwin", (15, 3), "Apple M2 Pro", "arm64", 16 * 1024**3, False, False, None)
LINUX = ThisMachine("Linux", None, "x86_64", "x86_64", 16 * 1024**3, None, None, None)


def mac_that_says(**answers: str) -> Run:
    """Return a runner that answers as a Mac would."""
    values = {
        "machdep.cpu.brand_string": "Apple M2 Pro",
        "hw.memsize": str(16 * 1024**3),
        "sysctl.proc_translated": "0",
        "kern.hv_vmm_present": "0",
        "iogpu.wired_limit_mb": "0",
        **answers,
    }

    def run(command: Sequence[str]) -> str:
        return "15.3.1" if command[0] == "/usr/bin/sw_vers" else values[command[-1]]

    return run


def found(**packages: str) -> list[str]:
    """Return the ids of the combinations that are broken with these versions on macOS 15."""
    macos = parse_version(packages.pop("macos", "15.3"))
    return [problem.id for problem in broken_combinations(versions_of(packages, macos))]


def test_a_mac_is_described_by_what_its_system_says() -> None:
    """macOS, chip, memory and whether Python runs natively come from sw_vers and sysctl."""
    machine = examine_machine(mac_that_says(), "Darwin", "arm64")

    assert machine == ThisMachine("Darwin", (15, 3, 1), "Apple M2 Pro", "arm64", 16 * 1024**3, False, False, None)
    assert machine_problems(machine, TorchProbe(built=True, available=True, usable=True)) == ()


def test_rosetta_and_virtual_macs_are_problems() -> None:
    """A translated Python and a virtual machine are told from the answers of sysctl."""
    run = mac_that_says(**{"sysctl.proc_translated": "1", "kern.hv_vmm_present": "1", "iogpu.wired_limit_mb": "14000"})
    machine = examine_machine(run, "Darwin", "x86_64")

    assert machine.wired_limit == 14000
    assert [problem.id for problem in machine_problems(machine, None)] == ["rosetta", "virtual"]


def test_a_mac_that_answers_nothing_is_still_described() -> None:
    """Missing commands leave gaps, no errors."""
    machine = examine_machine(lambda command: "", "Darwin", "arm64")

    assert machine == ThisMachine("Darwin", None, "arm64", "arm64", None, False, False, None)


def test_other_systems_say_what_they_are() -> None:
    """On Linux nothing about macOS is claimed."""
    machine = examine_machine(system="Linux", architecture="aarch64")

    assert not machine.is_mac
    assert (machine.macos, machine.rosetta, machine.virtual) == (None, None, None)


@pytest.mark.parametrize("command", [["false"], ["no-such-command-anywhere"]])
def test_a_command_that_fails_says_nothing(command: list[str]) -> None:
    """A failing command is an empty answer."""
    assert printed_by(command) == ""


@pytest.mark.parametrize(
    ("probe", "problem"),
    [
        (TorchProbe(built=False, available=False), "not-built"),
        (TorchProbe(built=True, available=False), "not-available"),
        (TorchProbe(built=True, available=True, usable=False), "not-usable"),
        (TorchProbe(error="import torch failed"), "torch-silent"),
    ],
)
def test_what_torch_says_is_judged_on_a_mac_only(probe: TorchProbe, problem: str) -> None:
    """No MPS is an error on a Mac and nothing to say elsewhere."""
    assert [item.id for item in machine_problems(MAC, probe)] == [problem]
    assert [item.id for item in machine_problems(LINUX, probe)] == (["torch-silent"] if probe.error else [])


@pytest.mark.parametrize(
    ("packages", "present", "absent"),
    [
        ({"torch": "2.15.0", "macos": "14.6"}, "torch-2.15-needs-macos-15", ""),
        ({"torch": "2.15.0"}, "", "torch-2.15-needs-macos-15"),
        ({"torch": "2.10.0", "macos": "13.7"}, "torch-2.9-needs-macos-14", "torch-2.15-needs-macos-15"),
        ({"torch": "2.7.1", "macos": "12.7"}, "torch-2.6-needs-macos-13", "torch-needs-macos-12.3"),
        ({"transformers": "4.42.3"}, "transformers-4.42-device", ""),
        ({"transformers": "4.43.0"}, "", "transformers-4.42-device"),
        ({"trl": "0.20.0", "transformers": "4.53.3"}, "trl-bf16-default", ""),
        ({"trl": "0.23.0", "transformers": "4.53.3"}, "", "trl-bf16-default"),
        ({"trl": "1.14.2", "transformers": "5.13.0"}, "trl-device-map-auto", ""),
        ({"trl": "1.14.2", "transformers": "5.10.0"}, "", "trl-device-map-auto"),
        ({"trl": "1.15.0", "transformers": "5.10.0"}, "", "trl-device-map-auto"),
        ({"transformers": "4.57.1", "accelerate": "1.10.1", "torch": "2.9.1"}, "bf16-silently-fp32-4.56", "bf16-refused"),
        ({"transformers": "4.57.1", "accelerate": "1.11.0"}, "", "bf16-silently-fp32-4.56"),
        ({"transformers": "5.0.0", "accelerate": "1.10.0"}, "bf16-refused-by-accelerate", ""),
        ({"accelerate": "1.10.0"}, "fp16-refused-by-accelerate", "fp16-without-scaling"),
        ({"accelerate": "0.25.0", "torch": "2.9.1"}, "fp16-without-scaling", "fp16-refused-by-accelerate"),
        ({"accelerate": "0.21.0", "torch": "2.9.1"}, "", "fp16-without-scaling"),
        ({"torch": "2.13.0"}, "allocator-keeps-buffers", "scaler-zeroes-half-gradients"),
        ({"torch": "2.14.1"}, "checkpointing-with-dropout", "allocator-keeps-buffers"),
        ({"lightning": "2.5.6", "torch": "2.8"}, "lightning-precision-ignored", ""),
        ({"bitsandbytes": "0.50.2"}, "bitsandbytes-optimizers", "bitsandbytes-without-mps"),
    ],
)
def test_broken_combinations(packages: dict[str, str], present: str, absent: str) -> None:
    """What breaks is told by the versions, to the patch where that matters."""
    ids = found(**packages)

    assert not present or present in ids
    assert absent not in ids


def test_every_combination_has_a_source_and_names_packages_that_are_looked_at() -> None:
    """A combination that names an unknown package could never be found."""
    known = {*known_packages(), "macos", "python"}

    for entry in combinations():
        assert entry.sources, entry.id
        assert set(entry.versions.packages) <= known, entry.id


def test_every_upgrade_that_the_catalogue_advises_can_be_checked() -> None:
    """The packages of an upgrade are packages that a log or doctor can name."""
    known = {*known_packages(), "macos", "python"}
    explanations = [
        *(message.explanation for message in catalogue().messages.values()),
        *catalogue().verdicts.values(),
    ]

    for explanation in explanations:
        for change in explanation.changes:
            assert set(change.upgrade.packages) <= known, explanation.title


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, []),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.0"}, ["No limit"]),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.7"}, ['invalid low watermark ratio 1.4"']),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.7", "PYTORCH_MPS_LOW_WATERMARK_RATIO": "0.5"}, []),
        ({"PYTORCH_MPS_LOW_WATERMARK_RATIO": "1.9"}, ['invalid low watermark ratio 1.9"']),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "2.5"}, ["0 to 2 only"]),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "-1"}, ["0 to 2 only"]),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "a lot"}, ["Not a number"]),
        ({"PYTORCH_ENABLE_MPS_FALLBACK": "true"}, ["Not a number"]),
        ({"PYTORCH_ENABLE_MPS_FALLBACK": "1"}, []),
        ({"PYTORCH_MPS_MEMORY_LIMIT_MB": "4096"}, ["No release of PyTorch"]),
        ({"ACCELERATE_USE_CPU": "true"}, ["runs on the CPU"]),
        ({"HOME": "/Users/ann", "SECRET_TOKEN": "abc"}, []),
    ],
)
def test_variables(environ: dict[str, str], said: list[str]) -> None:
    """Values that PyTorch refuses, ignores or should not be given are named with what happens."""
    problems = variable_problems(environ)

    assert len(problems) == len(said)
    assert all(text in problem.effect for text, problem in zip(said, problems, strict=True))


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        ({"use_cpu": False, "distributed_type": "NO", "num_processes": 1, "mixed_precision": "no"}, []),
        ({"use_cpu": True}, ["use_cpu"]),
        ({"distributed_type": "MPS", "use_mps_device": True}, ["distributed_type", "use_mps_device"]),
        (
            {"distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": 2}},
            ["distributed_type", "deepspeed_config"],
        ),
        ({"fsdp_config": {}, "num_processes": 8, "mixed_precision": "fp16"}, ["mixed_precision", "num_processes"]),
    ],
)
def test_the_accelerate_configuration(settings: dict[str, object], keys: list[str]) -> None:
    """Keys that do not fit a Mac are named with what to write."""
    assert [problem.id.split(":")[0] for problem in config_problems(settings)] == keys


def test_where_the_accelerate_configuration_lies(tmp_path: Path) -> None:
    """It is in the cache of Hugging Face, which variables move; a broken file is said to be broken."""
    assert find_accelerate_config({}, tmp_path) is None

    folder = tmp_path / ".cache" / "huggingface" / "accelerate"
    folder.mkdir(parents=True)
    (folder / "default_config.json").write_text('{"use_cpu": true}')
    found_json = find_accelerate_config({}, tmp_path)
    moved = find_accelerate_config({"HF_HOME": str(folder.parent)}, Path("/nowhere"))
    (folder / "default_config.yaml").write_text("use_cpu: [")
    broken = find_accelerate_config({"XDG_CACHE_HOME": str(tmp_path / ".cache")}, Path("/nowhere"))
    (folder / "default_config.yaml").write_text("just a text")
    empty = find_accelerate_config({}, tmp_path)

    assert found_json is not None
    assert found_json.settings == {"use_cpu": True}
    assert moved == found_json
    assert broken is not None
    assert "cannot be read" in broken.error
    assert empty is not None
    assert empty.error == "holds no keys"


def python_that(tmp_path: Path, does: str) -> str:
    """Return a program that stands in for Python."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
@pytest.mark.parametrize(
    ("does", "probe"),
    [
        (
            'echo noise; echo \'{"built": true, "available": true, "usable": true, "recommended": 123}\'',
            TorchProbe(True, True, True, 123),
        ),
        (
            'echo \'{"built": true, "available": true, "usable": false, "error": "MPS backend out of memory"}\'',
            TorchProbe(True, True, False, None, "MPS backend out of memory"),
        ),
        ("echo 'ImportError: no' >&2; exit 1", TorchProbe(error="import torch failed: ImportError: no")),
        ("exit 3", TorchProbe(error="import torch failed: it ended with status 3")),
        ("echo nothing", TorchProbe(error="torch printed something else than its answers")),
        ("echo '[]'", TorchProbe(error="torch printed something else than its answers")),
        ("true", TorchProbe(error="torch printed something else than its answers")),
        ("exec sleep 30", TorchProbe(error="no answer from torch within 0.5 seconds")),
    ],
)
def test_torch_is_asked_in_a_child_process(tmp_path: Path, does: str, probe: TorchProbe) -> None:
    """Whatever the import of torch does, doctor goes on."""
    timeout = 0.5 if "sleep" in does else 20.0

    assert probe_torch(timeout, python_that(tmp_path, does)) == probe


def test_a_python_that_is_not_there() -> None:
    """A missing interpreter is an answer too."""
    assert "could not be started" in probe_torch(5, "/no/such/python").error


def test_the_real_torch_answers_or_is_missing() -> None:
    """With torch installed the probe gets its answers; without it the import's own words."""
    probe = probe_torch(120)

    assert (probe.built is not None) == ("torch" in installed_packages())


def examined(machine: ThisMachine, environ: dict[str, str], home: Path, **packages: str) -> Examination:
    """Return an examination of a made-up environment."""
    return examine(ask_torch=False, machine=machine, packages=packages, environ=environ, home=home)


def test_an_examination_of_a_mac(tmp_path: Path) -> None:
    """What concerns every run is told from what matters with some settings only."""
    sound = examined(MAC, {}, tmp_path, torch="2.14.1", accelerate="1.15.0")
    broken = examined(MAC, {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.7"}, tmp_path, torch="2.14.1")

    assert sound.limits == ""
    assert not sound.concerns_every_run
    assert any(problem.only_with for problem in sound.problems)
    assert broken.concerns_every_run


def test_an_examination_elsewhere_says_its_limits(tmp_path: Path) -> None:
    """On Linux nothing that depends on macOS is claimed, and that is said."""
    examination = examined(LINUX, {}, tmp_path, torch="2.15.0")

    assert "not a Mac" in examination.limits
    assert "torch-2.15-needs-macos-15" not in [problem.id for problem in examination.problems]


def test_json_is_json(tmp_path: Path) -> None:
    """Everything that was found can be written as JSON."""
    folder = tmp_path / ".cache" / "huggingface" / "accelerate"
    folder.mkdir(parents=True)
    (folder / "default_config.yaml").write_text("use_cpu: true\nmixed_precision: bf16\n")

    data = json.loads(json.dumps(examination_json(examined(MAC, {"DISABLE_MPS": "1"}, tmp_path, torch="2.13.0"))))

    assert data["machine"]["macos"] == "15.3"
    assert data["variables"] == {"DISABLE_MPS": "1"}
    assert data["accelerate_config"]["settings"]["use_cpu"] is True
    assert {"id", "severity", "only_with", "effect", "change", "sources"} == set(data["problems"][0])


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Text and JSON say the same; the exit code tells whether every run is concerned."""
    for name in ("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO", "ACCELERATE_USE_CPU"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    runner = CliRunner()

    text = runner.invoke(group, ["doctor", "--no-torch"])
    as_json = runner.invoke(group, ["doctor", "--no-torch", "--format", "json"])
    monkeypatch.setenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.7")
    broken = runner.invoke(group, ["doctor", "--no-torch"])

    assert platform.python_version() in text.output
    assert "Variables in force" in text.output
    assert not any(line.endswith(" ") for line in text.output.splitlines())
    assert json.loads(as_json.output)["python"] == platform.python_version()
    assert broken.exit_code == 1
    assert "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.7" in broken.output


def test_the_command_shows_all_there_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The configuration file and what is wrong in it are shown."""
    folder = tmp_path / "accelerate"
    folder.mkdir()
    (folder / "default_config.yaml").write_text("use_cpu: true\n")
    monkeypatch.setenv("HF_HOME", str(tmp_path))

    result = CliRunner().invoke(group, ["doctor", "--timeout", "120"])

    assert result.exit_code == 1
    assert "use_cpu" in result.output
    assert "Write use_cpu: false." in " ".join(result.output.split())


def test_a_mac_as_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What a Mac and its torch say stands in the tables, and a clean one is said to be clean."""
    machine = ThisMachine("Darwin", (26, 1), "Apple M4", "x86_64", 24 * 1024**3, True, False, 20000)
    probe = TorchProbe(True, True, False, 17 * 1024**3, "MPS backend out of memory")
    examination = replace(examined(machine, {}, tmp_path), torch=probe)

    print_examination(examination, console())
    print_examination(examined(MAC, {}, tmp_path), console())
    printed = " ".join(capsys.readouterr().out.split())

    for text in ("macOS 26.1", "x86_64 (Rosetta)", "24 GB", "iogpu.wired_limit_mb 20000", "virtual machine no"):
        assert text in printed
    for text in ("MPS available yes", "MPS adds two numbers no", "Metal recommends 17.00 GiB", "MPS backend out of memory"):
        assert text in printed
    assert printed.endswith("Nothing known is wrong.")


def test_the_operators_that_mps_lacks_are_those_of_the_installed_torch() -> None:
    """By the table that verify asks too: a newer torch lacks fewer."""
    old, new = (dict(operator_rows(torch)) for torch in ("2.3.0", "2.13.0"))

    for torch, rows in (("2.3.0", old), ("2.13.0", new)):
        whole = {name.partition(".")[0] for name in missing_operators(torch) if not name.startswith("_")}
        assert rows["no MPS kernel"].startswith(f"{len(whole)} operators")
        assert rows["no MPS kernel"].endswith("(mpslint explain MPS910)")
    assert "col2im" in old["computed on the CPU"]
    assert "col2im" not in new["computed on the CPU"]
    assert len(missing_operators("2.13.0")) < len(missing_operators("2.3.0"))
    assert list(operator_rows("")) == []


def test_a_folder_of_configurations_that_nobody_may_look_into_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HF_HOME may be another user's."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refused)
    assert find_accelerate_config({"HF_HOME": str(tmp_path)}, tmp_path) is None

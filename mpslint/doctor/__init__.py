"""What this machine and this environment will do to a training run: `examine()` looks at everything once."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mpslint.core.knowledge import platform_data
from mpslint.doctor.environment import AccelerateConfig, TorchProbe, find_accelerate_config, installed_packages, probe_torch, versions_of
from mpslint.doctor.machine import Run, ThisMachine, examine_machine
from mpslint.doctor.problems import broken_combinations, config_problems, machine_problems, variable_problems, variables_in_force
from mpslint.target.packages import Problem

__all__ = ["Examination", "Problem", "Run", "ThisMachine", "TorchProbe", "examine"]


@dataclass(frozen=True, slots=True)
class Examination:
    """Everything that doctor found. `torch` is None when torch is not installed or was not to be asked."""

    machine: ThisMachine
    python: str
    packages: Mapping[str, str]
    torch: TorchProbe | None
    variables: Mapping[str, str]
    config: AccelerateConfig | None
    problems: tuple[Problem, ...]
    limits: str
    """What cannot be known here; empty on a Mac."""

    @property
    def concerns_every_run(self) -> bool:
        """Return whether something raises or goes wrong whatever the code does."""
        return any(problem.severity.rank == 0 and not problem.only_with for problem in self.problems)


def examine(
    *,
    ask_torch: bool = True,
    timeout: float = 60.0,
    machine: ThisMachine | None = None,
    packages: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> Examination:
    """Return what this machine and environment are; the last four arguments stand in for them in tests."""
    machine = machine or examine_machine()
    packages = installed_packages() if packages is None else packages
    environ = os.environ if environ is None else environ
    config = find_accelerate_config(environ, home or Path.home())
    torch = probe_torch(timeout) if ask_torch and "torch" in packages else None
    return Examination(
        machine=machine,
        python=platform.python_version(),
        packages=packages,
        torch=torch,
        variables=variables_in_force(environ),
        config=config,
        problems=(
            *machine_problems(machine, torch),
            *broken_combinations(versions_of(packages, machine.macos)),
            *variable_problems(environ),
            *(config_problems(config.settings) if config else ()),
        ),
        limits="" if machine.is_mac else " ".join(platform_data("doctor")["limits_on_this_machine"].split()),
    )

"""Seeded trainings, bad ones and their good twins: each script's first lines say the verdict that verify must give,
and why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from mpslint.verify.process import ChildLimits
from mpslint.verify.report import VerifyReport
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import VerifiedMac

pytest.importorskip("torch")
FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Expected:
    """One line `# verify: fail; check: NAME; says: TEXT; line: 7; torch: 2.13; memory: 16; values: yes`."""

    path: Path
    status: str
    check: str
    says: str
    line: str
    torch: str
    memory: int
    values: bool


def expectations() -> list[Expected]:
    """Return what all cases expect."""
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# verify: "):
                status, *rest = (part.strip() for part in line.removeprefix("# verify: ").split(";"))
                said = dict(part.split(": ", 1) for part in rest)
                found.append(
                    Expected(
                        path,
                        status,
                        said.get("check", ""),
                        said.get("says", ""),
                        f":{said['line']}" if "line" in said else "",
                        said.get("torch", "2.13"),
                        int(said.get("memory", "16")),
                        "values" in said,
                    )
                )
    return found


CASES = expectations()


def test_there_are_enough_cases_of_both_kinds() -> None:
    """At least 15 bad and 15 good cases."""
    assert sum(case.status == "fail" for case in CASES) >= 15
    assert sum(case.status == "pass" for case in CASES) >= 15


def verified(case: Expected) -> VerifyReport:
    """Return the report on one case."""
    backend: Literal["auto", "emulated"] = "auto" if case.values else "emulated"
    return verify_script(case.path, ScriptOptions(VerifiedMac(case.torch, case.memory), backend, limits=ChildLimits(seconds=300)))


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest) -> Iterator[dict[Expected, Future[VerifyReport]]]:
    """Verify all chosen cases, as many at once as there are processors: each runs in processes of its own."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    chosen = [item.callspec.params["case"] for item in items if item.module is request.module and hasattr(item, "callspec")]
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        yield {case: pool.submit(verified, case) for case in chosen}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.stem}-{case.status}-torch{case.torch}-{case.memory}GB")
def test_case_gets_its_verdict_for_its_reason(case: Expected, reports: dict[Expected, Future[VerifyReport]]) -> None:
    """A bad training fails the check that it must, with the right words; a good twin passes."""
    report = reports[case].result()
    said = [f"{check.name}: {check.status}: {check.reason}" for verdict in report.verdicts for check in verdict.checks]

    assert report.status == case.status, "\n".join([report.problem, *said])
    if case.status != "pass":
        failed = [check for check in report.verdicts[0].checks if check.status == case.status]
        told = [check for check in failed if check.name == case.check and case.says in check.reason]
        assert told, "\n".join(said)
        assert any(check.line.endswith(case.line) for check in told), told

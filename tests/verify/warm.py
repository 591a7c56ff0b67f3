"""`python -m tests.verify.warm`: verifies the scripts named on its standard input, one a line, in forks of this one warm process.

Importing torch and transformers takes most of the time of a short run; here it is paid once. Each line of the answer is
JSON: the status and what each check says. Only the process is shared: the code runs as `mpslint verify --script` runs it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from mpslint.verify import script as verify_module
from mpslint.verify import work
from mpslint.verify.child import __main__ as child
from mpslint.verify.child.dynamo import leave_compiler_out
from mpslint.verify.emulator.accumulate import last_reference
from mpslint.verify.job import Job
from mpslint.verify.process import ChildEnd, ChildLimits
from mpslint.verify.record import to_json

SECONDS = 90.0


def forked(job: Job, limits: ChildLimits, progress: Any = None, name: str = "", lodging: work.Lodging | None = None) -> work.Answer:
    """Have one job done in a fork of this process."""
    assert lodging is not None
    with tempfile.TemporaryDirectory() as place, work.Results(Path(place) / "result.jsonl", None, name) as results:
        asked, output = Path(place) / "job.json", Path(place) / "output"
        asked.write_text(f"[{to_json(job)}]", encoding="utf-8")
        output.touch()
        number = os.fork()
        if number == 0:
            _child([str(asked), str(results.theirs)], output, {**work.OFFLINE, **lodging.environment})
        deadline = time.monotonic() + limits.seconds
        while not (ended := os.waitpid(number, os.WNOHANG))[0]:
            results.read()
            if time.monotonic() > deadline:
                os.kill(number, 9)
                ended = os.waitpid(number, 0)
                break
            time.sleep(0.02)
        results.read()
        return work._answer(results, ChildEnd(os.waitstatus_to_exitcode(ended[1]), "", output.read_text(errors="replace"), 0.0))


def _child(arguments: list[str], output: Path, environment: Mapping[str, str]) -> None:
    """Do a job as the child process does, and end."""
    code = 1
    try:
        place = os.open(output, os.O_WRONLY)
        os.dup2(place, 1)
        os.dup2(place, 2)
        os.environ.update(environment)
        if "datasets" in sys.modules:
            sys.modules["datasets"].config.HF_DATASETS_CACHE = Path(environment.get("HF_DATASETS_CACHE", output.parent))
        sys.argv = ["child", *arguments]
        child.STARTED = time.monotonic()
        code = child.main()
    finally:
        os._exit(code)


def warm_up() -> None:
    """Import what most runs need, and have torch import what it needs for its first steps."""
    torch.set_num_threads(1)
    leave_compiler_out()
    last_reference()
    import datasets  # noqa: F401
    import transformers  # noqa: F401

    for device in ("meta", "cpu"):
        layer = torch.nn.Linear(2, 2, device=device)
        layer(torch.ones(1, 2, device=device)).sum().backward()
        torch.optim.AdamW(layer.parameters()).step()


def main() -> None:
    """Answer each line of the standard input."""
    warm_up()
    verify_module.do_job = forked
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        report = verify_module.verify_script(Path(line.strip()), verify_module.ScriptOptions(limits=ChildLimits(seconds=SECONDS)))
        checks = [(check.name, check.status, f"{check.reason} {check.line}") for verdict in report.verdicts for check in verdict.checks]
        sys.stdout.write(json.dumps({"status": report.status, "problem": report.problem, "checks": checks}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

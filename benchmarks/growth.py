"""Whether the work of mpslint grows in proportion to its input: each bad case at n, 2n and 4n, in CPU seconds.

    python benchmarks/growth.py [CASE ...] [--command check,fix] [--limit 1.3] [--times 2]

A case (growth_programs.py, growth_files.py) is a function that writes an input of size n. Every run is a process of its own, which reads
the smallest input first, so that what is loaded once does not count; of some times the least counts. `growth` is the time at 4n by four
times that at n: 1.0 is in proportion, 4.0 quadratic. Rows above --limit are marked, and the exit code is 1 when there are some (those
under 0.2 s at 4n are too short to be judged).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import growth_files
import growth_programs
from growth_writers import ARGUMENTS, HEAD, Case

PATIENCE = 60
"""Seconds after which a run is stopped."""
TOO_SHORT = 0.2
"""CPU seconds at 4n below which the start of Python says more than the input."""
CHILD = """
import os, sys, time
sys.stdout = open(os.devnull, "w")
from mpslint.cli import group
for folder in ("small", "large"):  # what is loaded and read once is there by the second time
    os.chdir(folder)
    start = time.process_time()
    try:
        group.main(sys.argv[1:], standalone_mode=False)
    except SystemExit:
        pass
    spent = time.process_time() - start
    os.chdir("..")
print(spent, file=sys.stderr)
"""
CASES = (*growth_programs.CASES, *growth_files.CASES)


def main() -> None:
    """Measure the cases that are asked for, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="part of the name of a case; default: all")
    parser.add_argument("--command", help="only these commands, after commas")
    parser.add_argument("--limit", type=float, default=1.3)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args()
    only = options.command.split(",") if options.command else None
    cases = [case for case in CASES if not options.case or any(word in case.name for word in options.case)]
    print("| case | command | n | CPU s at n | 2n | 4n | growth |\n|---|---|---|---|---|---|---|")
    above = 0
    for case in cases:
        for command in case.commands:
            if only is None or command in only:
                measured = [least(case, command, size, options.times) for size in (case.size, 2 * case.size, 4 * case.size)]
                above += show(case, command, measured, options.limit)
    sys.exit(1 if above else 0)


def show(case: Case, command: str, measured: list[float], limit: float) -> bool:
    """Print a row; return whether the case grows faster than the limit."""
    once, twice, four = measured
    growth = four / (4 * once)
    is_above = growth > limit and four > TOO_SHORT
    mark = " **" if is_above else ""
    print(f"| {case.name} | {command} | {case.size} | {once:.2f} | {twice:.2f} | {four:.2f} | {growth:.2f}{mark} |", flush=True)
    return is_above


def least(case: Case, command: str, size: int, times: int) -> float:
    """Return the least CPU seconds of some runs; infinite for one that had to be stopped or that failed."""
    with tempfile.TemporaryDirectory() as folder:
        for below, n in (("small", 1), ("large", size)):
            Path(folder, below).mkdir()
            written = case.write(n)
            texts = {case.file: written} if isinstance(written, str) else written
            for path, text in {"train.py": f"{HEAD}args = {ARGUMENTS}\n", **texts}.items():
                Path(folder, below, path).parent.mkdir(parents=True, exist_ok=True)
                Path(folder, below, path).write_text(text)
        name, *paths = command.split()
        extra = ["--isolated", "--no-cache", "--jobs", "1"] if name == "check" else ["--isolated"] if name == "fix" else []
        line = [sys.executable, "-c", CHILD, name, *extra, *(paths or [case.file])]
        return min(seconds(line, folder) for _ in range(times))


def seconds(line: list[str], folder: str) -> float:
    """Return the CPU seconds that one run took after its imports."""
    try:
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return float("inf")
    try:
        return float(done.stderr.splitlines()[-1])
    except (IndexError, ValueError):
        print(f"  {' '.join(line[3:])}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return float("inf")


if __name__ == "__main__":
    main()

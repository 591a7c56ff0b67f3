"""How fast mpslint is: every ratio that docs/speed.md gives, on any folder, in one run.

    python benchmarks/check_speed.py FOLDER [--venv FOLDER] [--runs 3] [--sample 60] [--only WORD]

FOLDER holds clones of repositories. The tools are taken from the virtual environment that --venv names (pip install mpslint ruff torchfix
pre-commit), else from PATH; what a missing tool would be compared with is left out. Each ratio is of CPU seconds (user and system) of the
best of some runs, one process each, and what is compared takes turns. Results don't depend on what else the machine does as much as
seconds by the clock do; still, give it a quiet one.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 1800
"""Seconds after which a tool is stopped."""
PARSE = """
import ast, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
for path in Path(sys.argv[1]).rglob("*.py"):
    try:
        ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
"""
"""What Python's own parser takes for the same files."""
HELLO = "import torch\n\nprint(torch.ones(3).sum())\n"
MANY_FILES = 4000
MANY_NOTEBOOKS = 3000


@dataclass(frozen=True)
class Command:
    """What is run."""

    line: tuple[str, ...]


@dataclass(frozen=True)
class Goal:
    """One row of the table: what is measured, what it is divided by (nothing: seconds), and the goal."""

    name: str
    measured: Command
    against: Command | None
    goal: float
    is_least: bool = False
    """The ratio should be at least the goal, and is of the other to mpslint."""
    of_memory: bool = False
    is_again: bool = False
    """It is run once before it is measured, so that its cache is full."""


@dataclass(frozen=True)
class Usage:
    """One run: CPU seconds, and the most memory of one process."""

    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Bench:
    """The tools, and a scratch folder."""

    venv: Path | None
    scratch: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def tool(self, name: str) -> str:
        """Return the path of a tool; '' where it isn't installed."""
        inside = self.venv / "bin" / name if self.venv is not None else None
        return str(inside) if inside is not None and inside.exists() else (shutil.which(name) or "") if self.venv is None else ""

    def check(self, *paths: Path, cached: bool = False) -> Command:
        """Return a check of some paths in one process, whole and quiet."""
        options = ["--isolated", "--quiet", "--jobs", "1", *([] if cached else ["--no-cache"])]
        return Command((self.tool("mpslint"), "check", *options, *map(str, paths)))

    def ruff(self, path: Path) -> Command:
        """Return ruff's check of a path, without its cache."""
        return Command((self.tool("ruff"), "check", "--isolated", "--no-cache", "--quiet", str(path)))


def main() -> None:
    """Measure what is there and print a Markdown table, missed goals first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--venv", type=Path, help="the virtual environment of the tools")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sample", type=int, default=60, help="files for TorchFix")
    parser.add_argument("--only", default="", help="only rows whose name holds this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.venv and options.venv.absolute(), Path(scratch), {"MPSLINT_CACHE_DIR": str(Path(scratch, "cache"))})
        print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {described(options.folder)}; ", end="")
        print(f"{version_of(bench, 'python')}, {version_of(bench, 'ruff')}; best of {options.runs} runs\n")
        goals = [goal for goal in goals_of(options.folder.absolute(), bench, options.sample) if options.only in goal.name]
        commands = dict.fromkeys(one for goal in goals for one in (goal.measured, goal.against) if one is not None)
        for goal in goals:
            if goal.is_again:
                run(goal.measured, bench)
        runs: dict[Command, list[Usage]] = {command: [] for command in commands}
        for _ in range(options.runs):  # in rounds, so that what else the machine does is shared by all
            for command in commands:
                runs[command].append(run(command, bench))
        rows = sorted((row(goal, runs) for goal in goals), key=lambda pair: pair[0])
        print("| what | mpslint | other | ratio | goal | |\n|---|---|---|---|---|---|")
        for _, text in rows:
            print(text)


def goals_of(folder: Path, bench: Bench, sample: int) -> list[Goal]:
    """Return the rows for which files and tools are there."""
    scripts, notebooks = sorted(folder.rglob("*.py")), sorted(folder.rglob("*.ipynb"))
    found: list[Goal] = []
    if scripts:
        found += of_scripts(folder, scripts, bench, sample)
    if notebooks:
        own, many = copied(notebooks, folder, bench.scratch / "notebooks"), bench.scratch / "many notebooks"
        repeated(notebooks, many, MANY_NOTEBOOKS)
        if bench.tool("ruff"):
            found.append(Goal(f"{len(notebooks)} notebooks, cold, against ruff", bench.check(own), bench.ruff(own), 2.5))
        found.append(Goal(f"MB for {MANY_NOTEBOOKS:,} notebooks, one process", bench.check(many), None, 120, of_memory=True))
    hello = bench.scratch / "hello" / "train.py"
    (hello.parent / ".git").mkdir(parents=True)  # a project of its own, whatever lies in the folder for temporary files
    hello.write_text(HELLO)
    failing = bench.scratch / "hello" / "fails.py"
    failing.write_text(HELLO.replace("ones(3)", "ones(3).cuda()"))
    found.append(Goal("--version, s", Command((bench.tool("mpslint"), "--version")), None, 0.04))
    found.append(Goal("one file without findings, s", bench.check(hello), None, 0.09))
    found.append(Goal("one file with findings, s", bench.check(failing), None, 0.13))
    return found


def of_scripts(folder: Path, scripts: Sequence[Path], bench: Bench, sample: int) -> list[Goal]:
    """Return the rows about Python files: by themselves, as projects, a second time, and a sample for TorchFix."""
    alone, whole, many = bench.scratch / "alone", copied(scripts, folder, bench.scratch / "projects"), bench.scratch / "many"
    for number, path in enumerate(scripts):  # each in a folder of its own, from which no import leads to another
        (alone / f"{number}_").mkdir(parents=True)
        shutil.copyfile(path, alone / f"{number}_" / path.name)
    repeated(scripts, many, MANY_FILES)
    chosen = random.Random(0).sample(list(scripts), min(sample, len(scripts)))
    few = copied(chosen, folder, bench.scratch / "sample")
    parse = Command((bench.tool("python") or sys.executable, "-c", PARSE, str(alone)))
    found = [
        Goal(f"{len(scripts)} scripts one by one, cold, against ast.parse", bench.check(alone), parse, 3.5),
        Goal("the same as projects, against one by one", bench.check(whole), bench.check(alone), 1.5),
        Goal(f"{MANY_FILES:,} files, second run, s", bench.check(many, cached=True), None, 0.2, is_again=True),
    ]
    if bench.tool("ruff"):
        found.append(Goal(f"{len(scripts)} scripts one by one, cold, against ruff", bench.check(alone), bench.ruff(alone), 5))
        found.append(Goal("the same as projects, against ruff", bench.check(whole), bench.ruff(whole), 5))
        hook = copied(scripts[:149], folder, bench.scratch / "hook")
        names = [str(hook / path.relative_to(folder)) for path in scripts[:149]]
        ruffs = Command((bench.tool("ruff"), "check", "--isolated", "--no-cache", "--quiet", *names))
        found.append(Goal(f"{len(names)} files named, as a hook names them, against ruff", bench.check(*map(Path, names)), ruffs, 2))
    if bench.tool("torchfix"):
        torchfix = Command((bench.tool("torchfix"), "--select", "ALL", "-j", "1", str(few)))
        found.append(Goal(f"TorchFix on {len(chosen)} of them, against mpslint", bench.check(few), torchfix, 100, is_least=True))
    return found


def copied(files: Sequence[Path], root: Path, target: Path) -> Path:
    """Copy files, keeping their folders: every tool sees the same ones, and none its own cache or configuration."""
    for file in files:
        destination = target / file.relative_to(root)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, destination)
    return target


def repeated(files: Sequence[Path], target: Path, number: int) -> None:
    """Copy files again and again, until there are so many of them."""
    target.mkdir()
    for count in range(number):
        shutil.copyfile(files[count % len(files)], target / f"f{count}{files[count % len(files)].suffix}")


def described(folder: Path) -> str:
    """Return how many files of which kind a folder holds, and how large they are."""
    told = []
    for ending, name in ((".py", "scripts"), (".ipynb", "notebooks")):
        sizes = [path.stat().st_size for path in folder.rglob(f"*{ending}")]
        told.append(f"{len(sizes)} {name}, {sum(sizes) / 1e6:.1f} MB")
    return "; ".join(told)


def version_of(bench: Bench, name: str) -> str:
    """Return what a tool says of its version. (How Python was built matters: as distributions build it, it is a fifth faster.)"""
    command = bench.tool(name) or (sys.executable if name == "python" else "")
    return subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.strip() if command else f"no {name}"


def run(command: Command, bench: Bench) -> Usage:
    """Run a command once. One that says nothing and fails is an error, so that no crash is taken for speed."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command.line, stdout=output, stderr=errors, env={**os.environ, **bench.environment})
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        watch.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode not in (0, 1) and not output.tell():
            told = errors.read().decode(errors="replace")[-300:]
            sys.exit(f"{' '.join(command.line)[:200]}: exit {process.returncode}: {told}")
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale)


def row(goal: Goal, runs: Mapping[Command, Sequence[Usage]]) -> tuple[float, str]:
    """Return one row of the table, and how well its goal was met, by which rows are sorted."""
    own = min(one.megabytes if goal.of_memory else one.seconds for one in runs[goal.measured])
    other = min(one.seconds for one in runs[goal.against]) if goal.against is not None else None
    figure = own if other is None else other / own if goal.is_least else own / other
    met = figure / goal.goal if goal.is_least else goal.goal / figure
    shown = "" if other is None else f"{other:.2f} s"
    unit = "MB" if goal.of_memory else "s"
    verdict = "met" if met >= 1 else "missed"
    least = "at least" if goal.is_least else "at most"
    return met, f"| {goal.name} | {own:.2f} {unit} | {shown} | {figure:.2f} | {least} {goal.goal:g} | {verdict} |"


if __name__ == "__main__":
    main()

"""How fast mpslint is: every ratio that docs/speed.md gives, on any folder of repositories, in one run.

    python benchmarks/check_speed.py FOLDER [--venv FOLDER] [--runs 3] [--only WORD] [--patience 600]

FOLDER holds one folder per repository. The tools are taken from the virtual environment that --venv names (pip install mpslint pyright
pylint mypy semgrep torchfix), else from PATH; what a missing tool would be compared with is left out, and so is a tool on a repository
where it fails or takes longer than the patience. Each ratio is of CPU seconds (user and system) of the best of some runs, one process each,
and what is compared takes turns. Results don't depend on what else the machine does as much as seconds by the clock do; still, give it a
quiet one.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
TAINT = """
rules:
  - id: device
    languages: [python]
    severity: WARNING
    message: a device that is written out
    mode: taint
    pattern-sources: [{pattern: '"cuda"'}]
    pattern-sinks: [{pattern: $X.to(...)}, {pattern: torch.device(...)}]
"""
"""One rule that makes semgrep follow values, the least that it can be asked for."""
HELLO = "import torch\n\nprint(torch.ones(3).sum())\n"
MANY_FILES, REPOSITORY_FILES, NAMED_FILES = 4000, 1000, 20


@dataclass(frozen=True)
class Command:
    """What is run, where, and the exit codes with which it has done its work."""

    line: tuple[str, ...]
    folder: Path | None = None
    done: tuple[int, ...] = (0, 1)


@dataclass(frozen=True)
class Peer:
    """A tool beside which mpslint is measured on each repository: mpslint takes its time divided by at least `goal` in the median."""

    name: str
    goal: float
    least: float | None = None
    """What the ratio is at least on every repository."""


PEERS = (
    Peer("pyright", 10, least=1),
    Peer("pylint", 8),
    Peer("mypy", 1.5),
    Peer("torchfix", 15),
    Peer("semgrep", 1),
    Peer("ast.parse", 1 / 8),
)


@dataclass(frozen=True)
class Goal:
    """One command that is measured by itself, in seconds or MB, and the most that it may take."""

    name: str
    measured: Command
    goal: float
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
    """The tools, a scratch folder, and the seconds after which a tool is stopped."""

    venv: Path | None
    scratch: Path
    patience: float
    environment: Mapping[str, str] = field(default_factory=dict)

    def tool(self, name: str) -> str:
        """Return the path of a tool; '' where it isn't installed."""
        inside = self.venv / "bin" / name if self.venv is not None else None
        return str(inside) if inside is not None and inside.exists() else (shutil.which(name) or "") if self.venv is None else ""

    def check(self, *paths: Path, cached: bool = False) -> Command:
        """Return a check of some paths in one process, whole and quiet."""
        options = ["--isolated", "--quiet", "--jobs", "1", *([] if cached else ["--no-cache"])]
        return Command((self.tool("mpslint"), "check", *options, *map(str, paths)), done=(0, 1, 3))

    def peer(self, name: str, folder: Path) -> Command | None:
        """Return a peer's check of a folder, cold, in one process and without the configuration of anybody; None where it isn't there."""
        options, done = {
            "pyright": (["."], (0, 1)),
            "pylint": (["--rcfile", os.devnull, "--recursive", "y", "--persistent", "n", "-j", "1", "."], tuple(range(32))),
            "mypy": (["--config-file", "", "--cache-dir", os.devnull, "--ignore-missing-imports", "--explicit-package-bases", "."], (0, 1)),
            "torchfix": (["--select", "ALL", "-j", "1", "."], (0, 1)),
            "semgrep": (["scan", "--config", self._taint(), "--metrics", "off", "--disable-version-check", "-j", "1", "-q", "."], (0, 1)),
            "ast.parse": (["-c", PARSE, "."], (0,)),
        }[name]
        tool = (self.tool("python") or sys.executable) if name == "ast.parse" else self.tool(name)
        return Command((tool, *options), folder, done) if tool else None

    def _taint(self) -> str:
        path = self.scratch / "taint.yaml"
        path.write_text(TAINT)
        return str(path)


def main() -> None:
    """Measure what is there and print two Markdown tables: the peers, and what is measured by itself."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--venv", type=Path, help="the virtual environment of the tools")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="only peers and rows whose name holds this")
    parser.add_argument("--patience", type=float, default=600, help="seconds after which a tool is stopped")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cache = {"MPSLINT_CACHE_DIR": str(Path(scratch, "cache"))}
        bench = Bench(options.venv and options.venv.absolute(), Path(scratch), options.patience, cache)
        print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; ", end="")
        print(f"Python {platform.python_version()}; best of {options.runs} runs\n", flush=True)
        repositories = sorted(path for path in options.folder.absolute().iterdir() if next(path.rglob("*.py"), None) is not None)
        print_peers(repositories, [peer for peer in PEERS if options.only in peer.name], bench, options.runs)
        goals = [goal for goal in goals_of(options.folder.absolute(), bench) if options.only in goal.name]
        print_goals(goals, bench, options.runs)


def print_peers(repositories: Sequence[Path], peers: Sequence[Peer], bench: Bench, runs: int) -> None:
    """Measure each repository with each peer, and print a row per repository and then one per peer."""
    ratios: dict[str, dict[str, float]] = {peer.name: {} for peer in peers}
    print(f"| repository | lines | mpslint | {' | '.join(peer.name for peer in peers)} |\n|---|---|---{'|---' * len(peers)}|")
    for repository in repositories if peers else ():
        scripts = sorted(repository.rglob("*.py"))
        folder = copied(scripts, repository, bench.scratch / "peers" / repository.name)
        (folder / ".git").mkdir()  # a project of its own
        commands = {peer.name: bench.peer(peer.name, folder) for peer in peers}
        found = measured({"": bench.check(folder), **{name: command for name, command in commands.items() if command}}, bench, runs)
        own = found.pop("")
        if own is None:
            continue
        for name, usage in found.items():
            if usage is not None:
                ratios[name][repository.name] = usage.seconds / own.seconds
        lines = sum(path.read_bytes().count(b"\n") for path in scripts)
        cells = [f"{one.seconds:.1f}" if (one := found.get(peer.name)) else "" for peer in peers]
        print(f"| {repository.name.replace('+', '/')} | {lines:,} | {own.seconds:.1f} s | {' | '.join(cells)} |", flush=True)
    print("\n| peer, its time divided by mpslint's | repositories | median | least | goal | |\n|---|---|---|---|---|---|")
    for peer in peers:
        if ratios[peer.name]:
            median, (worst, least) = statistics.median(ratios[peer.name].values()), min(ratios[peer.name].items(), key=lambda pair: pair[1])
            met = median >= peer.goal and least >= (peer.least or 0)
            goal = f"{peer.goal:g}" + (f", nowhere below {peer.least:g}" if peer.least else "")
            shown = f"{median:.2f} | {least:.2f} ({worst.replace('+', '/')})"
            print(f"| {peer.name} | {len(ratios[peer.name])} | {shown} | {goal} | {'met' if met else 'missed'} |")


def print_goals(goals: Sequence[Goal], bench: Bench, runs: int) -> None:
    """Measure what stands by itself, and print a row of each."""
    print("\n| what | mpslint | goal | |\n|---|---|---|---|")
    for goal in goals:
        if goal.is_again:
            run(goal.measured, bench)
        found = measured({"": goal.measured}, bench, runs)[""]
        if found is not None:
            figure, unit = (found.megabytes, "MB") if goal.of_memory else (found.seconds, "s")
            print(f"| {goal.name} | {figure:.2f} {unit} | {goal.goal:g} | {'met' if figure <= goal.goal else 'missed'} |", flush=True)


def goals_of(folder: Path, bench: Bench) -> list[Goal]:
    """Return what is measured by itself: the start, one file, a second run, a hook in a large repository, and memory."""
    scripts = sorted(folder.rglob("*.py"))
    many, large = bench.scratch / "many", bench.scratch / "large"
    repeated(scripts, many, MANY_FILES)
    repeated(scripts, large, REPOSITORY_FILES)
    hello, failing = (bench.scratch / "hello" / name for name in ("train.py", "fails.py"))
    (hello.parent / ".git").mkdir(parents=True)
    hello.write_text(HELLO)
    failing.write_text(HELLO.replace("ones(3)", "ones(3).cuda()"))
    named = sorted(large.glob("*.py"))[:NAMED_FILES]
    return [
        Goal("--version, s", Command((bench.tool("mpslint"), "--version")), 0.05),
        Goal("one file without findings, s", bench.check(hello), 0.10),
        Goal("one file with findings, s", bench.check(failing), 0.15),
        Goal(f"{MANY_FILES:,} files, second run, s", bench.check(many, cached=True), 0.2, is_again=True),
        Goal(f"{NAMED_FILES} named files of a repository of {REPOSITORY_FILES:,}, cold, s", bench.check(*named), 1),
        Goal(f"{REPOSITORY_FILES:,} files, MB", bench.check(large), 150, of_memory=True),
    ]


def copied(files: Sequence[Path], root: Path, target: Path) -> Path:
    """Copy files, keeping their folders: every tool sees the same ones, and none its own cache or configuration."""
    for file in files:
        destination = target / file.relative_to(root)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, destination)
    return target


def repeated(files: Sequence[Path], target: Path, number: int) -> None:
    """Make a repository of copies of files, again and again, until there are so many of them."""
    (target / ".git").mkdir(parents=True)
    for count in range(number):
        shutil.copyfile(files[count % len(files)], target / f"f{count}{files[count % len(files)].suffix}")


def measured(commands: Mapping[str, Command], bench: Bench, runs: int) -> dict[str, Usage | None]:
    """Return the best run of each command, None where it failed; in rounds, so that what else the machine does is shared by all."""
    found: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            usage = run(command, bench)
            found[name] += [usage] if usage is not None else []
    return {name: min(all_runs, key=lambda one: one.seconds, default=None) for name, all_runs in found.items()}


def run(command: Command, bench: Bench) -> Usage | None:
    """Run a command once; None where it ends with a code of failure, so that no crash is taken for speed."""
    with tempfile.TemporaryFile() as output:
        environment = {**os.environ, **bench.environment}
        process = subprocess.Popen(command.line, cwd=command.folder, stdout=output, stderr=output, env=environment, start_new_session=True)
        watch = threading.Timer(bench.patience, os.killpg, (process.pid, signal.SIGKILL))  # a wrapper's child, too
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        watch.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in command.done:
            output.seek(0)
            told = output.read().decode(errors="replace")[-200:]
            print(f"{' '.join(command.line)[:80]}: exit {process.returncode}: {told!r}", file=sys.stderr)
            return None
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale)


if __name__ == "__main__":
    main()

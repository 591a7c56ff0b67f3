"""Reading findings on code of strangers: draw some, judge each by hand, keep the tally, and compare two versions of mpslint.

    python benchmarks/audit.py check FOLDER -o findings.json     every subfolder of FOLDER is one repository
    python benchmarks/audit.py draw findings.json --seed 1       60 errors and warnings, spread over repository x rule, with their code
    python benchmarks/audit.py judge verdicts.jsonl KEY right|noise|wrong [WHY]
    python benchmarks/audit.py tally verdicts.jsonl              counts by rule; exits 1 where a rule is wrong too often
    python benchmarks/audit.py compare before.json after.json    the findings that a change adds and removes; exits 1 when there are any
    python benchmarks/audit.py clone benchmarks/labelled.yaml FOLDER          the public commits that the labels are about
    python benchmarks/audit.py measure benchmarks/labelled.yaml findings.json  recall and precision on them; exits 1 below the goals

Before a change of rules or of the evaluator lands: `clone` once, `check` before and after it, and `compare` and `measure` the two.

A finding's KEY is a hash of its repository, file, rule and the text that it marks, so that a verdict survives edits elsewhere in the
file, and new words in a message. `check` runs no code of the repositories and reads no configuration of theirs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

VERDICTS = ("right", "noise", "wrong")
ENOUGH = 50
"""Verdicts after which a rule's share of wrong findings counts."""
MOST_WRONG = 0.02
LINES = 6
"""Lines of code that are shown before and after a finding."""
WIDEST = 240
RECALL, PRECISION = 0.95, 0.98
"""What is wanted on the labelled files."""


@dataclass(frozen=True)
class Found:
    """One finding of one repository, as it is kept in a file."""

    key: str
    repository: str
    path: str
    line: int
    rule: str
    severity: str
    message: str
    fix: str
    code: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands, and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser("check")
    checked.add_argument("folder", type=Path)
    checked.add_argument("-o", "--output", type=Path, required=True)
    drawn = commands.add_parser("draw")
    drawn.add_argument("findings", type=Path)
    drawn.add_argument("--seed", type=int, default=0)
    drawn.add_argument("--count", type=int, default=60)
    drawn.add_argument("--severity", nargs="+", default=["error", "warning"])
    judged = commands.add_parser("judge")
    judged.add_argument("verdicts", type=Path)
    judged.add_argument("key")
    judged.add_argument("verdict", choices=VERDICTS)
    judged.add_argument("why", nargs="?", default="")
    judged.add_argument("--findings", type=Path, help="where the finding is described; its rule is kept beside the verdict")
    tallied = commands.add_parser("tally")
    tallied.add_argument("verdicts", type=Path)
    compared = commands.add_parser("compare")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    cloned = commands.add_parser("clone")
    cloned.add_argument("labels", type=Path)
    cloned.add_argument("folder", type=Path)
    measured = commands.add_parser("measure")
    measured.add_argument("labels", type=Path)
    measured.add_argument("findings", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "check":
        return write(given.output, found_in(given.folder))
    if given.command == "draw":
        return show(draw(read(given.findings), given.seed, given.count, given.severity))
    if given.command == "judge":
        return judge(given.verdicts, given.key, given.verdict, given.why, read(given.findings) if given.findings else [])
    if given.command == "tally":
        return tally(given.verdicts)
    if given.command == "clone":
        return clone(labelled(given.labels), given.folder)
    if given.command == "measure":
        return measure(labelled(given.labels), read(given.findings))
    return compare(read(given.before), read(given.after))


def found_in(folder: Path) -> Iterator[Found]:
    """Yield every finding in the repositories of a folder. Raises CalledProcessError when mpslint fails."""
    command = [sys.executable, "-m", "mpslint", "check", str(folder), "--isolated", "--no-cache", "--exit-zero", "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if not ran.stdout:
        raise SystemExit(ran.stderr)
    for file in json.loads(ran.stdout)["files"]:
        path = Path(file["path"])
        inner = path.relative_to(folder)
        text = path.read_text(errors="replace").splitlines() if file["findings"] else []
        for finding in file["findings"]:
            line = finding["place"]["physical_line"]
            shown = range(max(1, line - LINES), min(len(text), line + LINES) + 1)
            code = "\n".join(f"{number:>5} {'>' if number == line else '|'} {text[number - 1][:WIDEST]}" for number in shown)
            named = (str(inner), finding["rule"], finding["text"])
            fix = f"{finding['fix']['safety']}: {finding['fix']['summary']}" if finding["fix"] else ""
            yield Found(
                hashlib.sha256("\n".join(named).encode()).hexdigest()[:12],
                inner.parts[0],
                str(inner),
                line,
                finding["rule"],
                finding["severity"],
                finding["message"],
                fix,
                code,
            )


def write(output: Path, findings: Iterator[Found]) -> int:
    """Write findings, one a line, and print how many there are of each severity."""
    kept = list(findings)
    output.write_text("".join(json.dumps(asdict(finding)) + "\n" for finding in kept))
    print(", ".join(f"{number} {severity}" for severity, number in Counter(f.severity for f in kept).most_common()))
    return 0


def read(path: Path) -> list[Found]:
    """Return the findings that `write` wrote."""
    return [Found(**json.loads(line)) for line in path.read_text().splitlines()]


def draw(findings: Sequence[Found], seed: int, count: int, severities: Sequence[str]) -> list[Found]:
    """Return findings drawn over repository x rule: one of each pair before a second of any."""
    chance = random.Random(seed)
    pairs: dict[tuple[str, str], list[Found]] = defaultdict(list)
    for finding in findings:
        if finding.severity in severities:
            pairs[finding.repository, finding.rule].append(finding)
    drawn: list[Found] = []
    while len(drawn) < count and any(pairs.values()):
        order = sorted(pair for pair, left in pairs.items() if left)
        chance.shuffle(order)
        drawn += [pairs[pair].pop(chance.randrange(len(pairs[pair]))) for pair in order[: count - len(drawn)]]
    return drawn


def show(findings: Sequence[Found]) -> int:
    """Print findings with their code, for reading."""
    for number, finding in enumerate(findings, start=1):
        print(f"[{number}] {finding.key}  {finding.path}:{finding.line}  {finding.severity} {finding.rule}")
        print(f"    {finding.message}\n    fix {finding.fix}\n{finding.code}\n")
    return 0


def judge(verdicts: Path, key: str, verdict: str, why: str, findings: Sequence[Found]) -> int:
    """Add a verdict to the tally; a later one about the same finding counts instead."""
    rule = next((finding.rule for finding in findings if finding.key == key), "")
    if findings and not rule:
        print(f"no finding has the key {key}", file=sys.stderr)
        return 2
    with verdicts.open("a") as file:
        file.write(json.dumps({"key": key, "rule": rule, "verdict": verdict, "why": why}) + "\n")
    return 0


def tally(verdicts: Path) -> int:
    """Print the verdicts by rule; return 1 where one of enough verdicts is wrong too often."""
    last = {entry["key"]: entry for entry in map(json.loads, verdicts.read_text().splitlines())}
    by_rule: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in last.values():
        by_rule[entry["rule"]][entry["verdict"]] += 1
    failed = 0
    for rule, counts in sorted(by_rule.items()):
        judged = sum(counts.values())
        is_bad = judged >= ENOUGH and counts["wrong"] > MOST_WRONG * judged
        failed += is_bad
        print(f"{rule or '?':<8}", *(f"{verdict} {counts[verdict]:>3}" for verdict in VERDICTS), "TOO OFTEN WRONG" if is_bad else "")
    total = sum(by_rule.values(), Counter())
    print(f"{'all':<8}", *(f"{verdict} {total[verdict]:>3}" for verdict in VERDICTS))
    return 1 if failed else 0


def compare(before: Sequence[Found], after: Sequence[Found]) -> int:
    """Print which findings one version has and the other has not, by rule; return 1 when there are any."""
    missing = Counter(f.key for f in before) - Counter(f.key for f in after)
    added = Counter(f.key for f in after) - Counter(f.key for f in before)
    for sign, findings, keys in (("-", before, missing), ("+", after, added)):
        for finding in sorted({f.key: f for f in findings if f.key in keys}.values(), key=lambda f: (f.rule, f.path, f.line)):
            print(f"{sign} {finding.rule} {finding.severity} {finding.path}:{finding.line} {finding.message[:100]}")
    print(f"{missing.total()} removed, {added.total()} added")
    return 1 if missing or added else 0


@dataclass(frozen=True)
class Labelled:
    """A file of a public commit, with the rule and line of everything that is wrong in it."""

    repository: str
    commit: str
    path: str
    labels: frozenset[tuple[str, int]]

    @property
    def place(self) -> str:
        """The path below the folder that the repositories are cloned into."""
        return f"{self.repository.replace('/', '+')}/{self.path}"


def labelled(path: Path) -> list[Labelled]:
    """Return the labelled files."""
    return [
        Labelled(one["repository"], one["commit"], file["path"], frozenset((label["rule"], label["line"]) for label in file["labels"]))
        for one in yaml.safe_load(path.read_text())
        for file in one["files"]
    ]


def clone(files: Sequence[Labelled], folder: Path) -> int:
    """Fetch each repository at its commit into a subfolder that is named after it; what is there stays as it is."""
    for repository, commit in sorted({(file.repository, file.commit) for file in files}):
        into = folder / repository.replace("/", "+")
        if into.exists():
            continue
        subprocess.run(["git", "init", "-q", str(into)], check=True)
        url = f"https://github.com/{repository}"
        subprocess.run(["git", "-C", str(into), "fetch", "-q", "--depth", "1", url, commit], check=True)
        subprocess.run(["git", "-C", str(into), "checkout", "-q", "FETCH_HEAD"], check=True)
    return 0


def measure(files: Sequence[Labelled], findings: Sequence[Found]) -> int:
    """Print what is missed and what is reported beside the labels, recall and precision; return 1 where one is below its goal."""
    wanted = {(file.place, *label) for file in files for label in file.labels}
    places = {file.place for file in files}
    reported = {(found.path, found.rule, found.line) for found in findings if found.path in places}
    for sign, entries in (("missed", wanted - reported), ("beside", reported - wanted)):
        for path, rule, line in sorted(entries):
            print(f"{sign} {rule} {path}:{line}")
    right = len(wanted & reported)
    recall, precision = right / max(1, len(wanted)), right / max(1, len(reported))
    print(f"{len(places)} files, {len(wanted)} labels: recall {recall:.2f}, precision {precision:.2f}")
    return 0 if recall >= RECALL and precision >= PRECISION else 1


if __name__ == "__main__":
    sys.exit(main())

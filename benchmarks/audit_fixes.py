"""Safe fixes on code of strangers: what each changed file must still be true of.

    python benchmarks/audit_fixes.py FOLDER [--count 500] [--seed 0] [--diffs DIFFS]

Every file of FOLDER that safe fixes change is rewritten in memory. It has to parse, no error or warning may appear in it, every name
that it uses has to be bound, and on a Linux machine with CUDA each run has to have the settings that are kept for other machines
(`elsewhere` in rules/settings.yaml) as before. `--diffs` also writes the diffs, for reading. Nothing is run; exits 1 when something fails.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any
from unittest import mock

from mpslint.core.finding import Severity
from mpslint.engine import check
from mpslint.program import evaluator
from mpslint.program.names import unbound
from mpslint.program.parse import parse_program
from mpslint.program.platform import with_cuda
from mpslint.rewrite.apply import FixError, fix
from mpslint.settings.evidence import gather_evidence
from mpslint.settings.setting import load_vocabulary
from mpslint.source.document import Document
from mpslint.source.reader import ReadError, read
from mpslint.target.target import Target, default_target

READ = (".py", ".ipynb", ".sh", ".yaml", ".yml", ".json")
LARGEST = 1_000_000
"""Bytes of the largest file that is read."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite files until enough have changed, print what fails, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--diffs", type=Path)
    given = parser.parse_args(arguments)
    paths = sorted(path for path in given.folder.rglob("*") if path.suffix in READ and path.is_file() and path.stat().st_size < LARGEST)
    random.Random(given.seed).shuffle(paths)
    changed, failed, diffs = 0, Counter[str](), []
    for path in paths:
        if changed == given.count:
            break
        try:
            before = read(str(path), path.read_bytes())
            after = read(str(path), fix(before, default_target()).data)
        except ReadError:
            continue
        except FixError as error:
            print(f"{path}: fix gave up: {error}")
            failed["gave up"] += 1
            continue
        if after.text == before.text:
            continue
        changed += 1
        diffs += unified_diff(before.text.splitlines(True), after.text.splitlines(True), str(path), str(path), n=2)
        for kind, what in broken(before, after, default_target()):
            failed[kind] += 1
            print(f"{path}: {kind}: {what}")
    if given.diffs:
        given.diffs.write_text("".join(diffs))
    print(f"{changed} files changed; " + (", ".join(f"{kind} {number}" for kind, number in failed.items()) or "nothing failed"))
    return 1 if failed else 0


def broken(before: Document, after: Document, target: Target) -> Iterator[tuple[str, str]]:
    """Yield what a rewritten Document is no longer true of."""
    if before.python and len(parse_program(after, after.python).unread) > len(parse_program(before, before.python).unread):
        yield "does not parse", parse_program(after, after.python).unread[0].reason
        return
    # A note may appear: about the GPU, once the rewritten file uses it.
    wrong = [Counter(f.rule for f in check(one, target).findings if f.severity != Severity.NOTE) for one in (before, after)]
    gained = wrong[1] - wrong[0]
    if gained:
        yield "gains findings", ", ".join(sorted(gained))
    if before.python:
        if unbound := unbound_names(after) - unbound_names(before):
            yield "unbound names", ", ".join(sorted(unbound))
        with mock.patch.object(evaluator, "load_platform", with_cuda):
            if settings_of(before, target) != settings_of(after, target):
                yield "changes with CUDA", f"{settings_of(before, target)} -> {settings_of(after, target)}"


def unbound_names(document: Document) -> frozenset[str]:
    """Return the names that a program reads where nothing has bound them."""
    body = parse_program(document, document.python).body
    return unbound(body, {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)})


def settings_of(document: Document, target: Target) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return what each run of a program is told about the settings that are kept for other machines."""
    kept = sorted(name for name, kind in load_vocabulary().items() if kind.elsewhere)
    found = []
    for plan in gather_evidence(document, document.python, target).plans:
        said = [(name, setting.constant if setting.is_known else None) for name in kept if (setting := plan.get(name)) is not None]
        found += [(plan.kind, said)] if said else []
    return found


if __name__ == "__main__":
    sys.exit(main())

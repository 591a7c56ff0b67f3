"""Measure the torch that is installed, and print or write the tables of `rules/signatures/` for it.

    python tools/make_signatures.py                 print which entries would change
    python tools/make_signatures.py --write         write the tables
    python tools/make_signatures.py --only torch.add   the same for some names

Each function and method is run with the samples of torch's own operator tests, and with the examples in `tools/signatures/`. What can't be
measured without an accelerator is in `tools/signatures/by_hand.yaml`, with its source.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from signatures.making import make

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "rules" / "signatures"


def main(given: list[str] | None = None) -> int:
    """Returns 1 where a table differs from what was measured and wasn't written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="qualified names to measure")
    parser.add_argument("--processes", type=int, default=2, help="processes that measure (default: %(default)s)")
    arguments = parser.parse_args(given)
    changed = 0
    for file, text in make(TABLES, arguments.only or (), arguments.processes).items():
        path = TABLES / file
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != before:
            changed += 1
            print(*sorted(set(text.splitlines()) ^ set(before.splitlines()), key=str.strip), sep="\n")
            if arguments.write:
                path.write_text(text, encoding="utf-8")
    return int(changed > 0 and not arguments.write)


if __name__ == "__main__":
    sys.exit(main())

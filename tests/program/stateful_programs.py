"""Draw programs with state, and compare what the interpreter knows of them with what CPython gives.

    python tests/program/stateful_programs.py --count 20000 --seed 7

Each false value is shown with the smallest program that has one. A seed draws the same programs on every machine; every other program is
one of those that use more of the language, and half of these use nearly all of it.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.program.against_cpython import RUNS, Comparison, compare, raising_line, smallest
from tests.program.rarer_programs import RarerWriter
from tests.program.undecided_programs import UndecidedWriter
from tests.program.wider_programs import WiderWriter
from tests.program.writer import Writer

MOST_REPAIRS = 12


def program(seed: int, statements: int = 24) -> str:
    """Return the program of a seed; of most, what would raise at once is left out, so that they get to their end."""
    writer = (Writer, WiderWriter, UndecidedWriter, RarerWriter)[seed % 4]
    code = writer(seed, statements).program()
    for _ in range(MOST_REPAIRS if seed % 8 else 0):
        if (line := raising_line(code, seed * RUNS)) is None:
            break
        tree = ast.parse(code)
        tree.body = [one for one in tree.body if not one.lineno <= line <= (one.end_lineno or 0)]
        code = ast.unparse(tree) + "\n"
    return code


def main(count: int, seed: int, statements: int, most_shown: int) -> int:
    """Compare this many programs; show each false value, and return 1 if there are any."""
    total = Comparison()
    false = 0
    for number in range(seed * 1_000_000, seed * 1_000_000 + count):
        one = compare(program(number, statements), number)
        total.known += one.known
        total.unknown += one.unknown
        total.varying += one.varying
        if one.false:
            false += 1
            if false <= most_shown:
                cut = smallest(program(number, statements), lambda code, number=number: bool(compare(code, number).false))  # type: ignore[misc]
                print(f"--- program {number}\n{cut}\n{compare(cut, number).false}\n", flush=True)
    places = max(1, total.known + total.unknown)
    print(
        f"{count} programs, {false} with a false value; {places} places, {total.unknown / places:.1%} unknown, {total.varying / places:.1%} vary"
    )
    return int(false > 0)


if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=24)
    parser.add_argument("--show", type=int, default=5)
    given = parser.parse_args()
    sys.exit(main(given.count, given.seed, given.statements, given.show))

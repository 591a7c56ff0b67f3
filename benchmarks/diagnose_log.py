"""How long `mpslint diagnose` takes on a long training log with one error near its end.

    python benchmarks/diagnose_log.py [MEGABYTES]

The log is made of the ordinary lines that the tests use.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from mpslint.diagnose import Log, diagnose
from tests.ordinary_log import ordinary_log

_ERROR = (
    "RuntimeError: MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, "
    "max allowed: 47.74 GiB). Tried to allocate 51.44 MiB on private pool."
)
_LINES_IN_A_MEGABYTE = 9_600


def main() -> None:
    """Print the time, the memory and what was recognised."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    lines = list(ordinary_log(megabytes * _LINES_IN_A_MEGABYTE))
    lines.insert(len(lines) - 40, _ERROR)
    text = "\n".join(lines)
    del lines
    start = time.perf_counter()
    diagnosis = diagnose(Log("benchmark", text))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    print(f"{len(text.encode()) / 1e6:.0f} MB, {diagnosis.lines:,} lines: {seconds:.2f} s, peak {peak:.0f} MB")
    print("recognised:", ", ".join(f"{symptom.message.id} at {symptom.place}" for symptom in diagnosis.symptoms))


if __name__ == "__main__":
    main()

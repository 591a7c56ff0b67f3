"""Whether a loader's worker processes could start on macOS, where they are spawned and import the script again."""

from __future__ import annotations

import pickle
import sys
from traceback import walk_stack
from typing import Any

from mpslint.verify.child.source import Piece, unguarded
from mpslint.verify.child.torch_patches import Report
from mpslint.verify.emulator.raised import without_addresses

NO_GUARD = (
    "DataLoader workers are spawned on macOS and import this script again: without `if __name__ "
    '== "__main__":` it raises "An attempt has been made to start a new process before the current '
    'process has finished its bootstrapping phase"'
)


def check_workers(loader: Any, main: Piece, report: Report) -> None:
    """Report a loader whose workers could not start."""
    running = ((frame.f_code, line) for frame, line in walk_stack(sys._getframe(1)))
    lines = [line for code, line in running if code.co_filename == main.file and code.co_name == "<module>"]
    if lines and not main.is_cell and unguarded(main, lines[0]):
        report("main-guard", "error", NO_GUARD)
    for name, value in (("dataset", loader.dataset), ("collate_fn", loader.collate_fn)):
        try:
            pickle.dumps(value)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            report("workers", "error", f"the loader's {name} cannot be sent to spawned workers: {without_addresses(str(error))}")

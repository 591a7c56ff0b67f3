"""The allocator that a script meets: what it sets in its environment before its first tensor counts."""

from __future__ import annotations

import contextlib
import os

from mpslint.verify.emulator.allocator import AllocatorModel
from mpslint.verify.emulator.pools import Block
from mpslint.verify.platform import rules_on
from mpslint.verify.spec import VerifiedMac

WATERMARK = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"


class LateAllocator(AllocatorModel):
    """The allocator as the code sets it up: MPS reads its limit from the environment when the first buffer is made."""

    def __init__(self, machine: VerifiedMac) -> None:
        super().__init__(rules_on(machine))
        self.machine, self._is_started = machine, False

    def allocate(self, size: int) -> Block | None:
        """Return the block of a tensor, the first one by what the environment says now."""
        self._start()
        self.allocate = super().allocate  # type: ignore[method-assign]
        return super().allocate(size)

    def limit(self, fraction: float) -> None:
        """Raise past so many times the recommended memory from now on, as `set_per_process_memory_fraction()` does; 0 is no limit."""
        self._start()
        self._set_ratio(fraction)

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            with contextlib.suppress(KeyError, ValueError):
                self._set_ratio(float(os.environ[WATERMARK]))

    def _set_ratio(self, ratio: float) -> None:
        self.rules = rules_on(self.machine, ratio)

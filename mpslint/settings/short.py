"""The short form of what a fix writes, for code that no other machine runs: what it asks the machine is answered."""

from __future__ import annotations

import re

from mpslint.core.knowledge import platform_data
from mpslint.target.target import Target


def as_on(target: Target, text: str) -> str:
    """Return Python as a fix writes it: what it is on the Mac, where that is the only machine, else what it is."""
    if not target.is_only_machine:
        return text
    asks = platform_data("cuda")["devices"]
    for question, answer in ((asks["asks_for_cuda"], False), (asks["asks_for_mps"], True)):
        choice = re.fullmatch(rf"(.+?) if {re.escape(question)} else (.+)", text)
        if choice is not None:
            text = choice[1] if answer else choice[2]
        elif text == question:
            text = str(answer)
    return text

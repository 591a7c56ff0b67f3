"""Since when torch has what a message says is missing: an operator on MPS, or a name of torch.mps and torch.accelerator."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.diagnose.catalogue import OPERATOR, Explanation, Message

SINCE, NEVER = "since", "never"
"""The ends of the verdicts of a message (`operator-falls-back-since`): a release has it, or none has."""
_NAMED = re.compile(r"(?:aten::)?(\w+)(?:\.(\w+))?")


def first_version(operator: str) -> str | None:
    """Return the first torch with an MPS kernel of an operator as PyTorch names it, '' where none has one, None where it is not known."""
    named = _NAMED.fullmatch(operator)
    if named is None:
        return None
    base, overload = named.groups()
    own = (overload or "").removesuffix("_out").removesuffix("out")
    names = {operator.removeprefix("aten::"), f"{base}.{own}" if own else base}
    known = platform_data("operators")
    if not names.isdisjoint(known["never"]):
        return ""
    spelled = (names, {f"{name}_" for name in names})  # of some operators the table has the form alone that writes in place
    found = (first for forms in spelled for first, group in known["first"].items() if not forms.isdisjoint(group))
    return next(found, None)


def first_with_name(module: str, attribute: str) -> str | None:
    """Return the first torch in which a name of a module works for MPS, '' where none has it, None where that is not known."""
    known = platform_data("names")
    entry = known.get(module, {}).get(attribute)
    return str(entry.get("ready", entry["since"])) if entry is not None else "" if module in known["complete"] else None


def explanation_of(
    message: Message, text: str, captures: Mapping[str, str], verdicts: Mapping[str, Explanation]
) -> tuple[Explanation, dict[str, str]]:
    """Return what is said of what a message says is missing, and what to fill in: its general words where no version is known.

    `text` is the message, squeezed.
    """
    found: dict[str, str] = {}
    if message.reader == OPERATOR:
        first = first_version(captures["operator"])
    else:
        module = next((one for one in platform_data("names") if "." in one and one in text), "")
        first = first_with_name(module, captures["attribute"])
        instead = platform_data("names")["instead"].get(captures["attribute"], "")
        found["instead"] = f"Write {instead}." if instead else "Remove the call."
    chosen = verdicts.get(f"{message.id}-{SINCE if first else NEVER}") if first is not None else None
    if chosen is None:
        return message.explanation, {}
    if not first:
        return chosen, found
    newer = VersionRange.parse(f"torch >= {first}")
    changes = tuple(dataclasses.replace(one, upgrade=newer) if "{first}" in one.say else one for one in chosen.changes)
    return dataclasses.replace(chosen, changes=changes), {**found, "first": first}

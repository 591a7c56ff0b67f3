"""How many rows of a data set a program takes: `load_dataset(name, split="train[:50]")`, `rows.select(range(50))`."""

from __future__ import annotations

import re
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.facts.values import UNKNOWN, Instance, Items, Known, Value, origin_of


def rows_of(value: Value | None) -> Any:
    """Return the number of rows of a data set, as `rules/platform/rows.yaml` says what picks them; UNKNOWN where nothing does."""
    table = platform_data("rows")
    while isinstance(value, Instance) and (value.call is None or value.call.method in table["keep"]) and (value.owner or value.call):
        value = value.owner if value.call is None else value.call.receiver
    call = value.call if isinstance(value, Instance) else None
    if call is None:
        return UNKNOWN
    if call.method in table["pick"]:
        given = call.keywords.get(table["pick"][call.method]) or next(iter(call.arguments), None)
        picked = given.value if given is not None else None
        rows = len(picked.values()) if isinstance(picked, Items) and not picked.open else None
    else:
        split = next((call.keywords.get(key) for name, key in table["load"].items() if name in call.names), None)
        sliced = re.fullmatch(table["slice"], str(split.value.value)) if split is not None and isinstance(split.value, Known) else None
        rows = int(sliced[1]) if sliced else None
    return UNKNOWN if rows is None else Known(rows, origin_of(call.result or UNKNOWN))

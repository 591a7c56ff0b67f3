"""When a fix asks for CUDA: a question starts the driver, so variables that the program sets for it afterwards have no effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mpslint.core.finding import Edit, Span
from mpslint.core.knowledge import platform_data
from mpslint.facts.facts import EnvironmentWrite
from mpslint.facts.values import Context
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.importing import has_forks, is_imported_after, is_read_once

DRIVER = "CUDA_"
"""Variables that the driver reads when it starts."""


def asked_too_early(edits: Sequence[Edit], match: Match, evidence: Evidence) -> str:
    """Return what goes wrong with CUDA where some edits ask for it too early: before the program sets a variable of the driver, or forks.

    A question inside the call that was found is no earlier than what the call itself does with the device.
    """
    asks = platform_data("cuda")["devices"]["asks_for_cuda"]
    within = evidence.span_of(match.call.node) if match.call is not None else None
    asking = [edit.span for edit in edits if asks in edit.text and (within is None or edit.span not in within)]
    places = [span for span in asking if asks not in evidence.document.text[span.start : span.end]]
    if places and has_forks(evidence):
        return f"with CUDA, processes that are forked after {asks} can't use the GPU"
    writes = (one for one in evidence.facts.environment if places and one.name.startswith(DRIVER) and is_read_once(one, "torch"))
    late = next((write for write in writes for place in places if _is_before(place, write, match, evidence)), None)
    return f"with CUDA, {late.name} has no effect when it's set after {asks}" if late is not None else ""


def _is_before(place: Span, write: EnvironmentWrite, match: Match, evidence: Evidence) -> bool:
    """Return whether a place runs before a variable is set, by the calls that lead to both; so, too, where they can't be compared."""
    path, written = list(_path(place, match.context, evidence)), list(_path(Span(write.start, write.end), write.context, evidence))
    for here, there in zip(path, written, strict=False):
        if here is None or there is None:
            return True
        if here != there:
            is_same = evidence.document.part_at(here).span == evidence.document.part_at(there).span
            return here < there if is_same else not is_imported_after(write, here, evidence)
    return True


def _path(place: Span, context: Context | None, evidence: Evidence) -> Iterator[int | None]:
    """Yield where the calls stand that lead to a place, outermost first, then the place; None for a call that isn't the program's own."""
    functions = context.functions if context is not None else ()
    bodies = [index for index, function in enumerate(functions) if _holds(function, place, evidence)]
    for call in context.calls[: bodies[-1] + 1] if context is not None and bodies else ():
        yield evidence.span_of(call).start if call is not None else None
    yield place.start


def _holds(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, place: Span, evidence: Evidence) -> bool:
    """Return whether a place is in the body of a function; its defaults are evaluated where it is defined."""
    body = function.body if isinstance(function.body, list) else [function.body]
    return evidence.span_of(body[0]).start <= place.start < evidence.span_of(body[-1]).end

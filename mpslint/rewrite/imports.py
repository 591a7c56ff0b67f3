"""What a fix needs around its edits: modules whose names it writes, bound as each file binds them (by the file's own alias, or imported
where nothing does), and variables set before it asks for CUDA, since a question starts the driver."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from mpslint.core.finding import Edit, Span
from mpslint.core.grouped import grouped
from mpslint.core.knowledge import platform_data
from mpslint.facts.facts import EnvironmentWrite
from mpslint.facts.values import Context, Symbol, alternatives_of
from mpslint.program.names import unbound
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence, once
from mpslint.settings.importing import bound_names, has_forks, import_edits, is_imported_after, is_read_once
from mpslint.settings.spelling import WrittenSetting
from mpslint.source.document import Kind

MODULES = ("sys", "torch")
"""The modules that fixes ask about the machine."""
DRIVER = "CUDA_"
"""Variables that the driver reads when it starts."""


def with_bound_names(written: WrittenSetting, evidence: Evidence) -> WrittenSetting | None:
    """Return a rewrite in which every use of a module is by a name that its file surely binds before, or that the rewrite imports there.

    None where a name means something else at a place: a rewrite would raise there.
    """
    edits, shown = list(written.edits), written.shown
    for module in MODULES:
        use = re.compile(rf"(?<![\w.\"']){module}(?=\.)")
        placed = ((evidence.document.part_at(edit.span.start), edit) for edit in edits)
        by_file = grouped((part.first_line, edit) for part, edit in placed if part.document.kind in (Kind.PYTHON, Kind.NOTEBOOK))
        for inner in by_file.values():
            used = [edit for edit in inner if use.search(edit.text) and not edit.text.lstrip().startswith(("import ", "from "))]
            if not used:
                continue
            if any(evidence.document.part_at(edit.span.start).first_line in _configs(evidence) for edit in used):
                return None
            own = evidence.around(used[0].span)
            bound = frozenset.intersection(*(bound_names(own, edit.span, _own_names(own, module)) for edit in used))
            names = [name for name in _own_names(own, module) if name in bound]
            name = names[0] if names else module
            if _means_something_else(own, name, module):
                return None
            has_import = any(re.search(rf"\bimport {module}\b(?!\.)", edit.text) for edit in inner)
            if name != module:
                edits = [Edit(edit.span, use.sub(name, edit.text)) if edit in used else edit for edit in edits]
                edits = [edit for edit in edits if edit not in inner or edit.text.strip() != f"import {module}"]
                shown = use.sub(name, shown)
            elif not (names or has_import or _is_read_unbound(own, module)):
                edits += import_edits(own, module, min(edit.span for edit in used))
    return WrittenSetting(tuple(edits), shown, written.added, written.reason)


@once
def _configs(evidence: Evidence) -> frozenset[int]:
    """Return the first lines of the Python files that a library reads as configurations: what they import may not be what it is."""
    placed = (evidence.span_of(one).start for one in evidence.facts.read_as_configs)
    return frozenset(evidence.document.part_at(start).first_line for start in placed)


@once
def _means_something_else(evidence: Evidence, name: str, module: str) -> bool:
    """Return whether a program gives a name something that is not the module, anywhere but in the place of an import that failed."""
    meant = (frame.slots[name] for frame in (evidence.whole or evidence).facts.frames if name in frame.slots)
    return any(all(not isinstance(one, Symbol) or one.name != module for one in alternatives_of(value)) for value in meant)


@once
def _is_read_unbound(evidence: Evidence, module: str) -> bool:
    """Return whether a file reads a module's name that nothing seems to bind: a star import may, or an earlier program."""
    return bool(unbound(evidence.parsed.body, [module]))


@once
def _own_names(evidence: Evidence, module: str) -> Sequence[str]:
    """Return the names that imports of a file give a module, its own name first; found once for all findings."""
    imports = [node for node in evidence.naming(module) if isinstance(node, (ast.Import, ast.ImportFrom))]
    named = [alias.asname or module for node in imports for alias in node.names if _binds(node, alias, module)]
    return list(dict.fromkeys([module, *named]))


def _binds(node: ast.Import | ast.ImportFrom, alias: ast.alias, module: str) -> bool:
    """Return whether an import binds the module itself: `import torch.nn` does, `import torch.nn as nn` does not."""
    if isinstance(node, ast.ImportFrom):
        return alias.name == module
    return alias.name == module or (alias.asname is None and alias.name.startswith(f"{module}."))


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

"""Modules whose names a fix writes, bound as each file binds them: by the file's own alias, or imported where nothing does."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from mpslint.core.finding import Edit
from mpslint.core.grouped import grouped
from mpslint.facts.values import Symbol, alternatives_of
from mpslint.program.names import unbound
from mpslint.settings.evidence import Evidence, once
from mpslint.settings.importing import bound_names, import_edits
from mpslint.settings.spelling import WrittenSetting
from mpslint.source.document import Kind

MODULES = ("sys", "torch")
"""The modules that fixes ask about the machine."""


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

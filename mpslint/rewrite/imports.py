"""Modules whose names a fix writes, bound as each file binds them: by the file's own alias, or imported where nothing does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from mpslint.core.finding import Edit, Span
from mpslint.core.grouped import grouped
from mpslint.program.names import unbound
from mpslint.program.walk import bound_by
from mpslint.settings.evidence import Evidence, once
from mpslint.settings.importing import bound_names, import_edits
from mpslint.settings.spelling import WrittenSetting
from mpslint.source.document import Kind

MODULES = ("sys", "torch")
"""The modules that fixes ask about the machine."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
"""What binds its own name in the scope around it."""


def with_bound_names(written: WrittenSetting, evidence: Evidence, more: Sequence[str] = ()) -> WrittenSetting | None:
    """Return a rewrite in which every use of a module is by a name that its file surely binds before, or that the rewrite imports there.

    `more` are other modules than those that fixes always ask. None where a name means something else at a place: a rewrite would raise
    there.
    """
    edits, shown = list(written.edits), written.shown
    for module in dict.fromkeys((*MODULES, *more)):
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
            if any(_means_something_else(name, edit.span, own, module) for edit in used):
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


def _means_something_else(name: str, place: Span, evidence: Evidence, module: str) -> bool:
    """Return whether a scope around a place binds a name to something that is not the module, or to the module only after the place."""
    imported: list[tuple[ast.AST, bool]] = []
    for where, scope, is_module in _bindings(evidence, name, module):
        file = evidence.document.part_at
        inside = place in evidence.span_of(scope) if scope is not None else file(where.start).span == file(place.start).span
        if inside and not is_module:
            return True
        if inside and isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            imported.append((scope, where.start < place.start))
    early = {id(scope) for scope, is_before in imported if is_before}
    return any(id(scope) not in early for scope, _ in imported)


@once
def _bindings(evidence: Evidence, name: str, module: str) -> Sequence[tuple[Span, ast.AST | None, bool]]:
    """Return where a name is bound, in which scope, and whether to the module: found once for all findings.

    The module's own imports at the top level are left out, of which a notebook may have one in each cell: they mean nothing else.
    """
    found: list[tuple[Span, ast.AST | None, bool]] = []
    for node, is_module in _found_bindings(name, evidence, module):
        scope = evidence.above(node, _SCOPES)
        if scope is not None or not is_module:
            found.append((evidence.span_of(node), scope, is_module))
    return found


def _found_bindings(name: str, evidence: Evidence, module: str) -> Iterator[tuple[ast.AST, bool]]:
    nodes = list(evidence.naming(name))
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    is_imported = any(_binds(node, alias, module) for node in imports for alias in node.names)
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if (alias.asname or alias.name.partition(".")[0]) == name:
                    yield node, _binds(node, alias, module)
        elif name in bound_by(node) and not (isinstance(node, ast.Name) and is_imported and _stands_in_for_import(node, evidence)):
            yield node, False


def _stands_in_for_import(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a name gets a value where the import failed, or None until it is imported."""
    above = evidence.parents.get(node)
    if isinstance(above, (ast.Assign, ast.AnnAssign)) and isinstance(above.value, ast.Constant) and above.value.value is None:
        return True
    return isinstance(evidence.above(node, (ast.ExceptHandler, *_SCOPES)), ast.ExceptHandler)


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

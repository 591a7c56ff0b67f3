"""Names that a fix writes, bound as the file binds them: `torch` under the file's own alias, or imported where nothing binds it."""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterator, Sequence

from mpslint.core.finding import Edit, Span
from mpslint.settings.evidence import Evidence
from mpslint.settings.spell import import_edits, is_skipped
from mpslint.settings.spelling import WrittenSetting
from mpslint.source.document import Kind

MODULE = "torch"
"""The module whose functions fixes call."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What binds its own name in the scope around it."""
_USE = re.compile(rf"(?<![\w.\"']){MODULE}(?=\.)")


def with_bound_names(written: WrittenSetting, evidence: Evidence) -> WrittenSetting | None:
    """Return a rewrite in which every use of the module is by a name that the file binds before the place, or that the rewrite imports.

    None where that name means something else at a place: a rewrite would raise there.
    """
    used = [edit for edit in written.edits if _USE.search(edit.text) and not edit.text.lstrip().startswith(("import ", "from "))]
    if not used or evidence.document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):
        return written
    first = min((edit.span for edit in used), key=lambda span: span.start)
    evidence = evidence.around(first)
    place = Span(len(evidence.document.text), first.end) if evidence.document.is_unordered else first
    names = list(_names_before(place, evidence))
    name = names[0] if names else MODULE
    if any(_means_something_else(name, edit.span, evidence) for edit in used):
        return None
    if MODULE in names:
        return written
    if names:
        edits = [Edit(edit.span, _USE.sub(names[0], edit.text)) for edit in written.edits if edit.text.strip() != f"import {MODULE}"]
        return WrittenSetting(tuple(edits), _USE.sub(names[0], written.shown), written.added, written.reason)
    has_import = any(re.search(rf"\bimport {MODULE}\b(?!\.)", edit.text) for edit in written.edits)
    if has_import or _is_used_unseen(evidence):
        return written
    return WrittenSetting((*written.edits, *import_edits(evidence, MODULE, first)), written.shown, written.added, written.reason)


def _means_something_else(name: str, place: Span, evidence: Evidence) -> bool:
    """Return whether a scope around a place binds a name to something that is not the module, or to the module only after the place."""
    imported: list[tuple[ast.AST, bool]] = []
    for where, scope, is_module in _bindings(name, evidence):
        inside = place in evidence.span_of(scope) if scope is not None else _is_same_file(where, place, evidence)
        if inside and not is_module:
            return True
        if inside and isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            imported.append((scope, where.start < place.start))
    early = {id(scope) for scope, is_before in imported if is_before}
    return any(id(scope) not in early for scope, _ in imported)


def _is_same_file(one: Span, other: Span, evidence: Evidence) -> bool:
    return evidence.document.part_at(one.start).span == evidence.document.part_at(other.start).span


def _bindings(name: str, evidence: Evidence) -> Sequence[tuple[Span, ast.AST | None, bool]]:
    """Return where a name is bound, in which scope, and whether to the module: found once for all findings.

    The module's own imports at the top level are left out, of which a notebook may have one in each cell: they mean nothing else.
    """
    if f"bindings of {name}" not in evidence.memo:
        found: list[tuple[Span, ast.AST | None, bool]] = []
        for node, is_module in _found_bindings(name, evidence):
            scope = evidence.parents.get(node) if isinstance(node, _NAMED) else node
            while scope is not None and not isinstance(scope, _SCOPES):
                scope = evidence.parents.get(scope)
            if scope is not None or not is_module:
                found.append((evidence.span_of(node), scope, is_module))
        evidence.memo[f"bindings of {name}"] = found
    kept: Sequence[tuple[Span, ast.AST | None, bool]] = evidence.memo[f"bindings of {name}"]
    return kept


def _found_bindings(name: str, evidence: Evidence) -> Iterator[tuple[ast.AST, bool]]:
    for node in evidence.nodes_beside(name):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if (alias.asname or alias.name.partition(".")[0]) == name:
                    yield node, _binds(node, alias)
        elif isinstance(node, ast.Name):
            if node.id == name and isinstance(node.ctx, ast.Store) and not _stands_in_for_import(node, evidence):
                yield node, False
        elif (isinstance(node, (*_NAMED, ast.ExceptHandler, ast.MatchAs)) and node.name == name) or (
            isinstance(node, ast.arg) and node.arg == name
        ):
            yield node, False


def _stands_in_for_import(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a name gets a value where the import failed, or None until it is imported."""
    above = evidence.parents.get(node)
    if isinstance(above, (ast.Assign, ast.AnnAssign)) and isinstance(above.value, ast.Constant) and above.value.value is None:
        return True
    while above is not None and not isinstance(above, (ast.ExceptHandler, *_SCOPES)):
        above = evidence.parents.get(above)
    return isinstance(above, ast.ExceptHandler)


def _names_before(place: Span, evidence: Evidence) -> Sequence[str]:
    """Return the names that the module's own imports give the module before a place; its own name first."""
    first = evidence.document.part_at(place.start).span.start
    bound = _bound_names(evidence)
    low, high = bisect.bisect_left(bound, (first, "")), bisect.bisect_left(bound, (place.start, ""))
    return sorted({name: None for _, name in bound[low:high]}, key=lambda name: name != MODULE)


def _bound_names(evidence: Evidence) -> Sequence[tuple[int, str]]:
    """Return where the module's own imports give the module a name, and which, in order: found once for all findings."""
    if "bound names" not in evidence.memo:
        nodes = ((evidence.span_of(node).start, node) for node in _imports(evidence))
        found = ((start, alias.asname or MODULE) for start, node in nodes for alias in node.names if _binds(node, alias))
        evidence.memo["bound names"] = sorted(found, key=lambda one: one[0])
    bound: Sequence[tuple[int, str]] = evidence.memo["bound names"]
    return bound


def _imports(evidence: Evidence) -> Sequence[ast.Import | ast.ImportFrom]:
    """Return the imports of the module's scope, found once for all of its findings."""
    if "imports" not in evidence.memo:
        evidence.memo["imports"] = tuple(_found_imports(evidence))
    found: Sequence[ast.Import | ast.ImportFrom] = evidence.memo["imports"]
    return found


def _found_imports(evidence: Evidence) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports of the module's scope; those in functions, classes and skipped blocks bind nothing outside them."""
    for node in evidence.nodes_beside(MODULE):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            above = evidence.parents.get(node)
            while above is not None and not isinstance(above, _SCOPES) and not is_skipped(above):
                above = evidence.parents.get(above)
            if above is None:
                yield node


def _binds(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Return whether an import binds the module itself: `import torch.nn` does, `import torch.nn as nn` does not."""
    if isinstance(node, ast.ImportFrom):
        return alias.name == MODULE
    return alias.name == MODULE or (alias.asname is None and alias.name.startswith(f"{MODULE}."))


def _is_used_unseen(evidence: Evidence) -> bool:
    """Return whether the file uses the module by a name that a star import, a function or an earlier program binds."""
    if "used unseen" not in evidence.memo:
        evidence.memo["used unseen"] = _looks_used_unseen(evidence)
    return bool(evidence.memo["used unseen"])


def _looks_used_unseen(evidence: Evidence) -> bool:
    binders = (ast.Import, ast.ImportFrom)
    nodes = list(evidence.nodes_beside(MODULE))
    imported = any(isinstance(node, binders) and any(_binds(node, alias) for alias in node.names) for node in nodes)
    return not imported and any(isinstance(node, ast.Name) and node.id == MODULE for node in nodes)

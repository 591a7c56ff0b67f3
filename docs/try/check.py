"""Inside Pyodide: what `mpslint check` and `mpslint fix` say of one file, for the page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import MpslintError, UsageError
from mpslint.core.links import rule_url
from mpslint.report.machine import file_as_json, full_view
from mpslint.rewrite.apply import Fixed
from mpslint.rewrite.diff import cell_diffs
from mpslint.session.session import Options, check_file, fix_file
from mpslint.session.view import target_line
from mpslint.source.document import Document
from mpslint.source.files import STANDARD_INPUT, FoundFile


def answer(name: str, data: bytes | memoryview | str, target: Mapping[str, str], unsafe: bool) -> str:
    """Return as JSON what a file of this name holds, what is wrong with it for the Target, and its fixed text; or one line of why not."""
    try:
        return json.dumps(_answer(name, data.encode() if isinstance(data, str) else bytes(data), target, unsafe))
    except MpslintError as error:
        return json.dumps({"problem": str(error), "about": "target" if isinstance(error, UsageError) else "file"})


def _answer(name: str, data: bytes, target: Mapping[str, str], unsafe: bool) -> dict[str, Any]:
    options = Options(stdin=data, stdin_filename=name, target=target, isolated=True)
    found = FoundFile(STANDARD_INPUT)
    result = check_file(found, options)
    if result.problem:
        return {"problem": result.problem, "about": "file"}
    if result.checked is None:
        return {"file": {"findings": [], "unread": []}, "parts": [], "target": "", "fixed": None}
    checked, document = result.checked, result.checked.document
    file = file_as_json(full_view(result))
    for finding in file["findings"]:
        finding["url"] = rule_url(finding["rule"])
    return {
        "file": {key: file[key] for key in ("findings", "unread")},
        "parts": list(_parts(document)),
        "target": target_line(checked.target, document),
        "fixed": _fixed(fix_file(found, options, unsafe)) if file["findings"] else None,
    }


def _parts(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the text of each cell, or of the file."""
    for cell in document.cells:
        yield {"cell": cell.number, "count": cell.execution_count, "text": document.text[cell.span.start : cell.span.end]}
    if not document.cells:
        yield {"cell": None, "count": None, "text": document.text}


def _fixed(fixed: Fixed) -> dict[str, Any]:
    diffs = [{"title": title, "lines": lines} for title, lines in cell_diffs(fixed.before, fixed.after)] if fixed.is_changed else []
    # Latin-1 carries the bytes as they are: a file need not be UTF-8
    return {"data": fixed.data.decode("latin-1"), "applied": len(fixed.applied), "held": len(fixed.held_back), "diffs": diffs}

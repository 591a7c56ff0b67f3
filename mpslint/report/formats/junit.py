"""JUnit XML: one suite a file, one failed case a finding. A note is a case that passes, a part that was not read one that was skipped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from mpslint.core.inert import inert_lines, without_commands
from mpslint.report.records import CheckReport, Notice, Record, advice, cell_words, notices, path_from, records
from mpslint.source.document import Place

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: CheckReport) -> str:
    """Return the XML; a file without findings is a case that passes."""
    top = ET.Element("testsuites", name="mpslint")
    found: dict[str, list[Record]] = {path_from(report.root, file.path): [] for file in report.files}
    unread: dict[str, list[Notice]] = {path: [] for path in found}
    for record in records(report):  # one of a run may lie in a file that wasn't asked about
        found.setdefault(record.path, []).append(record)
    for notice in notices(report):
        unread.setdefault(notice.path, []).append(notice)
    for path in {**found, **unread}:
        _suite(top, path, found.get(path, []), unread.get(path, []))
    for name in ("tests", "failures", "errors", "skipped"):
        top.set(name, str(sum(int(suite.get(name, "0")) for suite in top)))
    ET.indent(top)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(top, encoding="unicode")}\n'


def _suite(top: ET.Element, path: str, found: Sequence[Record], unread: Sequence[Notice]) -> None:
    suite = ET.SubElement(top, "testsuite", name=_legal(path))
    for record in found:
        finding = record.finding
        case = _case(suite, path, finding.place, f"{finding.rule} {finding.name}")
        text = "\n".join(filter(None, (_where(path, finding.place), finding.message, finding.why, advice(finding))))
        if finding.severity == "note":
            ET.SubElement(case, "system-out").text = _legal(text)
        else:
            ET.SubElement(case, "failure", type=finding.severity, message=_legal(finding.message)).text = _legal(text)
    for notice in unread:
        case = _case(suite, path, notice.place, notice.message.partition(":")[0] if not notice.is_whole_file else "not read")
        inner = ET.SubElement(case, "error" if notice.is_whole_file else "skipped", message=_legal(notice.message))
        inner.text = _legal(f"{_where(path, notice.place)}\n{notice.message}")
    if not found and not unread:
        ET.SubElement(suite, "testcase", name="nothing wrong for MPS", classname=_legal(path))
    suite.set("tests", str(len(suite)))
    for kind, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(total, str(len(suite.findall(f"testcase/{kind}"))))


def _case(suite: ET.Element, path: str, place: Place, what: str) -> ET.Element:
    words = cell_words(place) or f"line {place.line}"
    return ET.SubElement(
        suite, "testcase", name=f"{what} ({words})", classname=_legal(path), file=_legal(path), line=str(place.physical_line)
    )


def _where(path: str, place: Place) -> str:
    words = cell_words(place)
    return f"{path}:{place.physical_line}:{place.physical_column}{f' ({words})' if words else ''}"


def _legal(text: str) -> str:
    """Return a text without the characters that XML cannot hold, and with active ones as escapes."""
    text = without_commands(inert_lines(text))
    return _NOT_XML.sub("\ufffd", text)

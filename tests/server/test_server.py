"""`mpslint server` over standard input and output: what an editor shows is what `check` says, and what it writes is what `fix` writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the server needs pygls (the extra lsp)")

from tests import ROOT
from tests.language_client import CODE, EVERYWHERE, FP16, MARKUP, SAMPLES, Editor, cells_of, checked, only

NOTEBOOKS = sorted(path.name for path in (ROOT / "samples").glob("*.ipynb"))
SEVERITIES = {"error": 1, "warning": 2, "note": 3}


def shown(diagnostics: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return what tells diagnostics apart."""
    return sorted((one["code"], one["severity"], one["message"], *_corners(one["range"])) for one in diagnostics)


def _corners(range_: dict[str, Any]) -> tuple[int, ...]:
    start, end = range_["start"], range_["end"]
    return start["line"], start["character"], end["line"], end["character"]


def expected(findings: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the same of what `check` reports: lines and columns count from 1 there."""
    places = [[one[key][part] - 1 for key in ("place", "end") for part in ("line", "column")] for one in findings]
    return sorted((one["rule"], SEVERITIES[one["severity"]], one["message"], *place) for one, place in zip(findings, places, strict=True))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_script_has_the_diagnostics_that_check_reports(name: str, samples: Path) -> None:
    """The same rules, severities, messages and places."""
    path = samples / name
    with Editor(samples.parent) as editor:
        diagnostics = editor.open(path.as_uri(), path.read_text(encoding="utf-8"), "python" if path.suffix == ".py" else "shellscript")

    assert shown(diagnostics) == expected(checked(path))
    assert all(one["source"] == "mpslint" and "tags" not in one for one in diagnostics)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_has_its_diagnostics_in_the_cells_they_belong_to(name: str, samples: Path) -> None:
    """One check over all cells; each finding at the line and column of its own cell."""
    path = samples / name
    findings = checked(path)
    with Editor(samples.parent) as editor:
        cells = editor.open_notebook(path.as_uri(), cells_of(path))
        for uri in [cells[number - 1] for number in sorted({one["place"]["cell"] for one in findings})]:
            if uri not in editor.diagnostics:
                editor.published(uri)
        found = {uri: shown(diagnostics) for uri, diagnostics in editor.diagnostics.items() if diagnostics}

    assert found == {uri: expected(of) for n, uri in enumerate(cells, 1) if (of := [one for one in findings if one["place"]["cell"] == n])}


def test_a_notebook_opened_as_text_has_its_diagnostics_in_the_json(samples: Path) -> None:
    """An editor that knows no notebooks shows the file; places and fixes are those of the file."""
    path = samples / "summarization.ipynb"
    text = path.read_text(encoding="utf-8")
    with Editor(samples.parent) as editor:
        diagnostics = editor.open(path.as_uri(), text, "json")
        (action,) = editor.actions(path.as_uri(), EVERYWHERE, ["source.fixAll"])
        editor.apply(action["edit"])

    line = text.split("\n")[only(diagnostics, "MPS101")["range"]["start"]["line"]]
    assert "fp16=True" in line
    assert {one["code"] for one in diagnostics} == {one["rule"] for one in checked(path)}
    assert json.loads(editor.texts[path.as_uri()])["metadata"] == json.loads(text)["metadata"]
    assert '"    fp16=not torch.backends.mps.is_available(),\\n"' in editor.texts[path.as_uri()]


def test_a_finding_says_where_the_value_was_written_and_what_it_is_about(tmp_path: Path) -> None:
    """Related places are part of the diagnostic; pointing at it shows the rule's page."""
    text = "from transformers import TrainingArguments\nhalf = True\nargs = TrainingArguments('out', fp16=half)\n"
    uri = (tmp_path / "train.py").as_uri()
    with Editor(tmp_path) as editor:
        found = only(editor.open(uri, text), "MPS101")
        hover = editor.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": found["range"]["start"]})
        nothing = editor.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})

    assert [one["location"]["uri"] for one in found.get("relatedInformation", ())] == [uri]
    assert hover["contents"]["value"].startswith("**MPS101 fp16-mixed-precision**")
    assert "Sources:" in hover["contents"]["value"]
    assert nothing is None


def test_columns_count_utf16_unless_something_else_is_agreed_on(tmp_path: Path) -> None:
    """A letter outside the basic plane before the finding is two units of UTF-16, four of UTF-8 and one of UTF-32."""
    uri = (tmp_path / "train.py").as_uri()
    line = 'name = "😀"; args = TrainingArguments("out", fp16=True)'
    columns = {}
    for encoding in ("utf-16", "utf-8", "utf-32"):
        with Editor(tmp_path, able={"general": {"positionEncodings": [encoding]}}) as editor:
            found = only(editor.open(uri, f"from transformers import TrainingArguments\n{line}\n"), "MPS101")
            columns[encoding] = found["range"]["start"]["character"]

    characters = line.index("fp16")
    assert columns == {"utf-16": characters + 1, "utf-8": characters + 3, "utf-32": characters}


def test_changes_are_taken_where_the_protocol_counts_them(tmp_path: Path) -> None:
    """After lines that Python's splitlines would split: form feeds and U+2028 end no line of the protocol."""
    uri = (tmp_path / "train.py").as_uri()
    text = 'a = "x\x0cy\u2028😀"\r\nfrom transformers import TrainingArguments\r\nargs = TrainingArguments("out", fp16=False)\r\n'
    with Editor(tmp_path) as editor:
        assert "MPS101" not in [one["code"] for one in editor.open(uri, text)]
        column = text.split("\r\n")[2].index("False")
        range_ = {"start": {"line": 2, "character": column}, "end": {"line": 2, "character": column + 5}}
        editor.change(uri, text.replace("False", "True"), [{"range": range_, "text": "True"}])
        found = only(editor.published(uri), "MPS101")
        (action,) = [one for one in editor.actions(uri, found["range"]) if one.get("isPreferred")]
        editor.apply(action["edit"])

    assert found["range"]["start"] == {"line": 2, "character": column - 5}
    mended = text.replace("from transformers", "import torch\r\nfrom transformers").replace(
        "False", "not torch.backends.mps.is_available()"
    )
    assert editor.texts[uri] == mended


def test_the_configuration_of_the_project_holds(tmp_path: Path) -> None:
    """What it ignores, for files too, which severity it asks for, what it excludes, the versions it pins, and comments in the text."""
    (tmp_path / "mpslint.toml").write_text(
        'severity = "error"\nexclude = ["old/"]\n[target]\naccelerate = "1.10"\n[per-file-ignores]\n"quiet.py" = ["MPS101"]\n'
    )
    (tmp_path / "old").mkdir()
    texts = {"train.py": FP16, "quiet.py": FP16, "old/train.py": FP16, "said.py": FP16.replace("True)", "True)  # mpslint: ignore[MPS101]")}
    with Editor(tmp_path) as editor:
        found = {name: editor.open((tmp_path / name).as_uri(), text) for name, text in texts.items()}
    with Editor(tmp_path, "--ignore", "MPS101") as editor:
        asked = editor.open((tmp_path / "train.py").as_uri(), FP16)

    assert [(one["code"], one["severity"]) for one in found["train.py"]] == [("MPS101", 1)]
    assert "1.10" in found["train.py"][0]["message"]
    assert found["quiet.py"] == found["old/train.py"] == found["said.py"] == asked == []


def test_a_wrong_configuration_is_said_once_and_a_mended_one_counts(tmp_path: Path) -> None:
    """Not for each key stroke; the next save reads it again."""
    uri = (tmp_path / "train.py").as_uri()
    (tmp_path / "mpslint.toml").write_text('ignore = ["MPS101"]\nno-such-key = 1\n')
    with Editor(tmp_path) as editor:
        assert editor.open(uri, FP16) == []
        for text in (f"{FP16}\n", f"{FP16}\n\n"):
            editor.change(uri, text)
            assert editor.published(uri) == []
        (tmp_path / "mpslint.toml").write_text("")
        editor.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
        mended = editor.published(uri)
        (tmp_path / "mpslint.toml").write_text('ignore = ["MPS101"]\n')
        editor.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": (tmp_path / "mpslint.toml").as_uri(), "type": 2}]})
        ignored = editor.published(uri)

    messages = [one["params"] for one in editor.said if one.get("method") == "window/showMessage"]
    assert ["no-such-key" in one["message"] and one["type"] == 1 for one in messages] == [True]
    assert "MPS101" in [one["code"] for one in mended]
    assert "MPS101" not in [one["code"] for one in ignored]


def test_text_that_does_not_parse_is_said_when_opened_and_left_alone_while_typing(tmp_path: Path) -> None:
    """Half a line typed takes nothing away that is shown; a file that is opened or saved so is said to be not checked."""
    uri = (tmp_path / "train.py").as_uri()
    with Editor(tmp_path) as editor:
        assert "MPS101" in [one["code"] for one in editor.open(uri, FP16)]
        editor.change(uri, f"{FP16}x = (\n")
        editor.change(uri, FP16.replace("True", "False"))
        typed = editor.published(uri)
        editor.change(uri, f"{FP16}x = (\n")
        editor.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
        saved = editor.published(uri)
        assert editor.actions(uri, EVERYWHERE) == []

    assert "MPS101" not in [one.get("code") for one in typed]
    assert [(one["severity"], one["range"]["start"]["line"]) for one in saved] == [(3, 2)]
    assert saved[0]["message"].startswith("not checked: does not parse")


def test_the_text_in_the_editor_counts_and_not_the_file(tmp_path: Path) -> None:
    """Also where there is no file yet, and where there will be none."""
    (tmp_path / "train.py").write_text("x = 1\n")
    with Editor(tmp_path) as editor:
        found = {
            uri: [one["code"] for one in editor.open(uri, FP16)]
            for uri in (
                (tmp_path / "train.py").as_uri(),
                (tmp_path / "new.py").as_uri(),
                "untitled:Untitled-1",
                "vscode-vfs://github/a/b.py",
            )
        }

    assert all("MPS101" in codes for codes in found.values()), found
    assert (tmp_path / "train.py").read_text() == "x = 1\n"


def test_a_file_is_checked_within_the_runs_of_its_project(tmp_path: Path) -> None:
    """A script that imports a module decides what is said of it, as it is on the disk and as it is typed."""
    train = 'import torch\nimport helpers\n\nhelpers.widened(torch.ones(2).to("mps"))\n'
    helpers = "def widened(batch):\n    return batch.double()\n"
    (tmp_path / "train.py").write_text(train)
    (tmp_path / "helpers.py").write_text(helpers)
    first, second = (tmp_path / "train.py").as_uri(), (tmp_path / "helpers.py").as_uri()
    with Editor(tmp_path) as editor:
        assert [one["code"] for one in editor.open(second, helpers)] == ["MPS116"]
        editor.open(first, train)
        assert [one["code"] for one in editor.published(second)] == ["MPS116"]
        editor.change(first, train.replace('"mps"', '"cpu"'))
        assert editor.published(second) == []


def test_what_is_closed_shows_nothing(tmp_path: Path) -> None:
    """A file, a cell that was deleted, and the cells of a notebook."""
    uri, notebook = (tmp_path / "train.py").as_uri(), (tmp_path / "train.ipynb").as_uri()
    with Editor(tmp_path) as editor:
        assert editor.open(uri, FP16) != []
        editor.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert editor.published(uri) == []
        first, second = editor.open_notebook(notebook, [(CODE, "python", FP16), (CODE, "python", FP16)])
        assert editor.published(second) != []
        change = {"cells": {"structure": {"array": {"start": 0, "deleteCount": 1}, "didClose": [{"uri": first}]}}}
        editor.tell("notebookDocument/didChange", {"notebookDocument": {"uri": notebook, "version": 2}, "change": change})
        assert editor.published(first) == []
        assert editor.published(second) != []
        editor.tell("notebookDocument/didClose", {"notebookDocument": {"uri": notebook}, "cellTextDocuments": [{"uri": second}]})
        assert editor.published(second) == []


def test_a_question_about_what_was_closed_is_not_answered_for_what_is_opened_in_its_place(tmp_path: Path) -> None:
    """Both are the first version of a file: the edits of the first one would fit nothing."""
    uri = (tmp_path / "train.py").as_uri()
    with Editor(tmp_path) as editor:
        editor.open(uri, "x = 1\n")
        editor.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        about = {"textDocument": {"uri": uri}, "range": EVERYWHERE, "context": {"diagnostics": []}}
        for text in (FP16 + "y = [1]\n" * 20_000, "x = 1\n"):
            editor.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}})
            if text != "x = 1\n":
                editor._send({"id": 7, "method": "textDocument/codeAction", "params": about})
                editor.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        answer = editor.wait_for(lambda message: message.get("id") == 7 and "method" not in message)

    assert not answer["result"]


def test_a_change_in_one_cell_changes_what_is_said_of_another(tmp_path: Path) -> None:
    """The cells are one program; tags of cells silence, commands of `%%bash` count, and a broken cell costs itself only."""
    notebook = (tmp_path / "train.ipynb").as_uri()
    cells = [
        (MARKUP, "markdown", "# half"),
        (CODE, "python", "from transformers import TrainingArguments\nhalf = False\n"),
        (CODE, "python", 'a = "😀"; args = TrainingArguments("out", fp16=half)\n'),
        (CODE, "shellscript", "%%bash\nexport PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\n"),
        (CODE, "python", "def broken(:\n"),
    ]
    with Editor(tmp_path) as editor:
        _, setting, using, shell, broken = editor.open_notebook(notebook, cells)
        assert [one["message"].split(":")[0] for one in editor.published(broken)] == ["not checked"]
        before = editor.diagnostics.get(using, [])
        range_ = {"start": {"line": 1, "character": 7}, "end": {"line": 1, "character": 12}}
        content = {"document": {"uri": setting, "version": 2}, "changes": [{"range": range_, "text": "True"}]}
        editor.tell(
            "notebookDocument/didChange",
            {"notebookDocument": {"uri": notebook, "version": 2}, "change": {"cells": {"textContent": [content]}}},
        )
        while "MPS101" not in [one["code"] for one in editor.published(using)]:
            pass
        after = editor.diagnostics[using] + editor.diagnostics.get(setting, [])
        tag = {"cells": {"data": [{"kind": CODE, "document": using, "metadata": {"metadata": {"tags": ["mpslint-ignore"]}}}]}}
        editor.tell("notebookDocument/didChange", {"notebookDocument": {"uri": notebook, "version": 3}, "change": tag})
        assert editor.published(using) == []

    assert "MPS101" not in [one["code"] for one in before]
    assert "MPS101" in [one["code"] for one in after]
    assert editor.diagnostics[shell] != []


def test_nothing_that_an_editor_sends_ends_the_server(tmp_path: Path) -> None:
    """Texts that are no code, changes of what is not open, broken questions: one line in the log at most."""
    uri = (tmp_path / "train.py").as_uri()
    odd = ["\0" * 100 + FP16, "# coding: nonsense\n" + FP16, "(" * 5_000 + FP16, FP16 + "\ud800", "# coding: latin-1\n# 😀\n" + FP16]
    with Editor(tmp_path) as editor:
        for number, text in enumerate(odd):
            assert [one.get("code") for one in editor.open((tmp_path / f"{number}.py").as_uri(), text)][:1] in ([None], ["MPS101"])
        editor.tell("textDocument/didChange", {"textDocument": {"uri": "file:///never.py", "version": 2}, "contentChanges": [{"text": ""}]})
        editor.tell("textDocument/didClose", {"textDocument": {"uri": "file:///never.py"}})
        editor.tell("no/such/thing", {})
        assert (
            editor.ask(
                "textDocument/codeAction",
                {"textDocument": {"uri": "file:///never.py"}, "range": EVERYWHERE, "context": {"diagnostics": []}},
            )
            is None
        )
        assert "edit" not in editor.ask("codeAction/resolve", {"title": "x", "data": {"do": "ignore", "uri": 5}})
        editor.open((tmp_path / "notes.yaml").as_uri(), "a: [\n", "yaml")
        assert "MPS101" in [one["code"] for one in editor.open(uri, FP16)]

    logged = [one["params"]["message"] for one in editor.said if one.get("method") == "window/logMessage"]
    assert all("\n" not in line and "Traceback" not in line for line in logged)
    assert any("never.py" in line for line in logged)


def test_a_text_in_its_own_encoding_is_read_as_the_editor_shows_it(tmp_path: Path) -> None:
    """An encoding that a script declares is that of the file, not of the text that was sent; a byte order mark moves nothing."""
    uri = (tmp_path / "train.py").as_uri()
    for start in ("# coding: latin-1\n# éé\n", "\ufeff"):
        text = start + 'x = "é"; ' + "from transformers import TrainingArguments; args = TrainingArguments('o', fp16=True)\n"
        with Editor(tmp_path) as editor:
            found = only(editor.open(uri, text), "MPS101")
            (fix,) = (one for one in editor.actions(uri, found["range"]) if one.get("isPreferred"))
            editor.apply(fix["edit"])
        assert editor.texts[uri] == text.replace("True", "not torch.backends.mps.is_available()").replace('x = "', 'import torch\nx = "')


def test_an_editor_is_told_what_the_server_can_do(tmp_path: Path) -> None:
    """Incremental changes, saves, notebooks with all their cells, and actions whose edits may be asked for later."""
    with Editor(tmp_path, line=(sys.executable, "-m", "mpslint", "server")) as editor:
        able = editor.server["capabilities"]

    assert (able["textDocumentSync"]["change"], able["textDocumentSync"]["openClose"], bool(able["textDocumentSync"]["save"])) == (
        2,
        True,
        True,
    )
    assert able["notebookDocumentSync"] == {"notebookSelector": [{"notebook": "*"}], "save": True}
    assert able["codeActionProvider"] == {"codeActionKinds": ["quickfix", "source.fixAll.mpslint"], "resolveProvider": True}
    assert able["hoverProvider"]
    assert editor.server["serverInfo"]["name"] == "mpslint"


def test_a_mistake_of_mpslint_costs_a_file_and_not_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a problem of one line, which says what to send."""
    from mpslint.server import judging
    from mpslint.server.part import TextPart
    from mpslint.server.snapshot import Snapshot
    from mpslint.session.session import Options
    from mpslint.source.document import Kind

    def fail(*_: object) -> None:
        raise ValueError("no\nway")

    monkeypatch.setattr(judging, "check_file", fail)
    part = TextPart("file:///train.py", 1, FP16)
    judged = judging.judge_snapshot(Snapshot(part.uri, "/train.py", Kind.PYTHON, (part,)), Options(isolated=True))

    assert judged.problem.startswith("because of a mistake in mpslint (ValueError: no way; ")
    assert "`mpslint report /train.py`" in judged.problem
    assert "\n" not in judged.problem


def test_the_server_is_asked_for_without_pygls(tmp_path: Path) -> None:
    """One line says what to install, with the exit code for usage."""
    code = "import sys; sys.modules['pygls'] = sys.modules['lsprotocol'] = None; from mpslint.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "server"], cwd=ROOT, capture_output=True, text=True, input="")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mpslint: server needs pygls: install it with pip install 'mpslint[lsp]'\n"


def test_a_wrong_configuration_beside_is_logged_once(tmp_path: Path) -> None:
    """Of a folder with a script that may import the file which is open: that is checked, by its own configuration."""
    for name in ("right", "wrong"):
        (tmp_path / name).mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "wrong" / "train_all.py").write_text("import torch, train\n")
    (tmp_path / "wrong" / "pyproject.toml").write_text('[tool.mpslint]\nignore = ["E501"]\n')
    path = tmp_path / "right" / "train.py"
    path.write_text(FP16)
    with Editor(tmp_path) as editor:
        assert only(editor.open(path.as_uri(), FP16), "MPS101")
        editor.change(path.as_uri(), f"{FP16}\n")
        editor.published(path.as_uri())

    said = [one["params"]["message"] for one in editor.said if one.get("method") in ("window/logMessage", "window/showMessage")]
    assert ["E501" in one and "judged by the defaults" in one for one in said] == [True]

"""What `mpslint server` writes: fixes and comments as `fix` and `check --add-ignore` write them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the server needs pygls (the extra lsp)")

from tests.language_client import EVERYWHERE, FP16, SAMPLES, Editor, cells_of, checked, edited, mpslint, only


@pytest.mark.parametrize("name", SAMPLES)
def test_fix_all_writes_what_fix_apply_writes(name: str, samples: Path, tmp_path: Path) -> None:
    """Byte for byte, for an editor that asks for edits late and for one that cannot."""
    path = samples / name
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    text = path.read_text(encoding="utf-8")
    with Editor(tmp_path) as editor:
        editor.open(copy.as_uri(), text, "python" if path.suffix == ".py" else "shellscript")
        late = editor.actions(copy.as_uri(), EVERYWHERE, ["source.fixAll.mpslint"])
    with Editor(tmp_path, able={}) as plain:
        plain.open(copy.as_uri(), text, "python" if path.suffix == ".py" else "shellscript")
        context = {"diagnostics": [], "only": ["source.fixAll"]}
        early = plain.ask("textDocument/codeAction", {"textDocument": {"uri": copy.as_uri()}, "range": EVERYWHERE, "context": context})
    mpslint("fix", str(copy), "--apply", folder=tmp_path)

    written = copy.read_text(encoding="utf-8")
    if written == text:
        assert late == early == []
    else:
        editor.apply(late[0]["edit"])
        assert editor.texts[copy.as_uri()] == written
        assert edited(text, early[0]["edit"]["changes"][copy.as_uri()]) == written


def test_fix_all_of_a_notebook_edits_the_cells(samples: Path, tmp_path: Path) -> None:
    """Asked for in any cell it is the whole notebook; each cell gets its own edits, and its text is that of the file that fix writes."""
    path = samples / "summarization.ipynb"
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    with Editor(tmp_path) as editor:
        cells = editor.open_notebook(copy.as_uri(), cells_of(path))
        (action,) = editor.actions(cells[3], EVERYWHERE, ["source.fixAll"])
        editor.apply(action["edit"])
    mpslint("fix", str(copy), "--apply", folder=tmp_path)

    assert [editor.texts[uri] for uri in cells] == [text for _, _, text in cells_of(copy)]
    assert len(action["edit"]["documentChanges"]) > 1


def test_a_quick_fix_writes_what_fix_writes_for_its_rule(samples: Path, tmp_path: Path) -> None:
    """Safe ones are preferred, and say what they write; at another place there are none."""
    path = samples / "pegasus_finetune.py"
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    with Editor(samples.parent) as editor:
        found = only(editor.open(path.as_uri(), path.read_text(encoding="utf-8")), "MPS101")
        actions = editor.actions(path.as_uri(), found["range"], ["quickfix"])
        (fix,) = (one for one in actions if one.get("isPreferred"))
        assert editor.actions(path.as_uri(), {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, ["quickfix"]) == []
        editor.apply(fix["edit"])
    mpslint("fix", str(copy), "--apply", "--select", "MPS101", folder=tmp_path)

    assert editor.texts[path.as_uri()] == copy.read_text(encoding="utf-8")
    assert fix["title"] == "mpslint MPS101: fp16=not torch.backends.mps.is_available()"
    assert fix["diagnostics"] == [found]


def test_an_unsafe_fix_says_so_and_is_not_preferred(samples: Path) -> None:
    """And advice for people is no action."""
    path = samples / "pegasus_finetune.py"
    findings = {one["rule"]: one for one in checked(path)}
    with Editor(samples.parent) as editor:
        diagnostics = editor.open(path.as_uri(), path.read_text(encoding="utf-8"))
        titles = {one["code"]: editor.actions(path.as_uri(), one["range"], ["quickfix"]) for one in diagnostics}

    for rule, actions in titles.items():
        safety = (findings[rule].get("fix") or {}).get("safety", "none")
        own = [one for one in actions if one["title"].startswith(f"mpslint {rule}:")]
        assert [one["title"].endswith("(unsafe: changes the run)") for one in own] == (
            [safety == "unsafe"] if safety in ("safe", "unsafe") else []
        )
        assert [bool(one.get("isPreferred")) for one in own] == ([safety == "safe"] if own else [])
    assert "unsafe" in {(one.get("fix") or {}).get("safety") for one in findings.values()}


def test_a_finding_can_be_silenced_on_its_line(tmp_path: Path) -> None:
    """With the comment that `check --add-ignore` writes, and it does silence it."""
    uri = (tmp_path / "train.py").as_uri()
    with Editor(tmp_path) as editor:
        found = only(editor.open(uri, FP16), "MPS101")
        (ignore,) = (one for one in editor.actions(uri, found["range"]) if "Ignore MPS101 on this line" in one["title"])
        editor.apply(ignore["edit"])
        editor.change(uri, editor.texts[uri])
        after = editor.published(uri)

    assert 'args = TrainingArguments("out", fp16=True)  # mpslint: ignore[MPS101]\n' in editor.texts[uri]
    assert "MPS101" not in [one["code"] for one in after]

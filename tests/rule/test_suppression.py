"""Comments silence what they name, where they stand, and nothing else."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

import mpslint
from mpslint.engine import Checked, check
from mpslint.rewrite.apply import fix
from mpslint.rule.suppression import ignores_for
from mpslint.source.document import Kind
from mpslint.source.reader import read
from mpslint.target.target import default_target
from tests.notebooks import code_cell, notebook

HEAD = "from transformers import TrainingArguments\n"


def checked(code: str) -> Checked:
    """Return the check of a script."""
    return check(read("train.py", (HEAD + textwrap.dedent(code)).encode()), default_target())


def ids(result: Checked) -> list[str]:
    """Return the rules found, without those of memory and loading that a bare TrainingArguments may get."""
    return [finding.rule for finding in result.findings if finding.rule in ("MPS001", "MPS101")]


SILENT = [
    "args = TrainingArguments('o', fp16=True)  # mpslint: ignore[MPS101] measured",
    "args = TrainingArguments('o', fp16=True)  # mpslint: ignore[MPS1]",
    "args = TrainingArguments('o', fp16=True)  # mpslint: ignore",
    "args = TrainingArguments('o', fp16=True)  # half  # mpslint: ignore[MPS101]",
    "args = TrainingArguments('o', fp16=True)  # noqa: E501, MPS101",
    "args = TrainingArguments('o', fp16=True)  # NOQA : MPS101",
    "args = TrainingArguments('o', fp16=True)  # mpslint: ignore[fp16-mixed-precision]",
    "args = TrainingArguments(\n    'o',\n    fp16=True,  # mpslint: ignore[MPS101]\n)",
    "args = TrainingArguments(  # mpslint: ignore[MPS101]\n    'o',\n    fp16=True,\n)",
    "# mpslint: ignore[MPS101] for the whole call\nargs = TrainingArguments(\n    'o',\n    fp16=True,\n)",
    "def f():\n    # mpslint: ignore[MPS101]\n    # another word\n    return TrainingArguments('o', fp16=True)",
    "args = TrainingArguments('o', fp16=True)\n\n# mpslint: ignore-file[MPS101]",
]
LOUD = [
    "args = TrainingArguments('o', fp16=True)  # mpslint: ignore[MPS202]",
    "args = TrainingArguments('o', fp16=True)  # noqa",
    "s = '# mpslint: ignore-file[MPS101]'\nargs = TrainingArguments('o', fp16=True)",
    "# mpslint: ignore[MPS101]\nx = 1\nargs = TrainingArguments('o', fp16=True)",
]


@pytest.mark.parametrize("code", SILENT)
def test_silent(code: str) -> None:
    """The finding is set apart, and no comment is called unused."""
    result = checked(code)

    assert ids(result) == []
    assert [finding.rule for finding in result.silenced if finding.rule == "MPS101"] == ["MPS101"]


@pytest.mark.parametrize("code", LOUD)
def test_loud(code: str) -> None:
    """Another rule, another line, another tool's comment, a text in a string."""
    assert "MPS101" in ids(checked(code))


def test_a_cell_tag_silences_a_cell() -> None:
    """`mpslint-ignore` all of it, `mpslint-ignore-MPS101` one rule, several tags several rules; one that silences nothing is said."""
    cell = HEAD + "args = TrainingArguments('o', fp16=True)\n"
    for tags, left in (
        (["mpslint-ignore"], []),
        (["mpslint-ignore-MPS101"], []),
        (["mpslint-ignore-MPS1"], []),
        (["mpslint-ignore-MPS101-MPS602"], []),
        (["mpslint-ignore-fp16-mixed-precision"], []),
        (["mpslint-ignore-MPS202", "mpslint-ignore-MPS101"], ["MPS001"]),
        (["mpslint-ignore-MPS202"], ["MPS001", "MPS101"]),
        (["mpslint-ignore-default-pinned-memory"], ["MPS101"]),
        (["other"], ["MPS101"]),
    ):
        data = notebook("# mpslint: ignore-file[MPS602]\n", code_cell(cell, metadata={"tags": tags}))
        result = check(read("n.ipynb", data), default_target())
        about_tags = [finding for finding in result.findings if finding.rule == "MPS001" and "mpslint-ignore" in finding.message]

        assert sorted({finding.rule for finding in (*about_tags, *result.findings)} & {"MPS101", *(f.rule for f in about_tags)}) == left
        assert all(
            finding.fix is None and finding.message == "`mpslint-ignore-MPS202` suppresses no finding here." for finding in about_tags
        )


def test_a_comment_above_decorators_speaks_for_all_of_them() -> None:
    """They and the head of the function are one statement, which ends where its body begins."""
    function = "@staticmethod\n@torch.cuda.amp.autocast()\ndef f(x):\n    return x\n"
    code = f"import torch\n# mpslint: ignore[MPS111]\n{function}{function}"
    result = check(read("train.py", code.encode()), default_target())

    assert [result.document.place(finding.span.start).line for finding in result.findings] == [8]
    assert [finding.rule for finding in (*result.findings, *result.silenced)] == ["MPS111", "MPS111"]


@pytest.mark.parametrize(
    ("comment", "mended"),
    [
        ("# mpslint: ignore[MPS101, MPS301] why", "# mpslint: ignore[MPS101] why"),
        ("# mpslint: ignore[MPS301,mps101,MPS302]", "# mpslint: ignore[mps101]"),
        ("# mpslint: ignore[MPS101, MPS999]", "# mpslint: ignore[MPS101]"),
        ("# mpslint: ignore[MPS101, TEAM001]", "# mpslint: ignore[MPS101]"),
    ],
)
def test_rules_that_silence_nothing_go_from_a_comment(comment: str, mended: str) -> None:
    """Those that do stay, and so does the reason."""
    code = f"{HEAD}args = TrainingArguments('o', dataloader_pin_memory=False, fp16=True)  "
    fixed = fix(read("train.py", f"{code}{comment}\n".encode()), default_target())

    assert fixed.data.decode() == f"{code}{mended}\n"
    assert [finding.rule for finding in fixed.applied] == ["MPS001"]


def test_unused_comments_are_found_and_taken_away() -> None:
    """With their line where nothing else is on it; a comment for a rule that was not asked for is left alone."""
    code = "import torch  # keep  # mpslint: ignore[MPS101]\n# mpslint: ignore[MPS101] because\nx = 1\n"
    fixed = fix(read("train.py", code.encode()), default_target())

    assert fixed.data.decode() == "import torch  # keep\nx = 1\n"
    only = [rule for rule in _rules() if rule.id == "MPS001"]
    assert not check(read("train.py", code.encode()), default_target(), only).findings


@pytest.mark.parametrize("comment", ["ignore", "ignore-file"])
def test_comments_without_rules_stay_where_only_some_rules_run(comment: str) -> None:
    """`fix --select MPS001 --apply` must not take away what silences the other rules."""
    document = read("train.py", f"import torch\nx = torch.ones(3)  # mpslint: {comment}\n".encode())
    some = [rule for rule in _rules() if rule.id in ("MPS001", "MPS101")]

    assert [one.rule for one in check(document, default_target()).findings] == ["MPS001"]
    assert not check(document, default_target(), some).findings


def _rules() -> tuple[object, ...]:
    from mpslint.rule.loading import load_rules

    return load_rules()


ADDED = [
    ("args = TrainingArguments('o', fp16=True)\n", "args = TrainingArguments('o', fp16=True)  # mpslint: ignore[MPS101] why\n"),
    ("args = TrainingArguments('o', fp16=True)  # x\n", "args = TrainingArguments('o', fp16=True)  # x  # mpslint: ignore[MPS101] why\n"),
    ("args = TrainingArguments('''\n''', fp16=True)\n", "args = TrainingArguments('''\n''', fp16=True)  # mpslint: ignore[MPS101] why\n"),
    ("if x:\n    a = TrainingArguments(fp16=True, \\\n        output_dir='o')\n", "if x:\n    # mpslint: ignore[MPS101] why\n    a = TrainingArguments(fp16=True, \\\n        output_dir='o')\n"),
    ("a = TrainingArguments('o', fp16=True)  # mpslint: ignore[MPS202]\n", "a = TrainingArguments('o', fp16=True)  # mpslint: ignore[MPS202, MPS101]\n"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), ADDED)
def test_ignores_are_written_where_they_work(code: str, expected: str) -> None:
    """After --add-ignore the same check is silent."""
    document = read("train.py", (HEAD + code).encode())
    result = check(document, default_target())
    found = [finding for finding in result.findings if finding.rule == "MPS101"]
    edits = ignores_for(document, [(one.text, one.parsed.body) for one in result.evidence], found, "why")
    assert document.write_back is not None
    written = document.write_back(edits)

    assert written.decode() == HEAD + expected
    assert "MPS101" not in [finding.rule for finding in check(read("train.py", written), default_target()).findings]


def test_ignores_in_a_notebook_touch_their_cell_only() -> None:
    """The JSON around stays as it is."""
    data = notebook("x = 1\n", HEAD + "args = TrainingArguments('o', fp16=True)")
    document = read("n.ipynb", data, Kind.NOTEBOOK)
    result = check(document, default_target())
    found = [finding for finding in result.findings if finding.rule == "MPS101"]
    edits = ignores_for(document, [(one.text, one.parsed.body) for one in result.evidence], found, "")
    assert document.write_back is not None
    cells = json.loads(document.write_back(edits))["cells"]

    assert cells[0] == json.loads(data)["cells"][0]
    assert "".join(cells[1]["source"]).endswith("fp16=True)  # mpslint: ignore[MPS101]")


def test_many_comments_cost_no_more_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each finding is compared with the comments of its own lines, not with all of them."""
    from mpslint.rule.suppression import Suppression

    compared: list[int] = []
    covers = Suppression.covers
    monkeypatch.setattr(Suppression, "covers", lambda *arguments: compared.append(1) or covers(*arguments))
    text = "import torch\n" + "x = torch.ones(3).cuda()  # mpslint: ignore[MPS501] why\n" * 200
    check(read("train.py", text.encode()), default_target())

    assert 200 <= len(compared) <= 1_000


def test_rules_of_ones_own_do_not_hide_unused_comments(tmp_path: Path) -> None:
    """A folder of rules in the configuration leaves what is said of the shipped ones as it was."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mpslint.toml").write_text('rules = ["mine"]\n')
    text = "import torch  # mpslint: ignore[MPS101] half is fine here\n"
    (tmp_path / "mine" / "TEAM001-sleep.yaml").write_text(
        "id: TEAM001\nname: sleeping\ntitle: Sleeping\nwhen: {call: time.sleep}\nseverity: note\nmessage: It sleeps.\nwhy: A test.\n"
        'examples:\n  - {bad: "import time\\ntime.sleep(1)\\n"}\nsources: [a test]\n'
    )

    assert [finding.rule for finding in mpslint.check(text, configuration=tmp_path).findings] == ["MPS001"]


WATERMARK = "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"
NO_COMMENTS = [
    ("run.sh", f"export {WATERMARK}\ncat > notes.txt <<EOF\n# mpslint: ignore-file[MPS701]\nEOF\n"),
    ("run.sh", f'export X="# mpslint: ignore[MPS701]" {WATERMARK}\n'),
    ("run.sh", f"export {WATERMARK} X=a#noqa:MPS701\necho 'c # noqa: MPS701'\necho ${{x# mpslint: ignore-file}}\n"),
    ("Dockerfile", f'FROM x\nENV {WATERMARK}\nRUN echo "# mpslint: ignore-file[MPS701]" > x\nLABEL a="x # mpslint: ignore-file"\n'),
    (".env", f'{WATERMARK}\nA="x # mpslint: ignore-file[MPS701] y"\n'),
    ("Makefile", f'export {WATERMARK}\nall:\n\techo "x # mpslint: ignore-file[MPS701]" > f\n'),
    ("docker-compose.yml", f"services:\n  a:\n    environment: [{WATERMARK}]\n    x: |\n      # mpslint: ignore-file[MPS701]\n"),
]


@pytest.mark.parametrize(("name", "text"), NO_COMMENTS)
def test_what_is_no_comment_silences_nothing(name: str, text: str) -> None:
    """Text in strings, here documents and values stays as it is, too: no fix takes it away."""
    result = check(read(name, text.encode()), default_target())

    assert [finding.rule for finding in result.findings] == ["MPS701"]


@pytest.mark.parametrize(("name", "text"), NO_COMMENTS)
def test_a_comment_beside_it_does(name: str, text: str) -> None:
    """A line of its own is a comment in each of these formats; without a finding the fix takes it away and nothing else."""
    comment = "# mpslint: ignore-file[MPS701]\n"
    result = check(read(name, (comment + text).encode()), default_target())
    other = text.replace(WATERMARK, "OTHER=1")

    assert (result.findings, [finding.rule for finding in result.silenced]) == ((), ["MPS701"])
    assert fix(read(name, (comment + other).encode()), default_target()).data.decode() == other


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".env", "A=1 # mpslint: ignore[MPS701]\n"),
        ("run.sh", "echo a \\\n  # mpslint: ignore[MPS701]\necho b\n"),
        ("Makefile", "# mpslint: ignore[MPS701] \\\necho b\n"),
    ],
)
def test_a_comment_that_may_be_more_is_left(name: str, text: str) -> None:
    """`docker --env-file` knows no comment behind a value, and without the line another would be part of the command."""
    fixed = fix(read(name, text.encode()), default_target())

    assert ([finding.rule for finding in fixed.after.findings], fixed.data.decode()) == (["MPS001"], text)


def test_a_written_file_silences_itself_only() -> None:
    """What `%%writefile` writes is no comment of the notebook, and works in the file that is written."""
    code = HEAD + "args = TrainingArguments('o', fp16=True)\n"
    written = f"%%writefile a.py\n# mpslint: ignore-file[MPS101]\n{code}"
    result = check(read("n.ipynb", notebook(code, written, code)), default_target())

    assert [result.document.place(finding.span.start).cell for finding in result.findings if finding.rule == "MPS101"] == [1, 3]
    assert [result.document.place(finding.span.start).cell for finding in result.silenced] == [2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# Databricks notebook source\n# MAGIC %md\n# MAGIC Write `# mpslint: ignore-file[MPS101]`\n", "# COMMAND ----------\n"),
        ("# %% [markdown]\n# Write `# mpslint: ignore-file[MPS101]`\n", "# %%\n"),
    ],
)
def test_the_text_of_a_notebook_is_no_comment(before: str, after: str) -> None:
    """Where a script keeps it as one: it silences nothing and stays; a comment of the code beside it works."""
    code = HEAD + "args = TrainingArguments('o', fp16=True)"
    loud, silent = (check(read("n.py", f"{before}{after}{code}{end}\n".encode()), default_target()) for end in ("", "  # noqa: MPS101"))

    assert (ids(loud), ids(silent)) == (["MPS101"], [])
    assert ids(check(read("n.py", f"{before}{after}x = 1\n".encode()), default_target())) == []

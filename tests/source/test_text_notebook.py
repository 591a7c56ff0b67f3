"""Notebooks kept as text: marimo, Markdown by jupytext and MyST, Quarto, and commands that scripts keep as comments."""

from __future__ import annotations

from pathlib import Path

import pytest

import mpslint
from mpslint.core.finding import ReadError
from mpslint.session.session import Options, check_file, fix_file
from mpslint.source.files import FoundFile

CODE = 'from transformers import TrainingArguments\n\nargs = TrainingArguments("out", fp16=True)\n'
MARIMO = """import marimo

app = marimo.App(width="medium")


@app.cell
def _(TrainingArguments, torch):
    args = TrainingArguments("out", fp16=True)
    return (args,)


@app.cell(hide_code=True)
def _():
    import torch
    from transformers import TrainingArguments
    return TrainingArguments, torch


@app.function
def lower(x):
    return x.half()


if __name__ == "__main__":
    app.run()
"""
QUARTO = f"""---
title: Training
format: html
---

Set `fp16=True`. An example that isn't run:

```python
TrainingArguments("out", fp16=True)
```

````markdown
```{{python}}
TrainingArguments("out", fp16=True)
```
````

```{{python}}
#| label: train
!pip install transformers==4.51.0
{CODE}```

```{{python}}
#| eval: false
TrainingArguments("out", fp16=True)
```
"""
JUPYTEXT = f'---\njupyter:\n  kernelspec:\n    name: python3\n---\n\n# Train\n\n```python tags=["x"]\n{CODE}```\n\n```bash\npip install torch==2.1\n```\n'
MYST = f"---\njupytext:\n  text_representation:\n    format_name: myst\nkernelspec:\n  name: python3\n---\n\n```{{code-cell}} ipython3\n:tags: [hide]\n\n{CODE}```\n"


@pytest.mark.parametrize(
    ("name", "text", "cell", "line"),
    [("nb.py", MARIMO, 1, 1), ("a.qmd", QUARTO, 1, 5), ("a.md", JUPYTEXT, 1, 3), ("b.md", MYST, 1, 4)],
)
def test_findings_are_in_cells_and_on_lines_of_the_file(name: str, text: str, cell: int, line: int, tmp_path: Path) -> None:
    """Once each, and the fix changes nothing but the argument."""
    path = tmp_path / name
    path.write_text(text)
    found = FoundFile(str(path))
    result = check_file(found, Options(select=("MPS101",), isolated=True))

    assert result.problem == ""
    assert result.checked is not None
    [finding] = result.findings
    place = result.checked.document.place(finding.span.start)
    assert (place.cell, place.line) == (cell, line)
    assert text.splitlines()[place.physical_line - 1][place.physical_column - 1 :].startswith("fp16=True")
    fixed = fix_file(found, Options(select=("MPS101",), isolated=True), False)
    old, new = text.splitlines(), fixed.data.decode().splitlines()
    changed = [line for line in new if line not in old]
    assert [line.strip() for line in changed if "import torch" not in line] == [
        'args = TrainingArguments("out", fp16=not torch.backends.mps.is_available())'
    ]
    assert fixed.after.findings == ()


def test_marimo_gets_no_second_import() -> None:
    """Two cells that define a name don't run, so an import in a later cell counts."""
    fixed = mpslint.fix(MARIMO, filename="nb.py").text

    assert fixed.count("import torch") == 1
    assert "fp16=not torch.backends.mps.is_available()" in fixed


def test_marimo_gets_one_import_for_several_cells() -> None:
    """Where no cell imports torch yet: into the first cell that runs an import."""
    cells = [
        '    first = TrainingArguments("a", fp16=True)\n    return',
        '    second = TrainingArguments("b", fp16=True)\n    return',
        "    from transformers import TrainingArguments\n    return",
    ]
    text = "import marimo\n\napp = marimo.App()\n" + "".join(f"\n\n@app.cell\ndef _():\n{cell}\n" for cell in cells)
    result = mpslint.fix(text, filename="nb.py")

    assert result.text.count("import torch\n    from transformers") == result.text.count("import torch") == 1
    assert result.text.count("fp16=not torch.backends.mps.is_available()") == 2
    assert not [finding for finding in result.left if finding.safety == "safe"]


def test_the_scripts_of_others_are_no_marimo_notebooks() -> None:
    """A script that imports marimo and has no app is a script, and so is one that doesn't parse."""
    [finding] = mpslint.check(f"import marimo\n{CODE}", select=["MPS101"]).findings

    assert (finding.cell, finding.line) == (None, 4)
    assert mpslint.check("import marimo\napp = marimo.App()\nx = (\n").unread[0].startswith("line 3")


@pytest.mark.parametrize("text", ["# Title\n\n```python\nargs = 1\n```\n", "---\ntitle: x\n---\n", "---\n---\ntext\njupyter: x\n"])
def test_other_markdown_is_said_to_be_no_notebook(text: str, tmp_path: Path) -> None:
    """In one line, when it is named; below a folder it isn't looked at."""
    (tmp_path / "README.md").write_text(text + "torch")
    result = check_file(FoundFile(str(tmp_path / "README.md")), Options(isolated=True))

    assert "not a notebook: Markdown is read as one if its header has the key" in result.problem
    with pytest.raises(ReadError):
        mpslint.check(tmp_path / "README.md")


def test_a_chunk_that_does_not_parse_costs_that_chunk() -> None:
    """The others are checked, and the report says which was not read."""
    result = mpslint.check(QUARTO + "\n```{python}\nx = (\n```\n", filename="a.qmd", select=["MPS101"])

    assert [finding.rule for finding in result.findings] == ["MPS101"]
    assert len(result.unread) == 1
    assert result.unread[0].startswith("cell 2, line 1")


DATABRICKS = f"""# Databricks notebook source
# MAGIC %md # Train
# COMMAND ----------
# MAGIC %pip install torch==2.2.0 transformers==4.40.0
# COMMAND ----------
# MAGIC %sh
# MAGIC export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0
# COMMAND ----------
{CODE}"""
PERCENT = f"# ---\n# jupyter:\n#   kernelspec: x\n# ---\n\n# %%\n# !pip install torch==2.2.0 transformers==4.40.0\n\n# %%\n{CODE}"


@pytest.mark.parametrize("text", [DATABRICKS, PERCENT], ids=("databricks", "percent"))
def test_commands_in_comments_count_where_notebooks_keep_them_so(text: str, tmp_path: Path) -> None:
    """The versions that they install are those of the Target."""
    (tmp_path / "nb.py").write_text(text)
    result = check_file(FoundFile(str(tmp_path / "nb.py")), Options(isolated=True))

    assert result.checked is not None
    assert result.checked.target.versions["transformers"][:2] == (4, 40)
    assert "MPS101" in {finding.rule for finding in result.findings}
    assert ("MPS714" in {finding.rule for finding in result.findings}) is (text is DATABRICKS)


def test_comments_of_ordinary_scripts_are_comments(tmp_path: Path) -> None:
    """A command in a comment of a script installs nothing."""
    (tmp_path / "train.py").write_text(f"# %%\n# !pip install transformers==4.40.0\n# MAGIC %pip install torch==2.2\n{CODE}")
    result = check_file(FoundFile(str(tmp_path / "train.py")), Options(isolated=True))

    assert result.checked is not None
    assert result.checked.target.versions["transformers"][:2] != (4, 40)


def test_a_databricks_cell_that_does_not_parse_costs_that_cell(tmp_path: Path) -> None:
    """The others are checked and fixed; a command mark inside of a line is no mark, and Windows line ends and a byte order mark stay."""
    broken = "# COMMAND ----------\n\nfor x in :\n"
    text = DATABRICKS.replace("# MAGIC %sh", f"{broken}# COMMAND ----------\n# MAGIC %sh") + 'mark = "# COMMAND ----------"\n'
    for written in (text, text.replace("\n", "\r\n"), "\ufeff" + text):
        path = tmp_path / "nb.py"
        path.write_bytes(written.encode())
        checked = mpslint.check(path, select=["MPS101"])

        assert [part.partition(":")[0] for part in checked.unread] == ["cell 4, line 2"]
        assert [finding.cell for finding in checked.findings] == [6]
        fixed = fix_file(FoundFile(str(path)), Options(select=("MPS101",), isolated=True), False).data.decode()
        assert (
            fixed.replace("fp16=not torch.backends.mps.is_available()", "fp16=True")
            .replace("import torch\r\n", "")
            .replace("import torch\n", "")
            == written
        )

"""Files become documents, places are what an editor shows, and nothing but edits changes when a document is written back."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpslint.core.finding import Edit, ReadError, Span
from mpslint.source.document import Kind
from mpslint.source.notebook import NotebookText, load_cells
from mpslint.source.notebook_format import new_flaw
from mpslint.source.reader import kind_of, read
from tests.notebooks import code_cell, notebook


@pytest.mark.parametrize(
    "data",
    [
        b"x = 1\n",
        b"\xef\xbb\xbfx = 1\r\n",
        "# -*- coding: latin-1 -*-\ns = 'é'\n".encode("latin-1"),
        b"x = 1",
        b"",
        b"a\rb\n",
        "s = '🎉'\n".encode(),
    ],
)
def test_python_files_come_back_byte_for_byte(data: bytes) -> None:
    """Byte order marks, declared encodings, any line ends, no final newline."""
    document = read("x.py", data)

    assert document.write_back is not None
    assert document.write_back(()) == data


def test_an_edit_keeps_encoding_mark_and_line_ends() -> None:
    """Only the characters of the edit change."""
    data = b"\xef\xbb\xbf# caf\xc3\xa9\r\nfp16 = True\r\n"
    document = read("x.py", data)
    start = document.text.index("True")
    assert document.write_back is not None

    assert document.write_back((Edit(Span(start, start + 4), "False"),)) == data.replace(b"True", b"False")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.py", b"\xff\xfe\x00", "null bytes"),
        ("x.py", b"s = '\xe9'\n", "x.py:1: not valid utf-8"),
        ("x.py", b"# coding: klingon\n", "klingon"),
        ("x.ipynb", b"{", "not valid JSON"),
        ("x.ipynb", b"[]", "it is a list, not an object"),
        ("x.ipynb", b"null", "x.ipynb: not a notebook: it is null"),
        ("x.ipynb", b"{}", "not a notebook: 'cells' is a required property"),
        ("x.ipynb", b'{"cells": 3}', "cells: it is a number, not a list"),
        ("x.ipynb", b'{"nbformat": 3, "worksheets": 3}', "worksheets: it is a number, not a list"),
        ("x.ipynb", b'{"nbformat": 3, "worksheets": [null]}', "not a notebook: it has null where an object with 'cells' belongs"),
        (
            "x.ipynb",
            b'{"nbformat": 2, "metadata": {}, "worksheets": [{"cells": [{"cell_type": "code"}]}]}',
            "missing an expected key: outputs",
        ),
        ("x.ipynb", b"\xff", "not valid UTF-8"),
        ("x.ipynb", b'{"cells": [', "x.ipynb:1"),
        ("x.ipynb", b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(name: str, data: bytes, said: str) -> None:
    """The line names the file, the place where there is one, and what is wrong."""
    with pytest.raises(ReadError) as error:
        read(name, data)

    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert name in str(error.value)


def test_places_in_a_notebook_are_those_of_the_cell_and_of_the_file() -> None:
    """Cells count from 1 whatever their type, lines within the cell, physical lines in the JSON text."""
    data = notebook(
        {"cell_type": "markdown", "metadata": {}, "source": ["hello"]}, "x = 1\n", code_cell(["a = 2\n", "é = 3\n", "b = 4"], id="abc")
    )
    document = read("n.ipynb", data)
    place = document.place(document.text.index("b = 4") + 4)

    assert (place.cell, place.cell_id, place.line, place.column) == (3, "abc", 3, 5)
    assert b"b = 4" in data.splitlines()[place.physical_line - 1]


@pytest.mark.parametrize(
    "data",
    [
        notebook("x = 1\n", code_cell(["a = 2\n", "\n", 'd = {"é": [\n', "  'tab\t']}"])),
        notebook("x = 1\n", code_cell("a = 2\n\nd = {\"é\": [\n  'tab\t']}"), indent=None),
        notebook("x = 1\n", code_cell(['a = 2\n\nd = {"é', "\": [\n  'tab\t']", "", "}"]), ensure_ascii=False),
    ],
    ids=["lines", "one line", "odd"],
)
def test_every_character_of_a_notebook_has_its_place_in_the_json(data: bytes) -> None:
    """Written out there as it is read here; a range ends behind its last character, not in the next string."""
    document = read("n.ipynb", data)
    lines = data.decode().split("\n")
    for offset, character in enumerate(document.text):
        start, end = document.place(offset), document.end_place(Span(offset, offset + 1))
        if offset == document.cells[0].span.end:
            continue  # the line end that joins the cells is in no string
        assert start.physical_line == end.physical_line
        written = lines[start.physical_line - 1][start.physical_column - 1 : end.physical_column - 1]
        assert json.loads(f'"{written}"') == character


def test_old_and_odd_notebooks_are_read() -> None:
    """Cells that nbformat calls invalid but Jupyter opens; what isn't a cell at all is said."""
    odd = {"cells": [{"cell_type": "code", "source": "y = 2"}, {"cell_type": "code"}, 7, {"cell_type": "code", "source": 1}], "nbformat": 4}
    odd["cells"] += [{"cell_type": "code", "source": ["z = 3", None]}, {"cell_type": None, "source": "w = 4"}]  # type: ignore[operator]
    odd["cells"] += [{"source": "v = 5"}, {"cell_type": "code", "source": "u = 6\0"}]  # type: ignore[operator]
    document = read("odd.ipynb", json.dumps(odd).encode())

    assert document.text == "y = 2\n\n\n\n\n\n\n"
    assert [(document.place(part.span.start).cell, part.reason) for part in document.unread] == [
        (3, "it is a number, not an object"),
        (4, "its source is a number, not text"),
        (5, "its source is a list of more than texts, not text"),
        (6, "its cell_type is null, not text"),
        (7, "it has no cell_type"),
        (8, "its source contains a NUL character"),
    ]


OLD_CELL = {"cell_type": "code", "language": "python", "outputs": [], "prompt_number": 5}
OLD = [
    {
        "nbformat": 1,
        "cells": [{"cell_type": "text", "text": "Title"}, {"cell_type": "code", "code": "x = 1\ny = True", "prompt_number": 5}],
    },
    {"nbformat": 2, "metadata": {}, "worksheets": [{"cells": [{**OLD_CELL, "input": ["x = 1", "y = True"]}]}]},
    {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": [{**OLD_CELL, "input": ["x = 1\n", "y = True"]}]}]},
    {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": [{**OLD_CELL, "input": "x = 1\ny = True"}, {**OLD_CELL, "language": "R"}]}]},
]


@pytest.mark.parametrize("old", OLD, ids=["1", "2", "3", "3-string"])
def test_old_formats_are_read_by_nbformats_upgrade_and_written_in_their_own(old: dict[str, object]) -> None:
    """Format 2 joins lines that have no ends; an edit that brings a line end makes them two."""
    raw = json.dumps(old)
    document = read("old.ipynb", raw.encode())
    start = document.text.index("True")
    assert document.write_back is not None
    written = document.write_back((Edit(Span(start, start + 4), "False\nz = 3"),))

    assert document.text == "x = 1\ny = True"
    assert [cell.execution_count for cell in document.cells] == [5]
    assert read("old.ipynb", written).text == "x = 1\ny = False\nz = 3"
    assert list(json.loads(written)) == list(old)
    assert raw[document.place(start).physical_column - 1 :].startswith("True")
    assert new_flaw(raw.encode(), written) == ""


@pytest.mark.parametrize(
    "metadata",
    [{"language_info": {"name": "R"}}, {"kernelspec": {"language": "julia", "name": "julia-1.9"}}, {"kernelspec": {"name": "ir"}}],
)
def test_notebooks_in_another_language_hold_no_python(metadata: dict[str, object]) -> None:
    """Their cells are left out."""
    data = json.dumps({"cells": [code_cell("x <- 1")], "metadata": metadata, "nbformat": 4}).encode()

    assert read("r.ipynb", data).cells == ()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.py", Kind.PYTHON),
        ("A.IPYNB", Kind.NOTEBOOK),
        (".env", Kind.ENV),
        (".env.local", Kind.ENV),
        ("x.env", Kind.ENV),
        ("run.sh", Kind.SHELL),
        ("a.txt", None),
    ],
)
def test_kinds_go_by_the_name(name: str, kind: Kind | None) -> None:
    """What mpslint has nothing to say about has no kind."""
    assert kind_of(f"some/folder/{name}") is kind


SOURCES = st.lists(st.text(alphabet='ab"\\\n\té🎉\x7f', max_size=20), min_size=1, max_size=4)
DUMPS = st.fixed_dictionaries(
    {"indent": st.sampled_from([None, 1, 2, 4, "\t"]), "ensure_ascii": st.booleans(), "sort_keys": st.booleans()},
)


@given(SOURCES, DUMPS, st.data())
def test_a_notebook_changes_only_where_it_is_edited(sources: list[str], dump: dict[str, object], data: st.DataObject) -> None:
    """Whatever the file's style: no edit gives the same bytes, and an edit changes that cell's source and nothing else."""
    as_lists = data.draw(st.booleans())
    raw = notebook(*[source if as_lists else code_cell(source) for source in sources], **dump)
    document = read("n.ipynb", raw)
    assert document.write_back is not None
    assert document.write_back(()) == raw

    index = data.draw(st.integers(0, len(sources) - 1))
    start = data.draw(st.integers(0, len(sources[index])))
    end = data.draw(st.integers(start, len(sources[index])))
    new = data.draw(st.text(alphabet='xy"\\\né', max_size=8))
    offset = document.cells[index].span.start
    written = document.write_back((Edit(Span(offset + start, offset + end), new),))

    before, after = json.loads(raw), json.loads(written)
    expected = sources[index][:start] + new + sources[index][end:]
    assert "".join(after["cells"][index]["source"]) == expected
    after["cells"][index]["source"] = before["cells"][index]["source"]
    assert after == before
    if as_lists and dump["indent"] is not None:
        unchanged = [line for line in raw.splitlines() if line.strip().startswith(b'"cell_type"')]
        assert [line for line in written.splitlines() if line.strip().startswith(b'"cell_type"')] == unchanged


def test_only_the_changed_line_of_a_notebook_differs() -> None:
    """Escapes, odd indents and everything around the edit stay as they are, character by character."""
    raw = b'{\n   "cells": [\n      {"cell_type": "code", "source": ["caf\\u00e9 = 1\\n",\n  "fp16=True\\n", "x\\/y"], "metadata": {}}\n   ],\n "nbformat": 4}'
    document = read("n.ipynb", raw)
    start = document.text.index("True")
    assert document.write_back is not None

    assert document.write_back((Edit(Span(start, start + 4), "False"),)) == raw.replace(b"True", b"False")


CELL = '{"cell_type": "code", "source": ["import torch\\n", "x = \\"[{\\""], "outputs": [{"data": [1, {}]}]}'
WHOLE = [
    f'{{"cells": [{CELL}, {CELL}], "metadata": {{}}, "nbformat": 4}}',
    f'\n{{ "metadata" : {{"a": [1, "]"]}} ,\r\n\t"cells" : [\n {CELL} \n,\t{CELL}\n] }}\n\n',
    f'{{"cells": [{CELL}], "cells": [3, {CELL}]}}',
    f'{{"c\\u0065lls": [{CELL}]}}',
    '{"cells": []}',
]
BROKEN = [
    '{"cells": [], }',
    f'{{"cells": [{CELL},]}}',
    f'{{"cells": [{CELL}]}} x',
    '{"cells": [1 2]}',
    '{"cells"}',
    "{3: 4}",
    '{"cells": [',
    "{",
]


@pytest.mark.parametrize("raw", WHOLE)
def test_where_a_source_lies_is_found_in_what_is_read(raw: str) -> None:
    """What is read is what `json` reads, and what lies at the place of each cell's source is its source."""
    cells, _ = load_cells(raw, "train.ipynb")

    assert [cell.data for cell in cells if not cell.flaw] == [cell for cell in json.loads(raw)["cells"] if isinstance(cell, dict)]
    found = NotebookText(raw, tuple(cell.number for cell in cells))
    for index, cell in enumerate(cells):
        literals = [json.loads(raw[start:end], strict=False) for start, end in found.source(index).literals]
        assert cell.flaw or found.source(index).glue.join(literals) == cell.source


@pytest.mark.parametrize("raw", BROKEN)
def test_json_that_is_not_well_formed_is_refused_with_its_place(raw: str) -> None:
    """With the place and reason that `json` gives."""
    with pytest.raises(json.JSONDecodeError) as expected:
        json.loads(raw)
    with pytest.raises(ReadError, match=rf"train.ipynb:1:{expected.value.colno}: not valid JSON: {re.escape(expected.value.msg)}"):
        load_cells(raw, "train.ipynb")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.py", b"x=1\n" * 200_001, "x.py: more than 200,000 lines of Python, so not read"),
        ("x.py", b"x = '" + b"a" * 10_000_000 + b"'", "x.py: more than 10 MB of Python, so not read"),
        (
            "x.ipynb",
            b'{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": "%s"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}'
            % (b"x=1\\n" * 200_001),
            "x.ipynb: more than 200,000 lines of Python, so not read",
        ),
    ],
    ids=["lines", "characters", "notebook"],
)
def test_more_than_a_program_is_said_in_one_line(name: str, data: bytes, said: str) -> None:
    """What takes minutes and gigabytes to read is data."""
    with pytest.raises(ReadError) as caught:
        read(name, data)

    assert str(caught.value) == said


def test_as_much_as_a_program_may_be_is_read() -> None:
    """At the bound itself."""
    assert read("x.py", b"x=1\n" * 200_000).python.count("\n") == 200_000


def test_a_place_in_words_has_its_cell() -> None:
    """Lines of a notebook count within their cell, wherever they are spoken of."""
    cells = [{"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": "a = 1\nb = 2"}] * 2
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()
    document = read("a.ipynb", notebook)

    assert document.place(document.text.rindex("b = 2")).words == "cell 2, line 2"
    assert read("a.py", b"a = 1\nb = 2\n").place(6).words == "line 2"

"""mpslint as a library: the page's examples are run, and what the types promise holds."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import mpslint
from tests.cli.test_cli import BAD

PAGE = Path(__file__).parents[1] / "docs" / "library.md"


def test_the_examples_of_the_page_print_what_it_shows() -> None:
    """All in one program, as a reader would paste them."""
    names: dict[str, object] = {}
    for code, output in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == output


def test_the_library_is_listed() -> None:
    """By dir(), and every name is there."""
    assert {"check", "fix", "Finding", "ReadError"} <= set(dir(mpslint))
    assert all(getattr(mpslint, name) for name in mpslint.__all__)


def test_a_path_is_read_and_a_configuration_applies(tmp_path: Path) -> None:
    """Only where it is asked for."""
    (tmp_path / "train.py").write_text(BAD)
    (tmp_path / "mpslint.toml").write_text('ignore = ["MPS1"]\n[target]\ntorch = "2.9"\n')

    assert "MPS101" in [finding.rule for finding in mpslint.check(tmp_path / "train.py").findings]
    assert "MPS101" not in [finding.rule for finding in mpslint.check(tmp_path / "train.py", configuration=tmp_path).findings]
    assert mpslint.fix(tmp_path / "train.py", select=["MPS101"]).text == "import torch\n" + BAD.replace(
        "True", "not torch.backends.mps.is_available()"
    )
    assert (tmp_path / "train.py").read_text() == BAD


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"select": ["MPS1000"]}, mpslint.UsageError),
        ({"severity": "fatal"}, mpslint.UsageError),
        ({"target": {"torch": "new"}}, mpslint.UsageError),
        ({"filename": "n.ipynb"}, mpslint.ReadError),
    ],
)
def test_what_is_wrong_is_raised(arguments: dict[str, object], error: type[Exception]) -> None:
    """As an error of ours."""
    with pytest.raises(error):
        mpslint.check(BAD, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["train.py", "./notebooks/train.ipynb", "C:\\\\code\\\\train.py", "conf/x.yaml"])
def test_a_path_given_as_text_is_no_program(path: str) -> None:
    """It would be checked as the text of a script, and nothing found."""
    with pytest.raises(mpslint.UsageError, match=r"pass pathlib\.Path"):
        mpslint.check(path)
    with pytest.raises(mpslint.UsageError):
        mpslint.fix(path)


@pytest.mark.parametrize("text", ["", "x", "torch.mps", "x.py = 1", "x.py()", "import train.py", "train.py\n"])
def test_a_short_text_is_a_program(text: str) -> None:
    """Whatever its words look like."""
    assert mpslint.check(text).findings == ()

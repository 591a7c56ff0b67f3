"""Dockerfiles, compose files and workflows set environment variables, each at its place."""

from __future__ import annotations

from typing import Any

import pytest

from mpslint.config.dockerfile import read_dockerfile
from mpslint.core.finding import Span
from mpslint.facts.facts import EnvironmentWrite
from mpslint.facts.values import Known
from mpslint.rewrite.recipes import line_removal
from mpslint.settings.evidence import gather_evidence
from mpslint.settings.spell import write_setting
from mpslint.source.document import Kind
from mpslint.source.reader import kind_of, read
from mpslint.target.target import default_target

RATIO = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"
UNKNOWN = object()


def shown(writes: list[EnvironmentWrite]) -> list[tuple[str, Any]]:
    """Return names and values."""
    return [(w.name, w.value.value if isinstance(w.value, Known) else UNKNOWN) for w in writes]


def writes_of(text: str, name: str) -> list[EnvironmentWrite]:
    """Return the variables that a file sets."""
    document = read(name, text.encode())
    return gather_evidence(document, document.python, default_target()).facts.environment


DOCKERFILES: list[tuple[str, list[tuple[str, Any]]]] = [
    ("FROM x\nENV A=1 B=\"x y\" C='z'\n", [("A", "1"), ("B", "x y"), ("C", "z")]), ("ENV A some words \n", [("A", "some words")]), ("env A=1\n", [("A", "1")]), ("ENV A=1 \\\n    B=2 \\\n    # why\n    C=3\nRUN x\n", [("A", "1"), ("B", "2"), ("C", "3")]),
    ("# ENV A=1\n", []), ("RUN echo \\\n  ENV A=1\n", []), ("RUN <<EOF\nENV A=1\nEOF\nENV B=2\n", [("B", "2")]), ("ENV A=$B C=${D}\n", [("A", UNKNOWN), ("C", UNKNOWN)]), ("# escape=`\nENV A=1 `\n    B=2\n", [("A", "1"), ("B", "2")]),
    ("ENV A=a\\ b\n", [("A", "a b")]), ("ENV A=1\r\nENV B 2\r\n", [("A", "1"), ("B", "2")]), ("ENV\nENV A\nENV =x\n", []), ("ARG A=1\nLABEL B=2\n", []), ("RUN <<EOF\nENV A=1\n", []), ("ENV A=1 # no comment B=2\n", [("A", "1"), ("B", "2")]),
    ("ENV A=1 \\", [("A", "1")]), ("ENV A=1 \\\n # c", [("A", "1")]), ('ENV A="\\"x\\""', [("A", '"x"')]), ("ONBUILD ENV A=1\n", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "writes"), DOCKERFILES, ids=[text[:24] for text, _ in DOCKERFILES])
def test_dockerfiles(text: str, writes: list[tuple[str, Any]]) -> None:
    """Both forms of ENV, continuation lines with comments between, here documents left out."""
    found = read_dockerfile(text)

    assert shown(found) == writes
    assert all(text[w.start : w.end].startswith(w.name) for w in found)


@pytest.mark.parametrize(
    "name", ["Dockerfile", "Dockerfile.mps", "dockerfile-dev", "train.dockerfile", "Containerfile", "docker/Dockerfile_mac"]
)
def test_names_of_dockerfiles(name: str) -> None:
    """They have no one name."""
    assert kind_of(name) is Kind.DOCKERFILE


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Dockerfile.py", Kind.PYTHON),
        (".dockerignore", None),
        ("mydockerfile.txt", None),
        ("a.yml", Kind.YAML),
        ("A.YAML", Kind.YAML),
        ("a.json", Kind.JSON),
    ],
)
def test_names_of_other_files(name: str, kind: Kind | None) -> None:
    """A suffix that is known counts more."""
    assert kind_of(name) is kind


WORKFLOW = f"""\
name: train
on: push
env:
  {RATIO}: 0.0
  TOKEN: ${{{{ secrets.TOKEN }}}}
jobs:
  mac:
    runs-on: macos-14
    env: {{A: 1}}
    steps:
      - run: python train.py
        env:
          B: "2"
      - uses: actions/checkout@v4
  linux:
    runs-on: ubuntu-latest
    env:
      C: 3
"""


def test_workflows_count_where_a_mac_runs_them() -> None:
    """The variables of the workflow, of its Mac jobs and of their steps; those of other jobs reach no Mac."""
    found = writes_of(WORKFLOW, ".github/workflows/train.yml")

    assert shown(found) == [(RATIO, "0.0"), ("TOKEN", UNKNOWN), ("A", "1"), ("B", "2")]
    assert WORKFLOW[found[3].value_start : found[3].value_end] == '"2"'
    assert writes_of(WORKFLOW.replace("macos-14", "windows-latest"), "ci.yml") == []
    assert shown(writes_of("on: push\njobs:\n  mac:\n    runs-on: [self-hosted, macOS]\n    env: {A: 1}\n", "ci.yml")) == [("A", "1")]


def test_a_job_that_anchors_repeat_is_read_once() -> None:
    """The same mapping at two places is one place to write to."""
    text = "on: push\njobs:\n  a: &job\n    runs-on: macos-14\n    env: &env {A: 1}\n    steps: [{env: *env}]\n  b: *job\n"

    assert shown(writes_of(text, "ci.yml")) == [("A", "1")]


def test_compose_files() -> None:
    """A mapping or a list of `NAME=value`, in quotes or not."""
    text = f"services:\n  a:\n    environment:\n      {RATIO}: '0.0'\n  b:\n    environment:\n      - A=1\n      - \"B=2 3\"\n      - C\n      - {{x: y}}\n  c: {{image: x}}\n  d: text\n"
    found = writes_of(text, "docker-compose.yaml")

    assert shown(found) == [(RATIO, "0.0"), ("A", "1"), ("B", "2 3")]
    assert text[found[2].value_start : found[2].value_end] == "2 3"
    assert writes_of("services:\n  a:\n    environment: text\n", "compose.yml") == []


def test_variables_are_written_back() -> None:
    """Quotes stay where there are some, and a YAML number stays one."""
    for text, name, new in [
        (f"ENV {RATIO}=0.0 A=1\n", "Dockerfile", f"ENV {RATIO}=1.7 A=1\n"),
        (WORKFLOW, "ci.yml", WORKFLOW.replace("RATIO: 0.0", 'RATIO: "1.7"')),
        (
            f'services:\n  a:\n    environment:\n      - "{RATIO}=0.0"\n',
            "compose.yml",
            f'services:\n  a:\n    environment:\n      - "{RATIO}=1.7"\n',
        ),
    ]:
        document = read(name, text.encode())
        evidence = gather_evidence(document, document.python, default_target())
        written = write_setting(evidence, evidence.plans[-1], None, "environment.high_watermark", "1.7")
        assert written is not None
        assert document.write_back is not None
        assert document.write_back(written.edits).decode() == new


REMOVALS: list[tuple[str, str, str | None]] = [
    ("run.sh", "a\nexport A=1\nb\n", "a\nb\n"), ("run.sh", "A=1\n", ""), ("run.sh", "A=1 python t.py\n", None), ("run.sh", "env \\\nA=1\n", None), (".env", "B=2\nA=1", "B=2\n"), (".env", 'A="1" # c\nB=2\n', "B=2\n"),
    ("Dockerfile", "FROM x\nENV A=1\n", "FROM x\n"), ("Dockerfile", "ENV A=1 B=2\n", None), ("Dockerfile", "ENV B=2 \\\n  A=1\n", None), ("c.yml", "on: push\nenv:\n  A: 1\n  B: 2\n", "on: push\nenv:\n  B: 2\n"),
    ("c.yml", "env:\n  A: 1\njobs: {}\n", None), ("c.yml", "environment:\n  - B=1\n  - A=1\n", "environment:\n  - B=1\n"), ("c.yml", "env: {A: 1, B: 2}\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "new"), REMOVALS, ids=[f"{name}:{text[:16]}" for name, text, _ in REMOVALS])
def test_lines_that_set_a_variable_are_removed(name: str, text: str, new: str | None) -> None:
    """The whole line, where nothing else stands on it and something is left of the block."""
    start = text.index("A")
    end = (
        min(i for i in (text.find(c, start) for c in " \n,") if i >= 0)
        if text[start + 1] == "=" and any(c in text[start:] for c in " \n,")
        else text.find("\n", start)
    )
    end = len(text) if end < 0 else end
    document = read(name, text.encode())
    edit = line_removal(document, Span(start, end))

    assert (None if edit is None else text[: edit.span.start] + text[edit.span.end :]) == new

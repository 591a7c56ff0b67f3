"""Small projects, each in a style of its own: what must be found where, and what must not be."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mpslint.core.finding import Finding
from mpslint.rewrite.apply import Fixed
from mpslint.session.fixing import fix_unit
from mpslint.session.runs import check_paths
from mpslint.session.session import Options, files_of
from mpslint.session.units import graph_of, units_of

PROJECTS = sorted((Path(__file__).parents[1] / "projects").glob("*.yaml"))


def written(project: Path, folder: Path) -> dict[str, Any]:
    """Write the files of a project; return what is expected of it."""
    data: dict[str, Any] = yaml.safe_load(project.read_text(encoding="utf-8"))
    for name, text in data["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return data


def findings_in(folder: Path) -> list[tuple[str, int, Finding]]:
    """Return the findings below a folder, each with its file and line."""
    return [
        (str(Path(result.path).relative_to(folder)), result.checked.document.line_at(finding.span.start), finding)
        for result in check_paths([str(folder)], Options(isolated=True))
        if result.checked is not None
        for finding in result.findings
    ]


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.stem)
def test_a_project_gives_what_it_must(project: Path, tmp_path: Path) -> None:
    """Each finding that is expected is there, once, at its place; what must not be found is not."""
    expected = written(project, tmp_path)

    found = [(path, line, finding.rule) for path, line, finding in findings_in(tmp_path)]

    for path, line, rule in expected["found"]:
        assert found.count((path, line, rule)) == 1, found
        assert [one for one in found if one[0] == path and one[2] == rule] == [(path, line, rule)]
    assert not {(path, rule) for path, _, rule in found} & {(path, rule) for path, rule in expected["silent"]}


def test_a_finding_names_where_the_value_goes_in_another_file(tmp_path: Path) -> None:
    """A value that another module decides is found there, and the call that takes it is named with its file."""
    written(next(path for path in PROJECTS if path.stem == "constants"), tmp_path)

    finding = next(finding for path, _, finding in findings_in(tmp_path) if finding.rule == "MPS509")

    assert [(Path(related.path).name, related.line) for related in finding.related][:1] == [("train.py", 5)]


def fixed_in(folder: Path, *names: str) -> dict[str, Fixed]:
    """Return what `fix` makes of each file of a folder that can be read, or of those that are named."""
    files = list(files_of([str(folder / name) for name in names] or [str(folder)], Options(isolated=True)))
    units = units_of(graph_of(files, Options(isolated=True)), list(enumerate(files)))
    outcomes = dict(outcome for unit in units for outcome in fix_unit(unit, Options(isolated=True), unsafe=False))
    return {str(Path(files[index].path).relative_to(folder)): one for index, one in outcomes.items() if isinstance(one, Fixed)}


def test_a_fix_of_a_value_is_made_in_the_module_that_decides_it(tmp_path: Path) -> None:
    """The fix of a finding of a run edits the finding's own file."""
    written(next(path for path in PROJECTS if path.stem == "plain_modules"), tmp_path)

    fixed = fixed_in(tmp_path)["train.py"]

    assert "MPS501" in {finding.rule for finding in fixed.applied}
    assert b'engine.train(model, [], "cuda" if torch.cuda.is_available()' in fixed.data


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.stem)
def test_a_fix_leaves_no_name_unbound(project: Path, tmp_path: Path) -> None:
    """Each file that a fix has call torch imports it itself: what another file of the run imports is not bound there."""
    written(project, tmp_path)

    for path, fixed in fixed_in(tmp_path).items():
        if path.endswith(".py") and fixed.is_changed:
            nodes = list(ast.walk(ast.parse(fixed.data)))
            bound = {
                alias.asname or alias.name.partition(".")[0]
                for n in nodes
                if isinstance(n, (ast.Import, ast.ImportFrom))
                for alias in n.names
            }
            used = {node.id for node in nodes if isinstance(node, ast.Name)}
            assert "torch" not in used or "torch" in bound or "*" in bound, fixed.data.decode()


@pytest.mark.parametrize("test", ["", "if TYPE_CHECKING:\n    import torch\n", 'if __name__ == "__main__":\n    import torch\n'])
def test_a_value_in_a_module_without_torch_is_fixed_with_an_import(tmp_path: Path, test: str) -> None:
    """The module of the settings calls torch after the fix, where only the script imported it."""
    (tmp_path / "settings.py").write_text(f'TYPE_CHECKING = False\n{test}class Settings:\n    optimizer = "paged_adamw_8bit"\n')
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
        "from settings import Settings\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
        'Trainer(model, TrainingArguments("out", optim=Settings.optimizer), train_dataset=data).train()\n'
    )

    fixed = fixed_in(tmp_path)["settings.py"]

    assert "import torch" in fixed.data.decode().splitlines()  # at the top, not under a test
    assert " in line " in next(finding.fix.summary for finding in fixed.applied if finding.fix)


def test_a_fix_that_causes_an_error_in_another_file_is_not_made(tmp_path: Path) -> None:
    """The device moves to the GPU in one file, where another one asks for float64: it stays, and the report says why."""
    (tmp_path / "data.py").write_text("def widened(batch):\n    return batch.double()\n")
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "from data import widened\n\n"
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "model = torch.nn.Linear(2, 2).to(device)\n"
        "batch = torch.ones(2, 2).to(device)\n"
        "loss = model(widened(batch)).sum()\n"
        "loss.backward()\n"
    )

    fixed = fixed_in(tmp_path)

    assert not any(one.is_changed for one in fixed.values())
    (left,) = [one for one in fixed["train.py"].after.findings if one.rule == "MPS503"]
    assert left.fix is not None
    assert "`batch.double()` in line 2 of " in left.fix.summary
    assert not fixed_in(tmp_path, "train.py")["train.py"].is_changed  # nor where somebody names this file alone
    (tmp_path / "data.py").write_text("def widened(batch):\n    return batch.float()\n")
    assert [one.rule for one in fixed_in(tmp_path)["train.py"].applied] == ["MPS503"]


def test_a_fix_in_another_file_imports_what_it_needs_there(tmp_path: Path) -> None:
    """The module that decides the value has no torch; the one that uses it has."""
    (tmp_path / "config.py").write_text('"""Values."""\n\nPRECISION = "fp16"\n')
    (tmp_path / "train.py").write_text(
        "import torch\nfrom accelerate import Accelerator\nfrom config import PRECISION\n\naccelerator = Accelerator(mixed_precision=PRECISION)\n"
    )

    fixed = fixed_in(tmp_path)

    assert not fixed["train.py"].is_changed
    text = fixed["config.py"].data.decode()
    assert text == '"""Values."""\n\nimport torch\nPRECISION = "no" if torch.backends.mps.is_available() else "fp16"\n'


def test_what_a_configuration_file_decides_is_mended_there(tmp_path: Path) -> None:
    """The fix is written in YAML, and held back, as other machines may use the file."""
    written(next(path for path in PROJECTS if path.stem == "yaml_config"), tmp_path)

    path, line, finding = next(one for one in findings_in(tmp_path) if one[2].rule == "MPS101")

    assert (path, line) == ("configs/base.yaml", 3)
    assert finding.fix is not None
    assert (finding.fix.safety.value, [edit.text for edit in finding.fix.edits]) == ("unsafe", ["false"])
    text = (tmp_path / path).read_text()
    assert [text[edit.span.start : edit.span.end] for edit in finding.fix.edits] == ["true"]


def test_a_file_that_is_checked_alone_says_what_other_files_decide_of_it(tmp_path: Path) -> None:
    """The finding is then where the value is used, and names the file that decides it."""
    written(next(path for path in PROJECTS if path.stem == "yaml_config"), tmp_path)

    results = list(check_paths([str(tmp_path / "train.py")], Options(isolated=True)))

    (finding,) = [finding for finding in results[0].findings if finding.rule == "MPS101"]
    assert finding.fix is not None
    assert finding.fix.edits == ()
    assert ("base.yaml", 3) in [(Path(related.path).name, related.line) for related in finding.related]


def test_a_plan_says_what_starts_the_run_and_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of the launch script, and the settings with the flags as they are written there."""
    written(next(path for path in PROJECTS if path.stem == "launch_argparse"), tmp_path)
    monkeypatch.chdir(tmp_path)

    from mpslint.cli.plan import command

    lines = CliRunner().invoke(command, ["scripts/run.sh", "--isolated", "--written"]).output.splitlines()

    assert "train.py, started by scripts/run.sh:4" in lines
    assert ["precision.mixed", "no"] in [line.split()[:2] for line in lines]
    assert ["precision.mixed", "fp16"] in [line.split()[:2] for line in lines]


def test_the_whole_run_reports_the_other_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --whole-run the findings of the named file only."""
    written(next(path for path in PROJECTS if path.stem == "yaml_config"), tmp_path)
    monkeypatch.chdir(tmp_path)

    from mpslint.cli.check import command

    options = ["train.py", "--isolated", "--quiet", "--no-cache", "--select", "MPS101"]
    alone = CliRunner().invoke(command, options).output
    whole = CliRunner().invoke(command, [*options, "--whole-run"]).output

    assert alone.startswith("train.py:11:")
    assert whole.startswith("configs/base.yaml:3:")


@pytest.mark.parametrize("name", ["plain_modules", "launch_argparse", "yaml_config", "package"])
def test_a_named_file_is_checked_within_the_runs_that_read_it(name: str, tmp_path: Path) -> None:
    """Whoever names one file alone, as pre-commit does, gets what a check of the whole folder says of it."""
    data = written(next(path for path in PROJECTS if path.stem == name), tmp_path)
    (tmp_path / "README.md").touch()  # by which the folder looks like one project
    whole = [(path, line, finding.rule) for path, line, finding in findings_in(tmp_path)]

    for path in data["files"]:
        (result,) = check_paths([str(tmp_path / path)], Options(isolated=True))

        document = result.checked.document if result.checked is not None else None
        found = [(path, document.line_at(one.span.start), one.rule) for one in result.findings if document is not None]
        assert set(found) >= {one for one in whole if one[0] == path}


def test_a_launch_script_that_is_no_text_starts_nothing(tmp_path: Path) -> None:
    """It is named as unreadable; the other files are checked as if it were not there."""
    written(next(path for path in PROJECTS if path.stem == "launch_click"), tmp_path)
    script = tmp_path / "run.sh"
    script.write_bytes(script.read_bytes() + b"\n\0")

    results = list(check_paths([str(tmp_path)], Options(isolated=True)))

    assert [Path(result.path).name for result in results if result.problem] == ["run.sh"]
    assert [result.checked is not None for result in results if not result.problem]


ODD = [
    "[",
    "{",
    "(",
    "$(",
    "${",
    "$((1+",
    "*",
    "\0",
    "\u00e9",
    "\n- ",
    "lambda",
    "**kw",
    "...",
    "--batch_size",
    "&a",
    "*a",
    "<<: *a",
    "%run x.py\n",
]
ODD += ["from . import *\n", 'exec(open("x").read())\n', "1e999", "9**9**9", "import train\n", "\n\t", "None", "1/0"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.stem)
def test_a_damaged_project_is_no_mistake_of_ours(project: Path, seed: int, tmp_path: Path) -> None:
    """Files with something cut out, doubled, shuffled or put in are read as far as that goes: nothing raises, and each file gets its answer."""
    written(project, tmp_path)
    rng = random.Random(f"{project.stem} {seed}")
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    for path in files:
        for _ in range(rng.choice([0, 1, 1, 2])):
            path.write_text(damaged(path.read_text(encoding="utf-8"), rng), encoding="utf-8")

    results = list(check_paths([str(tmp_path)], Options(isolated=True)))

    assert [result.problem for result in results if "mistake" in result.problem] == []


def damaged(text: str, rng: random.Random) -> str:
    """Return a text with one thing wrong."""
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.randrange(1, 60))
    lines = text.splitlines(keepends=True)
    rng.shuffle(lines)
    odd = f"{text[:start]}{rng.choice(ODD)}{text[start:]}"
    return rng.choice([text[:start], text[:start] + text[end:], text[:start] + text[start:end] * 3 + text[end:], "".join(lines), odd, odd])

"""Fixing the files of runs together: what was walked stays known as long as no file of it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint import engine
from mpslint.project.run import Run
from mpslint.rewrite.apply import Fixed
from mpslint.session.fixing import fix_unit
from mpslint.session.session import Options, files_of
from mpslint.session.units import graph_of, units_of
from mpslint.settings.evidence import Evidence, gather_run

HELPER = "import torch\n\ndef device():\n    return torch.device('cpu')\n"
SOUND = "import torch\nfrom helper import device\n\nprint(torch.zeros(2, device=device()))\n"
FIXED = "import torch\nfrom helper import device\n\nmodel = torch.nn.Linear(2, 2).cuda()\nmodel(torch.zeros(1, 2).cuda())\n"


def fixed(folder: Path, monkeypatch: pytest.MonkeyPatch, **texts: str) -> tuple[list[str], dict[str, Fixed]]:
    """Return the scripts whose runs were walked, in order, and what fixing the files gave, by name."""
    walked: list[str] = []

    def noted(run: Run, *rest: object) -> Evidence:
        walked.append(Path(run.script).name)
        return gather_run(run, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "gather_run", noted)
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    options = Options()
    files = list(files_of([str(folder)], options))
    units = units_of(graph_of(files, options), list(enumerate(files)))
    given = {Path(files[index].path).stem: one for unit in units for index, one in fix_unit(unit, options, unsafe=False)}
    assert all(isinstance(one, Fixed) for one in given.values())
    return walked, {name: one for name, one in given.items() if isinstance(one, Fixed)}


def test_a_run_is_walked_again_only_when_a_file_of_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked, given = fixed(tmp_path, monkeypatch, helper=HELPER, sound=SOUND, wrong=FIXED)
    assert {name for name, one in given.items() if one.is_changed} == {"wrong"}
    assert walked.count("sound.py") == 1
    assert walked.count("wrong.py") > 1


def test_a_fix_in_a_shared_file_walks_every_run_that_reads_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = "import torch\n\ndef device():\n    return torch.device('cuda')\n"
    other = SOUND.replace("zeros", "ones")
    walked, given = fixed(tmp_path, monkeypatch, helper=shared, sound=SOUND, other=other)
    assert given["helper"].is_changed
    assert walked.count("sound.py") > 1
    assert walked.count("other.py") > 1

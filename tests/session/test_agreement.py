"""Device fixes of one run are made in all of its files, or in none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from mpslint.cli.fix import command
from mpslint.core.finding import Finding, Related, Severity, Span
from mpslint.session.agreement import from_one_end
from mpslint.session.runs import check_paths
from mpslint.session.session import Options

CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
DATA = f"import torch\n\n{CHOICE}\n\ndef moved(batch):\n    return batch.to(device)\n"
TRAIN = f"import torch\nfrom data import moved\n\n{CHOICE}model = torch.nn.Linear(2, 2).to(device)\nloss = model(moved(torch.ones(2, 2))).sum()\n"
OTHER = f"import torch\nimport data\n\n{CHOICE}torch.nn.CTCLoss()(data.moved(torch.ones(2, 2)).to(device), torch.ones(2), [1], [1])\n"
MODEL = """import torch


class Policy(torch.nn.Module):
    def __init__(self, device="cuda"):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.to(device)

    def forward(self, x):
        h = torch.zeros(2, 2)
        return self.layer(x) + h
"""
FORMS = {
    "kept": "def moved(batch):\n    if torch.cuda.is_available():\n        return batch.cuda()\n    return batch\n",
    "to": 'def moved(batch):\n    return batch.to("cuda:0") if torch.cuda.is_available() else batch\n',
    "switch": "USE_CUDA = torch.cuda.is_available()\n\n\ndef moved(batch):\n    if not USE_CUDA:\n        return batch\n    else:\n        return batch.cuda()\n",
}


def safeties(folder: Path) -> dict[str, str]:
    """Return how each choice of device below a folder is fixed."""
    results = check_paths([str(folder)], Options(isolated=True, select=("MPS503",)))
    return {Path(one.path).name: found.fix.safety.value for one in results for found in one.findings if found.fix is not None}


def test_choices_of_one_run_are_all_fixed(tmp_path: Path) -> None:
    """The model and the data go to the Mac's GPU together."""
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "train.py").write_text(TRAIN)

    assert safeties(tmp_path) == {"data.py": "safe", "train.py": "safe"}


def test_what_an_imported_file_does_as_a_script_is_none_of_the_run(tmp_path: Path) -> None:
    """The try-out under the main guard of a module leaves its model on the CPU; the run that imports the module doesn't come there."""
    tried = 'if __name__ == "__main__":\n    net = torch.nn.Linear(2, 2)\n    print(net(torch.ones(2).to(device)))\n'
    (tmp_path / "data.py").write_text(f"{DATA}\n\n{tried}")
    (tmp_path / "train.py").write_text(TRAIN)

    assert safeties(tmp_path)["train.py"] == "safe"


def test_a_device_that_nothing_reads_is_no_finding_of_an_imported_file(tmp_path: Path) -> None:
    """Another file's variable of that name is another."""
    (tmp_path / "net.py").write_text(f"import torch\n\n{CHOICE}\n\n\ndef make():\n    return torch.nn.Linear(2, 2)\n")
    (tmp_path / "train.py").write_text(
        f"import torch\nfrom net import make\n\n{CHOICE}model = make().to(device)\nmodel(torch.ones(2).to(device)).sum().backward()\n"
    )

    assert set(safeties(tmp_path)) == {"train.py"}


HELPER = """import torch


def resolve(name):
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)
"""


def test_a_choice_that_one_run_leaves_to_its_user_says_why(tmp_path: Path) -> None:
    """The CTC loss of one run keeps the choice from being fixed for the other, which doesn't name the place as its own reason."""
    (tmp_path / "helper.py").write_text(HELPER)
    step = "import torch\nfrom helper import resolve\n\ndevice = resolve('auto')\nnet = torch.nn.Linear(2, 2).to(device)\nout = net(torch.ones(2, 2).to(device))\n"
    (tmp_path / "test.py").write_text(step)
    (tmp_path / "train.py").write_text(f"{step}torch.nn.CTCLoss()(out, out, [1], [1]).backward()\n")

    results = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS503",), target={"torch": "2.10"}))
    (found,) = (one for result in results for one in result.findings)

    assert found.fix is not None
    assert "lacks an operator" in found.fix.summary


LOADER = """import torch


def load(path, device="cuda" if torch.cuda.is_available() else "cpu"):
    return torch.nn.Linear(2, 2).to(device)
"""
IGNORES = """import torch


def load(path, device="cuda"):
    device = torch.device(device if torch.cuda.is_available() else "cpu")
    return torch.nn.Linear(2, 2).to(device)
"""


NONE = """import torch


def load(path, device=None):
    if device is None:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.nn.Linear(2, 2).to(device)
"""
OR = """import torch


def load(path, device=None):
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return torch.nn.Linear(2, 2).to(device)
"""


@pytest.mark.parametrize(
    ("loader", "call", "is_used"),
    [
        (LOADER, 'load("a", device)', False),
        (LOADER, 'load(path="a", device=device)', False),
        (LOADER, 'load("a")', True),
        (NONE, 'load("a", device)', False),
        (NONE, 'load("a", device=None)', True),
        (NONE, 'load("a")', True),
        (NONE, 'load("a", args.device)', True),
        (NONE, 'load("a", config.device)', True),
        (NONE, 'load("a", **more)', True),
        (NONE, 'load("a", "")', False),
        (OR, 'load("a", "")', True),
        (LOADER, 'load("a", *more)', True),
        (LOADER, 'load("a", **more)', True),
        (OR, 'load("a", device=device)', False),
        (OR, 'load("a")', True),
        (OR, "torch.nn.Linear(2, 2).to(device)", False),
    ],
)
def test_a_default_that_every_call_overrides_is_no_finding(loader: str, call: str, is_used: bool, tmp_path: Path) -> None:
    """A run that gives a device wherever it calls the function, or never calls it, rules the finding out for the file, too."""
    (tmp_path / "loader.py").write_text(loader)
    imported = "from loader import load" if "load(" in call else "import loader"
    (tmp_path / "train.py").write_text(
        f"import torch\n{imported}\n\n{CHOICE}model = {call}\nmodel(torch.ones(2).to(device)).sum().backward()\n"
    )

    results = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS503",)))

    assert any(Path(result.path).name == "loader.py" and result.findings for result in results) == is_used


def test_a_function_that_the_main_block_of_its_own_file_calls_has_a_use(tmp_path: Path) -> None:
    """A run that only imports the file says nothing about the run of the file itself."""
    main = f"import torch\n\n\ndef main():\n    {CHOICE}    torch.nn.Linear(2, 2).to(device)(torch.ones(2).to(device)).sum().backward()\n"
    (tmp_path / "model.py").write_text(f'{main}\n\nif __name__ == "__main__":\n    main()\n')
    (tmp_path / "other.py").write_text("import torch\nimport model\n\ntorch.nn.Linear(2, 2)(torch.ones(2)).sum().backward()\n")

    results = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS503",)))

    assert any(Path(result.path).name == "model.py" and result.findings for result in results)


@pytest.mark.parametrize("n", ["3", "unknown"])
def test_a_device_that_only_a_call_within_itself_reads_has_a_use(n: str, tmp_path: Path) -> None:
    """The walk follows no function within itself."""
    (tmp_path / "train.py").write_text(
        f"import torch\n\n{CHOICE}\n\ndef f(n):\n    return f(n - 1) if n else torch.ones(2).to(device)\n\n\n"
        f"torch.nn.Linear(2, 2)(f({n})).sum().backward()\n"
    )

    results = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS503",)))

    assert any(result.findings for result in results)


def test_a_choice_that_other_options_lead_to_is_not_called_unused(tmp_path: Path) -> None:
    """What the walk puts back after a path that no default leads to is not read, which says nothing about its use."""
    (tmp_path / "train.py").write_text(
        "import argparse\nimport torch\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--n', type=int, default=0)\n"
        "args = parser.parse_args()\nif args.n:\n    device = 'cuda:1' if torch.cuda.is_available() else 'cpu'\nelse:\n"
        "    device = 'cuda' if torch.cuda.is_available() else 'cpu'\nmodel = torch.nn.Linear(2, 2).to(device)\n"
        "model(torch.ones(2).to(device)).sum().backward()\n"
    )

    results = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS503",)))

    assert len([one for result in results for one in result.findings]) == 2


@pytest.mark.parametrize("call", ["loader.load", 'getattr(loader, "load")'])
def test_a_function_that_takes_the_cpu_in_place_of_its_device_is_fixed_with_the_run(call: str, tmp_path: Path) -> None:
    """The model would stay on the CPU if the run's device changed alone."""
    (tmp_path / "loader.py").write_text(IGNORES)
    (tmp_path / "train.py").write_text(
        f"import torch\nimport loader\n\n{CHOICE}model = {call}('a', device)\nmodel(torch.ones(2).to(device)).sum().backward()\n"
    )

    assert safeties(tmp_path) == {"loader.py": "safe", "train.py": "safe"}
    alone = check_paths([str(tmp_path / "train.py")], Options(isolated=True, select=("MPS503",)))
    assert [found.fix.safety.value for one in alone for found in one.findings if found.fix] == ["manual"]


def test_the_command_names_all_files_that_change_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One finding at two places: the command that it ends with fixes both, and for one of the files alone there's none."""
    (tmp_path / "loader.py").write_text(IGNORES)
    (tmp_path / "train.py").write_text(
        f"import torch\nimport loader\n\n{CHOICE}model = loader.load('a', device)\nmodel(torch.ones(2).to(device)).sum().backward()\n"
    )
    monkeypatch.chdir(tmp_path)

    assert "(safe: mpslint fix loader.py train.py)" in CliRunner().invoke(group, ["check", "--isolated", "."]).output
    assert "mpslint fix" not in CliRunner().invoke(group, ["check", "--isolated", "train.py"]).output


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_code_for_cuda_alone_keeps_the_run_on_the_cpu(form: str, tmp_path: Path) -> None:
    """The data would stay on the CPU: a fix of the model's device alone would raise in the first step."""
    (tmp_path / "data.py").write_text(f"import torch\n\n\n{form}")
    (tmp_path / "train.py").write_text(TRAIN)

    assert safeties(tmp_path) == {"train.py": "manual"}


def test_what_one_run_leaves_the_others_leave(tmp_path: Path) -> None:
    """Another script shares the data, and calls an operator that MPS lacks: then the data stay on the CPU in both runs."""
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "other.py").write_text(OTHER)

    assert set(safeties(tmp_path).values()) == {"manual"}


def test_a_file_that_is_fixed_alone_keeps_its_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other file of the run isn't named, so it isn't changed: neither is this one. Both together are."""
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)

    alone = CliRunner().invoke(command, ["train.py", "--isolated"]).output
    both = CliRunner().invoke(command, ["train.py", "data.py", "--isolated"]).output

    assert "together with data.py:3 of the same run" in " ".join(alone.split())
    assert "Would fix 2 findings in 2 files" in both


def test_batches_that_another_file_leaves_on_the_cpu_keep_the_run_there(tmp_path: Path) -> None:
    """On the CPU a copy that nothing keeps does no harm; on MPS the model would raise."""
    loop = "for x, y in train_loader:\n        x.to(device)\n        model(x).sum().backward()\n"
    (tmp_path / "loop.py").write_text(f"def fit(model, train_loader, device):\n    {loop}")
    (tmp_path / "train.py").write_text(
        f"import torch\nfrom loop import fit\n\n{CHOICE}model = torch.nn.Linear(2, 2).to(device)\nfit(model, loader, device)\n"
    )

    assert safeties(tmp_path) == {"train.py": "manual"}


def test_what_a_run_leaves_alone_is_not_fixed_after_another_fix(tmp_path: Path) -> None:
    """The fix of one file writes the word that silences the rule in its run: what held the others back holds still."""
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(
        f"import torch\nfrom model import Policy\n\n{CHOICE}model = Policy(device)\nmodel(torch.ones(2, 2, device=device)).sum().backward()\n"
    )
    (tmp_path / "play.py").write_text(
        'import torch\nfrom model import Policy\n\nprint(Policy)\ntorch.nn.Linear(2, 2).to("cuda")(torch.ones(2, 2, device="cuda")).sum().backward()\n'
    )
    before = safeties(tmp_path)

    CliRunner().invoke(command, ["--isolated", "--apply", str(tmp_path)])

    assert before == safeties(tmp_path) == {"train.py": "manual"}
    assert CHOICE in (tmp_path / "train.py").read_text()
    assert '"mps"' in (tmp_path / "play.py").read_text()


def test_what_another_file_of_the_run_saves_is_its_own(tmp_path: Path) -> None:
    """A checkpoint that the run saves itself names a device of this machine, whichever file saves it."""
    (tmp_path / "tools.py").write_text("import torch\n\n\ndef save(model):\n    torch.save(model.state_dict(), 'a.pt')\n")
    (tmp_path / "train.py").write_text(
        f"import torch\nfrom tools import save\n\n{CHOICE}model = torch.nn.Linear(2, 2).to(device)\nsave(model)\nmodel.load_state_dict(torch.load('a.pt'))\n"
    )
    said = CliRunner().invoke(group, ["check", "--isolated", "--no-cache", "--format", "concise", str(tmp_path)]).output

    assert "MPS503" in said
    assert "MPS562" not in said


def test_a_value_is_reported_from_one_end() -> None:
    """One run reports it where it is written, another where it is used, and each names the other's place: one of the two is enough."""
    written = Finding("MPS101", "fp16", Severity.WARNING, "", Span(10, 14), related=(Related(Span(0, 0), "takes it", "trainer.py", 5),))
    used = Finding("MPS101", "fp16", Severity.WARNING, "", Span(50, 60), related=(Related(Span(0, 0), "is fp16", "config.py", 1),))
    other = replace(used, rule="MPS102")
    kept = from_one_end({"/config.py": [written], "/trainer.py": [used, other]}, lambda path, span: f"{path[1:]}:{span.start // 10}")

    assert kept == {"/config.py": [written], "/trainer.py": [other]}


PARTS = """
import torch
from diffusers import AutoencoderKL


class Parts:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.vae = AutoencoderKL.from_pretrained("model", subfolder="vae")
        self.vae = self.vae.to(self.device)
"""
MEETS = """
from accelerate import Accelerator
from parts import Parts

accelerator = Accelerator()
parts = Parts()


def step(batch):
    device = accelerator.device
    images = batch["images"].to({placed})
    return parts.vae.encode(images).latent_dist.sample().mean()


for batch in loader:
    accelerator.backward(step(batch))
"""


@pytest.mark.parametrize(
    ("placed", "found"), [("device=device", {"MPS503": "warning", "MPS576": "error"}), ("parts.device", {"MPS503": "warning"})]
)
def test_what_two_files_put_on_two_devices_meets_in_the_run(placed: str, found: dict[str, str], tmp_path: Path) -> None:
    """The VAE on the CPU raises where its images go to the Accelerator's device, which another file says; else it is only slow."""
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "train.py").write_text(MEETS.format(placed=placed))
    results = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS503", "MPS576")))

    assert {one.rule: one.severity.value for result in results for one in result.findings} == found


def test_a_cuda_device_that_another_file_makes_of_a_tensor_leaves_no_safe_fix(tmp_path: Path) -> None:
    """`get_device()` of a tensor on MPS is 0, so `"cuda:0"` would follow."""
    made = 'def device_of(x):\n    number = x.get_device()\n    return "cpu" if number == -1 else "cuda:" + str(number)\n'
    (tmp_path / "core.py").write_text(made)
    text = 'import torch\nfrom core import device_of\n\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\nx = torch.ones(2).to(device)\n'
    (tmp_path / "train.py").write_text(text + "y = torch.ones(2, device=device_of(x))\n")
    assert safeties(tmp_path) == {"train.py": "manual"}

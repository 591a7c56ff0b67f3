"""Files are verified by their own code, as written and as rewritten; data that would be downloaded is drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mpslint.cli import group
from mpslint.core.finding import UsageError
from mpslint.engine import check
from mpslint.source.reader import read
from mpslint.target.target import default_target
from mpslint.verify.outcome import Check
from mpslint.verify.reading import findings_in, with_findings

pytest.importorskip("torch")

OWN = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(8, width)

    def forward(self, x):
        return self.layer(x)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Net(4).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(30):
    loss = model(torch.randn(16, 8, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
IMAGES = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets.{module} import {name}
from torchvision.models._api import load_state_dict_from_url

train = {made}
model = nn.Sequential(nn.Flatten(), nn.LazyLinear(10))
model(train[0][0][None])
model.load_state_dict(load_state_dict_from_url("https://example.org/net.pth"))
model.to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for images, labels in DataLoader(train, batch_size=32, shuffle=True):
    loss = nn.functional.cross_entropy(model(images.to("mps")), labels.to("mps"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
# As torchvision's own classes do it: they keep what they are given, and raise where their files are not there.
LIBRARY = {
    "PIL/__init__.py": "",
    "PIL/Image.py": """\
class Image:
    def __init__(self, array):
        self.height, self.width = array.shape[:2]

    def copy(self):
        return self


fromarray = Image
""",
    "torchvision/__init__.py": "",
    "torchvision/datasets/__init__.py": "",
    "torchvision/models/__init__.py": "",
    "torchvision/models/_api.py": "from torch.hub import load_state_dict_from_url\n",
    "torchvision/datasets/mnist.py": """\
class MNIST:
    def __init__(self, root, train=True, transform=None, download=False):
        self.root, self.transform = root, transform
        if download:
            import urllib.request
            urllib.request.urlopen("https://example.org/mnist")
        raise RuntimeError("Dataset not found. You can use download=True to download it")

    def __getitem__(self, index):
        return self.transform(self.data[index]), int(self.targets[index])

    def __len__(self):
        return len(self.data)


class EMNIST(MNIST):
    pass
""",
    "torchvision/datasets/folder.py": """\
class ImageFolder:
    def __init__(self, root, transform=None):
        self.root, self.transform = root, transform
        raise FileNotFoundError(root)

    def __getitem__(self, index):
        path, label = self.samples[index]
        return self.transform(self.loader(path)), label

    def __len__(self):
        return len(self.samples)
""",
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep no result of these tests in the user's cache."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "verify-own"))


def call(*arguments: object) -> Result:
    """Call mpslint."""
    return CliRunner().invoke(group, ["verify", "--isolated", "--torch", "2.13", "--memory", "16GB", *map(str, arguments)])


def report_on(path: Path, *arguments: str) -> dict[str, Any]:
    """Return the report on a file whose code may be run."""
    result = call(path, "--yes", "--format", "json", *arguments)
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def test_a_model_of_ones_own_is_run_as_written_and_as_rewritten(tmp_path: Path) -> None:
    """The rewrite is what runs the second time: as written the code trains on the CPU, so nothing is known of MPS."""
    path = tmp_path / "train.py"
    path.write_text(OWN)
    report = report_on(path)
    assert {verdict["name"]: verdict["status"] for verdict in report["verdicts"]} == {"as written": "inconclusive", "as rewritten": "pass"}
    assert {(run["name"], run["backend"]) for run in report["runs"]} == {
        ("as written", "emulated"), ("as written", "cpu"), ("as rewritten", "emulated"), ("as rewritten", "cpu"),
    }  # fmt: skip
    assert path.read_text() == OWN


def test_its_code_is_not_run_where_nobody_allows_it(tmp_path: Path) -> None:
    """Without --yes and a terminal to ask at: one line that says both ways out, before anything is loaded."""
    path = tmp_path / "train.py"
    path.write_text(OWN)
    result = call(path)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).endswith("allow it with --yes, or add --plan, which runs none of it")
    assert result.stdout == ""


def test_words_behind_the_dashes_reach_the_code(tmp_path: Path) -> None:
    """`verify train.py -- --steps 3` starts the code with them."""
    path = tmp_path / "train.py"
    path.write_text("import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--width', type=int, required=True)\n" + OWN)
    path.write_text(
        path.read_text()
        .replace("Net(4)", "Net(parser.parse_args().width)")
        .replace('"cuda" if torch.cuda.is_available() else "cpu"', '"mps"')
    )
    assert report_on(path)["status"] == "not run"
    assert report_on(path, "--", "--width", "4")["status"] == "pass"


ONLY_CUDA = """\
import torch

model = torch.nn.Linear(8, 2)
if torch.cuda.is_available():
    model = model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
loss = model(torch.ones(1, 8)).sum()
loss.backward()
optimizer.step()
"""


@pytest.mark.parametrize(("code", "told"), [(ONLY_CUDA, ()), (ONLY_CUDA.replace("if torch.cuda.is_available():", "if True:"), ("MPS501",))])
def test_an_exception_is_predicted_by_errors_only(code: str, told: tuple[str, ...]) -> None:
    """That a model stays on the CPU doesn't predict an IndexError."""
    document = read("train.py", code.encode())
    findings = list(findings_in(document, check(document, default_target()).findings))
    assert findings
    (starts, *_) = with_findings([Check("starts", "fail", "IndexError: invalid index of a 0-dim tensor")], findings)
    assert tuple(backing.value.split()[0] for backing in starts.evidence) == told


def library(folder: Path, module: str, name: str, made: str) -> Path:
    """Write a script over an image set, and beside it what it imports."""
    for place, text in LIBRARY.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)
    path = folder / "train.py"
    path.write_text(IMAGES.format(module=module, name=name, made=made))
    return path


TENSOR = "lambda image: image[None].float() / 255"
SIZED = "lambda image: torch.ones(3, 64, 64)"
UNSIZED = "lambda image: torch.ones(3, image.height, image.width)"


@pytest.mark.parametrize(
    ("module", "name", "made", "said"),
    [
        ("mnist", "MNIST", f"MNIST('data', transform={TENSOR})", "60000 drawn images of 28 x 28 in 10 classes"),
        ("mnist", "MNIST", f"MNIST('../data', False, {TENSOR}, download=True)", "10000 drawn images of 28 x 28 in 10 classes"),
        ("folder", "ImageFolder", f"ImageFolder('photos', {SIZED})", "how many there really are isn't known"),
    ],
)
def test_images_that_are_not_here_are_drawn(tmp_path: Path, module: str, name: str, made: str, said: str) -> None:
    """They have the shape of the real ones, weights stay random, and both are told."""
    report = report_on(library(tmp_path, module, name, made))
    assert report["status"] == "pass", report
    changes = report["runs"][0]["changes"]
    assert any(said in change for change in changes)
    assert "the weights net.pth aren't on this machine: random ones in their place" in changes


@pytest.mark.parametrize(
    ("module", "name", "made", "said"),
    [
        ("folder", "ImageFolder", f"ImageFolder('photos', {UNSIZED})", "the transform doesn't give them one size"),
        ("mnist", "EMNIST", f"EMNIST('data', transform={TENSOR})", "Dataset not found"),
    ],
)
def test_what_is_not_known_of_images_is_never_a_pass(tmp_path: Path, module: str, name: str, made: str, said: str) -> None:
    """Images whose size nothing says, and sets that no table describes."""
    report = report_on(library(tmp_path, module, name, made))
    assert report["status"] != "pass"
    assert said in json.dumps(report)

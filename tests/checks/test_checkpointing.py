"""Gradient checkpointing with dropout: what is certain is an error, what may be is a warning."""

from __future__ import annotations

from mpslint.core.finding import Severity
from mpslint.engine import check
from mpslint.rule.loading import load_rules
from mpslint.source.reader import read
from mpslint.target.target import default_target

HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.checkpoint import checkpoint\n\ndrop = nn.Dropout(0.1)\n"
LOOP = 'x = torch.ones(4, 4, device="mps", requires_grad=True)\nfor step in range(3):\n    checkpoint(block, x, use_reentrant=False).sum().backward()\n'


def severities(block: str) -> list[Severity]:
    """Return how severe MPS810 finds a training loop that checkpoints a block."""
    rules = [rule for rule in load_rules() if rule.id == "MPS810"]
    document = read("train.py", f"{HEAD}block = {block}\n{LOOP}".encode())
    return [finding.severity for finding in check(document, default_target(), rules).findings]


def test_dropout_inside_is_an_error() -> None:
    """The checkpointed module holds the dropout."""
    assert severities("nn.Sequential(nn.Linear(4, 4), drop)") == [Severity.ERROR]
    assert severities("drop") == [Severity.ERROR]


def test_dropout_elsewhere_is_a_warning() -> None:
    """The file has dropout, but what is checkpointed is not known to have any."""
    assert severities("nn.Linear(4, 4)") == [Severity.WARNING]
    assert severities("nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0))") == [Severity.WARNING]


def test_a_method_holds_what_it_uses() -> None:
    """Another part of its object isn't computed again."""
    net = "None\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    net += "        self.line, self.drop = nn.Linear(4, 4), nn.Dropout(0.1)\n    def part(self, x):\n        return {}\nblock = Net().part"
    assert severities(net.format("self.line(x)")) == [Severity.WARNING]
    assert severities(net.format("self.drop(self.line(x))")) == [Severity.ERROR]


def test_one_checkpoint_with_dropout_is_no_other() -> None:
    """Each is judged by what it computes again."""
    assert severities("drop\ncheckpoint(nn.Linear(4, 4), torch.ones(4, 4))") == [Severity.WARNING, Severity.ERROR]

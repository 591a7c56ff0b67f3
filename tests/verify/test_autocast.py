"""Autocast on tensors without values: it casts what torch's own casts on fake CPU tensors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from mpslint.core.knowledge import platform_data
from mpslint.verify.emulator.autocast import Casts
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import VerifiedMac

# Libraries beside torch deprecate each other; that is not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

BY_OTHER_NAMES = {
    "__matmul__", "__rmatmul__", "__pow__", "__rpow__", "float_power", "arccos", "arcsin", "multi_dot", "norm", "vector_norm", "matrix_norm",
    "cross_entropy", "grid_sample", "instance_norm",
}  # fmt: skip
"""Names under which Python code calls what torch casts."""


CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "linear": lambda half, full: functional.linear(full, full.select(0, 0)),
    "matmul": lambda half, full: full @ half.mT,
    "baddbmm": lambda half, full: torch.baddbmm(full, full, full),
    "einsum": lambda half, full: torch.einsum("bij,bkj->bik", full, half),
    "softmax": lambda half, full: functional.softmax(half, dim=-1),
    "method softmax": lambda half, full: half.softmax(-1),
    "log_softmax": lambda half, full: functional.log_softmax(half, dim=-1),
    "layer_norm": lambda half, full: functional.layer_norm(half, (8,)),
    "group_norm": lambda half, full: functional.group_norm(half, 2),
    "batch_norm": lambda half, full: functional.batch_norm(half, None, None, training=True),
    "instance_norm": lambda half, full: functional.instance_norm(half),
    "exp": lambda half, full: half.exp(),
    "log1p": lambda half, full: torch.log1p(half),
    "two stars": lambda half, full: half**2,
    "power of a number": lambda half, full: 2**half,
    "pow": lambda half, full: torch.pow(half, 3.0),
    "rsqrt": lambda half, full: torch.rsqrt(half),
    "softplus": lambda half, full: functional.softplus(half),
    "gelu": lambda half, full: functional.gelu(half),
    "tanh": lambda half, full: torch.tanh(half),
    "relu": lambda half, full: functional.relu(half),
    "mean": lambda half, full: half.mean(),
    "sum": lambda half, full: half.sum(-1),
    "cumsum": lambda half, full: half.cumsum(0),
    "norm": lambda half, full: torch.norm(half),
    "vector_norm": lambda half, full: torch.linalg.vector_norm(half),
    "cosine_similarity": lambda half, full: functional.cosine_similarity(half, half),
    "cross_entropy": lambda half, full: functional.cross_entropy(half.select(0, 0), torch.zeros(8, dtype=torch.int64, device=half.device)),
    "mse_loss": lambda half, full: functional.mse_loss(half, full),
    "cat": lambda half, full: torch.cat([half, half]),
    "cat of both": lambda half, full: torch.cat([half, full]),
    "stack": lambda half, full: torch.stack([half, half]),
    "add": lambda half, full: half + full,
    "dropout": lambda half, full: functional.dropout(half),
    "prod": lambda half, full: half.prod(),
    "addcmul": lambda half, full: torch.addcmul(half, half, full),
}


class Autocast(TorchFunctionMode):
    """Casts what operators are given, as autocast to `half` does, while it is on."""

    def __init__(self, half: torch.dtype) -> None:
        super().__init__()
        self.half, self.casts = half, Casts()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = self.casts.of(getattr(func, "__name__", ""), self.half, args, kwargs or {})
        return func(*args, **kwargs)


def dtypes(device: str, mode: Any) -> dict[str, torch.dtype]:
    """Return what each call gives under an autocast."""
    found = {}
    for name, call in CALLS.items():
        half = torch.empty(2, 8, 8, dtype=torch.bfloat16, device=device)
        full = torch.empty(2, 8, 8, device=device)
        with torch.no_grad(), mode:
            found[name] = call(half, full).dtype
    return found


def test_operators_give_what_they_give_under_torchs_own_autocast_for_mps() -> None:
    """Fake MPS tensors know which autocast is theirs, though they can't have gradients where there is no MPS."""
    ours = dtypes("meta", Autocast(torch.bfloat16))
    with FakeTensorMode():
        theirs = dtypes("mps", torch.autocast("mps", dtype=torch.bfloat16))

    assert ours == theirs
    assert set(ours.values()) == {torch.bfloat16, torch.float32}


def test_the_lists_are_those_that_this_torch_registers() -> None:
    """Every operator that torch casts on MPS has its name in our lists, and no other has."""
    written = platform_data("autocast")["mps"]
    ours = {name for policy in ("half", "float32", "widest") for name in written[policy]}
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    theirs = {
        name.removeprefix("aten::").partition(".")[0]
        for name in names
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastMPS")
    }
    hidden = {"_convolution", "_mps_convolution", "convolution", "lstm_cell", "nll_loss2d", "frobenius_norm"}

    assert theirs - ours <= hidden
    for name in ours - theirs:
        assert name in BY_OTHER_NAMES, name


def test_a_weight_is_cast_once_and_gradients_come_back_in_its_dtype() -> None:
    """Two layers that share a weight share its cast; the loss is float32 again."""
    weight = torch.nn.Parameter(torch.empty(8, 8, device="meta"))
    source = torch.empty(2, 8, device="meta")
    with Autocast(torch.bfloat16) as mode:
        hidden = torch.nn.functional.linear(torch.nn.functional.linear(source, weight), weight)
        assert len(mode.casts.weights) == 1
        loss = torch.nn.functional.mse_loss(hidden, source)
    loss.backward()

    assert (hidden.dtype, loss.dtype) == (torch.bfloat16, torch.float32)
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32


OWN = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(1024, 4096), nn.Linear(4096, 1024)
        self.attention = nn.MultiheadAttention(1024, 8, batch_first=True)
        self.again = nn.Sequential(nn.Linear(1024, 1024), nn.GELU())

    def forward(self, x):
        before = torch.mps.current_allocated_memory()
        hidden = self.first(x)
        cast = 2 * (x.numel() + self.first.weight.numel() + hidden.numel())
        got = torch.mps.current_allocated_memory() - before
        assert cast <= got < cast + 2**15, (cast, got)  # and the bias
        x = self.last(F.gelu(hidden))
        assert x.dtype == torch.HALF and F.layer_norm(x, (1024,)).dtype == torch.float32
        assert self.attention(x, x, x)[0].dtype == torch.HALF
        for reentrant in (False, True):
            x = checkpoint(self.again, x, use_reentrant=reentrant)
            assert x.dtype == torch.HALF
        assert torch.is_autocast_enabled("mps") and torch.get_autocast_dtype("mps") == torch.HALF
        with torch.autocast("mps", enabled=False):
            assert self.last(hidden.float()).dtype == torch.float32
        assert F.linear(torch.ones(2, 2), torch.ones(2, 2)).dtype == torch.float32  # on the CPU
        return x

model = Net().to("mps")
optimizer = torch.optim.SGD(model.parameters())
for _ in range(3):
    with torch.autocast("mps", dtype=torch.HALF):
        loss = F.mse_loss(model(torch.randn(4, 512, 1024, device="mps")), torch.zeros((), device="mps"))
    assert loss.dtype == model.first(torch.randn(1, 1024, device="mps")).dtype == torch.float32
    loss.backward()
    assert {parameter.grad.dtype for parameter in model.parameters() if parameter.grad is not None} == {torch.float32}
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
def test_own_code_gets_the_dtypes_and_bytes_of_autocast(half: str, tmp_path: Path) -> None:
    """Its own assertions hold, in layers that are computed again too; before, it was told that all is float32."""
    (tmp_path / "train.py").write_text(OWN.replace("HALF", half))
    report = verify_script(tmp_path / "train.py", ScriptOptions(machine=VerifiedMac("2.13"), backend="emulated"))
    checks = {check.name: check for verdict in report.verdicts for check in verdict.checks}
    assert checks["starts"].status == "pass", checks["starts"]


@pytest.mark.parametrize(("torch_on_the_mac", "status"), [("2.5", "fail"), ("2.6", "pass")])
def test_autocast_that_the_mac_ignores_casts_nothing(torch_on_the_mac: str, status: str, tmp_path: Path) -> None:
    """bfloat16 autocast came with torch 2.6: before, the outputs are float32, and that is said."""
    dtype = "float32" if status == "fail" else "bfloat16"
    code = OWN.partition("class Net")[0] + (
        'model = nn.Linear(8, 8).to("mps")\noptimizer = torch.optim.SGD(model.parameters())\n'
        'with torch.autocast("mps", dtype=torch.bfloat16):\n    out = model(torch.ones(2, 8, device="mps"))\n'
        f"assert out.dtype == torch.{dtype}\nout.float().mean().backward()\noptimizer.step()\n"
    )
    (tmp_path / "train.py").write_text(code)
    report = verify_script(tmp_path / "train.py", ScriptOptions(machine=VerifiedMac(torch_on_the_mac), backend="emulated"))
    checks = {check.name: check.status for verdict in report.verdicts for check in verdict.checks}
    assert (checks["starts"], checks["operators"]) == ("pass", status)

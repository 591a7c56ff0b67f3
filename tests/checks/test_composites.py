"""Functions of torch that call others: torch itself, on the CPU, is seen to make the calls that the table says."""

from __future__ import annotations

import ast
from typing import Any

import pytest

import mpslint
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange, parse_version

torch = pytest.importorskip("torch")

CALLS = [
    ("torch.multiply(x, x)", "torch.mul(x, x)"),
    ("torch.subtract(x, x)", "torch.sub(x, x)"),
    ("torch.divide(x, x)", "torch.div(x, x)"),
    ("torch.true_divide(x, x)", "torch.div(x, x)"),
    ("torch.absolute(x)", "torch.abs(x)"),
    ("torch.special.expit(x)", "torch.sigmoid(x)"),
    ("torch.nn.functional.sigmoid(x)", "torch.sigmoid(x)"),
    ("torch.nn.functional.tanh(x)", "torch.tanh(x)"),
    ("torch.nn.functional.tanhshrink(x)", "torch.tanh(x)"),
    ("torch.special.gammaln(x)", "torch.lgamma(x)"),
    ("torch.special.digamma(x)", "torch.digamma(x)"),
    ("torch.special.psi(x)", "torch.digamma(x)"),
    ("torch.linalg.matmul(x, x)", "torch.matmul(x, x)"),
    ("torch.det(x)", "torch.linalg.det(x)"),
    ("torch.concatenate([x, x])", "torch.cat([x, x])"),
    ("torch.conv1d(x[None], x[..., None])", "torch.nn.functional.conv1d(x[None], x[..., None])"),
    ("torch.conv2d(x[None, :, :, None], x[..., None, None])", "torch.nn.functional.conv2d(x[None, :, :, None], x[..., None, None])"),
    ("torch.conv3d(x[None, ..., None, None], w)", "torch.nn.functional.conv3d(x[None, ..., None, None], w)"),
    ("torch.dropout(x, 0.5, True)", "torch.nn.functional.dropout(x, 0.5)"),
    ("torch.fliplr(x)", "torch.flip(x, [1])"),
    ("torch.flipud(x)", "torch.flip(x, [0])"),
    ("torch.msort(x)", "torch.sort(x, 0)"),
    ("torch.fft.fftshift(x)", "torch.roll(x, [2, 2], [0, 1])"),
    ("torch.fft.ifftshift(x)", "torch.roll(x, [2, 2], [0, 1])"),
    ("torch.hstack([x, x])", "torch.cat([x, x], 1)"),
    ("torch.vstack([x, x])", "torch.cat([x, x])"),
    ("torch.dstack([x, x])", "torch.cat([x[..., None], x[..., None]], 2)"),
    ("torch.row_stack([x, x])", "torch.cat([x, x])"),
    ("torch.column_stack([x, x])", "torch.cat([x, x], 1)"),
    ("torch.nn.functional.cross_entropy(x, n[0])", "torch.nn.functional.log_softmax(x, 1)"),
    ("torch.nanmean(x)", "torch.nansum(x)"),
    ("torch.linalg.cond(x)", "torch.linalg.svdvals(x)"),
    ("torch.linalg.matrix_rank(x)", "torch.linalg.svdvals(x)"),
    ("torch.linalg.matrix_rank(x, hermitian=True)", "torch.linalg.eigh(x)"),
    ("torch.linalg.matrix_norm(x, 2)", "torch.linalg.svdvals(x)"),
    ("torch.linalg.norm(x, 'nuc')", "torch.linalg.svdvals(x)"),
    ("torch.norm(x, 'nuc')", "torch.linalg.svdvals(x)"),
    ("torch.linalg.matrix_power(x, -2)", "torch.linalg.inv(x)"),
    ("torch.matrix_power(x, -2)", "torch.linalg.inv(x)"),
    ("torch.nn.functional.avg_pool1d(x, 2)", "torch.nn.functional.avg_pool2d(x[:, None], (1, 2))"),
    (
        "torch.nn.functional.max_unpool1d(x[None], n[None], 2)",
        "torch.nn.functional.max_unpool2d(x[None, ..., None], n[None, ..., None], (2, 1))",
    ),
    ("torch.nn.functional.dropout(x)", "torch.empty_like(x).bernoulli_(0.5)"),
    ("torch.distributions.Categorical(x).sample()", "torch.multinomial(x, 1, True)"),
    ("torch.distributions.OneHotCategorical(x).sample()", "torch.multinomial(x, 1, True)"),
    ("torch.distributions.Multinomial(1, x).sample()", "torch.multinomial(x, 1, True)"),
    *((f"torch.distributions.{name}(x, x).sample()", "torch.empty(4, 4).exponential_()") for name in ("Weibull", "Pareto")),
    *((f"torch.distributions.{name}(x, x).rsample()", "torch.empty(4, 4).exponential_()") for name in ("Weibull", "Pareto")),
    *((f"torch.distributions.{name}(x, x).sample()", "torch._standard_gamma(x)") for name in ("InverseGamma",)),
    *((f"torch.distributions.{name}(x, x).rsample()", "torch._standard_gamma(x)") for name in ("InverseGamma",)),
    ("torch.nn.functional.gumbel_softmax(x)", "torch.empty(4, 4).exponential_()"),
    ("torch.distributions.Exponential(x).sample()", "torch.empty(4, 4).exponential_()"),
    ("torch.distributions.Exponential(x).rsample()", "torch.empty(4, 4).exponential_()"),
    ("torch.distributions.HalfCauchy(x).sample()", "torch.empty(4, 4).cauchy_()"),
    ("torch.distributions.HalfCauchy(x).rsample()", "torch.empty(4, 4).cauchy_()"),
    ("torch.distributions.LowRankMultivariateNormal(x[0], x, x[0])", "torch.linalg.cholesky(torch.eye(4))"),
]


def called(text: str) -> dict[str, set[Any]]:
    """Return the operators that a call of torch runs on the CPU, with the shape, layout and dtype of the tensor that each is given first."""
    from torch.utils._python_dispatch import TorchDispatchMode

    found: dict[str, set[Any]] = {}

    class Seen(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            first = args[0] if args and isinstance(args[0], torch.Tensor) else None
            lies = (first.shape, first.stride(), first.dtype) if first is not None else None
            found.setdefault(function._schema.name, set()).add(lies)
            return function(*args, **kwargs or {})

    x = (torch.rand(4, 4) / 2 + 0.25).t()
    names = {"torch": torch, "x": x, "w": torch.rand(4, 4, 1, 1, 1), "n": torch.arange(4).expand(4, 4).contiguous()}
    with Seen():
        eval(text, names)
    return found


def named(text: str) -> str:
    """Return the name under which the table has a function, a method of a distribution, or its class."""
    tree = ast.parse(text, mode="eval").body
    assert isinstance(tree, ast.Call)
    if isinstance(tree.func, ast.Attribute) and isinstance(tree.func.value, ast.Call):
        return f"{ast.unparse(tree.func.value.func)}.{tree.func.attr}"
    return ast.unparse(tree.func)


def rows() -> list[Any]:
    """Return the composites that the installed torch has."""
    here = {"torch": parse_version(torch.__version__.partition("+")[0])}
    return [row for row in platform_data("composites")["composites"] if VersionRange.parse(row.get("versions", "")).matches(here)]


@pytest.mark.filterwarnings("ignore:Singular sample")
@pytest.mark.parametrize(("composite", "inner"), CALLS, ids=[composite for composite, _ in CALLS])
def test_a_composite_makes_the_call_that_the_table_says(composite: str, inner: str) -> None:
    """On what it is given itself, unless the table says `_`: F.dropout draws its mask into a tensor that lies in memory as the input does."""
    says = [row["does"] for row in rows() if named(composite) in row["call"]]
    alone, ran = called(inner), called(composite)
    name = list(alone)[-1]

    assert says
    assert name in ran
    if not any("()" in one or "(_" in one or " _" in one for one in says):
        assert alone[name] <= ran[name]


def test_each_composite_was_seen() -> None:
    assert {name for row in rows() for name in row["call"]} == {named(composite) for composite, _ in CALLS}


@pytest.mark.parametrize(
    ("call", "torch_version", "said"),
    [
        ("torch.special.gammaln(z.transpose(0, 1))", "2.11", "torch.special.gammaln, which calls torch.lgamma, is wrong"),
        ("torch.special.gammaln(x)", "2.11", ""),
        ("torch.special.gammaln(z.transpose(0, 1))", "2.12", ""),
        ("x.flipud()", "2.0", "x.flipud, which calls torch.flip, is reported to flip another dimension"),
        ("x.fliplr()", "2.0", ""),
        (
            "torch.nn.AvgPool1d(3, ceil_mode=True).to('mps')(x)",
            "2.8",
            ", which calls torch.nn.functional.avg_pool2d, computes other averages",
        ),
        ("torch.nn.AvgPool1d(3).to('mps')(x)", "2.8", ""),
        (
            "torch.nn.BCELoss(reduction='none')(y.sigmoid(), z)",
            "2.9",
            "which calls torch.nn.functional.binary_cross_entropy, ends the process",
        ),
        ("torch.nn.BCELoss()(y.sigmoid(), z)", "2.9", ""),
        ("OneHotCategorical(torch.softmax(x, 0).expand(4, 8).t()).sample()", "2.6", "which calls torch.multinomial, samples wrongly"),
        ("OneHotCategorical(torch.softmax(x, 0)).sample()", "2.6", ""),
        ("F.dropout(z.transpose(0, 1))", "2.9", "F.dropout, which calls torch.Tensor.bernoulli_, "),
        ("F.dropout(x.expand(4, 8)[:, 0])", "2.9", ""),
        ("F.dropout(z.transpose(0, 1), 0.1, True)", "2.9", "F.dropout, which calls torch.Tensor.bernoulli_, "),
        ("torch.nn.Dropout(0.1)(z.transpose(0, 1))", "2.9", "torch.Tensor.bernoulli_, "),
        ("F.dropout(z.transpose(0, 1), 0.0)", "2.9", ""),
        ("F.dropout(z.transpose(0, 1), training=False)", "2.9", ""),
        ("torch.nn.Dropout(0.0)(z.transpose(0, 1))", "2.9", ""),
        ("torch.distributions.Exponential(z).rsample()", "2.7", "which calls torch.Tensor.exponential_, "),
        ("torch.distributions.Exponential(1.0).rsample()", "2.7", ""),
        ("torch.linalg.norm(x, 'nuc')", "2.13", "torch.linalg.norm, which calls torch.linalg.svdvals, raises NotImplementedError"),
        ("torch.linalg.norm(x)", "2.13", ""),
    ],
)
def test_what_holds_for_a_function_holds_for_those_that_call_it(call: str, torch_version: str, said: str) -> None:
    """With what they hand on to it, and nothing else; the sentence names both."""
    made = "x, y, z = torch.randn(1, 8, device='mps', requires_grad=True), torch.randn(2, 3, 1, device='mps', requires_grad=True), torch.rand(2, 3, 1, device='mps')"
    head = "import torch\nimport torch.nn.functional as F\nfrom torch.distributions import OneHotCategorical\n\n"
    found = mpslint.check(f"{head}{made}\nmade = {call}\nmade.sum().backward()\n", target={"torch": torch_version, "macos": "14"}).findings

    told = [one.message for one in found if ", which calls " in one.message]
    assert len(told) == bool(said)
    assert all(said in one for one in told)


def test_a_function_that_has_an_entry_is_told_of_by_that_alone() -> None:
    """Of nn.Softplus() an entry says the same as of F.softplus, and msort stands beside sort."""
    text = "import torch\n\nx = torch.randn(4, 8, device='mps')\ny = torch.nn.Softplus().to('mps')(x)\n"
    found = mpslint.check(text, target={"torch": "2.0.1"}).findings
    assert len([one for one in found if one.rule == "MPS929"]) == 1
    text = "import torch\n\nx = torch.randn(4, 8, device='mps')\ny = torch.msort(x.t())\n"
    found = mpslint.check(text, target={"torch": "2.11"}).findings
    assert [", which calls" in one.message for one in found if one.rule == "MPS929"] == [False]

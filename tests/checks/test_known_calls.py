"""Calls of the tables of operators, by where what they are given and what they make lies."""

from __future__ import annotations

import pytest

import mpslint


@pytest.mark.parametrize(
    ("call", "torch", "rules"),
    [
        ('torch.sparse_coo_tensor(torch.zeros(2, 3, dtype=torch.int64), torch.ones(3), (4, 4), device="mps")', "2.8", ["MPS911"]),
        ("torch.sparse_coo_tensor(torch.zeros(2, 3, dtype=torch.int64), torch.ones(3), (4, 4))", "2.8", []),
        ('torch.sparse_coo_tensor(torch.zeros(2, 3, dtype=torch.int64), torch.ones(3), (4, 4), device="mps")', "2.9", []),
        ('torch.svd_lowrank(torch.ones(8, 8, device="mps"))', "2.11", ["MPS910"]),
        ('torch.svd_lowrank(torch.ones(8, 8, device="mps"))', "2.12", []),
        ('MultivariateNormal(torch.zeros(2, device="mps"), torch.eye(2, device="mps"))', "2.6", ["MPS910"]),
        ('MultivariateNormal(torch.zeros(2, device="mps"), scale_tril=torch.eye(2, device="mps"))', "2.6", []),
        ("MultivariateNormal(torch.zeros(2), torch.eye(2))", "2.6", []),
    ],
)
def test_a_call_is_meant_where_its_operands_or_its_result_lie_on_the_gpu(call: str, torch: str, rules: list[str]) -> None:
    """What a factory is given may lie on the CPU: `device` says where it makes it."""
    text = f"import torch\nfrom torch.distributions import MultivariateNormal\n\nmade = {call}\n"

    found = mpslint.check(text, target={"torch": torch}).findings

    assert [one.rule for one in found if one.severity == "error"] == rules


OPERATORS = [
    ("x / table[4]", "2.12", True),
    ("x / table[0]", "2.12", False),
    ("x / table[4].item()", "2.12", False),
    ("x / table.to('mps')[4]", "2.12", False),
    ("table[n] * x", "2.12", True),
    ("x / table[4]", "2.14", False),
    ("x.t().conj() @ x", "2.6", True),
    ("x.t() @ x", "2.6", False),
    ("1 << mask.int()", "2.6", True),
    ("mask.int() << 1", "2.6", False),
    ("mask.cumsum(0)", "2.3", True),
    ("mask.int().cumsum(0)", "2.3", False),
    ("x[None, None, None].cumsum(0)", "2.12", True),
    ("x[None, None, None].cumsum(1)", "2.12", False),
    ("torch.randn(1, 2, 3, 4, 5, device='mps')", "2.6", True),
    ("torch.randn(2, 3, 4, 5, device='mps')", "2.6", False),
    ("torch.randn(1, 2, 3, 4, 5)", "2.6", False),
    ("x[1].zero_()", "2.1.1", True),
    ("x[0].zero_()", "2.1.1", False),
    ("x[mask].zero_()", "2.1.1", False),
    ("x[:, 1].zero_()", "2.1.1", False),
    ("torch.ones(5000, 5000, device='mps').nonzero()", "2.4", True),
    ("torch.ones(50, 5000, device='mps').nonzero()", "2.4", False),
    ("torch.ones(n, 5000, 5000, device='mps').nonzero()", "2.5", False),
    ("torch.ones(1, 2, 1, 1, 1, device='mps').sum(-3)", "2.4", True),
    ("torch.ones(1, 2, 1, 1, 1, device='mps').sum(2)", "2.4", False),
    ("torch.ones(1, 2, 1, 1, 3, device='mps').sum(-3)", "2.4", False),
    ("torch.linalg.inv(torch.rand(2, 9, 4, 4, device='mps').permute(0, 3, 1, 2))", "2.9", True),
    ("torch.linalg.inv(torch.rand(2, 4, 4, 9, device='mps'))", "2.9", False),
]
"""Expressions with a matrix `x` of complex numbers and a `mask` on the GPU, a `table` on the CPU, and whether a fault is told with a torch."""


@pytest.mark.parametrize(("expression", "torch", "is_told"), OPERATORS)
def test_operators_of_python_are_calls_of_what_they_stand_for(expression: str, torch: str, is_told: bool) -> None:
    """What is asked of a number: its value; of a tensor: whether it begins where its memory does, how many dimensions it has, its dtype."""
    made = "x = torch.ones(8, 8, dtype=torch.complex64, device='mps')\nmask = x.real[0] > 0\ntable = torch.rand(8)"
    text = f"import torch\n\n{made}\nfor n in range(8):\n    made = {expression}\n"

    found = mpslint.check(text, target={"torch": torch, "macos": "15.0"}, select=["MPS929"]).findings

    assert [one.rule for one in found] == ["MPS929"] * is_told


@pytest.mark.parametrize(
    ("written", "is_told"), [("x[n] = 1", True), ("x[mask] = -1.0", True), ("x[n] = 0", False), ("x[n] = x[0]", False)]
)
def test_what_is_written_into_a_part_is_a_call(written: str, is_told: bool) -> None:
    text = f"import torch\n\nx = torch.zeros(8, device='mps')\nmask = x > 0\nfor n in range(8):\n    {written}\n"

    found = mpslint.check(text, target={"torch": "2.2", "macos": "14.4"}, select=["MPS929"]).findings

    assert [one.rule for one in found] == ["MPS929"] * is_told


@pytest.mark.parametrize(
    ("first", "second", "is_told"),
    [
        ("x.clamp(min=0.0)", "y.clamp(min=1e-7)", True),
        ("x.clamp(min=1e-7)", "y.clamp(min=1e-7)", False),
        ("x.clamp(min=0.0)", "y.clamp(min=1e-5)", False),
        ("x.clamp(min=0.0)", "y[0].clamp(min=1e-7)", False),
        ("x.clamp(0.0)", "torch.clamp(y, min=1e-7)", True),
        ("x.clamp(1e-8)", "y.clamp(0, 1)", False),
        ("x.clamp(0, 1)", "y.clamp(1e-7, 1)", True),
        ("x.clamp(0, max=1)", "y.clamp(1e-7, 2)", False),
        ("x.clamp(0.0)", "y.half().clamp(1e-7)", False),
    ],
)
def test_a_number_is_held_to_that_of_an_earlier_call_on_the_same_shape(first: str, second: str, is_told: bool) -> None:
    text = f"import torch\n\nx = torch.zeros(4, 4, device='mps')\ny = torch.zeros(4, 4, device='mps')\nprint({first}, {second})\n"

    found = mpslint.check(text, target={"torch": "2.9"}, select=["MPS929"]).findings

    assert [one.rule for one in found] == ["MPS929"] * is_told


FAULTS = [
    ("F.conv2d(image, kernel[:, :, 1])", "2.13", "15.0", True),
    ("F.conv2d(image, kernel[:, :, 1].contiguous())", "2.13", "15.0", False),
    ("F.conv2d(image, kernel[:, :, 1])", "2.13", "14.0", False),
    ("torch.nn.BatchNorm2d(3, device='mps')(image[1:])", "2.4", "14.0", True),
    ("torch.nn.BatchNorm2d(3, device='mps')(image[:1])", "2.4", "14.0", False),
    ("F.pad(x, (1, 1, 1, 1))", "1.12", "13.0", True),
    ("F.pad(x, (1, 1))", "1.12", "13.0", False),
    ("F.pad(image, (1, 1, 1, 1))", "1.12", "13.0", False),
    ("F.pad(image[0], (0, 0, 0, 9, 0, 0))", "1.13", "13.0", True),
    ("torch.nn.Conv2d(1, 1, 3, stride=(1, 2)).to('mps')(image)", "1.12", "13.0", True),
    ("torch.nn.Conv2d(1, 1, 3, stride=(2, 2)).to('mps')(image)", "1.12", "13.0", False),
    ("torch.fft.fftfreq(8, device='mps')", "2.4", "14.0", True),
    ("torch.fft.fftfreq(8)", "2.4", "14.0", False),
    ("x[:1].expand(64, 8) @ x", "2.9", "26.2", True),
    ("x[:1].expand(64, 8).contiguous() @ x", "2.9", "26.2", False),
    ("x.expand(8, 8) @ x", "2.9", "26.2", False),
    ("x[:1].expand(64, 8) @ x", "2.9", "26.4", False),
    ("torch.zeros(8, 8).t().copy_(x.t())", "2.13", "15.0", True),
    ("torch.zeros(8, 8).copy_(x.t())", "2.13", "15.0", False),
    ("F.embedding(torch.zeros(1, dtype=torch.int64, device='mps'), torch.ones(262144, 10752, device='mps'))", "2.13", "15.0", True),
    ("F.embedding(torch.zeros(1, dtype=torch.int64, device='mps'), torch.ones(262144, 1075, device='mps'))", "2.13", "15.0", False),
    ("F.binary_cross_entropy(image[:, :, 0, :1], image[:, :, 0, :1], reduction='none')", "2.9", "15.0", False),
    ("torch.nn.LSTM(2, 2, bidirectional=True).to('mps')(x)", "1.13", "13.0", True),
    ("torch.nn.LSTM(2, 2, bidirectional=True).to('mps')(x)", "2.7", "15.0", False),
    ("torch.nn.LSTM(2, 2).to('mps')(x)", "2.0", "13.0", True),
]
"""Expressions with a matrix `x`, an `image` and a `kernel` with five dimensions on the GPU, and whether a fault is told with a torch and macOS."""


@pytest.mark.parametrize(("expression", "torch", "macos", "is_told"), FAULTS)
def test_a_fault_is_told_where_its_operands_are_such(expression: str, torch: str, macos: str, is_told: bool) -> None:
    """A row that says where its operands lie is asked of those on the CPU, too."""
    made = "".join(
        f"{name} = torch.ones({size}, device='mps')\n"
        for name, size in {"x": "8, 8", "image": "2, 3, 8, 8", "kernel": "3, 3, 3, 3, 3"}.items()
    )
    text = f"import torch\nimport torch.nn.functional as F\n\n{made}made = {expression}\n"

    found = mpslint.check(text, target={"torch": torch, "macos": macos}, select=["MPS929"]).findings

    assert [one.rule for one in found] == ["MPS929"] * is_told


@pytest.mark.parametrize(("reduce", "is_told"), [("mean", True), ("sum", False), ("amax", False)])
def test_a_method_is_asked_for_its_own_arguments(reduce: str, is_told: bool) -> None:
    """What a row about a function of torch asks of its arguments is asked of the method's, which stand one place earlier."""
    text = f'import torch\n\nx = torch.zeros(8, device="mps")\ni = torch.zeros(8, dtype=torch.long, device="mps")\nx.scatter_reduce(0, i, torch.ones(8, device="mps"), reduce="{reduce}")\n'

    found = mpslint.check(text, target={"torch": "2.10"}, select=["MPS911"]).findings

    assert [one.rule for one in found] == ["MPS911"] * is_told


METHODS = [
    ("x.unique()", "2.6", ["MPS929"]),
    ("x.cpu().unique()", "2.6", []),
    ("x.unique(dim=0)", "2.9", ["MPS910"]),
    ("x.unique(dim=None)", "2.9", []),
    ("x.logit(0.7)", "2.13", ["MPS929"]),
    ("x.logit(0.3)", "2.13", []),
    ("x.histc(8192)", "2.14", ["MPS929"]),
    ("x.histc(100)", "2.14", []),
    ("x.unfold(0, 2, 1)", "2.5", []),
    ("x.where(x > 0, x)", "2.4", []),
    ("x.t().polygamma(1)", "2.11", ["MPS929"]),
    ("x.polygamma(1)", "2.11", []),
    ("x.lu()", "2.9", []),
    ("x[:1].flip(0)", "2.0", ["MPS929"]),
    ("x[:1].flip(0, 1)", "2.0", []),
    ("(x > 0).cumsum(0)", "2.3", ["MPS929"]),
    ("(x > 0).cumsum(0, dtype=torch.long)", "2.3", []),
    ("(x > 0).cumprod(0)", "2.3", []),
    ("torch.linalg.lu(x)", "2.9", ["MPS910"]),
]
"""Methods of a tensor on the GPU with more than 16,777,216 elements, and what is told of them with a torch."""


@pytest.mark.parametrize(("call", "torch", "rules"), METHODS)
def test_a_method_does_what_the_function_does_that_takes_the_same(call: str, torch: str, rules: list[str]) -> None:
    """`F.unfold` isn't the function of `x.unfold`, nor is `x.where(condition, other)` called as `torch.where(condition, x, other)` is."""
    text = f'import torch\n\nx = torch.ones(5000, 5000, device="mps")\ny = {call}\n'

    found = mpslint.check(text, target={"torch": torch, "macos": "15.0"}, select=["MPS910", "MPS912", "MPS929"]).findings

    assert [one.rule for one in found] == rules


REPORTED = [
    ("torch.abs(x.long())", "1.13", "MPS911"),
    ("torch.abs(x)", "1.13", ""),
    ("torch.abs(x.long())", "2.0", ""),
    ("x[:, 0::2].clamp_(0, 1)", "2.9", "MPS929"),
    ("x.clamp_(0, 1)", "2.9", ""),
    ("x[:, 0].sigmoid_()", "2.9", "MPS929"),
    ("x[:, 0].sigmoid()", "2.9", ""),
    ("torch.clamp(x, x.t()[:4].t(), x)", "2.0", "MPS929"),
    ("torch.clamp(x, x, x)", "2.0", ""),
    ("x.long().clamp_min(1.0)", "2.4", "MPS929"),
    ("x.long().clamp_min(1)", "2.4", ""),
    ("torch.quantile(x, 0.5, 0)", "2.12", "MPS929"),
    ("torch.quantile(x, 0.5, 1)", "2.12", ""),
    ("x.quantile(0.5, dim=0)", "2.0", "MPS929"),
    ("F.pad(x[0], (0, 1))", "1.12", "MPS929"),
    ("F.pad(x, (0, 1))", "1.12", ""),
    ("torch.jit.trace(torch.nn.Linear(4, 4).to('mps'), x)", "1.12", "MPS911"),
    ("torch.jit.trace(torch.nn.Linear(4, 4).to('mps'), x, check_trace=False)", "1.12", ""),
    ("torch.jit.trace(torch.nn.Linear(4, 4).to('mps'), x)", "1.13", ""),
    ("torch.nn.GRU(4, 4, batch_first=True).to('mps')(torch.rand(1, 128, 4, device='mps'))", "2.9", "MPS916"),
    ("torch.nn.GRU(4, 4, batch_first=True).to('mps')(torch.rand(64, 128, 4, device='mps'))", "2.9", ""),
    ("torch.nn.GRU(4, 4).to('mps')(torch.rand(1, 128, 4, device='mps'))", "2.9", ""),
    ("F.affine_grid(torch.rand(1, 2, 3, device='mps'), [1, 3, 3, 3])", "1.12", "MPS929"),
    ("F.affine_grid(torch.rand(1, 2, 3, device='mps'), [1, 3, 3, 3])", "2.0", ""),
    ("pickle.dumps(torch.nn.Linear(4, 4).to('mps'))", "1.13", "MPS911"),
    ("pickle.dumps(torch.nn.Linear(4, 4))", "1.13", ""),
    ("x * 1j", "2.2", "MPS911"),
    ("x * 2", "2.2", ""),
    ("x * 1j", "2.3", ""),
    ("2 * torch.complex(x, x)", "2.2", "MPS911"),
    ("torch.complex(x, x) * torch.complex(x, x)", "2.2", ""),
    ("torch.complex(x, x) @ torch.complex(x, x).t()", "2.3", "MPS911"),
    ("torch.complex(x, x) @ torch.complex(x, x).t()", "2.4", ""),
    ("F.linear(torch.complex(x, x), torch.complex(x, x))", "2.11", "MPS911"),
    ("F.linear(x, x)", "2.11", ""),
    ("torch.zeros(4, dtype=torch.cfloat, device='mps')", "2.0", "MPS911"),
    ("torch.zeros(4, dtype=torch.cfloat)", "2.0", ""),
    ("torch.linalg.matrix_rank(x)", "2.2", "MPS911"),
    ("torch.linalg.matrix_rank(x.cpu())", "2.2", ""),
    ("x.t().index_add_(0, torch.zeros(4, dtype=torch.int64, device='mps'), x.t())", "2.11", "MPS929"),
    ("x.index_add_(0, torch.zeros(2, dtype=torch.int64, device='mps'), x)", "2.11", ""),
    ("torchvision.utils.make_grid(torch.rand(16, 3, 32, 32, device='mps'))", "2.0", "MPS929"),
    ("torchvision.utils.make_grid(torch.rand(16, 3, 32, 32))", "2.0", ""),
    ("F.gumbel_softmax(x)", "2.8", "MPS929"),
    ("F.gumbel_softmax(x.cpu())", "2.8", ""),
    ("F.gumbel_softmax(x)", "2.9", ""),
    ("torch.rand_like(x.t())", "2.9", "MPS929"),
    ("torch.randn_like(x)", "2.9", ""),
    ("torch.randn_like(x[:, 0])", "2.9", ""),
    ("torch.randn_like(x.t(), memory_format=torch.contiguous_format)", "2.9", ""),
    ("torch.randn_like(x.t(), device='cpu')", "2.9", ""),
    ("torch.rand(8, dtype=torch.bfloat16, device='mps')", "2.14", "MPS929"),
    ("torch.rand(8, dtype=torch.bfloat16)", "2.14", ""),
    ("torch.rand(8, device='mps')", "2.14", ""),
    ("torch.rand(8, dtype=torch.bfloat16, device='mps')", "2.15", ""),
    ("x.byte() >> 4", "2.5", "MPS929"),
    ("x.byte() << 4", "2.5", ""),
    ("x.int() >> 4", "2.5", ""),
    ("x.byte() >> 4", "2.6", ""),
    ("x[:1].unique(return_counts=True)", "2.8", ""),
    ("F.pad(torch.arange(65536, device='mps'), (0, 1))", "2.14", "MPS929"),
    ("F.pad(torch.arange(65535, device='mps'), (0, 1))", "2.14", ""),
    ("F.pad(torch.arange(65536.0, device='mps'), (0, 1))", "2.14", ""),
    ("torch.zeros(70000, device='mps').unique(return_counts=True)", "2.14", "MPS916"),
    ("torch.zeros(70000, device='mps').unique()", "2.14", ""),
    ("torch.zeros(700, device='mps').unique(return_counts=True)", "2.14", ""),
]
"""Expressions with a matrix `x` on the GPU, and the rule that tells of them with a torch, on macOS 14."""


@pytest.mark.parametrize(("expression", "torch", "rule"), REPORTED)
def test_a_reported_case_is_told_and_its_neighbours_are_not(expression: str, torch: str, rule: str) -> None:
    text = f"import torch\nimport torch.nn.functional as F\nimport pickle\nimport torchvision\n\nx = torch.ones(2, 4, device='mps')\ny = {expression}\n"

    found = mpslint.check(text, target={"torch": torch, "macos": "14.5"}, select=["MPS911", "MPS916", "MPS929"]).findings

    assert [one.rule for one in found] == [rule] * bool(rule)


@pytest.mark.parametrize(("size", "told"), [("1, 4", True), ("2, 4", False), ("1", False)])
def test_unique_forgot_dimensions_behind_one_of_size_one(size: str, told: bool) -> None:
    text = f"import torch\n\nx = torch.ones({size}, device='mps')\ny = x.unique()\n"

    found = mpslint.check(text, target={"torch": "2.0", "macos": "14.5"}, select=["MPS929"]).findings

    assert any("pytorch#104879" in one.message for one in found) is told


SIZED = [
    ("F.adaptive_avg_pool2d(image(10, 10), (7, 7))", "2.8", True),
    ("F.adaptive_avg_pool2d(image(14, 14), (7, 7))", "2.8", False),
    ("F.adaptive_avg_pool2d(image(3, 3), 6)", "2.8", False),
    ("F.adaptive_avg_pool2d(image(10, 10), 1)", "2.8", False),
    ("F.adaptive_avg_pool2d(image(10, 10), (None, 5))", "2.8", False),
    ("F.adaptive_avg_pool2d(image(10, 10).cpu(), (7, 7))", "2.8", False),
    ("torch.nn.AdaptiveAvgPool2d(7).to('mps')(image(10, 10))", "2.8", True),
    ("torch.nn.AdaptiveAvgPool1d(4)(image(10, 10)[0])", "2.8", True),
    ("F.interpolate(image(10, 10), size=(7, 7), mode='area')", "2.8", True),
    ("F.interpolate(image(10, 10), scale_factor=2, mode='area')", "2.8", False),
    ("F.interpolate(image(10, 10), size=(7, 7), mode='bilinear')", "2.8", False),
    ("torch.igammac(waves, waves)", "2.12", True),
    ("torch.igammac(waves.abs(), waves.abs())", "2.12", False),
    ("torch.bucketize(waves, waves[0])", "2.13", True),
    ("torch.nn.LSTM(4, 4, num_layers=2, dropout=1.0).to('mps')(x[:, :4])", "2.13", True),
    ("torch.nn.LSTM(4, 4, num_layers=2, dropout=0.5).to('mps')(x[:, :4])", "2.13", False),
    ("torch.tril(torch.full((3, 3), float('inf'), device='mps'), diagonal=-1)", "2.6", True),
    ("torch.full((3, 3), float('-inf'), device='mps').tril(-1)", "2.6", True),
    ("torch.full((3, 3), -torch.inf, device='mps').tril(-1)", "2.6", True),
    ("torch.tril(torch.full((3, 3), 1.0, device='mps'), diagonal=-1)", "2.6", False),
    ("torch.tril(torch.full((3, 3), float('inf'), device='mps'))", "2.6", False),
    ("torch.count_nonzero(torch.empty(0, 2, device='mps'))", "2.5.1", True),
    ("torch.count_nonzero(x)", "2.5.1", False),
    ("torch.cat([bytes_of(32769, 32768), bytes_of(32769, 32768)], dim=1)", "2.13", True),
    ("torch.cat([bytes_of(32769, 32768), bytes_of(32769, 32768)], dim=1)", "2.14", False),
    ("torch.cat([bytes_of(3, 3), bytes_of(3, 3)], dim=1)", "2.13", False),
    ("x.repeat_interleave(counts[1:3], dim=0)", "2.9", True),
    ("x.repeat_interleave(counts[:2], dim=0)", "2.9", False),
    ("F.scaled_dot_product_attention(image(4, 8)[None], image(4, 8)[None], image(4, 8)[None])", "2.6", True),
    ("F.scaled_dot_product_attention(image(4, 8), image(4, 8), image(4, 8))", "2.6", False),
    ("torch.nn.Linear(8, 8).to('mps')(torch.ones(2, 20736, 8, device='mps'))", "2.1", True),
    ("torch.nn.Linear(8, 8).to('mps')(torch.ones(2, 2073, 8, device='mps'))", "2.1", False),
    ("torch.nn.Linear(8, 50304).to('mps')(torch.ones(9, 1024, 8, device='mps'))", "2.1", True),
    ("torch.nn.Linear(8, 50304).to('mps')(torch.ones(1, 1024, 8, device='mps'))", "2.1", False),
    ("torch.fft.hfft(image(4, 4)[None].to(torch.complex64), dim=0)", "2.12", True),
    ("torch.fft.hfft(image(4, 4)[None].to(torch.complex64), dim=-1)", "2.12", False),
    ("torch.tensor([1.0, 2.0], pin_memory=True)", "2.6", True),
    ("torch.tensor([1.0, 2.0], pin_memory=torch.cuda.is_available())", "2.6", False),
    ("F.mse_loss(torch.empty(0, device='mps'), torch.empty(0, device='mps'))", "2.6", True),
    ("F.mse_loss(x, x)", "2.6", False),
    ("torch.nanmedian(image(4, 4)[None], dim=0)", "2.12", True),
    ("torch.nanmedian(image(4, 4)[None], dim=0)", "2.14", False),
    ("torch.nanmedian(image(4, 4), dim=0)", "2.12", False),
    ("torch.var(torch.tensor(3.0, device='mps'), dim=0)", "2.8", True),
    ("torch.var(x, dim=0)", "2.8", False),
    ("torch.var(torch.tensor(3.0, device='mps'))", "2.8", False),
    ("torch.std(x, dim=-2)", "2.0", True),
    ("torch.std(x, dim=-1)", "2.0", False),
    ("torch.std(x, dim=-2)", "2.1", False),
    ("x[:1].flip(0)", "2.0", True),
    ("torch.flip(x[:1], [0])", "2.0", True),
    ("torch.flip(x[:1], (0, 1))", "2.0", False),
    ("x.flip(0)", "2.0", False),
    ("x[:1].flip(1)", "2.0", False),
    ("F.softplus(x)", "2.0", True),
    ("F.softplus(x, beta=1.0)", "2.0", False),
    ("torch.nn.Softplus().to('mps')(x)", "2.0", True),
    ("torch.nn.Softplus(1.0).to('mps')(x)", "2.0", False),
    ("torch.nextafter(torch.zeros(1, device='mps'), x)", "2.6", True),
    ("torch.nextafter(x, x)", "2.6", False),
    ("torch.distributions.Categorical(torch.softmax(x, 0).t()).sample()", "2.6", True),
    ("torch.distributions.Categorical(torch.softmax(x, 1)).sample()", "2.6", False),
    ("torch.multinomial(torch.rand(65536, device='mps'), 100, replacement=True)", "2.10", True),
    ("torch.multinomial(torch.rand(8, device='mps'), 1)", "2.0.1", True),
    ("torch.multinomial(torch.rand(8, device='mps'), 1)", "2.1", False),
    ("torch.multinomial(torch.rand(65536, device='mps'), 100, replacement=True)", "2.13", False),
    ("torch.multinomial(torch.rand(65536, device='mps'), 100)", "2.10", False),
    ("torch.multinomial(torch.rand(10, device='mps'), 100000000, True)", "2.4", True),
    ("torch.multinomial(torch.rand(10, device='mps'), 100, True)", "2.4", False),
    ("torch.histogram(x, bins=8192)", "2.14", True),
    ("torch.histogram(x, bins=100)", "2.14", False),
]


@pytest.mark.parametrize(("call", "torch", "found"), SIZED)
def test_a_case_is_told_where_sizes_dtypes_and_values_are_known(call: str, torch: str, found: bool) -> None:
    """Sizes that don't divide, complex numbers, infinite ones, rows and elements by number."""
    place = ', device="mps"' if "waves" in call else ""  # before torch 2.1 they are told of themselves
    text = f"""import torch
import torch.nn.functional as F

def image(*sizes):
    return torch.ones(1, 3, *sizes, device="mps")

def bytes_of(*sizes):
    return torch.ones(*sizes, dtype=torch.int8, device="mps")

x = torch.ones(2, 4, device="mps")
counts = torch.tensor([0, 1, 0], device="mps")
waves = torch.ones(4, 4, dtype=torch.complex64{place})
y = {call}
"""

    rules = {one.rule for one in mpslint.check(text, target={"torch": torch, "macos": "13.6"}).findings}

    assert bool(rules & {"MPS911", "MPS929"}) is found


def test_a_convolution_over_three_dimensions_is_wrong_on_one_macos() -> None:
    """Only where torch has a Metal kernel of its own for it."""
    text = 'import torch\n\ny = torch.nn.Conv3d(4, 4, 3).to("mps")(torch.ones(1, 4, 8, 8, 8, device="mps"))\n'
    targets = [("2.14", "26.2"), ("2.14", "26.3"), ("2.13", "26.2")]

    found = [[one.rule for one in mpslint.check(text, target={"torch": torch, "macos": macos}).findings] for torch, macos in targets]

    assert [("MPS929" in rules) for rules in found] == [True, False, False]


@pytest.mark.parametrize(
    ("handler", "is_told"),
    [("except NotImplementedError", False), ("except (ValueError, NotImplementedError)", False), ("except ValueError", True)],
)
def test_what_mps_lacks_is_not_told_where_a_handler_names_its_error(handler: str, is_told: bool) -> None:
    text = f"import torch\n\nx = torch.ones(4, device='mps')\ntry:\n    y = x.mode()\n{handler}:\n    y = x.cpu().mode()\n"

    found = mpslint.check(text, target={"torch": "2.9"}, select=["MPS910"]).findings

    assert [one.rule for one in found] == ["MPS910"] * is_told


TEACHERS = [
    ("with torch.no_grad():\n    y = teacher(x).logits", False),
    ("y = teacher(x).logits", True),
    ("with torch.no_grad():\n    y = teacher(x).logits\noptimizer = torch.optim.Adam(teacher.parameters())", True),
    ("with torch.no_grad():\n    y = teacher(x).logits\nfit(teacher)", True),
]
"""What a program does with a loaded model, and whether a fault in its backward pass is told."""


@pytest.mark.parametrize(("use", "is_told"), TEACHERS)
def test_a_backward_pass_is_not_one_of_a_model_that_is_only_asked(use: str, is_told: bool) -> None:
    text = f"""import torch
from transformers import SegformerForSemanticSegmentation

teacher = SegformerForSemanticSegmentation.from_pretrained("nvidia/mit-b0").to("mps")
student = torch.nn.Conv2d(3, 150, 3).to("mps")
x = torch.ones(1, 3, 64, 64, device="mps")
{use}
student(x).sum().backward()
"""

    found = mpslint.check(text, target={"torch": "2.6"}, select=["MPS911"]).findings

    assert [one.rule for one in found] == ["MPS911"] * is_told


REDUCED = [
    ("x.scatter_reduce(0, i, x, 'sum')", "2.13", True),
    ("x.int().scatter_reduce(0, i, x.int(), 'sum')", "2.13", False),
    ("torch.scatter_reduce(i, 0, i, i, 'sum')", "2.13", False),
    ("load().scatter_reduce(0, i, x, 'sum')", "2.13", True),
]
"""Sums by scatter_reduce, which raises for floating-point numbers only."""


@pytest.mark.parametrize(
    ("call", "torch", "is_told"), [("x.kthvalue(1)", "2.13", True), ("x.kthvalue(1)", "2.8", False), ("x.mode()", "2.13", False), *REDUCED]
)
def test_a_method_is_asked_with_the_settings_of_its_run(call: str, torch: str, is_told: bool) -> None:
    text = f"import torch\n\ntorch.use_deterministic_algorithms(True)\nx = torch.ones(4, device='mps')\ni = torch.zeros(4, device='mps').long()\ny = {call}\n"

    found = mpslint.check(text, target={"torch": torch}, select=["MPS926"]).findings

    assert [one.rule for one in found] == ["MPS926"] * is_told

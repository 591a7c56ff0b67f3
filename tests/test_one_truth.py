"""What a setting does on a Mac is said once: check and verify agree in every combination of versions at which something changes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch

from mpslint.checks.known_calls import load_table
from mpslint.core.finding import Severity
from mpslint.core.knowledge import behaviour_in, load_behaviours, platform_data
from mpslint.core.versions import corners, format_version
from mpslint.diagnose.named import first_version
from mpslint.engine import check
from mpslint.program.platform import load_platform
from mpslint.rule.loading import load_rules
from mpslint.source.reader import read
from mpslint.target.target import default_target, with_versions
from mpslint.verify.emulator.keys import GraphCache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.operators import Coverage
from mpslint.verify.emulator.watch import Watch
from mpslint.verify.outcome import Composition, RunResult
from mpslint.verify.platform import missing_operators, precision_outcome
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac
from mpslint.verify.verdict import check_run

TRAINER = 'from transformers import TrainingArguments\n\nargs = TrainingArguments("out", {0}=True, optim="adamw_torch")\n'
ACCELERATOR = 'from accelerate import Accelerator\n\naccelerator = Accelerator(mixed_precision="{0}")\n'
VARIABLE = (
    'import os\n\nfrom accelerate import Accelerator\n\nos.environ["ACCELERATE_MIXED_PRECISION"] = "{0}"\naccelerator = Accelerator()\n'
)
AUTOCAST = 'import torch\n\nwith torch.autocast("mps", dtype=torch.{0}):\n    pass\n'
SCALER = 'import torch\n\nscaler = torch.amp.GradScaler("mps")\n'
ASKED = [
    ("trainer", "fp16", TRAINER.format("fp16"), {"MPS101"}),
    ("trainer", "bf16", TRAINER.format("bf16"), {"MPS102"}),
    ("accelerator", "fp16", ACCELERATOR.format("fp16"), {"MPS101"}),
    ("accelerator", "bf16", ACCELERATOR.format("bf16"), {"MPS102"}),
    ("accelerator_variable", "fp16", VARIABLE.format("fp16"), {"MPS101"}),
    ("accelerator_variable", "bf16", VARIABLE.format("bf16"), {"MPS102"}),
    ("autocast", "fp16", AUTOCAST.format("float16"), {"MPS114"}),
    ("autocast", "bf16", AUTOCAST.format("bfloat16"), {"MPS114", "MPS115"}),
    ("grad_scaler", "any", SCALER, {"MPS113"}),
]
SEVERITY = {"raises": Severity.ERROR, "wrong": Severity.ERROR, "ignored": Severity.WARNING}
NEWEST = {"torch": (2, 15), "transformers": (5, 23), "accelerate": (1, 15), "macos": (26,), "lightning": (2, 6)}


def machine_of(given: Mapping[str, str]) -> VerifiedMac:
    """Return the Mac that verify judges, with these versions."""
    return VerifiedMac(given["torch"], 16, given.get("transformers", ""), given.get("accelerate", ""), given.get("macos", ""))


@pytest.mark.parametrize(("way", "precision", "text", "ids"), ASKED, ids=[f"{way}-{precision}" for way, precision, _, _ in ASKED])
def test_check_and_verify_say_the_same(way: str, precision: str, text: str, ids: set[str]) -> None:
    """Where verify says raises or wrong, check has an error; where it says ignored, a warning; where it works, neither says the contrary."""
    rules = tuple(rule for rule in load_rules() if rule.id in ids)
    document = read("train.py", text.encode())
    for versions in corners(row.versions for row in load_behaviours(f"precision.{way}.{precision}")):
        given = {name: format_version(version) for name, version in {**NEWEST, **versions}.items()}
        verified = precision_outcome(way, precision, machine_of(given))
        found = check(document, with_versions(default_target(), given, "test"), rules).findings
        # Below the releases that the rules were read in, check says from which release it knows.
        said = [(finding.severity, finding.message.partition(" Known from ")[0]) for finding in found]
        if verified.does == "works":
            assert all(severity is not Severity.ERROR for severity, _ in said), versions
            continue
        assert said == [(SEVERITY[verified.does], verified.text)], versions


LIGHTNING = 'import lightning as L\n\nrun = L.{0}(accelerator="auto", precision="{1}-mixed")\n'


@pytest.mark.parametrize(("way", "maker"), [("lightning", "Trainer"), ("fabric", "Fabric")])
@pytest.mark.parametrize(("precision", "spelled", "rule"), [("fp16", "16", "MPS101"), ("bf16", "bf16", "MPS102")])
def test_check_says_what_lightning_does(way: str, maker: str, precision: str, spelled: str, rule: str) -> None:
    """verify doesn't know Lightning's versions; check says of each of them what the behaviours say."""
    rules = tuple(one for one in load_rules() if one.id == rule)
    document = read("train.py", LIGHTNING.format(maker, spelled).encode())
    name = f"precision.{way}.{precision}"
    for versions in corners(row.versions for row in load_behaviours(name)):
        known = {**NEWEST, **versions}
        target = with_versions(default_target(), {name: format_version(version) for name, version in known.items()}, "test")
        behaviour = behaviour_in(name, known)
        said = [finding.severity for finding in check(document, target, rules).findings]
        assert said == [SEVERITY[behaviour.does]] if behaviour.does != "works" else Severity.ERROR not in said, versions


MEASURED = [
    ("trainer", "bf16", {"transformers": "4.56.0", "accelerate": "1.15.0", "torch": "2.8.0", "macos": "13"}, "raises"),
    ("trainer", "bf16", {"transformers": "4.42.4", "accelerate": "1.11.0", "torch": "2.5.1"}, "raises"),
    ("trainer", "fp16", {"transformers": "4.41.2", "accelerate": "0.21.0", "torch": "2.2.2"}, "ignored"),
    ("trainer", "fp16", {"transformers": "4.57.6", "accelerate": "0.25.0", "torch": "2.2.2"}, "raises"),
    ("trainer", "fp16", {"transformers": "4.41.2", "accelerate": "0.22.0", "torch": "2.2.2"}, "raises"),
    ("trainer", "fp16", {"transformers": "4.41.2", "accelerate": "0.22.0", "torch": "2.5.1"}, "wrong"),
    ("accelerator", "bf16", {"accelerate": "0.29.3", "torch": "2.4.1"}, "raises"),
    ("autocast", "bf16", {"torch": "2.8.0", "macos": "13"}, "ignored"),
    ("autocast", "bf16", {"torch": "2.8.0", "macos": "14"}, "works"),
]


@pytest.mark.parametrize(("way", "precision", "versions", "does"), MEASURED)
def test_measured_points(way: str, precision: str, versions: dict[str, str], does: str) -> None:
    """Points at which check and verify once contradicted each other, or a bound was wrong, as the packages' code says it."""
    assert precision_outcome(way, precision, machine_of({"torch": "2.15", **versions})).does == does


@pytest.mark.parametrize("torch", ["2.8", "2.12.1", "2.13"])
def test_a_fused_optimizer_with_a_scaler(torch: str) -> None:
    """Where fused AdamW, the Trainer's default, ignores the gradient scaler, check has an error and verify a check that fails, in the same words."""
    given = {"torch": torch, "transformers": "5.23", "accelerate": "1.15", "macos": "26"}
    document = read("train.py", TRAINER.replace(', optim="adamw_torch"', "").format("fp16").encode())
    rules = tuple(rule for rule in load_rules() if rule.id == "MPS101")
    said = [finding.message for finding in check(document, with_versions(default_target(), given, "test"), rules).findings]
    spec = RunSpec("gpt2", "causal_lm", Lengths(512), precision="fp16", optimizer="adamw_torch_fused")
    checks = check_run(RunResult("run", "emulated", (), Composition(0, "forward")), machine_of(given), spec, 100)
    reason = next(one.reason for one in checks if one.name == "precision")
    assert (torch != "2.13") is ("ignores the gradient scaler" in said[0]) is reason.startswith(said[0])


def test_operators_stand_once() -> None:
    """check calls an operator missing in exactly the releases that diagnose and verify name: lu_factor until 2.5, unique(dim=) until 2.10."""
    missing = [entry for entry in load_table("operator_calls.calls") if entry.kind == "missing"]
    for call, operator in (
        ("torch.linalg.lu_factor", "linalg_lu_factor"),
        ("torch.unique", "unique_dim"),
        ("torch.nn.CTCLoss", "_ctc_loss"),
    ):
        first = first_version(operator)
        entry = next(entry for entry in missing if call in entry.condition.names)
        assert str(entry.versions) == f"torch < {first}"
        major, minor = map(int, str(first).split("."))
        assert operator in missing_operators(f"{major}.{minor - 1}")
        assert operator not in missing_operators(str(first))


CALLS = {
    "kthvalue.values": "x.kthvalue(2)",
    "mode": "torch.mode(x)",
    "_standard_gamma": "torch.distributions.Gamma(x.exp(), x.exp(), validate_args=False).rsample()",
    "nanmedian": "torch.nanmedian(x)",
    "linalg_lstsq.out": "torch.linalg.lstsq(x, x)",
    "_cummax_helper": "x.cummax(0)",
    "upsample_bicubic2d": "F.interpolate(x.view(1, 1, 8, 8), size=4, mode='bicubic')",
    "take": "torch.take(x, torch.zeros(2, dtype=torch.int64, device=x.device))",
    "linalg_qr": "torch.linalg.qr(x)",
    "roll": "torch.roll(x, 1)",
    "_logcumsumexp": "x.logcumsumexp(0)",
    "unique_dim": "torch.unique(x, dim=0)",
    "sinc": "torch.sinc(x)",
    "scatter_reduce.two": "x.scatter_reduce(0, torch.zeros(8, 8, dtype=torch.int64, device=x.device), x, 'amax')",
    "_linalg_eigh": "torch.linalg.eigh(x)",
    "adaptive_max_pool3d": "torch.nn.AdaptiveMaxPool3d(2)(x.view(1, 4, 4, 4))",
    "frexp.Tensor_out": "torch.frexp(x)",
}
"""Operators, each with an expression of a tensor that needs it."""


@pytest.mark.parametrize("operator", CALLS)
def test_an_operator_is_missing_for_all_in_the_same_releases(operator: str) -> None:
    """check at the written call, verify at the operator that torch runs for it, diagnose by its name."""
    first, rules = first_version(f"aten::{operator}"), tuple(rule for rule in load_rules() if rule.id == "MPS910")
    assert first is not None
    major, minor = map(int, (first or "2.15").split("."))
    document = read(
        "run.py", f'import torch\nimport torch.nn.functional as F\n\nx = torch.ones(8, 8, device="mps")\ny = {CALLS[operator]}\n'.encode()
    )
    for release, is_missing in ((f"{major}.{minor - 1}" if first else "2.15", True), *([(first, False)] if first else [])):
        found = check(document, with_versions(default_target(), {"torch": release}, "test"), rules).findings
        coverage = Coverage(release)
        with Watch(LiveMemory(), GraphCache(frozenset()), coverage.see):
            eval(CALLS[operator], {"torch": torch, "F": torch.nn.functional, "x": torch.ones(8, 8, device="meta")})
        assert bool(found) is is_missing, release
        assert any(trouble.name == operator for trouble in coverage.troubles.values()) is is_missing, release


def test_operators_have_one_first_version() -> None:
    """Each stands below one release, or below `never`."""
    known = platform_data("operators")
    listed = [name for group in (*known["first"].values(), known["never"]) for name in group]
    assert sorted(listed) == sorted(set(listed))


def test_transformers_answers_what_its_arguments_do() -> None:
    """bf16=True raises in exactly the versions in which is_torch_bf16_gpu_available() is false, since both ask the same function."""
    rows = load_behaviours("precision.trainer.bf16")
    for versions in corners(row.versions for row in rows):
        given = {**NEWEST, **versions}
        if given["transformers"] >= (4, 52) and given["accelerate"] >= (1, 11) and given["torch"] >= (2, 6):
            answer = load_platform().answer("transformers.is_torch_bf16_gpu_available", given)
            assert answer is (behaviour_in("precision.trainer.bf16", given).does == "works"), given

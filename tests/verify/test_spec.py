"""Runs as data: JSON in and out, and the errors that name what is wrong."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mpslint.core.data import from_data, to_data, to_json
from mpslint.core.finding import UsageError
from mpslint.verify.spec import Evaluation, Lengths, RunSpec, VerifiedMac

SPEC = RunSpec(
    "t5-small",
    "seq2seq_lm",
    Lengths(1024, 380),
    target=Lengths(64),
    evaluation=Evaluation(8, 100, generates=True),
)


def test_a_spec_survives_json() -> None:
    """What is written as JSON is read back as the same spec."""
    assert from_data(RunSpec, json.loads(to_json(SPEC))) == SPEC


def test_equal_specs_have_equal_digests() -> None:
    """A digest tells specs apart, and nothing else."""
    assert SPEC.digest() == replace(SPEC).digest()
    assert SPEC.digest() != replace(SPEC, train_batch=3).digest()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"batch": 3}, "batch: unknown key; known keys are model"),
        ({"train_batch": "eight"}, "train_batch: expected int, got 'eight'"),
        ({"train_batch": True}, "train_batch: expected int, got True"),
        ({"precision": "fp8"}, "precision: 'fp8' is not one of no, fp16, bf16"),
        ({"source": 512}, "source: expected an object with keys"),
        ({"source": {"median": 3}}, "source.limit: this key is required"),
        ({"lora_targets": 3}, "lora_targets: expected a list"),
    ],
)
def test_a_wrong_key_is_named(change: dict[str, object], said: str) -> None:
    """The error names the key, and what is wrong with it."""
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        from_data(RunSpec, {**to_data(SPEC), **change})


def test_lengths_know_whether_they_vary() -> None:
    """Lengths are fixed without a median."""
    assert Lengths(64).is_fixed
    assert not Lengths(64, 20).is_fixed


def test_a_machine_compares_only_known_versions() -> None:
    """Versions that are not known are left out."""
    assert VerifiedMac(torch="2.13.0+cpu", transformers="5.1").versions() == {"torch": (2, 13, 0), "transformers": (5, 1)}

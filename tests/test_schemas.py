"""The JSON schemas say what the code reads: every rule file is valid by them, and what the code refuses is not.

`python tools/make_schemas.py` writes the files in `schemas/` anew.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mpslint.core.finding import UsageError
from mpslint.core.knowledge import parse_toml, parse_yaml_file, rules_folder
from mpslint.rule.loading import load_rules
from mpslint.rule.reader import RuleReader
from mpslint.session.configuration import KEYS, read_configuration
from mpslint.source.document import Kind
from tests.warm_command import mpslint
from tools.make_schemas import MEANINGS, schema_text, schemas

ROOT = Path(__file__).parents[1]
SCHEMAS = schemas()


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_file_is_not_stale(name: str) -> None:
    """schemas/ holds what the code gives now."""
    assert (ROOT / "schemas" / name).read_text(encoding="utf-8") == schema_text(SCHEMAS[name]), "python tools/make_schemas.py"


@pytest.mark.parametrize(("command", "name"), [("config", "mpslint.schema.json"), ("rules", "rule.schema.json")])
def test_the_command_line_prints_it(command: str, name: str) -> None:
    """For editors that are given a file."""
    assert mpslint([command, "--schema"], ROOT, os.environ).stdout.decode() == schema_text(SCHEMAS[name])


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_schema_is_one(schema: dict[str, Any]) -> None:
    """By the schema of schemas."""
    jsonschema.Draft7Validator.check_schema(schema)


def is_valid(schema: dict[str, Any], data: Any) -> bool:
    """Return whether data are valid by a schema."""
    return bool(jsonschema.Draft7Validator(schema).is_valid(data))


RULES = load_rules()


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_every_rule_file_is_valid(rule: Any) -> None:
    """What the code reads, the schema allows."""
    errors = jsonschema.Draft7Validator(SCHEMAS["rule.schema.json"]).iter_errors(
        parse_yaml_file(ROOT / "rules" / rule.path.relative_to(rules_folder()))  # a wheel holds no YAML
    )

    assert [f"{list(error.path)}: {error.message}" for error in errors] == []


RULE = {
    "id": "ABC001",
    "name": "n",
    "title": "t",
    "when": {"setting": "batch.train", "at_least": 16},
    "severity": "note",
    "message": "m.",
    "fix": {"safety": "safe", "set": {"batch.train": 8}},
    "why": "w",
    "examples": [{"bad": "x"}, {"ok": "y"}],
    "sources": ["s"],
}
WRONG_RULES: list[tuple[list[Any], Any]] = [
    (["wehn"], {}),
    (["id"], "abc"),
    (["title"], None),
    (["severity"], "fatal"),
    (["severity"], None),
    (["at"], "start"),
    (["when", "call"], "torch.x"),
    (["when", "setting"], "batch.size"),
    (["when", "atleast"], 1),
    (["fix", "safety"], "maybe"),
    (["fix", "set"], {"batch.size": 1}),
    (["examples", 0, "ok"], "also"),
    (["outcomes"], [{"severity": "note"}]),
]


@pytest.mark.parametrize(("where", "value"), WRONG_RULES, ids=[".".join(map(str, where)) for where, _ in WRONG_RULES])
def test_what_the_code_refuses_in_a_rule_the_schema_refuses(where: list[Any], value: Any) -> None:
    """One thing changed at a time; None takes it away."""
    assert is_valid(SCHEMAS["rule.schema.json"], RULE)
    RuleReader(Path("r.yaml")).rule(RULE)
    data = copy.deepcopy(RULE)
    inner: Any = data
    for key in where[:-1]:
        inner = inner[key]
    if value is None:
        del inner[where[-1]]
    else:
        inner[where[-1]] = value

    assert not is_valid(SCHEMAS["rule.schema.json"], data)
    with pytest.raises(UsageError):
        RuleReader(Path("r.yaml")).rule(data)


CONFIGURATION = """
select = ["MPS1"]
ignore = []
exclude = ["old/"]
severity = "warning"
unsafe = true
this-mac-only = true
rules = ["ours"]
stubs = ["ours"]
[per-file-ignores]
"*.ipynb" = ["MPS101"]
[target]
torch = 2.9
macos = "26.1"
memory = "16GB"
chip = "m2 pro"
"""
WRONG_CONFIGURATIONS = [
    "selct = []",
    "select = 'MPS1'",
    "select = [1]",
    "severity = 'fatal'",
    "unsafe = 'yes'",
    "per-file-ignores = {a = 'MPS1'}",
    "target = []",
]


def test_a_configuration_that_says_everything_is_valid() -> None:
    """And every key has a meaning for `mpslint config` and for editors."""
    data = parse_toml(CONFIGURATION)
    read_configuration(Path("mpslint.toml"), data)

    assert is_valid(SCHEMAS["mpslint.schema.json"], data)
    assert set(data) == set(KEYS) == set(MEANINGS)
    assert not is_valid(SCHEMAS["mpslint.schema.json"], {"target": {"tensorflow": "1"}})


@pytest.mark.parametrize("text", WRONG_CONFIGURATIONS)
def test_what_the_code_refuses_in_a_configuration_the_schema_refuses(text: str) -> None:
    """Unknown keys and values of another type."""
    assert not is_valid(SCHEMAS["mpslint.schema.json"], parse_toml(text))
    with pytest.raises(UsageError):
        read_configuration(Path("mpslint.toml"), parse_toml(text))


def test_reports_are_valid_by_their_schema(tmp_path: Path) -> None:
    """Of every sample, of files of every kind, and of one that cannot be read."""
    broken = tmp_path / "broken.ipynb"
    broken.write_text("{")
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM python\nENV PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\n")
    (folder / "Makefile").write_text("train:\n\taccelerate launch --mixed_precision fp16 train.py\n")
    (folder / "config.yaml").write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nmixed_precision: fp16\nuse_cpu: false\n"
    )
    (folder / "args.json").write_text('{"fp16": true, "per_device_train_batch_size": 8, "output_dir": "out"}\n')
    samples = shutil.copytree(ROOT / "samples", tmp_path / "samples")
    report = json.loads(mpslint(["check", str(samples), str(folder), str(broken), "--format", "json"], tmp_path, os.environ).stdout)
    schema = json.loads((ROOT / "schemas" / "report.schema.json").read_text(encoding="utf-8"))

    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(report, schema)
    assert {file["kind"] for file in report["files"]} == {kind.value for kind in Kind}
    assert len(report["problems"]) == 1

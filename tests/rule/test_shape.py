"""A malformed rule file of a user, or of a stranger's repository, is one line that names the file and the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mpslint.core.finding import RuleError
from mpslint.core.knowledge import read_yaml, rule_files
from mpslint.engine import check
from mpslint.rule.loading import load_rule
from mpslint.rule.shape import check_shape, pattern_problem
from mpslint.source.reader import read
from mpslint.target.target import default_target

GOOD: dict[str, Any] = {
    "id": "ORG001",
    "name": "own-rule",
    "title": "Own rule",
    "when": {"setting": "precision.mixed", "is": "fp16"},
    "severity": "warning",
    "message": "no",
    "why": "because",
    "examples": [{"bad": "x = 1\n"}],
    "sources": ["here"],
}
BAD: list[tuple[str, Any, str]] = [
    ("when", {"setting": "precision.mixed", "matches": "("}, "matches"),
    ("when", {"setting": "precision.mixed", "matches": 5}, "matches"),
    ("when", {"uses": [5]}, "uses"),
    ("when", {"call": "torch.x", "holds": "(a+)+$"}, "holds"),
    ("when", {"setting": 5}, "setting"),
    ("when", {"setting": [["x"]]}, "setting"),
    ("when", {"setting": "precision.mixed", "at_least": "much"}, "at_least"),
    ("when", {"setting": "precision.mixed", "roles": {"a": 1}}, "roles"),
    ("when", {"setting": "precision.mixed", "options": [1]}, "options"),
    ("when", {"call": "torch.x", "arguments": {"a": 5}}, "arguments"),
    ("when", {"call": "torch.x", "arguments": 5}, "arguments"),
    ("when", {"check": "_questions"}, "check"),
    ("when", {"check": "../../etc/passwd"}, "check"),
    ("when", {"check": "os.path"}, "check"),
    ("when", {"check": 5}, "check"),
    ("when", [None], "when"),
    ("when", 5, "when"),
    ("unless", ["x"], "unless"),
    ("unless_guarded", ["devices"], "device"),
    ("unless_guarded", [1], "unless_guarded"),
    ("examples", [None], "examples"),
    ("examples", [{"bad": 5}], "bad"),
    ("examples", 5, "examples"),
    ("sources", 5, "sources"),
    ("sources", [5], "sources"),
    ("fix", [5], "fix"),
    ("fix", {"safety": "safe", "rewrite": "_questions"}, "rewrite"),
    ("fix", {"safety": ["safe"]}, "safety"),
    ("fix", {"safety": "safe", "set": 5}, "set"),
    ("name", 5, "name"),
    ("title", [1], "title"),
    ("why", {"a": 1}, "why"),
    ("once", [1], "once"),
    ("versions", 2.8, "versions"),
    ("versions", f"torch >= {'9' * 5000}", "rule"),
    ("outcomes", [5], "outcomes"),
    ("outcomes", [{"severity": "error", "message": 5}], "message"),
    ("outcomes", [{"behaviour": "nothing.known"}], "outcomes"),
    ("unknown", 5, "unknown"),
    (5, 5, "5"),
]


@pytest.mark.parametrize(("key", "value", "named"), BAD, ids=[f"{key}={value!r:.40}" for key, value, _ in BAD])
def test_a_malformed_rule_is_one_line(tmp_path: Path, key: str, value: Any, named: str) -> None:
    """It names the file and the key; the rule without the mistake is read."""
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(GOOD))
    assert load_rule(path).id == "ORG001"
    path.write_text(yaml.safe_dump({**GOOD, key: value}))
    with pytest.raises(RuleError) as raised:
        load_rule(path)

    said = str(raised.value)
    assert said.startswith(str(path))
    assert named in said
    assert len(said.splitlines()) == 1


def test_versions_beside_outcomes_are_refused(tmp_path: Path) -> None:
    """Each outcome has its own, so those of the rule would be read by nobody."""
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({**GOOD, "versions": "torch < 2.9", "outcomes": [{"severity": "error", "message": "Fails."}]}))
    with pytest.raises(RuleError, match="`versions` has no effect beside `outcomes`"):
        load_rule(path)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "a: &a [*a]", "5", "- 1", "\0", "!!python/object/apply:os.system ['true']", "9" * 5_000, "? [1]\n: 2"]
)
def test_a_file_that_is_no_rule_is_one_line(tmp_path: Path, text: str) -> None:
    """Whatever YAML it is."""
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(RuleError) as raised:
        load_rule(path)

    assert str(raised.value).startswith(str(path))
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("when", [{"check": "removed_names"}, {"check": "known_calls", "options": {"calls": 5}}, {"trains": True}])
def test_a_rule_that_cannot_be_applied_names_its_file(tmp_path: Path, when: dict[str, Any]) -> None:
    """A check may need options, and a condition may have no place: that is seen when the rule is applied."""
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({**GOOD, "when": when}))
    document = read("train.py", b"import torch\nfrom transformers import Trainer\nTrainer().train()\n")
    with pytest.raises(RuleError, match=r"own\.yaml"):
        check(document, default_target(), [load_rule(path)])


@pytest.mark.parametrize("pattern", ["^cuda", r"a{1,3}b*c+", r"^(?!\s*[+-]?\d)", "(a|b)*", r"(\d{1,3}\.){3}", "a.*b.*c", "(?:a|bc)d"])
def test_plain_patterns_are_taken(pattern: str) -> None:
    """Those that people write."""
    assert pattern_problem(pattern) == ""


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(?:ab|abc)*d", "(a*)*", "(x+x+)+y", "((ab)*)*", "(a?){30}a{30}", "(?=(a+)+$)b", "(a|(b+)+)c"]
)
def test_patterns_that_explode_are_refused(pattern: str) -> None:
    """Their time doubles with each character."""
    assert "for ever" in pattern_problem(pattern)


def test_the_shipped_rules_have_the_shape() -> None:
    """What is asked of users holds for us."""
    for path in rule_files():
        check_shape(path, read_yaml(path))

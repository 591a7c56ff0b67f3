"""What rules are tested with: their own examples, and the cases of this folder, which show how far mpslint follows a program.

A rule file keeps the few examples that show what the rule is about; `ID.yaml` holds more, in the same form.
"""

from __future__ import annotations

import functools
from pathlib import Path

from mpslint.core.knowledge import parse_yaml_file
from mpslint.rule.reader import RuleReader
from mpslint.rule.rule import Example, Rule

FOLDER = Path(__file__).parent


def examples_of(rule: Rule) -> tuple[Example, ...]:
    """Return the examples of a rule, its own ones first."""
    path = FOLDER / f"{rule.id}.yaml"
    return rule.examples + (cases_in(path) if path.exists() else ())


@functools.cache
def cases_in(path: Path) -> tuple[Example, ...]:
    """Return the cases of one file. Raises RuleError where one isn't an example."""
    return tuple(RuleReader(path).example(row) for row in parse_yaml_file(path))

"""Where mpslint lives on the web: the one place that says so. `[project.urls]`, README.md and docs/ are held to it by a test."""

from __future__ import annotations

HOME = "https://github.com/mpslint/mpslint"
DOCUMENTATION = "https://mpslint.github.io/mpslint"
_SHIPPED = "MPS"
"""What the ids of our own rules begin with; rules of users have no page there."""


def rule_url(rule: str) -> str:
    """Return the address of a rule's page; '' for a rule that a user wrote."""
    return f"{DOCUMENTATION}/rules/{rule}/" if rule.startswith(_SHIPPED) else ""

"""A setting that is the CPU because there is no CUDA: `accelerator="gpu" if torch.cuda.is_available() else "cpu"`, or a device map.

A check because it looks for the question behind the value of a setting, which has no event of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks import forgotten_mps
from mpslint.core.finding import Edit
from mpslint.facts.values import origin_of
from mpslint.program.platform import load_platform
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.setting import Setting
from mpslint.settings.spelling import WrittenSetting, quote_of


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each choice between CUDA and the CPU that decides a setting, once, but those that give a device, too: `forgotten_mps` has them.

    Options: `setting`, and the `word` that says it.
    """
    platform = load_platform()
    choices = {id(c.node): c for c in evidence.facts.choices if c.source in platform.cuda_questions | platform.devices}
    seen = {id(match.node) for match in forgotten_mps.find(evidence, {})}
    for setting in (s for m in evidence.file_plans.matched for s in m.settings if s.name == options["setting"]):
        node = _decided_by(setting, evidence)
        while node is not None and id(node) not in choices:
            node = evidence.parents.get(node)
        if node is not None and id(node) not in seen:
            seen.add(id(node))
            place = node.test if isinstance(node, ast.If) else node
            values = {"value": "cpu", "written": evidence.text_of(place), "instead": {id(origin_of(setting.value)): "mps"}}
            yield Match(evidence.span_of(place), values, setting, context=setting.context, node=node)


def _decided_by(setting: Setting, evidence: Evidence) -> ast.AST | None:
    """Return the `"cpu"` that a setting came out as."""
    if not setting.is_known or setting.constant != "cpu":
        return None
    node = origin_of(setting.value)
    return evidence.parents.get(node) if node is not None else None


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that leaves the choice to Lightning, which takes CUDA, the Mac's GPU or the CPU, whichever there is.

    What else reads the choice would get a word that is no device.
    """
    if not isinstance(match.node, ast.IfExp) or not forgotten_mps.is_of_accelerator(match.node, evidence):
        return None
    quote = quote_of(evidence.text)
    return WrittenSetting((Edit(match.span, f"{quote}auto{quote}"),), f"accelerator={quote}auto{quote}")

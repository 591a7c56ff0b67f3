"""GitHub workflows and compose files -> the environment variables that they set, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mpslint.config.variables import variable, variables_of
from mpslint.config.yaml_source import read_yaml_source
from mpslint.core.finding import Span
from mpslint.facts.entries import ConfigMapping, ConfigNode, ConfigScalar, ConfigSequence
from mpslint.facts.facts import EnvironmentWrite

_MAC = re.compile(r"\bmac(?:os|-)|\bmps\b|apple|darwin", re.IGNORECASE)
_OTHER = re.compile(r"ubuntu|linux|windows", re.IGNORECASE)
_CONDITION = re.compile(
    r"(?P<no>!)?\s*(?:startsWith|contains|endsWith)\(\s*(?P<where>[\w.-]+)\s*,\s*'(?P<part>[^']*)'\s*\)"
    r"|(?P<subject>[\w.-]+)\s*(?P<sign>[=!]=)\s*'(?P<text>[^']*)'"
)
"""A condition of a step that compares with a text."""
_OF_RUNNER = re.compile(r"\b(?:os|runner|platform|image|runs-on)\b", re.IGNORECASE)
_PAIR = re.compile(r"([\"']?)([A-Za-z_]\w*)=(.*?)\1", re.DOTALL)


def service_variables(text: str, root: ConfigMapping) -> Iterator[EnvironmentWrite]:
    """Yield the variables of a workflow's jobs that run on a Mac, or of a compose file's services; nothing for any other file."""
    jobs, services = root.mapping("jobs"), root.mapping("services")
    if jobs is not None and (root.get("on") or root.get("true")):
        seen: set[int] = set()
        on_mac = _jobs_on_mac(text, jobs)
        for holder in (root, *on_mac, *_steps(text, on_mac)) if on_mac else ():
            mapping = holder.mapping("env")
            if mapping is not None and id(mapping) not in seen:
                seen.add(id(mapping))
                yield from variables_of(mapping)
    elif services is not None:
        for service in _mappings(services):
            entry = service.get("environment")
            if entry is not None:
                yield from _listed(text, entry.node)


def _mappings(parent: ConfigMapping) -> Iterator[ConfigMapping]:
    seen: set[int] = set()
    for entry in parent.entries.values():
        if isinstance(entry.node, ConfigMapping) and id(entry.node) not in seen:
            seen.add(id(entry.node))
            yield entry.node


def _jobs_on_mac(text: str, jobs: ConfigMapping) -> list[ConfigMapping]:
    return [job for job in _mappings(jobs) if _MAC.search(text, job.span.start, job.span.end)]


def _steps(text: str, jobs: Iterable[ConfigMapping]) -> Iterator[ConfigMapping]:
    """Yield the steps of jobs, as far as a Mac runs them."""
    for job in jobs:
        steps = job.get("steps")
        for step in steps.node.items if steps is not None and isinstance(steps.node, ConfigSequence) else ():
            if isinstance(step, ConfigMapping) and _may_run(text, step):
                yield step


def workflow_steps(text: str) -> Iterator[tuple[Span, str]]:
    """Yield where the text of each `run:` of a workflow lies that a Mac runs, and the folder that it is run in, if it says one."""
    if not ("jobs:" in text and _MAC.search(text)):
        return
    for root in read_yaml_source(text).mappings:
        jobs = root.mapping("jobs")
        for step in _steps(text, _jobs_on_mac(text, jobs)) if jobs is not None else ():
            run = step.get("run")
            if run is not None and isinstance(run.node, ConfigScalar):
                yield run.node.inside(text), step.text_at("working-directory", text)


def _may_run(text: str, step: ConfigMapping) -> bool:
    """Return whether a Mac may run a step: its `if:` asks for no other system, whatever else it asks for."""
    entry = step.get("if")
    condition = text[entry.node.span.start : entry.node.span.end] if entry is not None else ""
    return any(all(map(_may_hold, choice.split("&&"))) for choice in condition.split("||"))


def _may_hold(part: str) -> bool:
    match = _CONDITION.search(part)
    if match is None or not _OF_RUNNER.search(match["where"] or match["subject"]):
        return True
    is_wanted = match["sign"] == "==" if match["sign"] else not match["no"]
    compared = match["text"] or match["part"] or ""
    if _OTHER.search(compared):
        return not is_wanted
    is_system = _MAC.search(compared) and (match["sign"] is None or match["subject"] == "runner.os")
    return is_wanted if is_system else True


def _listed(text: str, node: ConfigNode) -> Iterator[EnvironmentWrite]:
    """Yield the variables of a mapping, or of a list of `NAME=value`."""
    if isinstance(node, ConfigMapping):
        yield from variables_of(node)
    elif isinstance(node, ConfigSequence):
        for item in node.items:
            match = _PAIR.fullmatch(text, item.span.start, item.span.end) if isinstance(item, ConfigScalar) else None
            if match is not None:
                yield variable(match.group(2), match.group(3), match.start(2), match.span(3))

"""Everything that rules may ask about one program."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar

from mpslint.core.finding import Span
from mpslint.core.grouped import grouped
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import VersionRange
from mpslint.facts.facts import EnvironmentWrite, Facts, Flag
from mpslint.facts.values import Call, Known
from mpslint.program.evaluator import evaluate_program
from mpslint.program.flow import asks_for_main
from mpslint.program.modules import Modules
from mpslint.program.parse import Parsed, parse_program
from mpslint.program.walk import walk
from mpslint.project.run import Run
from mpslint.settings.dialects import load_dialects
from mpslint.settings.gather import gather
from mpslint.settings.plan import FilePlans, TrainingPlan
from mpslint.settings.roles import roles_that
from mpslint.settings.setting import Setting
from mpslint.source.document import Document, Kind, Part, Unread
from mpslint.target.target import Target
from mpslint.tensors import libraries
from mpslint.tensors.kinds import load_kinds

Rest = ParamSpec("Rest")
Found = TypeVar("Found")


@record(frozen=True, eq=False)
class Evidence:
    """One program of a Document under a Target: what it does, and what that says in canonical settings."""

    document: Document
    text: str
    parsed: Parsed
    facts: Facts
    target: Target
    file_plans: FilePlans
    started_at: Span | None = None
    """For a run: the line of a shell script that starts it, if one does."""
    is_cut: bool = False
    """For a run: it imports or reads more files than it may."""
    whole: Evidence | None = None
    """For the statements of one file of a run: the evidence of all its files."""

    @property
    def plans(self) -> tuple[TrainingPlan, ...]:
        """The training runs, then what belongs to none."""
        return self.file_plans.plans

    def span_of(self, node: ast.AST) -> Span:
        """Return the place of a node that has one."""
        return span_of(self.document, node)

    def within(self, part: Part) -> Evidence:
        """Return the same evidence with the statements of one file only, in which a fix finds its names; itself for a Document of one."""
        if not self.document.parts:
            return self
        if part not in self.memo:
            lines = range(part.first_line, part.first_line + part.lines)
            parsed = next((one for one in self.parsed.files if one.body and one.body[0].lineno in lines), Parsed([]))
            self.memo[part] = dataclasses.replace(self, parsed=parsed, whole=self)
        found: Evidence = self.memo[part]
        return found

    def around(self, place: Span) -> Evidence:
        """Return the same evidence with the statements of the file only in which a place lies: a value may be decided in another one."""
        whole = self.whole or self
        return whole.within(whole.document.part_at(place.start))

    def above(self, node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> ast.AST | None:
        """Return the nearest node around a node that is of one of some kinds; None where there is none."""
        found = self.parents.get(node)
        while found is not None and not isinstance(found, kinds):
            found = self.parents.get(found)
        return found

    @functools.cached_property
    def trains(self) -> bool:
        """Whether the program trains something: it has a Trainer, or runs `backward()`."""
        roles = {matched.pattern.role for matched in self.file_plans.matched}
        return bool(roles & roles_that("trains")) or any(call.method == "backward" for call in self.facts.calls)

    @functools.cached_property
    def is_program(self) -> bool:
        """Whether the file is started by itself, rather than imported: a notebook, what has a main guard, what trains."""
        return bool(self.document.cells) or self.trains or any(call.context.under_main for call in self.facts.calls)

    @functools.cached_property
    def is_for_other_processors(self) -> bool:
        """Whether the file needs a package that no Mac runs, such as Triton: `imports` of `rules/platform/elsewhere.yaml`.

        Of a program, a package counts only where it is imported without a condition.
        """
        imports = self.facts.imports
        needed = [fact for fact in imports if not self.is_program or not (fact.context.guards or fact.context.handlers)]
        return not {fact.name.split(".")[0] for fact in needed}.isdisjoint(platform_data("elsewhere")["imports"])

    @functools.cached_property
    def devices(self) -> frozenset[str]:
        """The devices that something of the program is put on: those it names, and the Mac's where a Trainer chooses."""
        settings = [setting for matched in self.file_plans.matched for setting in matched.settings]
        named = {str(value).split(":")[0] for s in settings if s.name == "device.name" for value in s.constants}
        is_cpu = any(s.name == "device.cpu_only" and s.is_known and s.constant is True for s in settings)
        return frozenset(named | ({"mps"} if self.has_device_chooser and not is_cpu else set()))

    @functools.cached_property
    def has_device_chooser(self) -> bool:
        """Whether the program has a Trainer or the like, which moves the model to the Mac's GPU, or the file configures one."""
        return bool(self.device_choosers) or any(plan.kind == "config" for plan in self.plans)

    @functools.cached_property
    def device_choosers(self) -> tuple[Call, ...]:
        """The calls that make a Trainer or the like, those left out that are told to stay on the CPU."""
        choosers = (m for m in self.file_plans.matched if m.pattern.role in roles_that("chooses_device"))
        on_cpu = load_kinds().puts_on_cpu
        told = (m.call for m in choosers if not any(s.name == "device.accelerator" and s.constants == ("cpu",) for s in m.settings))
        given = ((call, call.keywords.items()) for call in told)
        return tuple(call for call, words in given if not any(libraries.said_by(one.value) in on_cpu.get(word, ()) for word, one in words))

    def runs_on(self, device: str) -> bool:
        """Return whether something of the program is put on a device (`mps`), which a torch that doesn't know the device never does."""
        needed = platform_data("versions")["devices"].get(device)
        return device in self.devices and (needed is None or VersionRange.parse(needed).matches(self.target.versions))

    def is_put_on(self, device: str, before: int) -> bool:
        """Return whether something that is certainly called puts something on a device before the call of a number, or makes a Trainer."""
        first = f"first on {device}"
        if first not in self.memo:
            placing = (m for m in self.file_plans.matched if device in m.devices or m.pattern.role in roles_that("trains"))
            roles = {"placement", "default_device"} | roles_that("trains")
            calls = (m.call for m in placing if m.pattern.role in roles and m.call.context.called)
            self.memo[first] = min((self.call_order[id(call)] for call in calls), default=len(self.call_order))
        return bool(self.memo[first] < before)

    @functools.cached_property
    def call_order(self) -> dict[int, int]:
        """The number of each call in the order in which it was reached, by its id."""
        return {id(call): number for number, call in enumerate(self.facts.calls)}

    @functools.cached_property
    def calls_of_name(self) -> dict[str, list[Call]]:
        """The calls by each qualified name they go by."""
        return grouped((name, call) for call in self.facts.calls for name in call.names)

    @functools.cached_property
    def calls_of_method(self) -> dict[str, list[Call]]:
        """The calls by the method they call."""
        return grouped((call.method, call) for call in self.facts.calls if call.method)

    @functools.cached_property
    def calls_at(self) -> dict[ast.AST, list[Call]]:
        """The calls by the expression that makes them."""
        return grouped((call.node, call) for call in self.facts.calls)

    @functools.cached_property
    def plan_with(self) -> dict[int, TrainingPlan]:
        """The first training run that each call is part of, by its id."""
        return {id(call): plan for plan in reversed(self.plans) for calls in plan.calls.values() for call in calls}

    @functools.cached_property
    def settings_of_call(self) -> dict[int, list[Setting]]:
        """What each call says about the training runs, by its id."""
        settings = (setting for plan in self.plans for said in plan.settings.values() for setting in said)
        return grouped((id(setting.call), setting) for setting in settings if setting.call is not None)

    @functools.cached_property
    def memo(self) -> dict[Any, Any]:
        """What was worked out once for the whole program, by name: a search of all of it for each finding takes for ever."""
        return {}

    @property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The node that each node of the program is part of."""
        return self.parsed.parents

    def naming(self, word: str) -> Iterator[ast.AST]:
        """Yield every node that writes a name, or a text.

        A file that is only imported doesn't run its main block, so that is left out.
        """
        started = self.document.started
        for parsed in self.parsed.files or (self.parsed,):
            first = parsed.body[0].lineno if parsed.body else 0
            is_started = started is None or started.first_line <= first < started.first_line + started.lines
            left = [] if is_started else [one for one in parsed.body if asks_for_main(one)]
            for node in parsed.by_word.get(word, ()):
                if not any(one.lineno <= node.lineno <= (one.end_lineno or 0) for one in left):  # type: ignore[attr-defined]
                    yield node

    def text_of(self, node: ast.AST) -> str:
        """Return the source of a node that has a place."""
        span = self.span_of(node)
        return self.document.text[span.start : span.end]

    @functools.cached_property
    def names_used(self) -> frozenset[str]:
        """The names, attributes, arguments, definitions and texts of the program, and words of commands (`command train`).

        Beside them: `.attribute`, `name.attribute` of a plain name, texts in quotes, `unpacked name` for `**name.to(device)` in a call.
        """
        found = {f"command {word.value.value}" for one in self.facts.commands for word in one.given if isinstance(word.value, Known)}
        for node in (node for one in self.parsed.files or (self.parsed,) for statement in one.body for node in walk(statement)):
            if isinstance(node, ast.keyword) and node.arg is None:
                found.update(f"unpacked {one.id}" for one in walk(node.value) if isinstance(one, ast.Name))
            elif isinstance(node, ast.Attribute):
                found |= {f".{node.attr}", f"{node.value.id if isinstance(node.value, ast.Name) else ''}.{node.attr}"}
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value, f"'{node.value}'"}
            found.update(value for key in ("id", "attr", "arg", "name", "module") if isinstance(value := getattr(node, key, None), str))
        return frozenset(found)


def once(work: Callable[Concatenate[Evidence, Rest], Found]) -> Callable[Concatenate[Evidence, Rest], Found]:
    """Return a function of a program's evidence that works once for each program, and for each of its other arguments."""

    @functools.wraps(work)
    def known(evidence: Evidence, /, *rest: Rest.args, **named: Rest.kwargs) -> Found:
        key = work, rest, tuple(named.items())
        if key not in evidence.memo:
            evidence.memo[key] = work(evidence, *rest, **named)
        found: Found = evidence.memo[key]
        return found

    return known


def span_of(document: Document, node: ast.AST) -> Span:
    """Return the place of a node that has one."""
    start = document.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
    return Span(start, document.offset(node.end_lineno, node.end_col_offset))  # type: ignore[attr-defined]


def _given_variable(name: str, flag: Flag) -> EnvironmentWrite:
    """Return a variable that a command line gives the run that it starts."""
    at = flag.value_span or flag.span
    return EnvironmentWrite(name, flag.value, flag.span.start, flag.span.end, at.start, at.end, style="shell", imports_before=0)


def gather_run(run: Run, target: Target, instead: Mapping[int, object] = MappingProxyType({})) -> Evidence:
    """Return the evidence of a run: its script, walked through the modules of the project that it imports. Never raises on any text.

    `instead` are values that count for those of constants, by the id of their node. Tensors are followed where that is asked for.
    """
    document, entry = run.document, run.parts[run.script].document
    trees = run.project.trees
    walked: dict[str, None] = {}

    def body_of(path: str) -> list[ast.stmt]:
        walked[path] = None
        if path not in trees:
            part = run.parts[path]
            trees[path] = parse_program(part.document, part.document.python, part.first_line - 1)
        body: list[ast.stmt] = trees[path].body
        return body

    parsed_body = body_of(run.script)
    known = load_dialects().roots, load_dialects().how_known
    facts = evaluate_program(document, parsed_body, target.versions, *known, Modules(run, body_of), instead=instead, stubs=target.stubs)
    _add_shell_facts(entry, facts)
    given = run.command.variables if run.command is not None else {}
    facts.environment += [_given_variable(name[1:], flag) for name, flag in given.items() if name.startswith("$")]
    files = tuple(trees[path] for path in sorted(walked, key=lambda path: run.parts[path].first_line))
    body = [statement for one in files for statement in one.body]
    plans = gather(facts, target.versions, functools.partial(span_of, document))
    started_at = run.command.span if run.command is not None else None
    return Evidence(document, document.python, Parsed(body, trees[run.script].unread, files), facts, target, plans, started_at, run.is_cut)


def gather_evidence(
    document: Document,
    text: str,
    target: Target,
    has_premises: bool = False,
    parsed: Parsed | None = None,
    instead: Mapping[int, object] = MappingProxyType({}),
) -> Evidence:
    """Return the evidence of one program of a Document: `document.python`, one of its scripts, or, for a file that is not Python,
    what it says all the same. Never raises on any text.
    With `has_premises` functions that nothing calls are taken to be called on the Mac's GPU. `instead` are values that count for those of
    constants, by the id of their node in what is `parsed` already.
    Devices and dtypes of tensors are followed, and events noted, where that is asked for.
    """
    parsed = parsed or (parse_program(document, text) if text else Parsed([]))
    known = load_dialects().roots, load_dialects().how_known
    facts = evaluate_program(document, parsed.body, target.versions, *known, has_premises=has_premises, instead=instead, stubs=target.stubs)
    if text is document.python:
        _add_shell_facts(document, facts)
        if document.kind in (Kind.YAML, Kind.JSON):
            parsed = Parsed([], _add_config_facts(document, facts))
    plans = gather(facts, target.versions, functools.partial(span_of, document))
    return Evidence(document, text, parsed, facts, target, plans)


def _add_shell_facts(document: Document, facts: Facts) -> None:
    """Add what a file's shell text does: a script's, a `.env` file's, or a notebook's `!` lines and magics."""
    if document.kind is Kind.PYTHON and not document.snippets:
        return
    from mpslint.config.dockerfile import read_dockerfile
    from mpslint.config.makefile import read_makefile
    from mpslint.config.shell import ShellFacts, read_dotenv, read_shell, read_snippets
    from mpslint.settings.translate_shell import variables_at

    readers: dict[Kind, Callable[[str], ShellFacts]] = {Kind.SHELL: read_shell, Kind.MAKEFILE: read_makefile, Kind.ENV: read_dotenv}
    if document.kind in readers:
        found = readers[document.kind](document.text)
    elif document.kind is Kind.DOCKERFILE:
        facts.environment += read_dockerfile(document.text)
        return
    elif document.snippets:
        found = read_snippets(document.snippets, lambda snippet: variables_at(snippet, document, facts))
    else:
        return
    facts.environment = sorted([*facts.environment, *found.environment], key=lambda write: write.start)
    facts.commands += found.commands


def _add_config_facts(document: Document, facts: Facts) -> tuple[Unread, ...]:
    """Add what a configuration file says; return why it could not be read, where it looks like one that matters."""
    from mpslint.config.services import service_variables
    from mpslint.config.yaml_source import read_yaml_source
    from mpslint.settings.translate_config import environment_of, may_be_config, parts_of

    config = read_yaml_source(document.text)
    if config.problem:
        place = Span(config.problem_at, config.problem_at)
        return (Unread(place, config.problem),) if may_be_config(document.text) else ()
    facts.configs += config.mappings
    for mapping in config.mappings:
        parts = parts_of(mapping)
        facts.environment += environment_of(parts[0]) if parts else service_variables(document.text, mapping)
    return ()

"""Facts of a file -> its training runs: for each Trainer, training loop or set of arguments, everything that is known of it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from mpslint.core.finding import Span
from mpslint.core.grouped import grouped
from mpslint.core.record import record
from mpslint.core.versions import Version
from mpslint.facts.facts import Facts
from mpslint.facts.values import Call, Instance, Items, Known, Value, alternatives_of
from mpslint.program.walk import called_name
from mpslint.settings.batches import given_loaders, of_loader, of_program
from mpslint.settings.derived import with_derived
from mpslint.settings.plan import FilePlans, Matched, TrainingPlan, without_training
from mpslint.settings.roles import load_roles, roles_that
from mpslint.settings.setting import Setting, inferred
from mpslint.settings.translate import Translator, bound_arguments

if TYPE_CHECKING:
    from mpslint.settings.translate_config import ConfigPart


TOKENS = re.compile(r"input_?ids|tokens|labels|attention_mask", re.IGNORECASE)
"""What is cut holds tokens, not letters or rows."""
MOST_LOOPS = 100
"""Training loops of a file that are looked at: each shares all loaders and models, so that both together cost their product."""


def gather(facts: Facts, versions: Mapping[str, Version], span_of: Callable[[ast.AST], Span]) -> FilePlans:
    """Return the training runs of a file, and every call that some dialect reads."""
    translator = Translator(versions, span_of)
    fitting = ((call, pattern) for call in facts.calls if (pattern := translator.pattern_of(call)) is not None)
    matched = _without_unread(tuple(Matched(call, one, tuple(translator.settings_of(call, one))) for call, one in fitting), facts)
    loose = [setting for write in facts.attributes for setting in translator.of_attribute(write)]
    loose += [setting for write in facts.environment if (setting := translator.of_environment(write)) is not None]
    gatherer = _Gatherer(facts, matched, loose, translator, span_of, FilePlans((), matched).by_result)
    return FilePlans(tuple(gatherer.plans()), matched)


def _without_unread(matched: tuple[Matched, ...], facts: Facts) -> tuple[Matched, ...]:
    """Return the matched calls without those that only say what a model is given, where nothing reads the name of what they made.

    A file without a model may make them for others.
    """
    given = roles_that("given")
    if facts.uses.is_vague or not any(m.pattern.role == "model" for m in matched):
        return matched
    named = {id(value) for frame in facts.frames for value in frame.slots.values()}
    return tuple(m for m in matched if m.pattern.role not in given or id(m.call.result) not in named or facts.uses.of_made(m.call))


@record(frozen=True, eq=False)
class _Gatherer:
    """What is shared while the plans of one file are put together."""

    facts: Facts
    matched: tuple[Matched, ...]
    loose: list[Setting]
    translator: Translator
    span_of: Callable[[ast.AST], Span]
    by_result: Mapping[int, Matched]
    used: set[int] = field(default_factory=set)

    def plans(self) -> Iterator[TrainingPlan]:
        """Yield one plan a run, then one for what belongs to none."""
        for m in self.matched:
            if m.pattern.role in roles_that("run") and m.pattern.role != "arguments":
                yield self._of_run(m)
        for m in self.matched:
            if m.pattern.role == "arguments" and id(m) not in self.used:
                yield self._plan("arguments", [*self._shared, m], called_name(m.call.node) or m.call.name, m.call.node)
        yield from self._of_loops()
        yield from self._of_commands()
        yield from self._of_configs()
        rest = [m for m in self.matched if m.pattern.role not in roles_that("run")]
        if rest or self.loose:
            yield self._plan("file", rest, "file", None)

    def _of_commands(self) -> Iterator[TrainingPlan]:
        """Yield a plan for each command of a shell text that some dialect knows, with the script that it launches."""
        if not self.facts.commands:
            return
        from mpslint.settings.translate_shell import command_settings, parts_of_command

        for command in self.facts.commands:
            parts = tuple(parts_of_command(command))
            if parts:
                said = [setting for part in parts for setting in command_settings(part)]
                settings = _by_name((*self.loose, *said))
                yield with_derived(TrainingPlan("command", " ".join(command.words[:3]), command.span, settings, commands=parts))

    def _of_configs(self) -> Iterator[TrainingPlan]:
        """Yield a plan for each mapping of a configuration file that some dialect knows."""
        if not self.facts.configs:
            return
        from mpslint.settings.translate_config import config_settings, parts_of

        for mapping in self.facts.configs:
            for parts in _runs_of(parts_of(mapping)):
                said = [setting for part in parts for setting in config_settings(part, self.translator.versions)]
                settings = _by_name((*self.loose, *said))
                yield with_derived(TrainingPlan("config", parts[0].pattern.title, parts[0].place, settings, configs=tuple(parts)))

    @functools.cached_property
    def _shared(self) -> list[Matched]:
        shared = roles_that("shared")
        return [m for m in self.matched if m.pattern.role in shared and id(m) not in self._generated]

    @functools.cached_property
    def _generated(self) -> frozenset[int]:
        """The tokenizer's calls whose texts a model is to go on from: they are no part of a training."""
        found: set[int] = set()
        if any(m.pattern.role == "tokenizer" for m in self.matched):
            for call in self.facts.calls:
                if call.method == "generate":
                    prompts = (part for value in (*call.given, *call.unpacked) for part in behind(value, self.by_result))
                    found.update(id(part) for part in prompts if part.pattern.role == "tokenizer")
        return frozenset(found)

    @functools.cached_property
    def _given_to_runs(self) -> frozenset[int]:
        """The models and adapters that some Trainer is given: they are no part of a Trainer that isn't."""
        runs = [m for m in self.matched if m.pattern.role in roles_that("run") and m.pattern.role != "arguments"]
        given = (argument.value for run in runs for argument in bound_arguments(run.call, run.pattern).values())
        return frozenset(id(part) for value in given for part in behind(value, self.by_result) if part.pattern.role in roles_that("own"))

    @functools.cached_property
    def _only_evaluated(self) -> frozenset[int]:
        """The models that are put into evaluation mode, and not into training mode: a run that isn't given them trains another one."""
        called = {method: {id(c.receiver) for c in self.facts.calls if c.method == method} for method in ("eval", "train")}
        models = (m for m in self.matched if m.pattern.role == "model" and m.call.result is not None)
        return frozenset(id(m) for m in models if id(m.call.result) in called["eval"] - called["train"])

    def _of_run(self, run: Matched) -> TrainingPlan:
        """Return the plan of one Trainer: its own arguments, and the objects that it is given with theirs."""
        given = bound_arguments(run.call, run.pattern)
        parts = [part for argument in given.values() for part in behind(argument.value, self.by_result) if part is not run]
        roles = {part.pattern.role for part in parts}
        self.used.update(id(part) for part in (*parts, run))
        if "collator" not in roles and "data_collator" in given:
            collators = [m for m in self.matched if m.pattern.role == "collator"]
            parts += collators if len(collators) == 1 else []
        taken = {role for role in roles_that("own") if role in roles}
        apart = self._given_to_runs | self._only_evaluated
        others = [m for m in self._shared if m not in parts and m.pattern.role not in taken and id(m) not in apart]
        loaders = given_loaders(run, load_roles()[run.pattern.role], self.facts, self.matched, self.by_result)
        batches = [setting for part in loaders for setting in of_loader(part)]
        title = called_name(run.call.node) or run.call.name
        plan = self._plan(load_roles()[run.pattern.role]["run"], [*others, *parts, run], title, run.call.node, batches)
        return without_training(plan, run.call) if only_evaluates(run, self.facts) else plan

    def _of_loops(self) -> Iterator[TrainingPlan]:
        """Yield a plan for each loop (in the module or a function) in which `backward()` runs."""
        seen: set[int] = set()
        for call in self.facts.calls:
            loops = [loop for loop in call.context.loops if isinstance(loop, (ast.For, ast.AsyncFor, ast.While))]
            if call.method != "backward" or not loops or id(loops[0]) in seen or len(seen) >= MOST_LOOPS:
                continue
            seen.add(id(loops[0]))
            roles = roles_that("shared") | roles_that("in_loop")
            parts = [m for m in self.matched if m.pattern.role in roles and id(m) not in self._generated]
            iterated = (value for loop, value, _ in self.facts.loops if loop in loops)
            loaders = (part for value in iterated for part in _loaders_behind(value, self.by_result))
            batches = [setting for part in loaders for setting in of_loader(part)]
            yield self._plan("loop", parts, "training loop", loops[0], batches or self._own_batches)

    @functools.cached_property
    def _own_batches(self) -> tuple[Setting, ...]:
        return of_program(self.facts, self.matched)

    def _plan(self, kind: str, parts: Sequence[Matched], title: str, where: ast.AST | None, more: Sequence[Setting] = ()) -> TrainingPlan:
        own = {id(part): part for part in parts}.values()
        undecided = {name for name in {part.pattern.rests_on for part in own} if _is_undecided(name, parts)}
        said = [setting for part in own if part.pattern.rests_on not in undecided for setting in part.settings]
        calls = grouped((part.pattern.role, part.call) for part in own)
        span = self.span_of(where) if where is not None else None
        settings = _by_name((*said, *self.loose, *more, *self._cut_by_hand(calls.get("map", ()))))
        return with_derived(TrainingPlan(kind, title, span, settings, {role: tuple(found) for role, found in calls.items()}))

    def _cut_by_hand(self, maps: Sequence[Call]) -> Iterator[Setting]:
        """Yield the lengths that functions which `map` applies cut tokens to: `input_ids = input_ids[:MAX_LENGTH]`."""
        for one in (one for one in self.facts.preparations if one.maker in maps):
            for node, length in one.cuts:
                if isinstance(length, Known) and length.value > 1 and TOKENS.search(ast.unparse(node.value)):
                    yield inferred("length.cut", length.value, one.maker, "map")


def only_evaluates(trainer: Matched, facts: Facts) -> bool:
    """Return whether a program calls methods of a Trainer that evaluate, and nowhere a method that may train."""
    kind = load_roles()[trainer.pattern.role]
    called = facts.methods_called()
    evaluates = not called.get(id(trainer.call.result), set()).isdisjoint(kind.get("evaluating", ()))
    return evaluates and all(one.isdisjoint(kind.get("training", ())) for one in called.values())


def _is_undecided(name: str, parts: Sequence[Matched]) -> bool:
    """Return whether a run has a call that could say a setting which something rests on, and none that has it on for certain."""
    found = [setting for part in parts for setting in part.settings if setting.name == name and setting.is_written]
    could_say = bool(found) or any(part.pattern.table.spellings_of(name) for part in parts)
    return could_say and not any(setting.is_known and setting.constant is not None for setting in found)


def _runs_of(parts: Sequence[ConfigPart]) -> Iterator[list[ConfigPart]]:
    """Yield the parts of each run that a configuration file describes: what is part of none belongs to all of them."""
    runs = list(dict.fromkeys(id(part.mapping) for part in parts if part.pattern.call.role in roles_that("run")))
    for run in runs or [0] if parts else ():
        shared = [part for part in parts if id(part.mapping) not in runs]
        yield [*(part for part in parts if id(part.mapping) == run), *shared]


def _by_name(settings: Sequence[Setting]) -> dict[str, tuple[Setting, ...]]:
    return {name: tuple(values) for name, values in grouped((setting.name, setting) for setting in settings).items()}


def behind(value: Value, by_result: Mapping[int, Matched], depth: int = 6) -> Iterator[Matched]:
    """Yield the matched calls that made an object, and those that made what it was made of."""
    for one in alternatives_of(value):
        if isinstance(one, Items):
            for item in one.values():
                yield from behind(item, by_result, depth - 1)
        if not isinstance(one, Instance) or depth <= 0:
            continue
        found = by_result.get(id(one))
        if found is not None:
            yield found
        if one.owner is not None:
            yield from behind(one.owner, by_result, depth - 1)
        if one.call is not None and (found is None or found.pattern.role != "trainer"):
            for value in one.call.given:
                yield from behind(value, by_result, depth - 1)


def _loaders_behind(value: Value, by_result: Mapping[int, Matched]) -> list[Matched]:
    """Return the loaders that a loop runs through; none for a part of what an unknown function makes of several: it may be any of them."""
    found = [part for part in behind(value, by_result) if part.pattern.role == "loader"]
    is_part = isinstance(value, Instance) and value.owner is not None and value.call is None
    return [] if is_part and len(found) > 1 else found

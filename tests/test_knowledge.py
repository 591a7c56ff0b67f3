"""Our own knowledge has the form that the code reads, and what it names is there.

`tests/knowledge/` holds the forms as JSON schemas; nothing checks them when mpslint runs. What users write is checked when it is read.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from mpslint.checks.known_calls import load_table
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.diagnose.catalogue import PLACEHOLDER, Message, catalogue
from mpslint.diagnose.compact import HOLE, HOLES, squeeze
from mpslint.estimate.timing import macs_of
from mpslint.program.platform import load_platform
from mpslint.settings.dialect import Dialect, Spelling
from mpslint.settings.dialects import load_dialects
from mpslint.settings.roles import load_roles
from mpslint.settings.setting import load_vocabulary
from mpslint.target.packages import newest_versions, oldest_read
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.signatures import load_signatures
from tests.contradictions import refuse_false_claims, refuse_impossible_operators

RULES = Path(__file__).parents[1] / "rules"
FORMS = Path(__file__).parent / "knowledge"
TABLES = yaml.safe_load((FORMS / "platform.yaml").read_text())
MESSAGES = list(catalogue().messages.values())
OF_TYPE: dict[str, tuple[type, ...]] = {"flag": (bool,), "count": (int,), "number": (int, float), "word": (str,)}


def files() -> Iterator[tuple[Path, str]]:
    """Yield each file with the name of its form."""
    for folder in ("messages", "dialects"):
        yield from ((path, folder) for path in sorted((RULES / folder).glob("*.yaml")))
    yield from ((RULES / f"{name}.yaml" if name == "settings" else RULES / "platform" / f"{name}.yaml", name) for name in TABLES)


@functools.lru_cache
def form(name: str) -> Any:
    """Return a JSON schema by its name."""
    return TABLES[name] if name in TABLES else yaml.safe_load((FORMS / f"{name}.yaml").read_text())


@pytest.mark.parametrize(("path", "name"), list(files()), ids=lambda value: value.stem if isinstance(value, Path) else "")
def test_a_file_has_its_form(path: Path, name: str) -> None:
    """A key that nothing reads, or a value of another type, is named with its place in the file."""
    errors = jsonschema.Draft202012Validator(form(name)).iter_errors(yaml.safe_load(path.read_text()))
    assert [f"{path.name}: {'.'.join(map(str, one.absolute_path))}: {one.message:.200}" for one in errors] == []


def test_forms_refuse_mistakes() -> None:
    """A form that takes anything would prove nothing."""
    entry = {"id": "example", "title": "x", "patterns": ["a text of its own"], "means": "x", "texts": [{"source": "x", "text": "x"}]}
    dialect = {"dialect": "x", "roots": ["x"]}
    assert jsonschema.Draft202012Validator(form("messages")).is_valid([entry])
    assert jsonschema.Draft202012Validator(form("dialects")).is_valid(dialect)
    for wrong in (
        {"colour": "red"},
        {"id": "Not An Id"},
        {"title": ""},
        {"role": "culprit"},
        {"patterns": []},
        {"cases": [{"means": "x"}]},
    ):
        assert not jsonschema.Draft202012Validator(form("messages")).is_valid([{**entry, **wrong}]), wrong
    for other in ({"cals": []}, {"calls": [{"role": "loader", "nmes": []}]}, {"configs": [{"role": "arguments", "title": "x"}]}):
        assert not jsonschema.Draft202012Validator(form("dialects")).is_valid({**dialect, **other}), other


def settings_of(dialect: Dialect) -> Iterator[str]:
    """Yield each setting that a dialect names."""
    calls = [*dialect.calls, *(one.call for one in (*dialect.commands, *dialect.configs))]
    spelled: list[Spelling] = [*(one.spelling for one in dialect.attributes), *dialect.environment.values()]
    for table in (*dialect.tables.values(), *(call.table for call in calls)):
        spelled += [one for ways in table.arguments.values() for one in ways]
        yield from (*table.defaults, *table.seldom)
    yield from (one.setting for one in spelled)
    yield from (name for call in calls for name in (*call.sets, *filter(None, (call.named, call.rests_on))))


def test_dialects_name_settings_and_roles_that_there_are() -> None:
    """A mistyped one would match nothing, and say nothing."""
    for dialect in load_dialects().all:
        calls = [*dialect.calls, *(part.call for part in (*dialect.commands, *dialect.configs))]
        assert set(settings_of(dialect)) - set(load_vocabulary()) == set(), dialect.name
        assert {one.role for one in calls} - set(load_roles()) == set(), dialect.name


def test_ids_and_names_are_said_once() -> None:
    """Of two entries with one id, or two signatures of one name, one would hide the other."""
    entries = [entry for path in (RULES / "messages").glob("*.yaml") for entry in yaml.safe_load(path.read_text())]
    names = [entry.get("id") or entry["verdict"] for entry in entries]
    for path in (RULES / "signatures").glob("*.yaml"):
        table = yaml.safe_load(path.read_text())
        for key, said in table["entries"].items():
            names += [table["forms"][one]["name"].replace("{}", key) for one in said.get("forms", table.get("default_forms", ()))]
    assert [name for name, times in Counter(names).items() if times > 1] == []
    assert len(load_signatures()) > 100


@pytest.mark.parametrize(("name", "table", "holder"), [("answers", load_platform(), "platform"), ("tensors", load_kinds(), "kinds")])
def test_what_the_interpreter_asks_of_a_table_is_there(name: str, table: object, holder: str) -> None:
    """Each key is read somewhere, and nothing is asked for that is none."""
    code = "\n".join(path.read_text() for path in (RULES.parent / "mpslint").rglob("*.py"))
    asked, keys = set(re.findall(rf"(?:\bm\.{holder}|load_{holder}\(\))\.(\w+)", code)), set(platform_data(name))

    assert len(asked) > 20
    assert asked <= keys | set(dir(type(table)))
    assert keys <= set(re.findall(r"\.(\w+)", code))


def test_tables_that_are_read_into_records_have_their_keys() -> None:
    """All of them, and no others."""
    assert macs_of(())


def test_messages_name_what_there_is() -> None:
    """What they fill in is captured by each of their patterns; what they explain, and the settings that they change, are there."""
    for message in MESSAGES:
        refuse_dangling(message)


def refuse_dangling(message: Message) -> None:
    """Fail, naming the message, where it names what isn't there."""
    explanations = [message.explanation, *(case.explanation for case in message.cases)]
    said = " ".join(
        text for one in explanations for text in (one.title, one.means, one.does_not_mean, *(change.say for change in one.changes))
    )
    in_library = {"package"} if any(case.library for case in message.cases) else set()
    named = {*PLACEHOLDER.findall(said), *(name for case in message.cases for name in case.named)}
    captured = set.intersection(*(set(wording.pattern.regex.groupindex) for wording in message.wordings))
    assert named - in_library <= captured, message.id
    assert set(message.explains) <= set(catalogue().messages), message.id
    for name, value in (item for one in explanations for change in one.changes for item in change.settings.items()):
        kind = load_vocabulary()[name]
        assert value is None or (isinstance(value, OF_TYPE[kind.type]) and (not kind.words or value in kind.words)), message.id


def is_bounded(source: str) -> bool:
    """Return whether a pattern matches neither too much nor for too long.

    It has a run of nine characters without a hole, few holes that match anything, each between words, and `word` only at its end.
    """
    kinds = [hole[1] for hole in HOLE.finditer(source)]
    literals = [squeeze(text) for text in HOLE.sub("\0", source).split("\0")]
    open_ended = [index for index, kind in enumerate(kinds) if kind in ("name", "text")]
    has_words = max(map(len, literals)) >= 9 and not set("{}") & set("".join(literals))
    has_end = "word" not in kinds[:-1] and (kinds[-1:] != ["word"] or not literals[-1])
    is_held = len(open_ended) <= 3 and all(literals[index + 1] and (index or literals[0]) for index in open_ended)
    return set(kinds) <= set(HOLES) and has_words and has_end and is_held


def test_patterns_are_bounded() -> None:
    """Those of all messages; and none of these is."""
    sources = {one.pattern.source for message in MESSAGES for one in message.wordings}
    assert [source for source in sorted(sources) if not is_bounded(source)] == []
    wrong = ["too short", "a text of its own {thing}", "a text of its own {text}", "a {word} text of its own", "a text of its own }"]
    assert [source for source in (*wrong, "a text of its own {text}b{text}c{text}d{text} e") if is_bounded(source)] == []


def test_combinations_claim_what_behaviours_say() -> None:
    """An entry of a broken combination may name a behaviour, which has to be so in all its versions."""
    for entry in platform_data("broken_combinations"):
        refuse_false_claims(entry.get("claims", {}), VersionRange.parse(entry["versions"]))


@pytest.mark.parametrize("table", ["operator_calls.calls", "cuda.calls", "library_devices.calls", "metric_memory.calls"])
def test_no_operator_is_missing_and_computed_at_once(table: str) -> None:
    """kthvalue has no kernel before torch 2.9: a table may not say of 2.8 what the kernel does. What it names, operators.yaml has."""
    refuse_impossible_operators(load_table(table))
    file, _, key = table.partition(".")
    known = platform_data("operators")
    there = {*known["never"], *(name for group in known["first"].values() for name in group)}
    assert {name for row in platform_data(file)[key] for name in row.get("op", ())} <= there


def test_the_oldest_releases_that_rules_were_read_in_are_known_ones() -> None:
    """Of packages that the knowledge covers, and no newer than the newest."""
    for name, first in oldest_read().items():
        assert first <= newest_versions()[name], name

"""The pages about dialects: what each one reads, how each setting is spelled, and what holds by default in which versions."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mpslint.core.knowledge import read_yaml, rules_folder
from mpslint.settings.dialect import CallPattern, Default, Dialect, Spelling, Table
from mpslint.settings.dialects import load_dialects
from mpslint.settings.setting import load_vocabulary

_SHOWN = 12
"""Names of a list that are shown before the rest is folded."""
_WORDS = {True: "true", False: "false", None: "nothing"}


def write_dialect_pages(folder: Path, source: str) -> None:
    """Write the index and one page a dialect into a folder; `source` is the address of the repository's files."""
    folder.mkdir(parents=True, exist_ok=True)
    dialects = load_dialects().all
    (folder / "index.md").write_text(index(dialects), encoding="utf-8")
    for dialect in dialects:
        text = page(dialect) + f"\n[The dialect's file]({source}rules/dialects/{dialect.name}.yaml)\n"
        (folder / f"{dialect.name}.md").write_text(text, encoding="utf-8")


def index(dialects: Sequence[Dialect]) -> str:
    """Return the page that lists the dialects, and every setting with the dialects that spell it."""
    lines = [
        "# Dialects",
        "",
        "A dialect says how a framework spells the settings of a run. `mpslint plan FILE` shows the settings of a file.",
        "",
    ]
    lines += ["| dialect | packages | reads |", "| --- | --- | --- |"]
    for dialect in dialects:
        parts = {"calls": dialect.calls, "command lines": dialect.commands, "configuration files": dialect.configs}
        parts |= {
            "environment variables": dialect.environment,
            "attributes": dialect.attributes,
            "mappings that name a class": dialect.nodes,
        }
        roots = ", ".join(_code(root) for root in dialect.roots)
        lines.append(f"| [{dialect.name}]({dialect.name}.md) | {roots} | {', '.join(name for name, found in parts.items() if found)} |")
    lines += ["", "## Settings", "", "| setting | what it is | spelled in |", "| --- | --- | --- |"]
    spelled = {dialect.name: {setting for setting, _, _ in _spellings(dialect)} for dialect in dialects}
    for setting, kind in load_vocabulary().items():
        where = [f"[{name}]({name}.md)" for name, settings in spelled.items() if setting in settings]
        if where:
            lines.append(f"| {_code(setting)} | {kind.title} | {', '.join(where)} |")
    return "\n".join(lines) + "\n"


def page(dialect: Dialect) -> str:
    """Return the page of one dialect."""
    lines = [f"# {dialect.name}", "", *_read_by(dialect)]
    for name, table in dialect.tables.items():
        lines += _table(name, table)
    if dialect.environment:
        lines += ["## Environment variables", "", "| variable | setting | values |", "| --- | --- | --- |"]
        lines += [f"| {_code(name)} | {_code(one.setting)} | {_values(one)} |" for name, one in sorted(dialect.environment.items())]
        lines.append("")
    if dialect.attributes:
        lines += ["## Attributes that are assigned", "", "| attribute | setting | values |", "| --- | --- | --- |"]
        for attribute in dialect.attributes:
            written = f"{attribute.path}.{attribute.name}" if attribute.path else f".{attribute.name}"
            lines.append(f"| {_code(written)} | {_code(attribute.spelling.setting)} | {_values(attribute.spelling)} |")
        lines.append("")
    return "\n".join(lines)


def _read_by(dialect: Dialect) -> Iterator[str]:
    """Yield the lines that say which calls, commands and files a dialect reads, and by which table."""
    roles: Mapping[str, Mapping[str, Any]] = read_yaml(rules_folder() / "roles.yaml")
    places = {id(table): (one.name, name) for one in load_dialects().all for name, table in one.tables.items()}

    def meant(call: CallPattern) -> str:
        role = roles.get(call.role, {}).get("means", call.role)
        owner, name = places.get(id(call.table), ("", ""))
        link = f"[{name}]({'' if owner == dialect.name else f'{owner}.md'}#{name})"
        said = [f"{_code(setting)} is {_value(value)}" for setting, value in call.sets.items()]
        said += [f"the name is {_code(call.named)}"] if call.named else []
        return " | ".join([role, link if name else "none", "; ".join(said)])

    if dialect.calls:
        yield from ("## Calls", "", "| call | what it is | arguments | says by itself |", "| --- | --- | --- | --- |")
        for call in dialect.calls:
            called = [*call.names, *(f".{method}()" for method in call.methods), *call.written]
            conditions = [f"with {_names(call.has, 'or')}"] if call.has else []
            conditions += [f"without {_names(call.lacks, 'or')}"] if call.lacks else []
            conditions += [f"under {_code(call.under)}"] if call.under else []
            conditions += [f"not {_names(call.not_names, 'or')}"] if call.not_names else []
            yield f"| {', '.join([_names(called), *conditions])} | {meant(call)} |"
        yield ""
    if dialect.commands:
        yield from ("## Command lines", "", "| command | what it is | options | says by itself |", "| --- | --- | --- | --- |")
        for command in dialect.commands:
            conditions = [f"with {_names(command.has, 'or')}"] if command.has else []
            conditions += [f"without {_names(command.lacks, 'or')}"] if command.lacks else []
            yield f"| {', '.join([_names(command.programs.globs), *conditions])} | {meant(command.call)} |"
        yield ""
    if dialect.configs:
        yield from (
            "## Configuration files",
            "",
            "| file | known by its keys | what it is | keys | says by itself |",
            "| --- | --- | --- | --- | --- |",
        )
        for config in dialect.configs:
            known = [_names(config.needs, "and")] if config.needs else []
            known += [f"one of {_names((*config.has, *config.beside))}"] if config.has or config.beside else []
            known += [f"without {_names(config.lacks, 'or')}"] if config.lacks else []
            at = f", under {_code(config.at)}" if config.at else ""
            yield f"| {config.title}{at} | {'; '.join(known)} | {meant(config.call)} |"
        yield ""
    if dialect.nodes:
        named = ", ".join(_code(node.name) for node in dialect.nodes)
        yield from (f"Mappings of YAML and JSON files whose {named} names a class or function are read as a call of it.", "")


def _table(name: str, table: Table) -> list[str]:
    """Return the section of one table: each setting with its spellings, their values and its defaults."""
    spellings: dict[str, list[tuple[str, Spelling]]] = {}
    for argument, spelling in ((argument, one) for argument, all_of in table.arguments.items() for one in all_of):
        spellings.setdefault(spelling.setting, []).append((argument, spelling))
    settings = sorted({*spellings, *table.defaults})
    if not settings:
        return [f"## {name}", "", "No argument is a setting.", ""]
    lines = [f"## {name}", "", "| setting | spelled | values | default |", "| --- | --- | --- | --- |"]
    for setting in settings:
        written = spellings.get(setting, [])
        words = "<br>".join(_code(argument) + (f" if {_code(one.when)}" if one.when else "") for argument, one in written)
        values = [f"{_code(argument)}: {said}" if len(written) > 1 else said for argument, one in written if (said := _values(one))]
        lines.append(f"| {_code(setting)} | {words} | {'<br>'.join(values)} | {_default(table.defaults.get(setting, ()))} |")
    positional = [f"By position: {', '.join(_code(one) for one in table.positional)}.", ""] if table.positional else []
    return [*lines, "", *positional]


def _spellings(dialect: Dialect) -> Iterator[tuple[str, str, Spelling]]:
    """Yield (setting, how it is written, spelling) of all that a dialect reads."""
    for table in dialect.tables.values():
        yield from ((one.setting, argument, one) for argument, all_of in table.arguments.items() for one in all_of)
    yield from ((one.setting, name, one) for name, one in dialect.environment.items())
    yield from ((one.spelling.setting, one.name, one.spelling) for one in dialect.attributes)


def _default(defaults: Iterable[Default]) -> str:
    """Return the defaults of a setting, each with its versions."""
    shown = [(_value(one.value), html.escape(str(one.versions), quote=False)) for one in defaults]
    return "<br>".join(f"{value} ({versions})" if versions else value for value, versions in shown)


def _values(spelling: Spelling) -> str:
    """Return how the values of an argument are those of the setting; '' where they are the same."""
    changed = [(key, value) for key, value in (spelling.values or {}).items() if str(key) != str(value)]
    return ", ".join(f"{'any other' if key == '*' else _value(key)} → {_value(value)}" for key, value in changed)


def _value(value: Any) -> str:
    return _WORDS[value] if value is None or isinstance(value, bool) else _code(str(value)) if str(value) else "''"


def _names(names: Sequence[str], word: str = "") -> str:
    """Return names as code with commas between them, or a word; long lists are folded."""
    between = f" {word} " if word else ", "
    shown = between.join(_code(name) for name in names[:_SHOWN])
    if len(names) <= _SHOWN:
        return shown
    rest = ", ".join(f"<code>{html.escape(name)}</code>" for name in names[_SHOWN:])
    return f"{shown} <details><summary>and {len(names) - _SHOWN} more</summary>{rest}</details>"


def _code(text: str) -> str:
    return f"`{text}`" if "|" not in text else f"<code>{html.escape(text).replace('|', '&#124;')}</code>"

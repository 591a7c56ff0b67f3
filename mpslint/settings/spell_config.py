"""Settings -> edits of a configuration file: change the key that says a setting, or add one that does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpslint.config.yaml_edit import addition_edits, removal_edit, scalar_text, value_edit
from mpslint.core.finding import Edit
from mpslint.facts.entries import ConfigMapping
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting
from mpslint.settings.spelling import UNSPELLABLE, ConfigAddition, WrittenSetting, both, silent_value, spelled, ways_to_say
from mpslint.source.document import Document


def write_config_setting(evidence: Evidence, plan: TrainingPlan, setting: Setting | None, name: str, value: Any) -> WrittenSetting | None:
    """Return the edits after which a configuration file says a setting; None when it has no way to say it."""
    file = evidence.document
    if setting is None or setting.config is None or setting.entry is None or setting.mapping is None:
        return _add(evidence, file, plan, name, value)
    new = spelled(setting, value, evidence.target.versions)
    if new is not UNSPELLABLE:
        return _set(file, setting.mapping, setting.spelling, new)
    silent = silent_value(setting)
    replaced = _set(file, setting.mapping, setting.spelling, silent) if silent is not UNSPELLABLE else None
    return both(replaced, _add(evidence, file, plan, name, value, besides=setting.spelling))


def _set(file: Document, mapping: ConfigMapping, path: str, value: Any) -> WrittenSetting | None:
    """Give a key that is there another value; one that is merged from elsewhere gets a key of its own."""
    entry, holder = mapping.get(path), mapping.holder(path)
    if entry is None or holder is None or holder.uses:
        return None
    if entry.is_merged:
        return _added(file, mapping, path, value)
    is_here = entry.value_span is not None and entry.pair.alias is None
    old = file.text[entry.value_span.start : entry.value_span.end] if entry.value_span is not None and is_here else ""
    new = scalar_text(value, old, file.text, file.path.endswith(".json"))
    edit = value_edit(file.text, entry, new)
    return WrittenSetting((edit,), f"{path}: {new}") if edit is not None and new != old else None


def write_entry(evidence: Evidence, mapping: ConfigMapping, path: str, value: Any) -> WrittenSetting | None:
    """Return the edits after which a mapping has a value for a key, which it may have already; None where that cannot be written."""
    file = evidence.document
    return _set(file, mapping, path, value) if mapping.get(path) is not None else _added(file, mapping, path, value)


def _added(file: Document, mapping: ConfigMapping, path: str, value: Any) -> WrittenSetting | None:
    """Give a mapping a key that it does not have."""
    holder = mapping.holder(path)
    if holder is None:
        return None
    text = scalar_text(value, "", file.text, file.path.endswith(".json"))
    last_key = path if holder is mapping else path.rpartition(".")[2]
    return WrittenSetting((), f"{path}: {text}", added=(ConfigAddition(holder, last_key, text),))


def _add(evidence: Evidence, file: Document, plan: TrainingPlan, name: str, value: Any, besides: str = "") -> WrittenSetting | None:
    """Say a setting by a key that the file does not use yet."""
    for part in plan.configs:
        call = part.pattern.call
        for path, _, new in ways_to_say(call, (call.dialect,), name, value, evidence.target.versions):
            if path == besides:
                continue
            if part.mapping.get(path) is not None:
                return _set(file, part.mapping, path, new)
            added = _added(file, part.mapping, path, new)
            if added is not None:
                return added
    return None


def config_additions(evidence: Evidence, wanted: Sequence[ConfigAddition]) -> list[Edit] | None:
    """Return the edits that add keys, those of one mapping together; None when one of them cannot be written."""
    text, is_json = evidence.document.text, evidence.document.path.endswith(".json")
    edits: list[Edit] = []
    for mapping in {id(addition.mapping): addition.mapping for addition in wanted}.values():
        mine = {addition.key: addition.text for addition in wanted if addition.mapping is mapping}
        found = addition_edits(text, mapping, list(mine.items()), is_json)
        if found is None:
            return None
        edits += found
    return edits


def remove_entry(evidence: Evidence, mapping: ConfigMapping, path: str) -> WrittenSetting | None:
    """Return the edit that takes a key away; None where others use its value, or it is not written here."""
    entry, holder = mapping.get(path), mapping.holder(path)
    edit = removal_edit(evidence.document.text, holder, entry) if entry is not None and holder is not None else None
    if edit is None or entry is None:
        return None
    return WrittenSetting((edit,), f"without {evidence.document.text[entry.span.start : entry.span.end]}")

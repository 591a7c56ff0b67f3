"""What the editor at the other end can do, and what it asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from mpslint.core.record import record


@record(frozen=True, slots=True)
class Abilities:
    """What an editor said that it can do."""

    shows_related: bool = False
    """Other places that a diagnostic rests on."""
    resolves_edits: bool = False
    """Ask for the edit of an action only once somebody chose it."""
    knows_versions: bool = False
    """Refuse an edit of a text that has changed since."""
    watches_files: bool = False
    """Tell when files on the disk have changed."""


def abilities_of(capabilities: types.ClientCapabilities) -> Abilities:
    """Return what an editor can do."""
    resolved = _at(capabilities, "text_document", "code_action", "resolve_support", "properties") or ()
    return Abilities(
        bool(_at(capabilities, "text_document", "publish_diagnostics", "related_information")),
        "edit" in resolved and bool(_at(capabilities, "text_document", "code_action", "data_support")),
        bool(_at(capabilities, "workspace", "workspace_edit", "document_changes")),
        bool(_at(capabilities, "workspace", "did_change_watched_files", "dynamic_registration")),
    )


def _at(value: Any, *names: str) -> Any:
    for name in names:
        value = getattr(value, name, None)
    return value


def wants(only: Sequence[str] | None, kind: str) -> bool:
    """Return whether somebody who asks only for some kinds of actions asks for this one; `source` means `source.fixAll` too."""
    words = (str(getattr(one, "value", one)) for one in only or ())  # of some, pygls makes members of an enumeration
    return not only or any(kind == word or kind.startswith(f"{word}.") for word in words)

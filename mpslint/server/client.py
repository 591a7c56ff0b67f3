"""What the editor at the other end can do, and what it asked for."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types
from pygls.capabilities import get_capability

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
    resolved = get_capability(capabilities, "text_document.code_action.resolve_support.properties", ())
    return Abilities(
        get_capability(capabilities, "text_document.publish_diagnostics.related_information", False),
        "edit" in resolved and get_capability(capabilities, "text_document.code_action.data_support", False),
        get_capability(capabilities, "workspace.workspace_edit.document_changes", False),
        get_capability(capabilities, "workspace.did_change_watched_files.dynamic_registration", False),
    )


def wants(only: Sequence[str] | None, kind: str) -> bool:
    """Return whether somebody who asks only for some kinds of actions asks for this one; `source` means `source.fixAll` too."""
    words = (str(getattr(one, "value", one)) for one in only or ())  # of some, pygls makes members of an enumeration
    return not only or any(kind == word or kind.startswith(f"{word}.") for word in words)

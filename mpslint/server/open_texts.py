"""From what pygls keeps of an editor's texts to snapshots: which of them are checked, and as what."""

from __future__ import annotations

from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path, uri_scheme
from pygls.workspace import TextDocument, Workspace

from mpslint.server.part import EditorText, TextPart
from mpslint.server.snapshot import CODE, OTHER, NotebookSnapshot, Snapshot, path_for, tags_of
from mpslint.source.document import Kind
from mpslint.source.reader import kind_of

LANGUAGES = {
    **{"python": Kind.PYTHON, "dotenv": Kind.ENV, "yaml": Kind.YAML, "json": Kind.JSON, "dockerfile": Kind.DOCKERFILE},
    **dict.fromkeys(("shellscript", "sh", "bash", "zsh"), Kind.SHELL),
    **dict.fromkeys(("makefile", "make"), Kind.MAKEFILE),
}
"""How editors call what mpslint reads."""
INSTALLED = ("/site-packages/", "/dist-packages/")


def keep_lines(workspace: Workspace, uri: str) -> None:
    """Let a text that was just opened have the lines of the protocol from now on."""
    known = workspace.text_documents.get(unquote(uri))
    if known is not None:
        workspace.text_documents[unquote(uri)] = EditorText(
            known.uri, known.source, known.version, known.language_id, position_codec=workspace.position_codec
        )


def snapshot_of(workspace: Workspace, uri: str) -> Snapshot | None:
    """Return what is open under an address; None for what mpslint does not read, and for the code of installed packages."""
    roots = (workspace.root_path, *(to_fs_path(folder.uri) for folder in workspace.folders.values()))
    path = path_for(to_fs_path(uri), uri, next(filter(None, roots), None))
    if any(folder in path.replace("\\", "/") for folder in INSTALLED):
        return None
    notebook = workspace.get_notebook_document(notebook_uri=uri)
    if notebook is not None:
        return _notebook(workspace, notebook, path)
    text = workspace.text_documents.get(unquote(uri))
    kind = _kind(uri, path, text.language_id or "") if text is not None else None
    return Snapshot(uri, path, kind, (_part(workspace, text),)) if text is not None and kind is not None else None


def _kind(uri: str, path: str, language: str) -> Kind | None:
    """Return what a text is read as: by its name; by its language where there is no file, or where an editor joined a notebook's cells."""
    by_language, by_name = LANGUAGES.get(language), kind_of(path)
    is_joined = by_name is Kind.NOTEBOOK and by_language is Kind.PYTHON
    return by_language or by_name if uri_scheme(uri) != "file" or is_joined else by_name or by_language


def _part(workspace: Workspace, text: TextDocument) -> TextPart:
    encoding = workspace.position_encoding
    name = next((name for name in ("utf-8", "utf-32") if encoding == name), "utf-16")
    return TextPart(text.uri, text.version, text.source, name)


def _notebook(workspace: Workspace, notebook: types.NotebookDocument, path: str) -> NotebookSnapshot:
    """Return a notebook; a cell whose text has not come (yet) is empty."""
    parts, kinds, tags = [], [], []
    for cell in notebook.cells:
        text = workspace.text_documents.get(unquote(cell.document))
        parts.append(_part(workspace, text) if text is not None else TextPart(cell.document, None, ""))
        kinds.append(CODE if cell.kind == types.NotebookCellKind.Code and _is_python(text) else OTHER)
        tags.append(tags_of(cell.metadata))
    return NotebookSnapshot(notebook.uri, path, Kind.NOTEBOOK, tuple(parts), tuple(kinds), tuple(tags))


def _is_python(text: TextDocument | None) -> bool:
    """Return whether a cell belongs to the Python of a notebook; `%%bash` does, whatever an editor calls its language."""
    return text is not None and (text.language_id in ("python", "") or text.source.lstrip().startswith("%%"))

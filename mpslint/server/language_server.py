"""The server itself: which messages of an editor lead where."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO, ParamSpec, TypeAlias, TypeVar, cast

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from mpslint import __version__
from mpslint.core.finding import MpslintError, ReadError
from mpslint.server.actions import FIX_ALL, IGNORE, QUICK_FIX, actions_of, finding_for
from mpslint.server.desk import Desk
from mpslint.server.diagnostics import findings_at, page_of
from mpslint.server.edits import workspace_edit
from mpslint.server.judging import Judged, fixed_data, ignoring_data
from mpslint.server.open_texts import keep_lines
from mpslint.server.wire import Input, Wire
from mpslint.session.configuration import FILES
from mpslint.session.session import Options
from mpslint.source.reader import OF_RUNS
from mpslint.target.pins import pin_file_globs

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Opened: TypeAlias = types.DidOpenTextDocumentParams | types.DidOpenNotebookDocumentParams

NOTEBOOKS = types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("*")], save=True)
"""All cells of every notebook: cells that are no Python count where cells are counted."""
WATCHED = f"**/{{{','.join([*FILES, *pin_file_globs(), *(f'*{ending}' for ending in OF_RUNS)])}}}"
"""What configurations and versions are read from, and what runs read."""


class Server(LanguageServer):
    """pygls' server, which says what went wrong in one line of the editor's log."""

    protocol: Wire
    has_ended = False
    """Whether the editor asked for the end, rather than left."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Say that a message of the editor could not be handled."""
        self.protocol.refuse_unread(error)
        line = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, f"mpslint: a message was not handled: {line}"))


def serve(options: Options, complain: Callable[[str], object]) -> bool:
    """Serve one editor over standard input and output until it says goodbye; return whether it did, rather than left.

    `options` hold for every file, as on the command line; `complain` says one line to whoever started the server. Raises ReadError where
    the editor announces a message that is too large to be read.
    """
    logging.getLogger("pygls").addHandler(logging.NullHandler())  # it would print tracebacks
    logging.getLogger("pygls").propagate = False
    server = Server("mpslint", __version__, notebook_document_sync=NOTEBOOKS, protocol_cls=Wire)
    desk = Desk(server, options)
    _register_changes(server, desk)
    _register_answers(server, desk)
    stdout, sys.stdout = sys.stdout, sys.stderr  # what anything prints by mistake is no message
    source = Input(sys.stdin.buffer, complain)
    server.start_io(cast(BinaryIO, source), stdout.buffer)
    if source.problem is not None:
        raise ReadError(source.problem)
    return server.has_ended


def _register_changes(server: LanguageServer, desk: Desk) -> None:
    """Say what is done when a text or a notebook is opened, changed, saved and closed."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open(params: Opened) -> None:
        for one in params.cell_text_documents if isinstance(params, types.DidOpenNotebookDocumentParams) else (params.text_document,):
            keep_lines(server.workspace, one.uri)
        did_save(params)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams | types.DidChangeNotebookDocumentParams) -> None:
        cells = params.change.cells if isinstance(params, types.DidChangeNotebookDocumentParams) else None
        for cell in cells.structure.did_open or () if cells is not None and cells.structure is not None else ():
            keep_lines(server.workspace, cell.uri)
        desk.changed(_uri_of(params), is_typing=True)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams | types.DidSaveNotebookDocumentParams | Opened) -> None:
        desk.touched()
        desk.changed(_uri_of(params))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams | types.DidCloseNotebookDocumentParams) -> None:
        desk.closed(_uri_of(params))


def _uri_of(params: Any) -> str:
    """Return the address of the text or the notebook that a message is about."""
    document = getattr(params, "text_document", None) or params.notebook_document
    return str(document.uri)


def _register_answers(server: Server, desk: Desk) -> None:

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        if desk.abilities.watches_files:
            watchers = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(WATCHED)])
            registration = types.Registration("mpslint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, watchers)
            server.client_register_capability(types.RegistrationParams([registration]))

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.has_ended = True

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(params: types.DidChangeWatchedFilesParams) -> None:
        desk.recheck()

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([QUICK_FIX, FIX_ALL], resolve_provider=True))
    @_guarded(desk)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        judged = await desk.judged(_owner(server, params.text_document.uri))
        if judged is None:
            return None
        abilities = desk.abilities
        actions = await desk.in_worker(lambda: actions_of(judged, params, abilities))
        if abilities.resolves_edits:
            return actions
        return [action for action in actions if action.edit is not None or await _resolved(desk, action)]

    @server.feature(types.CODE_ACTION_RESOLVE)
    @_guarded(desk)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        if not await _resolved(desk, action):
            desk.log(f"nothing to write for “{action.title}”: no comment can stand there, or the text has changed")
        return action

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    @_guarded(desk)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        judged = await desk.judged(_owner(server, params.text_document.uri))
        found = findings_at(judged, params.text_document.uri, params.position) if judged is not None else []
        if judged is None or not found:
            return None
        known: Judged = judged
        pages = await desk.in_worker(lambda: [page_of(known, desk.options, finding) for finding, _ in found])
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(pages)), found[0][1])


def _owner(server: LanguageServer, uri: str) -> str:
    """Return the address of the notebook that a cell is in, else the one given."""
    notebook = server.workspace.get_notebook_document(cell_uri=uri)
    return notebook.uri if notebook is not None else uri


async def _resolved(desk: Desk, action: types.CodeAction) -> bool:
    """Work out the edit of an action that says by its `data` what it is about; return whether there is anything to write."""
    about: Any = action.data if isinstance(action.data, dict) else {}
    judged = await desk.judged(str(about.get("uri", "")))
    if judged is None:
        return False
    snapshot, data = judged.snapshot, None
    if about.get("do") == FIX_ALL:
        data = await desk.in_worker(lambda: fixed_data(snapshot, desk.options, desk.around))
    elif about.get("do") == IGNORE and (finding := finding_for(judged, about)) is not None:
        data = await desk.in_worker(lambda: ignoring_data(snapshot, desk.options, finding))
    if data is None:
        return False
    action.edit = workspace_edit(snapshot, data, desk.abilities.knows_versions)
    return True


def _guarded(desk: Desk) -> Callable[[Callable[Arguments, Awaitable[Result]]], Callable[Arguments, Awaitable[Result | None]]]:
    """Return a decorator for an answer that may fail: the editor's log then says in one line why there is none."""

    def decorate(answer: Callable[Arguments, Awaitable[Result]]) -> Callable[Arguments, Awaitable[Result | None]]:
        @functools.wraps(answer)
        async def guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result | None:
            try:
                return await answer(*args, **kwargs)
            except MpslintError as error:
                desk.log(str(error))
            except Exception as error:  # the editor is told nothing rather than an error box for each key
                desk.log(f"a question was not answered, because of a mistake in mpslint ({type(error).__name__}: {error})")
            return None

        return guarded

    return decorate

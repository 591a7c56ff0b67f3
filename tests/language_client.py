"""A small editor for tests: starts the server's process, talks to it as editors do, and keeps texts as they do."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests import ROOT, warm_command
from tests.warm_command import Started

SAMPLES = sorted(path.name for path in (ROOT / "samples").iterdir() if path.suffix in (".py", ".sh"))
FP16 = 'from transformers import TrainingArguments\nargs = TrainingArguments("out", fp16=True)\n'
EVERYWHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 100_000, "character": 0}}
CODE, MARKUP = 2, 1
PATIENCE = 120
"""Seconds after which nothing more is expected to come; on a loaded machine a check takes long."""
ABLE = {
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True},
        "codeAction": {"dataSupport": True, "resolveSupport": {"properties": ["edit"]}},
    },
    "notebookDocument": {"synchronization": {}},
    "workspace": {"workspaceEdit": {"documentChanges": True}},
}


class Editor:
    """One session, with a fork of a warm server, or with what a command line starts.

    `said` holds every notification that came, in order; `diagnostics` the latest of each address.
    """

    def __init__(self, folder: Path, *options: str, able: dict[str, Any] | None = None, line: Sequence[str] = ()) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        pipe = subprocess.PIPE
        self.process: subprocess.Popen[bytes] | Started = (
            subprocess.Popen([*line, *options], stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environment)
            if line
            else Started(["server", *options], folder, environment)
        )
        self.came: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.said: list[dict[str, Any]] = []
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.questions = 0
        self.errors = b""
        self.readers = [threading.Thread(target=function, daemon=True) for function in (self._read, self._read_errors)]
        for reader in self.readers:
            reader.start()
        about = {"processId": None, "rootUri": folder.as_uri(), "capabilities": ABLE if able is None else able}
        self.server = self.ask("initialize", about)
        self.tell("initialized", {})

    def __enter__(self) -> Editor:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Say goodbye; a server that does not leave by itself, or that printed anything, has failed."""
        code = 0
        if failure is None:
            self.ask("shutdown", None)
            self.tell("exit", None)
            code = self.process.wait(PATIENCE)
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        assert failure is not None or (code, self.errors) == (0, b"")

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """Return the answer to a question. Raises AssertionError for an error."""
        self.questions += 1
        number = self.questions
        self._send({"id": number, "method": method, "params": params})
        answer = self.wait_for(lambda message: message.get("id") == number and "method" not in message)
        assert "error" not in answer, answer
        return answer["result"]

    def wait_for(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the next message that is meant; keep the others."""
        while True:
            message = self.came.get(timeout=PATIENCE)
            assert message is not None, f"the server is gone: {self.errors.decode()}"
            self.said.append(message)
            if message.get("method") == "textDocument/publishDiagnostics":
                self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
            if "id" in message and "method" in message:
                self._send({"id": message["id"], "result": None})
            if is_it(message):
                return message

    def published(self, uri: str) -> list[dict[str, Any]]:
        """Return the diagnostics of a text that come next."""
        is_it = lambda message: message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri  # noqa: E731
        return list(self.wait_for(is_it)["params"]["diagnostics"])

    def open(self, uri: str, text: str, language: str = "python") -> list[dict[str, Any]]:
        """Open a text and return its diagnostics."""
        self.texts[uri], self.versions[uri] = text, 1
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}})
        return self.published(uri)

    def change(self, uri: str, text: str, changes: list[dict[str, Any]] | None = None) -> None:
        """Give a text other words: all of them, or by some changes."""
        self.texts[uri] = text
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes or [{"text": text}]})

    def open_notebook(self, uri: str, cells: list[tuple[int, str, str]]) -> list[str]:
        """Open a notebook of cells (kind, language, text); return the addresses of the cells."""
        uris = [f"notebook-cell:{uri.partition(':')[2]}#{number}" for number, _ in enumerate(cells)]
        items = []
        for cell, (_, language, text) in zip(uris, cells, strict=True):
            self.texts[cell], self.versions[cell] = text, 1
            items.append({"uri": cell, "languageId": language, "version": 1, "text": text})
        kinds = [{"kind": kind, "document": cell} for cell, (kind, _, _) in zip(uris, cells, strict=True)]
        notebook = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": kinds}
        self.tell("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": items})
        return uris

    def actions(self, uri: str, range_: dict[str, Any], only: list[str] | None = None) -> list[dict[str, Any]]:
        """Return the code actions at a range, with their edits."""
        context: dict[str, Any] = {"diagnostics": [], **({"only": only} if only else {})}
        found = self.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": range_, "context": context}) or []
        return [action if "edit" in action else self.ask("codeAction/resolve", action) for action in found]

    def apply(self, edit: dict[str, Any]) -> None:
        """Make an edit, as an editor does: refused where the text has another version."""
        for change in edit["documentChanges"]:
            uri = change["textDocument"]["uri"]
            assert change["textDocument"]["version"] == self.versions[uri]
            self.texts[uri] = edited(self.texts[uri], change["edits"])

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            if line.startswith(b"Content-Length:"):
                length = int(line.split(b":")[1])
                while stream.readline().strip():
                    pass
                self.came.put(json.loads(stream.read(length)))
        self.came.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """Return a text with edits of the protocol made, whose columns count units of UTF-16."""
    places = [(offset_of(text, edit["range"]["start"]), offset_of(text, edit["range"]["end"]), edit["newText"]) for edit in edits]
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def offset_of(text: str, position: dict[str, int]) -> int:
    """Return the offset of a place."""
    start = 0
    for _ in range(position["line"]):
        start = text.index("\n", start) + 1
    units = 0
    while units < position["character"]:
        units += 2 if ord(text[start]) > 0xFFFF else 1
        start += 1
    return start


def mpslint(*arguments: str, folder: Path) -> str:
    """Return what a command prints."""
    return warm_command.mpslint(arguments, folder, os.environ).stdout.decode()


def checked(path: Path) -> list[dict[str, Any]]:
    """Return the findings that `mpslint check` reports of a file, in JSON."""
    return list(json.loads(mpslint("check", str(path), "--format", "json", folder=path.parent))["files"][0]["findings"])


def cells_of(path: Path) -> list[tuple[int, str, str]]:
    """Return the cells of a notebook as an editor holds them."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        (CODE, "python", "".join(c["source"])) if c["cell_type"] == "code" else (MARKUP, "markdown", "".join(c["source"])) for c in cells
    ]


def only(findings: list[dict[str, Any]], rule: str) -> dict[str, Any]:
    """Return the one finding of a rule."""
    (found,) = (one for one in findings if one["code"] == rule)
    return found

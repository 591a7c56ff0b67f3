"""What goes over the wire: messages that cannot be read or come at the wrong time are answered too, so that no editor waits for ever."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest, JsonRpcParseError, JsonRpcServerNotInitialized
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import RPCMessage, RPCRequest

from mpslint.core.inert import inert

LARGEST_MESSAGE = 400_000_000
"""Bytes of a message: a file of the largest size that is checked, as JSON."""
LONGEST_HEADER = 8192
_LENGTH = re.compile(rb"(?:.*[}\]])?content-length:[ \t]*([^\r\n]*?)[ \t]*\r?\n", re.IGNORECASE)
"""A header, on its own or right behind a body that was passed over: bodies have no line end."""


class Wire(LanguageServerProtocol):
    """pygls' protocol, which drops what it cannot read and what comes after the goodbye; here both are answered with an error."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the message that a JSON object is. Raises JsonRpcException, once a request has its answer."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self.refuse(data["id"], error)
            raise

    def handle_message(self, message: RPCMessage) -> None:
        """Handle a message, if now is the time for it."""
        if not hasattr(message, "jsonrpc"):
            self.refuse(None, JsonRpcInvalidRequest("not a message of JSON-RPC 2.0"))
        elif isinstance(message, RPCRequest) and self._shutdown:
            self.refuse(message.id, JsonRpcInvalidRequest("the server was told to shut down"))
        elif isinstance(message, RPCRequest) and self._workspace is None and message.method != types.INITIALIZE:
            self.refuse(message.id, JsonRpcServerNotInitialized("the server waits for `initialize`"))
        else:
            super().handle_message(message)

    def refuse(self, number: Any, error: JsonRpcException) -> None:
        """Answer a request, None for one whose number cannot be read, with an error."""
        self._send_response(number, error=error.to_response_error())

    def refuse_unread(self, error: Exception) -> None:
        """Answer what is no JSON, or nests too deeply to be read."""
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError, RecursionError)):
            self.refuse(None, JsonRpcParseError(f"not readable as JSON: {error}"))


class Input(io.RawIOBase):
    """Standard input whose headers are as pygls expects them.

    A message whose length is no number is passed over, one of more than LARGEST_MESSAGE ends the input, and both are said.
    """

    def __init__(self, stream: Any, complain: Callable[[str], object]) -> None:
        self._stream = stream
        self._complain = complain
        self.problem: str | None = None
        """Why the input ended before its end."""

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line of a header, b"" at the end."""
        line: bytes = self._stream.readline(LONGEST_HEADER)
        match = _LENGTH.fullmatch(line)
        if match is None:
            return line
        length = match[1]
        if not length.isdigit():
            self._complain(f"mpslint: a message is passed over: its Content-Length is no length: {shown(length)}")
            return line
        if len(length) > len(str(LARGEST_MESSAGE)) or int(length) > LARGEST_MESSAGE:
            self.problem = f"a message of {shown(length)} bytes is announced, more than the {LARGEST_MESSAGE:,} that are read"
            return b""
        return b"Content-Length: %d\r\n" % int(length)

    def read(self, size: int = -1, /) -> bytes:
        """Return the body of a message."""
        body: bytes = self._stream.read(size)
        return body


def shown(value: bytes) -> str:
    """Return the beginning of what a header says, as text that a terminal shows."""
    return inert(value[:40].decode("ascii", "backslashreplace")) + ("..." if len(value) > 40 else "")

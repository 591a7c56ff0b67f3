"""What an editor should not send is answered too, and how the server ends is its exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from tests.warm_command import mpslint


def frame(**message: Any) -> bytes:
    """Return a message as it goes over the wire."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


START = frame(id=1, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}}) + frame(
    method="initialized", params={}
)
GOODBYE, EXIT = frame(id=9, method="shutdown"), frame(method="exit")
DOCUMENT = {"textDocument": {"uri": "file:///nowhere/x.py"}}


def told(folder: Path, *said: bytes) -> tuple[int, dict[Any, Any], str]:
    """Return the exit code of a server, its answers by their numbers, and what it printed beside, once it was told something."""
    done = mpslint(["server"], folder, os.environ, b"".join(said))
    messages = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in done.stdout.split(b"Content-Length: ")[1:]]
    return done.returncode, {m.get("id"): m for m in messages if "method" not in m}, done.stderr.decode()


@pytest.mark.parametrize(
    ("said", "code"),
    [((START, GOODBYE, EXIT), 0), ((START, GOODBYE), 0), ((START, EXIT), 1), ((START,), 1)],
    ids=["goodbye", "goodbye without exit", "exit without goodbye", "end of input"],
)
def test_the_exit_code_says_how_it_ended(tmp_path: Path, said: tuple[bytes, ...], code: int) -> None:
    """1 where the editor left without a shutdown, as the protocol has it."""
    assert told(tmp_path, *said)[::2] == (code, "")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/codeAction", {**DOCUMENT, "context": {"diagnostics": []}}),
        ("textDocument/codeAction", None),
        ("textDocument/hover", {"textDocument": 5, "position": "x"}),
    ],
)
def test_a_question_that_cannot_be_read_is_answered(tmp_path: Path, method: str, params: Any) -> None:
    """InvalidParams, and the server goes on."""
    code, answers, errors = told(tmp_path, START, frame(id=5, method=method, params=params), GOODBYE, EXIT)
    assert answers[5]["error"]["code"] == -32602
    assert (code, 9 in answers, errors) == (0, True, "")


def test_questions_at_the_wrong_time_are_answered(tmp_path: Path) -> None:
    """Before `initialize`, and after `shutdown`."""
    hover = {**DOCUMENT, "position": {"line": 0, "character": 0}}
    early, late = frame(id=5, method="textDocument/hover", params=hover), frame(id=6, method="textDocument/hover", params=hover)
    code, answers, errors = told(tmp_path, early, START, GOODBYE, late, EXIT)
    assert [answers[number]["error"]["code"] for number in (5, 6)] == [-32002, -32600]
    assert (code, errors) == (0, "")


@pytest.mark.parametrize("body", [b"{nope", b"[]", b"5", b"[" * 200_000], ids=["no JSON", "list", "number", "deep"])
def test_what_is_no_message_is_answered(tmp_path: Path, body: bytes) -> None:
    """With a number of nothing, as JSON-RPC has it."""
    code, answers, errors = told(tmp_path, START, b"Content-Length: %d\r\n\r\n" % len(body) + body, GOODBYE, EXIT)
    assert answers[None]["error"]["code"] in (-32700, -32600)
    assert (code, 9 in answers, errors) == (0, True, "")


BODY = frame(id=5, method="shutdown").partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize(("length", "body"), [(b"-5", BODY), (b"many", b""), (b"\x1b[2J", BODY)], ids=["negative", "no body", "escape"])
def test_a_message_without_a_length_is_passed_over(tmp_path: Path, length: bytes, body: bytes) -> None:
    """That is said in one line, and what follows is answered."""
    code, answers, errors = told(tmp_path, START, b"Content-Length: %s\r\n\r\n%s" % (length, body), GOODBYE, EXIT)
    assert (code, 9 in answers, 5 in answers) == (0, True, False)
    assert errors.startswith("mpslint: a message is passed over: its Content-Length is no length")
    assert errors.count("\n") == 1
    assert "\x1b" not in errors


def test_a_message_without_content_is_nothing(tmp_path: Path) -> None:
    """What follows is answered."""
    code, answers, errors = told(tmp_path, START, b"Content-Length: 0\r\n\r\n", GOODBYE, EXIT)
    assert (code, 9 in answers, errors) == (0, True, "")


@pytest.mark.parametrize("length", [b"1" + b"0" * 15, b"1" + b"0" * 5000])
def test_a_message_beyond_all_sizes_ends_the_session(tmp_path: Path, length: bytes) -> None:
    """No memory is taken for it, and one line says why."""
    code, _, errors = told(tmp_path, START, b"Content-Length: %s\r\n\r\n{}" % length)
    assert (code, errors.count("\n")) == (3, 1)
    assert errors.startswith("mpslint: a message of 1000")


def test_headers_may_be_written_in_small_letters(tmp_path: Path) -> None:
    """Names of headers know no capitals."""
    said = (START, GOODBYE.replace(b"Content-Length", b"content-length"), EXIT)
    assert 9 in told(tmp_path, *said)[1]

"""What verify says while it works."""

from __future__ import annotations

import io

from mpslint.verify.progress import SECONDS_IN_SILENCE, STARTING, Live, Parts


def test_what_takes_a_while_is_said_once() -> None:
    """Nothing at first; then each part that lasts, with how far it is."""
    parts = Parts("train.py", {STARTING: 0.0})
    late = SECONDS_IN_SILENCE

    assert parts.due(late - 1) == []
    assert parts.due(late) == ["mpslint: train.py: starting"]
    assert parts.due(9 * late) == []

    parts.note("as written", 0, 20, 10 * late)
    parts.note("as rewritten", 3, 20, 10 * late)
    assert parts.due(10 * late + 1) == []
    parts.note("as written", 20, 20, 11 * late)
    assert parts.due(11 * late) == ["mpslint: train.py: as rewritten, step 3 of 20"]
    assert parts.due(99 * late) == []


def test_quick_work_is_silent_and_a_name_cannot_obey_the_terminal() -> None:
    """Where no terminal is, nothing is written before a part has taken a while."""
    stream = io.StringIO()
    with Live(stream, "a\x1b[2J.py") as live:
        live.progress("as written", {"done": 1, "total": 2})
        live._parts.began["as written"] -= SECONDS_IN_SILENCE
        live._tell_now()

    assert stream.getvalue() == "mpslint: a\\x1b[2J.py: as written, step 1 of 2\n"

"""Children of verify are forks of one warm process here; tests marked `cold` start them as users do.

What a child would do runs in this process too: without torch's compiler, as in the child."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from mpslint.verify import process, work
from mpslint.verify.confinement import choice
from tests.verify import warm


@pytest.fixture(scope="package", autouse=True)
def warm_children() -> Iterator[None]:
    """Fork verify's children, where this system can."""
    if "torch" in sys.modules:
        from mpslint.verify.child.dynamo import leave_compiler_out

        leave_compiler_out()
    with pytest.MonkeyPatch.context() as patch:
        if warm.CAN:
            patch.setattr(work, "run", warm.run)
            patch.setitem(choice.SYSTEM_TOOLS, "bubblewrap", ())  # a fork has no file system of its own
        yield


@pytest.fixture(autouse=True)
def cold_children(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the children of a test marked `cold` anew."""
    if request.node.get_closest_marker("cold"):
        monkeypatch.setattr(work, "run", process.run)

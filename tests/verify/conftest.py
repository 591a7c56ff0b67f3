"""Children of verify are forks of one warm process here; tests marked `cold` start them as users do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mpslint.verify import process, work
from tests.verify import warm


@pytest.fixture(scope="package", autouse=True)
def warm_children() -> Iterator[None]:
    """Fork verify's children, where this system can."""
    with pytest.MonkeyPatch.context() as patch:
        if warm.CAN:
            patch.setattr(work, "run", warm.run)
        yield


@pytest.fixture(autouse=True)
def cold_children(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the children of a test marked `cold` anew."""
    if request.node.get_closest_marker("cold"):
        monkeypatch.setattr(work, "run", process.run)

"""What holds for all tests: they may run inside GitHub Actions, where mpslint writes annotations; the user's cache is not theirs;
torch gets one thread in each process, as in a child of verify, for there is a process for each core."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mpslint.core.notices import taken

os.environ.pop("GITHUB_ACTIONS", None)
os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # containers set it, and each process that a test starts would compile all of mpslint anew
sys.dont_write_bytecode = False
_CACHES = tempfile.TemporaryDirectory(prefix="mpslint-tests-", ignore_cleanup_errors=True)
os.environ["MPSLINT_CACHE_DIR"] = _CACHES.name

for _name, _default in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):  # a shell's background jobs ignore the one,
    if hasattr(signal, _name) and signal.getsignal(getattr(signal, _name)) is signal.SIG_IGN:  # nohup has them ignore the other:
        signal.signal(getattr(signal, _name), _default)  # so would whatever the tests start and signal

settings.register_profile(
    "tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("tests")  # the same examples in every run, on a slow machine too; benchmarks/fuzz.py draws others


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the files that take longest first, so that no process is left with one at the end.

    verify's and those of the whole project have few tests, and long ones; of the others, those with most tests take longest.
    """
    tests = Counter(item.path for item in items)
    here = Path(__file__).parent
    items.sort(key=lambda item: ("verify" not in item.path.parts, item.path.parent != here, -tests[item.path]))


@pytest.fixture(autouse=True)
def said_by_no_other_test() -> Iterator[None]:
    """Forget what a test passed over: a process that says it has one command."""
    yield
    assert not [line for about, line in taken().items() if "/rules/stubs/" in about], "a mistake in a stub"

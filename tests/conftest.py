"""What holds for all tests: they may run inside GitHub Actions, where mpslint writes annotations; the user's cache is not theirs."""

from __future__ import annotations

import os
import tempfile

from hypothesis import HealthCheck, settings

os.environ.pop("GITHUB_ACTIONS", None)
_CACHES = tempfile.TemporaryDirectory(prefix="mpslint-tests-", ignore_cleanup_errors=True)
os.environ["MPSLINT_CACHE_DIR"] = _CACHES.name

settings.register_profile(
    "tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("tests")  # the same examples in every run, on a slow machine too; benchmarks/fuzz.py draws others

"""What holds for all tests: they may run inside GitHub Actions, where mpslint writes annotations; the user's cache is not theirs."""

from __future__ import annotations

import os
import tempfile

os.environ.pop("GITHUB_ACTIONS", None)
_CACHES = tempfile.TemporaryDirectory(prefix="mpslint-tests-", ignore_cleanup_errors=True)
os.environ["MPSLINT_CACHE_DIR"] = _CACHES.name

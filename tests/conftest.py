"""What holds for all tests: mpslint writes annotations inside GitHub Actions, and these tests may well run there."""

from __future__ import annotations

import os

os.environ.pop("GITHUB_ACTIONS", None)

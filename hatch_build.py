"""Compile the knowledge when a wheel is built, so that starting does not parse a hundred YAML files."""

from __future__ import annotations

import pprint
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class CompileKnowledge(BuildHookInterface):  # type: ignore[misc]
    """Writes into the wheel: `mpslint/_catalogue.py`, every file of `rules/` as Python literals, by its path there; and
    `mpslint/_words.py`, the words of which one stands in every file that they are about.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the compiled catalogue to a real wheel; an editable install reads the YAML files themselves."""
        if version == "editable":
            return
        sys.path.insert(0, str(ROOT))
        from mpslint.core.knowledge import compiled

        target = Path(tempfile.mkdtemp()) / "_catalogue.py"
        data = pprint.pformat(compiled(ROOT / "rules"), width=140, sort_dicts=False)
        # Python shows an infinite number as a name.
        head = '"""Generated when the wheel was built, from `rules/`."""\n\nfrom math import inf\n\n'
        target.write_text(f"{head}DATA = {data}\n", encoding="utf-8")
        build_data["force_include"][str(target)] = "mpslint/_catalogue.py"
        from mpslint.rule.frameworks import compiled_words

        target = target.with_name("_words.py")
        words = {"frameworks": compiled_words()}
        target.write_text(f'"""Generated when the wheel was built, from `rules/`."""\n\nDATA = {words!r}\n', encoding="utf-8")
        build_data["force_include"][str(target)] = "mpslint/_words.py"
        sys.path.insert(0, str(ROOT / "docs"))
        from man import manual

        target = target.with_name("mpslint.1")
        target.write_text(manual(), encoding="utf-8")
        build_data["shared_data"][str(target)] = "share/man/man1/mpslint.1"

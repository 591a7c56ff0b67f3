"""Give the project its address: `python tools/set_home.py OWNER/NAME [ADDRESS OF THE DOCUMENTATION]`.

`mpslint/core/links.py` says where mpslint lives; README, pages, manifests and examples have to repeat it. This rewrites all of them.
Without an address the documentation moves to https://OWNER.github.io/NAME.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LINKS = "mpslint/core/links.py"
_SLUG = re.compile(r"[\w.-]+/[\w.-]+")


def move(root: Path, names: Iterable[str], slug: str, documentation: str) -> list[str]:
    """Replace the addresses in files below `root`, and return the names of those that changed. Raises OSError."""
    text = (root / _LINKS).read_text(encoding="utf-8")
    old_home, old_documentation = (re.findall(rf'^{name} = "(.*)"$', text, re.MULTILINE)[0] for name in ("HOME", "DOCUMENTATION"))
    old_slug = re.compile(rf"(?<![\w.-]){re.escape(old_home.removeprefix('https://github.com/'))}(?![\w-])")
    changed = []
    for name in names:
        before = (root / name).read_bytes()
        try:
            after = old_slug.sub(slug, before.decode("utf-8").replace(old_documentation, "\0")).replace("\0", documentation).encode()
        except UnicodeDecodeError:  # a picture
            continue
        if after != before:
            (root / name).write_bytes(after)
            changed.append(name)
    return changed


def main() -> int:
    """Move the files that git tracks, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("slug", metavar="OWNER/NAME")
    parser.add_argument("documentation", nargs="?")
    given = parser.parse_args()
    if not _SLUG.fullmatch(given.slug):
        parser.error(f"{given.slug!r} is not OWNER/NAME")
    owner, name = given.slug.split("/")
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    tracked = [one for one in names if (ROOT / one).is_file()]
    for one in move(ROOT, tracked, given.slug, (given.documentation or f"https://{owner.lower()}.github.io/{name}").rstrip("/")):
        print(one)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Rebuild the machine-readable part of `rules/` from the packages on the index, and print what changed.

    python tools/refresh_knowledge.py            print what would change
    python tools/refresh_knowledge.py --write    write it

It asks pip for the releases of every package in `rules/platform/versions.yaml`, reads the metadata of the releases that are not in
`rules/platform/requirements.yaml` yet (no wheel is downloaded for that), rewrites both tables, and names the rules that speak about the
packages that changed. `docs/refresh.md` says more.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from refresh import tables
from refresh.index import Index
from refresh.requirements import collect

ROOT = Path(__file__).parents[1]


def main(arguments: list[str] | None = None) -> int:
    """Print what changed, and write it where that is asked for. Returns 1 when something changed that was not written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables")
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="the folder of the rules")
    parser.add_argument("--find-links", type=Path, help="read wheels from this folder in place of the index")
    parser.add_argument("--only", action="append", default=[], metavar="PACKAGE", help="only this package; repeatable")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="the date to write")
    given = parser.parse_args(arguments)
    index = Index(given.find_links)
    changed = list(refreshed(index, given.rules, tuple(given.only), given.date))
    for path, text, lines in changed:
        print(f"{path.relative_to(given.rules.parent)}:", *lines, sep="\n  ")
        if given.write:
            path.write_text(text, encoding="utf-8")
    plural = "file" if len(changed) == 1 else "files"
    print(f"{len(changed)} {plural} {'written' if given.write else 'would change'}; {index.calls} calls of pip")
    return 1 if changed and not given.write else 0


def refreshed(index: Index, rules: Path, only: tuple[str, ...], date: str) -> Iterator[tuple[Path, str, list[str]]]:
    """Yield (file, new text, lines that say what changed) of each table that is not what the index says."""
    versions_path, requirements_path = (rules / "platform" / name for name in ("versions.yaml", "requirements.yaml"))
    versions, known = tables.read(versions_path), tables.known_rows(tables.read(requirements_path))
    packages = [name for name in versions["newest"] if name not in ("macos", "python") and (not only or name in only)]
    releases: dict[str, list[str]] = {}
    needs = dict(known)
    for name, listed, found in collect(index, packages, versions, known):
        releases[name] = listed
        needs[name] = {**known.get(name, {}), **found}
    text = tables.versions_text(versions, releases, date)
    after = tables.parsed(text)
    if {**after, "date": ""} != {**versions, "date": ""}:
        lines = list(tables.changes(versions, after))
        yield versions_path, text, [*lines, *tables.rules_about(rules, versions, after)]
    ordered = {name: needs[name] for name in versions["newest"] if needs.get(name)}
    text = tables.requirements_text(ordered)
    if tables.parsed(text) != tables.read(requirements_path):
        yield requirements_path, text, [f"{name}: {len(rows)} releases read" for name, rows in ordered.items() if rows != known.get(name)]


if __name__ == "__main__":
    sys.exit(main())

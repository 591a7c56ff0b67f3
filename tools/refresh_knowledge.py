"""Rebuild the machine-readable part of `rules/` from the packages on the index, and print what changed.

    python tools/refresh_knowledge.py                    print what would change
    python tools/refresh_knowledge.py --write            write it
    python tools/refresh_knowledge.py --step sources     one step (--help names them)
    python tools/refresh_knowledge.py --bounds           read again both sides of every bound, not the newest releases only

It asks pip for the releases of every package in `rules/platform/versions.yaml` and reads their metadata without downloading wheels. The
other steps download wheels, at most `--downloads` of them: the arguments and names that packages take, torch's MPS kernels and compiled
graphs, and the files that the rules give as sources. For each table that changed it names the rules that rest on it. `docs/refresh.md`
says more.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parent))

from refresh import tables
from refresh.arguments import Rebuilt, Scope, arguments, removed_names, rules_on
from refresh.graphs import graphs
from refresh.index import Index
from refresh.names import module_names, variables
from refresh.operators import operators
from refresh.paths import REBUILT, check_paths
from refresh.requirements import collect
from refresh.sources import check_sources, said_of, share_of
from refresh.traced import traced_lines
from refresh.wheels import LimitReached, Wheels

ROOT = Path(__file__).parents[1]
OLDEST_PIP = Version("26.0")
"""The first pip whose `index versions` heeds --only-binary (read from what 25.3 and 26.0 list of axolotl)."""
STEPS = ("releases", "arguments", "names", "operators", "graphs", "tracebacks", "torch", "paths", "sources")


def main(given: list[str] | None = None) -> int:
    """Print what changed, and write it where asked. Returns 1 when something changed that was not written, or a source is refuted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables")
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="the folder of the rules")
    parser.add_argument("--find-links", type=Path, help="read wheels from this folder in place of the index")
    parser.add_argument("--only", action="append", default=[], metavar="PACKAGE", help="only this package; repeatable")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="the date to write")
    parser.add_argument("--step", action="append", choices=STEPS, help="only this step; repeatable (default: all)")
    parser.add_argument("--bounds", action="store_true", help="read both sides of every bound again")
    parser.add_argument("--since", action="append", default=[], metavar="PACKAGE=VERSION", help="compare with this release")
    parser.add_argument("--wheels", type=Path, help="keep downloaded wheels in this folder (default: a temporary one)")
    parser.add_argument("--downloads", type=int, default=40, metavar="N", help="download at most N wheels (default: 40)")
    options = parser.parse_args(given)
    if options.find_links is None and Version(version("pip")) < OLDEST_PIP:
        parser.error(f"pip {version('pip')} also lists releases without a wheel: upgrade it to {OLDEST_PIP} or later")
    with tempfile.TemporaryDirectory() as temporary:
        return _run(options, options.wheels or Path(temporary))


def _run(options: argparse.Namespace, folder: Path) -> int:
    """Run the steps that are asked for, and write what they found if no source is refuted. Returns the exit code."""
    steps, rules = options.step or STEPS, options.rules.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    index = Index(options.find_links)
    old = tables.read(rules / "platform" / "versions.yaml")
    wheels = Wheels(index, folder, options.downloads, dict(old.get("formerly", {})))
    changed: dict[Path, str] = {}
    new = old
    if "releases" in steps:
        for path, text, lines in refreshed(index, rules, tuple(options.only), options.date):
            new = tables.parsed(text) if path.name == "versions.yaml" else new
            changed[path] = text
            print(f"{path.relative_to(rules.parent)}:", *lines, sep="\n  ")
    releases = {name: text.split() for name, text in new.get("released", {}).items()}
    before = {**{name: str(version) for name, version in old["newest"].items()}, **dict(one.split("=", 1) for one in options.since)}
    scope = Scope(
        {name: listed for name, listed in releases.items() if not options.only or name in options.only}, before, options.bounds, releases
    )
    for step, rebuilt in _rebuilds(rules, wheels, scope):
        if step in steps:
            changed.update(_rebuild(step, rebuilt, rules))
    compared = 0
    if "paths" in steps:
        lines, compared = check_paths(rules / "platform", wheels, scope)
        print("paths:", *lines, sep="\n  ")
    refuted = 0
    if "sources" in steps:
        verdicts = check_sources(rules, wheels, scope.releases)
        print("sources:", *said_of(verdicts), share_of(rules / "platform", verdicts, REBUILT, compared), sep="\n  ")
        refuted = sum(one.word == "refuted" for one in verdicts)
    done = _written(changed, rules, refuted) if options.write else "would change"
    files = f"{len(changed)} {'file' if len(changed) == 1 else 'files'}"
    print(f"{files} {done}; {index.calls} calls of pip, {wheels.downloads} wheels downloaded")
    return 1 if refuted or (changed and done != "written") else 0


def _written(changed: Mapping[Path, str], rules: Path, refuted: int) -> str:
    """Write files, unless a source is refuted; put them back where the rules or the samples beside them fail. Returns what was done."""
    if refuted:
        return "not written, as sources are refuted: correct the rules that give them"
    before = {path: path.read_text(encoding="utf-8") for path in changed if path.is_file()}
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
    failure = faults(rules.parent) if changed else ""
    if not failure:
        return "written"
    for path in changed:
        if path in before:
            path.write_text(before[path], encoding="utf-8")
        else:
            path.unlink()
    print("the checks of the written tables failed:", failure, sep="\n")
    return "not written: mpslint fails with them"


def faults(project: Path) -> str:
    """Return what fails of a checkout's rules, their examples and its samples; '' if nothing does, or no mpslint is beside the rules."""
    if not (project / "mpslint").is_dir():
        print("not checked: no mpslint is beside the rules")
        return ""
    for asked, allowed in ((("rules", "--test"), (0,)), (("check", "samples", "--isolated", "--no-cache", "--quiet"), (0, 1))):
        command = (sys.executable, "-m", "mpslint", *asked)
        run = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=600)
        if run.returncode not in allowed:
            return f"mpslint {' '.join(asked)} exits with {run.returncode}\n{run.stdout[-4000:]}{run.stderr[-4000:]}"
    return ""


def _rebuilds(rules: Path, wheels: Wheels, scope: Scope) -> Iterator[tuple[str, tuple[Path, Callable[[Path], Rebuilt]]]]:
    """Yield each step that rebuilds a table from wheels, with the table and what rebuilds it."""
    platform, torch = rules / "platform", scope.releases.get("torch", [])
    yield "arguments", (platform / "arguments.yaml", lambda path: arguments(path, wheels, scope))
    yield "names", (platform / "removed_names.yaml", lambda path: removed_names(path, wheels, scope))
    yield "operators", (platform / "operators.yaml", lambda path: operators(path, wheels, torch, scope.before.get("torch"), scope.bounds))
    yield "graphs", (platform / "graph_cache.yaml", lambda path: graphs(path, wheels, torch, scope.bounds))
    yield "torch", (platform / "names.yaml", lambda path: module_names(path, wheels, torch, scope.bounds))
    yield "torch", (platform / "environment.yaml", lambda path: variables(path, wheels, torch, scope.bounds))
    yield "tracebacks", (platform / "traced_lines.yaml", lambda path: traced_lines(path, wheels, torch, scope.bounds))


def _rebuild(step: str, rebuilt: tuple[Path, Callable[[Path], Rebuilt]], rules: Path) -> dict[Path, str]:
    """Rebuild one table and print what changes in it. Returns its new text by path, if it is another one."""
    path, build = rebuilt
    if not path.is_file():
        return {}
    try:
        done = build(path)
    except LimitReached as error:
        print(f"{step}: stopped at {error}: --downloads allows no more")
        return {}
    print(f"{step}: {done.checked} statements checked against wheels, {done.unread} unread")
    if done.lines:
        print(f"{path.relative_to(rules.parent)}:", *done.lines, _resting(rules, path.stem), sep="\n  ")
    if done.text == path.read_text(encoding="utf-8"):
        return {}
    tables.parsed(done.text)
    return {path: done.text}


def _resting(rules: Path, table: str) -> str:
    """Say which rules rest on a table."""
    resting = ", ".join(rules_on(rules, ROOT / "mpslint" / "checks", table))
    return f"rules that rest on it: {resting}" if resting else "no rule rests on it"


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
    text = tables.versions_text(versions_path.read_text(encoding="utf-8"), releases, date)
    after = tables.parsed(text)
    if {**after, "date": ""} != {**versions, "date": ""}:
        yield versions_path, text, list(tables.changes(rules, versions, after))
    ordered = {name: needs[name] for name in versions["newest"] if needs.get(name)}
    text = tables.requirements_text(ordered)
    lines = list(tables.changed_rows(known, ordered))
    if lines:
        yield requirements_path, text, [*lines, _resting(rules, "requirements")]


if __name__ == "__main__":
    sys.exit(main())

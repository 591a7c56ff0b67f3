"""Build the documentation site from the repository: `python docs/build.py site` (needs mpslint[docs], Node.js and npm).

The pages are those of `docs/`, the README as the guide, and what the rules, the dialects, the error texts and the
configuration's schema give:
`python docs/build.py --pages FOLDER` writes them without building the site.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dialect_pages import write_dialect_pages
from message_pages import write_message_pages

from mpslint.core.knowledge import platform_data, rules_folder
from mpslint.core.links import HOME
from mpslint.report.rule_page import fix_word, rule_page, worst_of
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Rule

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SOURCE = f"{HOME}/blob/main/"
RENAMED = {"rules.md": "writing-rules.md"}
"""Pages of `docs/` that have another name on the site, where rules/ holds the rules themselves."""
BRANCHES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "rules/README.md": "rules/index.md"}
"""Files outside of `docs/` that are pages of the site."""


def write_pages(folder: Path) -> None:
    """Write every page of the site, as Markdown, into a folder."""
    (folder / "rules").mkdir(parents=True, exist_ok=True)
    for path in DOCS.iterdir():
        if path.suffix == ".md":
            _write(folder, RENAMED.get(path.name, path.name), _linked(path.read_text(encoding="utf-8"), f"docs/{path.name}"))
        elif path.suffix in (".svg", ".png"):
            shutil.copy2(path, folder / path.name)
    readme = _linked((ROOT / "README.md").read_text(encoding="utf-8"), "README.md")
    _write(folder, "index.md", re.sub(r"https://raw\.githubusercontent\.com/[^)]*/docs/", "", readme))
    _write(folder, "changelog.md", _linked((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), "CHANGELOG.md"))
    rules = load_rules()
    _write(folder, "rules/index.md", rules_index(rules))
    for rule in rules:
        _write(folder, f"rules/{rule.id}.md", page_of(rule))
    _write(folder, "configuration.md", configuration_page())
    write_dialect_pages(folder / "dialects", SOURCE)
    write_message_pages(folder / "errors", SOURCE)


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def _linked(text: str, source: str) -> str:
    """Return a page with its links to files of the repository turned to pages of the site, or to the repository on the web."""

    def target(match: re.Match[str]) -> str:
        link, _, anchor = match.group(2).partition("#")
        if link.startswith(SOURCE):
            path = link.removeprefix(SOURCE)
        elif not link or ":" in link:
            return match.group(0)
        else:
            path = str((ROOT / source).parent.joinpath(link).resolve().relative_to(ROOT))
        mark = f"#{anchor}" if anchor else ""
        return f"{match.group(1)}({_page(path)}{mark})"

    return re.sub(r"(\])\(([^)\s]+)\)", target, text)


def _page(path: str) -> str:
    """Return where a file of the repository is found from a page at the top of the site."""
    if path in BRANCHES:
        return BRANCHES[path]
    folder, _, name = path.rpartition("/")
    if folder == "docs" and (name.endswith(".md") or name.endswith((".svg", ".png"))):
        return RENAMED.get(name, name)
    return SOURCE + path


def page_of(rule: Rule) -> str:
    """Return the page of one rule."""
    heading = f"# {rule.id} {rule.name}\n\n"
    facts = f"{worst_of(rule).value} · fix: {fix_word(rule) or 'none'} · since {rule.since}\n\n"
    silence = (
        "\n## Ignore it\n\n"
        f"`# mpslint: ignore[{rule.id}] the reason` on the line, the cell tag `mpslint-ignore-{rule.id}` in a notebook,\n"
        f'`ignore = ["{rule.id}"]` in the [configuration](../configuration.md), or `--ignore {rule.id}` for one run.\n'
    )
    silent = next((example.ok for example in rule.examples if example.ok), "")
    fence = "````" if "```" in silent else "```"
    ok = f"\nNot reported:\n\n{fence}\n{silent.rstrip()}\n{fence}\n" if silent else ""
    file = f"\n[The rule's file]({SOURCE}rules/{rule.path.relative_to(rules_folder()).as_posix()}), whose examples are its tests.\n"
    return heading + facts + _autolinked(rule_page(rule)) + ok + silence + file


def _autolinked(text: str) -> str:
    """Return Markdown whose bare addresses are links."""
    return re.sub(r"(?<![<(\"`])\bhttps?://[^\s)>,;`]+[^\s)>,;`.]", r"<\g<0>>", text)


def rules_index(rules: tuple[Rule, ...]) -> str:
    """Return the index of the rules, by family."""
    lines = ["# Rules", "", f"{len(rules)} rules. `mpslint explain ID` prints one in the terminal.", ""]
    for digit, title in platform_data("rule_pages")["families"].items():
        family = [rule for rule in rules if rule.id[-3] == digit]
        if family:
            lines += [f"## {digit}xx {title}", "", "| id | name | what | worst | fix |", "| --- | --- | --- | --- | --- |"]
            lines += [f"| [{r.id}]({r.id}.md) | {r.name} | {r.title} | {worst_of(r).value} | {fix_word(r) or 'none'} |" for r in family]
            lines.append("")
    return "\n".join(lines)


def configuration_page() -> str:
    """Return the reference of the configuration, from its schema."""
    lines = [
        "# Configuration",
        "",
        "Keys of `[tool.mpslint]` in `pyproject.toml`, or of `mpslint.toml`; the file nearest to a checked file applies.",
        "",
        "`--config KEY=VALUE` changes one key for one run. `mpslint config FILE` prints the effective configuration and its sources.",
        "",
    ]
    lines += ["| key | type | what it means |", "| --- | --- | --- |"]
    target = {}
    for key, schema in json.loads((ROOT / "schemas" / "mpslint.schema.json").read_text(encoding="utf-8"))["properties"].items():
        kind = {"array": "list of strings", "object": "table"}.get(schema["type"], schema["type"])
        if "enum" in schema:
            kind = ", ".join(f"`{word}`" for word in schema["enum"])
        lines.append(f"| `{key}` | {kind} | {schema['description']} |")
        if key == "target":
            target = schema["properties"]
    lines += ["", "## `[tool.mpslint.target]`", "", "| key | what it means |", "| --- | --- |"]
    lines += [f"| `{name}` | {schema['description']} |" for name, schema in target.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the pages, build the site from them, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="the folder of the site")
    parser.add_argument("--pages", action="store_true", help="write the Markdown pages only")
    given = parser.parse_args()
    if given.pages:
        write_pages(given.output)
        return 0
    from try_page import write_page

    with tempfile.TemporaryDirectory() as temporary:
        pages = Path(temporary) / "docs"
        write_pages(pages)
        write_page(pages / "try")  # Pyodide and mpslint: the page runs by itself
        shutil.copy2(DOCS / "mkdocs.yml", Path(temporary) / "mkdocs.yml")
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(given.output.resolve())]
        code = subprocess.run(command, cwd=temporary, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}).returncode
    return code


if __name__ == "__main__":
    sys.exit(main())

"""The documentation site: a page for each rule and no link that leads nowhere. CI builds it whole, with its own check of links."""

from __future__ import annotations

import html
import importlib.util
import re
from pathlib import Path

import pytest

from mpslint.core.links import DOCUMENTATION, rule_url
from mpslint.diagnose.catalogue import TextRole, catalogue
from mpslint.rule.loading import load_rules
from mpslint.session.configuration import KEYS
from mpslint.settings.dialects import load_dialects

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Markdown pages of the site."""
    spec = importlib.util.spec_from_file_location("build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("pages")
    module.write_pages(folder)
    return folder


def test_each_rule_has_the_page_that_its_address_names(pages: Path) -> None:
    """With its versions, how to silence it, and its sources."""
    for rule in load_rules():
        assert rule_url(rule.id) == f"{DOCUMENTATION}/rules/{rule.id}/"
        page = (pages / "rules" / f"{rule.id}.md").read_text()
        assert f"# {rule.id} {rule.name}" in page
        assert f"ignore[{rule.id}]" in page
        assert "Sources:" in page
    assert rule_url("TEAM001") == ""


def test_links_between_pages_lead_somewhere(pages: Path) -> None:
    """Relative ones to a page or picture, those to the repository to a file of it."""
    links = 0
    for page in pages.rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path = link.partition("#")[0]
            links += 1
            if "/blob/main/" in path:
                assert (ROOT / path.partition("/blob/main/")[2]).exists(), (page.name, link)
            elif path and ":" not in path:
                assert (page.parent / path).exists(), (page.name, link)
    assert links > 200


def test_the_menu_names_pages(pages: Path) -> None:
    """And leaves none out but those of single rules, dialects and error texts."""
    text = (ROOT / "docs" / "mkdocs.yml").read_text()
    named = set(re.findall(r"[\w/-]+\.md", text.split("\nnav:")[1]))

    reached_from_an_index = {
        page for folder in ("rules", "dialects", "errors") for page in (pages / folder).glob("*.md") if page.stem != "index"
    }
    assert named == {str(page.relative_to(pages)) for page in {*pages.rglob("*.md")} - reached_from_an_index}


def test_every_key_of_the_configuration_is_on_its_page(pages: Path) -> None:
    """From the schema."""
    page = (pages / "configuration.md").read_text()

    assert all(f"| `{key}` |" in page for key in KEYS)


def test_each_dialect_has_a_page(pages: Path) -> None:
    """With every call, spelling and variable that it reads, and the versions of its defaults; the index leads to it."""
    index = (pages / "dialects" / "index.md").read_text()
    for dialect in load_dialects().all:
        page = html.unescape((pages / "dialects" / f"{dialect.name}.md").read_text())
        assert f"({dialect.name}.md)" in index
        for name in (*(name for call in dialect.calls for name in call.names), *dialect.environment):
            assert name in page
        for table in dialect.tables.values():
            assert all(f"`{argument}`" in page for argument in table.arguments)
            assert all(str(default.versions) in page for defaults in table.defaults.values() for default in defaults)


def test_a_default_is_shown_with_its_versions(pages: Path) -> None:
    """As the dialect's file writes it."""
    page = (pages / "dialects" / "transformers.md").read_text()

    assert "`auto` (transformers &gt;= 5)" in page


def test_an_error_text_has_a_page_that_a_search_finds_first(pages: Path) -> None:
    """Named by the text itself, boosted over the rules that mention it, with what to do; the index leads from symptoms to commands."""
    known = [one for one in catalogue().messages.values() if one.role is TextRole.CAUSE]
    page = (pages / "errors" / "out-of-memory.md").read_text()

    assert {path.stem for path in (pages / "errors").iterdir()} == {"index", *(one.id for one in known)}
    assert page.startswith("---\nsearch:\n  boost: ")
    assert "\n# RuntimeError: MPS backend out of memory\n" in page
    assert "Memory grew outside the live tensors" in page
    assert "What to do:" in page
    assert "mpslint diagnose train.log" in (pages / "errors" / "index.md").read_text()
    for one in known:
        assert not re.search(r"\{\w+\}", (pages / "errors" / f"{one.id}.md").read_text().split("## Texts")[0]), one.id

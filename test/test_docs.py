"""The documents' links lead somewhere, and the files that they name are there."""

import ast
import builtins
import re
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text())
    for path, anchor in links:
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {path}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {path}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_rendered_as_tables(page):
    """Each has a line of dashes below its head, and as many cells in every row: lines that are filled up are none."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for table in re.findall(r"(?:^ *\|.*\n)+", text, re.MULTILINE):
        rows = [re.sub(r"`[^`]*`|\\\|", "", row).strip() for row in table.splitlines()]
        assert len(rows) > 2 and re.fullmatch(r"(\| ?:?-+:? ?)+\|", rows[1]), f"{page.name}: {rows[0]}"
        assert {row.count("|") for row in rows} == {rows[1].count("|")}, f"{page.name}: {rows[0]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_of_a_page_bind_the_names_that_they_use(page):
    """A program is pasted as it stands, or after those above it on its page; each name is bound before it is used."""
    bound = set(dir(builtins))
    for code in re.findall(r"^ *```python\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL):
        names = [node for node in ast.walk(ast.parse(dedent(code))) if isinstance(node, ast.Name | ast.alias | ast.arg)]
        bound |= {name.arg for name in names if isinstance(name, ast.arg)}
        bound |= {(name.asname or name.name).partition(".")[0] for name in names if isinstance(name, ast.alias)}
        bound |= {name.id for name in names if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        bound |= {node.name for node in ast.walk(ast.parse(dedent(code))) if isinstance(node, ast.ClassDef)}
        used = {name.id for name in names if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)}
        assert used <= bound, f"{page.name}: {used - bound}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_code_that_a_page_names_exist(page):
    """They are named from the root, from src/, or from src/soft_twin/."""
    named = re.findall(r"`((?:[a-z0-9_]+/)+[a-z0-9_]+\.py)`", page.read_text())
    homes = (ROOT, ROOT / "src", ROOT / "src" / "soft_twin")
    assert [name for name in named if not any((home / name).is_file() for home in homes)] == []


def test_the_tree_in_architecture_is_the_tree_of_the_library():
    """Every folder and module at the top of src/soft_twin stands in it, and nothing that is not there."""
    tree = (
        (ROOT / "docs" / "architecture.md")
        .read_text()
        .partition("src/soft_twin/ ")[2]
        .partition("src/soft_twin_ros/")[0]
    )
    library = ROOT / "src" / "soft_twin"
    below = re.findall(r"^  (\w+)/ ", tree, re.MULTILINE)
    assert sorted(below) == sorted(path.parent.name for path in library.glob("*/__init__.py"))
    modules = set(re.findall(r"\b(\w+\.py)\b", tree))
    there = {path.name for path in library.glob("*.py")} - {"__init__.py"}
    assert there <= modules
    assert {name for name in modules - there if not list(library.rglob(name))} == set()
    lines = re.findall(r"^  (\w+)/ +(.*(?:\n {10,}.*)*)", tree, re.MULTILINE)
    named = [library / folder / inner for folder, words in lines for inner in re.findall(r"\b(\w+)/", words)]
    assert [str(path) for path in named if not path.is_dir()] == []


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text()
    assert [
        page.name for page in (ROOT / "docs").glob("*.md") if page.name not in index and page.name != "index.md"
    ] == []

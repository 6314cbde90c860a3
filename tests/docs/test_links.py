"""Every link of the documentation leads somewhere."""

from __future__ import annotations

import pytest

from tests.docs.pages import PAGES, ROOT, Page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Page) -> None:
    for link in page.links:
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, wanted = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if wanted:
            assert wanted in Page(target).anchors, link


def test_every_page_is_reached_from_the_readme() -> None:
    seen, left = set(), [Page(ROOT / "README.md")]
    while left:
        page = left.pop()
        seen.add(page.path)
        for link in page.links:
            target = (page.path.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.is_file() and target not in seen:
                left.append(Page(target))
    is_named = {path for path in (ROOT / "docs").glob("*.md")}
    assert is_named <= seen


def test_every_decision_has_a_number_of_its_own() -> None:
    pages = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert [int(path.name[:4]) for path in pages] == list(range(1, len(pages) + 1))
    for path in pages:
        assert path.read_text().startswith(f"# {int(path.name[:4])}. "), path.name

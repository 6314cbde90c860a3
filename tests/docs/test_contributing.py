"""CONTRIBUTING.md: every path in its table "Where does X go?" exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Page, rows

PAGE = Page(ROOT / "CONTRIBUTING.md")
PATH = re.compile(r"`([\w./<>*-]+(?:/|\.(?:py|md|json|test|libvirt)))`")


def named_paths() -> list[tuple[str, str]]:
    """Each path with its row. A bare file name is in the folder of the path that the row named before it."""
    found = []
    for row, *cells in rows(PAGE.section("Where does X go?"))[1:]:
        folder = Path()
        for name in PATH.findall(" ".join(cells)):
            path = folder / name if "/" not in name else Path(name)
            folder = path.parent if path.suffix else path
            found.append((row, str(path)))
    return found


@pytest.mark.parametrize(("row", "path"), named_paths())
def test_every_path_of_the_table_exists(row: str, path: str) -> None:
    pattern = re.sub(r"<\w+>", "*", path)
    folders = (ROOT, *(ROOT / name for name in ("reconciler", "poollet", "iri")))
    assert any(next(folder.glob(pattern), None) for folder in folders), f"{row}: there is no {path}"


def test_the_table_names_paths_in_every_row() -> None:
    assert len(named_paths()) > 30

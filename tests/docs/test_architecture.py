"""docs/ARCHITECTURE.md: the packages it draws are there, and import what it says they may, and nothing else of ours."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Page, rows

PAGE = Page(ROOT / "docs" / "ARCHITECTURE.md")
OURS = ("schemas", "reconciler", "poollet", "iri")
CLI = "reconciler.cli"


def table() -> dict[str, set[str]]:
    """What each package may import, as the page has it."""
    found = {}
    for name, _, may in rows(PAGE.section("Packages"))[1:]:
        named = set(re.findall(r"`([\w.]+)`", may))
        found[name.strip("`")] = set(OURS) if may == "everything" else named
    return found


def imports(package: str, without: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """Each module of ours that a module of the package imports, wherever in its text."""
    folder = ROOT / package.replace(".", "/")
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if any(is_below(name, other) for other in without):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Import(names):
                    found = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module), level=0):
                    found = [module]
                case _:
                    continue
            yield from ((path, one) for one in found if one.partition(".")[0] in OURS)


def is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def test_every_package_of_the_page_is_there_and_every_one_of_ours_on_the_page() -> None:
    for name in table():
        assert (ROOT / name.replace(".", "/") / "__init__.py").is_file()
    assert {name.partition(".")[0] for name in table()} == set(OURS)
    assert set(OURS) == {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench"}


@pytest.mark.parametrize("package", table())
def test_no_package_imports_what_the_page_does_not_allow(package: str) -> None:
    allowed = {package, *table()[package]}
    inner = tuple(other for other in table() if other != package and is_below(other, package))
    for path, name in imports(package, inner):
        assert any(is_below(name, one) for one in allowed), f"{path.relative_to(ROOT)} imports {name}"


def test_no_arrow_of_the_page_is_idle() -> None:
    for package, may in table().items():
        if package == CLI:
            continue
        inner = tuple(other for other in table() if other != package and is_below(other, package))
        used = {name for _, name in imports(package, inner)}
        for one in may:
            assert any(is_below(name, one) for name in used), f"{package} does not import {one}"


def test_the_text_explains_each_part_of_the_drawing() -> None:
    (drawing,) = [text for language, text in PAGE.blocks if "──" in text]
    text = PAGE.text.replace(drawing, "")
    for word in re.findall(r"[a-z]+(?:/[a-z*]+)*", drawing):
        assert re.search(rf"\b{re.escape(word.rstrip('*/'))}", text, re.IGNORECASE), word


def diagrams() -> dict[str, list[str]]:
    """The rooms of each package's diagram, in their order."""
    found = {}
    for _, text in PAGE.blocks:
        package, *lines = text.splitlines()
        if re.fullmatch(r"[a-z_.]+", package):
            found[package] = [
                name.strip() for line in lines for name in line.strip().partition("  ")[0].split(",")
            ]
    return found


def test_every_package_of_ours_has_a_diagram() -> None:
    assert diagrams().keys() >= set(OURS)


@pytest.mark.parametrize("package", diagrams())
def test_a_diagram_shows_every_room_of_its_package(package: str) -> None:
    folder = ROOT / package.replace(".", "/")
    assert sorted(diagrams()[package]) == sorted(path.parent.name for path in folder.glob("*/__init__.py"))

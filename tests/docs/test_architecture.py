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
    """The rooms of each package's diagram, in their order. Lines that are indented deeper continue a room's line."""
    found = {}
    for _, text in PAGE.blocks:
        package, *lines = text.splitlines()
        if re.fullmatch(r"[a-z_.]+", package):
            rooms = [line.strip().partition("  ")[0] for line in lines if re.match(r"  \S", line)]
            found[package] = [name.strip() for room in rooms for name in room.split(",")]
    return found


def test_every_package_of_ours_has_a_diagram() -> None:
    assert diagrams().keys() >= set(OURS)


@pytest.mark.parametrize("package", diagrams())
def test_a_diagram_shows_every_room_of_its_package(package: str) -> None:
    folder = ROOT / package.replace(".", "/")
    assert sorted(diagrams()[package]) == sorted(path.parent.name for path in folder.glob("*/__init__.py"))


def placements() -> dict[str, str]:
    """By which words the page recognizes the functions of each room."""
    listed = rows(PAGE.section("Where does this function belong?"))[1:]
    return {room.strip("`"): words for room, words, _ in listed}


def test_a_function_of_any_room_can_be_placed() -> None:
    drawn = {f"{package}.{room}" for package, names in diagrams().items() for room in names}
    # A package itself is listed where it has modules of its own beside its rooms.
    assert drawn <= placements().keys() <= drawn | {"schemas", "poollet", "iri"}


@pytest.mark.parametrize("room", placements())
def test_a_room_defines_the_types_that_it_is_recognized_by(room: str) -> None:
    types = set(re.findall(r"`([A-Z]\w*[a-z]\w*)`", placements()[room]))
    defined: set[str] = set()
    for path in sorted((ROOT / room.replace(".", "/")).rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            match node:
                case ast.ClassDef(name):
                    defined.add(name)
                case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
                    defined.add(name)
    assert types <= defined, types - defined


def steps() -> dict[str, list[list[str]]]:
    """The rooms of each package, from those that import to those that are imported."""
    (block,) = [text for _, text in PAGE.blocks if text.startswith("schemas ")]
    lines = [line.split(maxsplit=1) for line in block.splitlines()]
    return {name: [step.strip().split(", ") for step in chain.split("→")] for name, chain in lines}


@pytest.mark.parametrize("package", steps())
def test_no_room_imports_one_to_its_left(package: str) -> None:
    chain = steps()[package]
    for position, names in enumerate(chain):
        left = [f"{package}.{name}" for step in chain[:position] for name in step]
        for name in names:
            for path, imported in imports(f"{package}.{name}", ()):
                assert not any(is_below(imported, one) for one in left), f"{path} imports {imported}"


def room_of(path: Path) -> str:
    """The room in the table that a module is in; a package for modules beside its rooms."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return max((room for room in placements() if is_below(name, room)), key=len, default="reconciler")


def listed_rooms(heading: str) -> set[str]:
    """The rooms in the first column of a section's table."""
    listed = rows(PAGE.section(heading))[1:]
    return {name for room, *_ in listed for name in re.findall(r"`([\w.]+)`", room)}


def test_the_rooms_that_know_commits_are_those_of_the_page() -> None:
    git = [f"reconciler.gitstore.{name}" for name in ("repo", "store", "objects")]
    found = {
        room_of(path)
        for package in OURS
        for path, name in imports(package, ("reconciler.gitstore",))
        if any(is_below(name, one) for one in git)
    }
    # The first table of the section; the second one is about files.
    heading = "Who knows commits"
    listed = PAGE.section(heading).partition("Which files")[0]
    assert {room.strip("`") for room, _ in rows(listed)[1:]} == found


def test_the_rooms_with_locks_are_those_of_the_page() -> None:
    lock = re.compile(r"\bthreading\.(?:R?Lock|Condition|Semaphore)\(")
    found = {
        room_of(path)
        for package in OURS
        for path in (ROOT / package).rglob("*.py")
        if lock.search(path.read_text("utf-8"))
    }
    assert listed_rooms("Threads and locks") == found


def types_taken(path: Path) -> Iterator[set[str]]:
    """For each function of a module, the names in the annotations of its parameters."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            hints = [one.annotation for one in (*node.args.args, *node.args.kwonlyargs) if one.annotation]
            yield {part.id for hint in hints for part in ast.walk(hint) if isinstance(part, ast.Name)}


def test_functions_that_take_the_type_of_a_room_are_in_that_room() -> None:
    taken: dict[str, list[str]] = {}
    for package in OURS:
        for path in (ROOT / package).rglob("*.py"):
            for names in types_taken(path):
                for name in names:
                    taken.setdefault(name, []).append(room_of(path))
    listed = rows(PAGE.section("What a function works in"))[1:]
    for types, room in listed:
        for name in re.findall(r"`(\w+)`", types):
            found = taken[name]
            assert found.count(room.strip("`")) >= len(found) * 4 / 5, name

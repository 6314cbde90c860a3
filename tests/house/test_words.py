"""One word for one concept: the rules of docs/glossary.md for names, messages, comments and pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.house.sources import ROOT, Name, Text, modules, names, place_of, texts
from tests.house.words import (
    BANNED_IN_NAMES,
    BANNED_IN_TEXTS,
    CLASSES_ALLOWED,
    COVERED,
    NO_PARTICIPLES,
    PACKAGES,
    PAGES,
    PARTICIPLE,
    PARTICIPLES,
    TEXTS_ALLOWED,
)


def parts_of(name: str) -> set[str]:
    """`not_gone_by` and `NotGoneBy`: not, gone, by, and each pair of neighbors."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    words = [word for word in snake.split("_") if word]
    return {*words, *(f"{one}_{next}" for one, next in pairwise(words))}


def is_bare_participle(name: str) -> bool:
    word = name.strip("_")
    if word in NO_PARTICIPLES:
        return False
    return word in PARTICIPLES or PARTICIPLE.fullmatch(word) is not None


def faults_of_name(name: Name) -> list[str]:
    faults = [f"contains {word}" for word in sorted(parts_of(name.text) & BANNED_IN_NAMES)]
    if name.owner == "function" and is_bare_participle(name.text):
        faults.append("is a participle; name the function by a verb")
    return faults


# Nearly every text contains none of them, which one search finds out.
ANY_BANNED = re.compile("|".join(f"(?:{banned})" for banned in BANNED_IN_TEXTS), re.IGNORECASE)


def faults_of_text(text: Text) -> Iterator[tuple[str, str]]:
    if ANY_BANNED.search(text.text) is None:
        return
    for banned, cure in BANNED_IN_TEXTS.items():
        if re.search(banned, text.text, re.IGNORECASE):
            yield banned, f"{text.place}: {text.text[:90]!r} contains {banned!r}; write: {cure}"


def texts_of_page(page: Path) -> Iterator[Text]:
    """The lines outside of code."""
    is_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield Text(place_of(page, number), re.sub(r"`[^`]*`", "", line))


@pytest.mark.parametrize("folder", COVERED)
def test_names_use_the_words_of_the_glossary(folder: str) -> None:
    found = [name for path in modules(folder) for name in names(path)]
    assert found
    faults = [
        f"{name.place}: {name.owner} {name.text} {fault}" for name in found for fault in faults_of_name(name)
    ]
    assert not faults, "\n".join(faults)


def test_texts_use_the_words_of_the_glossary() -> None:
    found = [
        text
        for folder in COVERED
        if folder != "tests/house"
        for path in modules(folder)
        for text in texts(path)
    ]
    pages = {
        page for pattern in PAGES for page in ROOT.glob(pattern) if page.is_file() and page.suffix != ".png"
    }
    found += [text for page in sorted(pages) for text in texts_of_page(page)]
    faults = [(text, *fault) for text in found for fault in faults_of_text(text)]
    excused = {(text.place.partition(":")[0], banned) for text, banned, _ in faults} & TEXTS_ALLOWED.keys()
    rest = [fault for text, banned, fault in faults if (text.place.partition(":")[0], banned) not in excused]
    assert not rest, "\n".join(rest)
    assert excused == TEXTS_ALLOWED.keys(), "remove exceptions that no longer occur"


def test_a_public_class_name_is_defined_once() -> None:
    places = defaultdict(list)
    for package in PACKAGES:
        for path in modules(package):
            for name in names(path):
                if name.owner == "class" and not name.text.startswith("_"):
                    places[name.text].append(name.place)
    repeated = {name: found for name, found in places.items() if len(found) > 1}
    new = [f"{name}: {', '.join(found)}" for name, found in repeated.items() if name not in CLASSES_ALLOWED]
    assert not new, "\n".join(new)
    assert repeated.keys() >= CLASSES_ALLOWED.keys(), "remove exceptions that no longer occur"


@pytest.mark.parametrize(
    ("name", "owner", "is_faulty"),
    [
        ("apply_report", "function", False),
        ("told", "function", True),
        ("_settled", "function", True),
        ("need", "function", False),
        ("needed", "function", True),
        ("needed", "variable", False),
        ("is_gone_by", "function", True),
        ("GoneBy", "class", True),
        ("standstill", "module", True),
    ],
)
def test_a_banned_name_is_found(name: str, owner: str, is_faulty: bool) -> None:
    assert bool(faults_of_name(Name("x.py:1", owner, name))) == is_faulty


@pytest.mark.parametrize(
    ("text", "is_faulty"),
    [
        ("the machine is created again", False),
        ("the machine is made anew", True),
        ("there is no pool of that name", False),
        ("this is no pool", True),
        ("the pool is no longer there", False),
        ("a letter that stands for a number", False),
        ("what was reconciled last stands", True),
        ("Nobody knows", True),
        ("coloured", False),
        ("the colour of a line", True),
    ],
)
def test_a_banned_text_is_found(text: str, is_faulty: bool) -> None:
    assert bool(list(faults_of_text(Text("x.py:1", text)))) == is_faulty

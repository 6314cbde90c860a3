"""docs/ARCHITECTURE.md walks with one Machine from its commit to its status: each function that it names is called, in that order."""

from __future__ import annotations

import functools
import importlib
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType

import pytest

from tests.docs.pages import ROOT, Page
from tests.poollet.fleet import SETTINGS, machine, machine_class
from tests.poollet.simulation import Simulation

PAGE = Page(ROOT / "docs" / "ARCHITECTURE.md")
COMMIT_AT = 6  # rounds, after which a fleet without machines has nothing left to write


def walk() -> list[str]:
    return re.findall(
        r"`((?:schemas|reconciler|poollet|iri)\.[\w.]+)`", PAGE.section("A walk with one Machine")
    )


def find_code(name: str) -> CodeType:
    """The code of `package.module.function` or `package.module.Class.method`."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        found = functools.reduce(getattr, parts[end:], found)
        code = getattr(getattr(found, "__wrapped__", found), "__code__", None)
        assert isinstance(code, CodeType), f"{name} is not a function"
        return code
    raise AssertionError(f"there is no module of {name}")


@contextmanager
def calls_of(wanted: frozenset[CodeType]) -> Iterator[list[CodeType]]:
    """The calls of these functions by any thread, in order."""
    calls: list[CodeType] = []

    def notice(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in wanted:
            calls.append(frame.f_code)

    set_profile: tuple[Callable[..., None], ...] = (threading.setprofile, sys.setprofile)
    for each in set_profile:
        each(notice)
    try:
        yield calls
    finally:
        for each in set_profile:
            each(None)


@pytest.mark.parametrize("name", walk())
def test_every_function_of_the_walk_exists(name: str) -> None:
    assert find_code(name)


def test_the_walk_happens_in_the_order_of_the_page() -> None:
    simulation = Simulation(
        ("host-1",),
        {
            0: {"gitvirt.yaml": SETTINGS, "classes/small.yaml": machine_class()},
            COMMIT_AT: {"machines/web-1.yaml": machine("web-1")},
        },
    )
    for _ in range(COMMIT_AT):
        simulation.round()
    codes = [find_code(name) for name in walk()]
    with calls_of(frozenset(codes)) as calls:
        simulation.settle()
    assert simulation.outcome()["Machine/default/web-1"] == ("Running", "On", ())
    rest = iter(calls)
    for name, code in zip(walk(), codes, strict=True):
        assert code in rest, f"{name} is not called after the functions before it"

"""Many names in few words, and never a name that is not there."""

from __future__ import annotations

import pytest

from reconciler.cli.plans.name_ranges import join_keys, join_names
from schemas.kinds import Key, Kind


@pytest.mark.parametrize(
    ("names", "want"),
    [
        pytest.param(["web-1"], "web-1", id="one"),
        pytest.param(["web-2", "web-1"], "web-1, web-2", id="two are listed"),
        pytest.param(["web-11", "web-9", "web-10"], "web-9 .. web-11", id="as people count"),
        pytest.param(["web-1", "web-2", "web-4", "db"], "db, web-1, web-2, web-4", id="a gap ends a range"),
        pytest.param(["a1", "a2", "a3", "b4", "b5"], "a1 .. a3, b4, b5", id="another prefix"),
        pytest.param(["w-1", "w-02", "w-03", "w-04"], "w-1, w-02 .. w-04", id="leading zeros are text"),
        pytest.param(["a", "a0", "a1"], "a, a0, a1", id="a name without a number is in no range"),
        pytest.param(["x-1", "x-1"], "x-1", id="each once"),
    ],
)
def test_names_are_joined(names: list[str], want: str) -> None:
    assert join_names(names) == want


def test_what_is_left_out_is_counted_by_names() -> None:
    names = [f"m{number}x" for number in range(20)] + ["z1", "z2", "z3"]
    assert join_names(names, most=2) == "m0x, m1x and 21 more"


def test_kind_and_namespace_are_named_once() -> None:
    keys = [Key(Kind.MACHINE, "shop", f"web-{number}") for number in (1, 2, 3)]
    assert join_keys(keys) == "Machine/shop/web-1 .. web-3"
    assert join_keys(keys[:1]) == "Machine/shop/web-1"
    mixed = [Key(Kind.MACHINE, "a", "m"), Key(Kind.MACHINE, "b", "m")]
    assert join_keys(mixed) == "Machine/a/m, Machine/b/m"

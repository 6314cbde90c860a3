"""Paths that macOS and Windows cannot check out beside each other."""

from __future__ import annotations

import pytest

from schemas.validate.path_collisions import collisions

ACUTE, COMBINED = "\N{LATIN SMALL LETTER E WITH ACUTE}", "e\N{COMBINING ACUTE ACCENT}"


@pytest.mark.parametrize(
    ("paths", "want"),
    [
        pytest.param((), [], id="nothing"),
        pytest.param(("a.yaml", "b.yaml", "c/a.yaml"), [], id="different names"),
        pytest.param(("web.yaml", "Web.yaml"), ["Web.yaml"], id="case"),
        pytest.param((f"{COMBINED}.yaml", f"{ACUTE}.yaml"), [f"{COMBINED}.yaml"], id="the form of an accent"),
        pytest.param(("a/x.yaml", "A/x.yaml"), ["A"], id="folders, and not what lies in them"),
        pytest.param(("a/x.yaml", "A"), ["A"], id="a file and a folder"),
        pytest.param(("a/x.yaml", "b/X.yaml"), [], id="in different folders"),
        pytest.param(("x/y", "X/Y", "x/Y"), ["X", "x/Y"], id="at two levels"),
    ],
)
def test_colliding_paths_are_named_once(paths: tuple[str, ...], want: list[str]) -> None:
    assert [each.file for each in collisions(paths)] == want
    assert {each.code for each in collisions(paths)} <= {"GV813"}

"""Label selectors: what each form selects, and what is refused."""

from __future__ import annotations

import argparse

import pytest

from reconciler.cli.objects.labels import parse_labels, select_all

LABELS = {"app": "web", "tier": "front", "example.org/x": "1", "empty": ""}


@pytest.mark.parametrize(
    ("text", "is_selected"),
    [
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("app!=db", True),
        ("app!=web", False),
        ("none!=x", True),
        ("app in (db,web)", True),
        ("app in (db, api)", False),
        ("app in(web)", True),
        ("app notin (db,api)", True),
        ("app notin (web)", False),
        ("none notin (x)", True),
        ("app", True),
        ("none", False),
        ("!none", True),
        ("! app", False),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        ("tier in (a,front),!none,app!=db", True),
        ("example.org/x=1", True),
        ("empty=", True),
        ("app=", False),
    ],
)
def test_a_selector_selects(text: str, is_selected: bool) -> None:
    assert select_all(parse_labels(text), LABELS) is is_selected


@pytest.mark.parametrize(
    "text", ["", "=web", "!", "app in web", "a b=c", "-x=1", "app=web,", "a in (b", "!=x"]
)
def test_what_is_not_a_selector_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="write KEY=VALUE"):
        parse_labels(text)

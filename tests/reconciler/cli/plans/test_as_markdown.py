"""Markdown of a plan shows words of people and hosts as they are: they form no markup, mention or link."""

from __future__ import annotations

import pytest

from reconciler.cli.plans import as_markdown


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("plain words", "plain words"),
        ("ask @ada", "ask &#64;ada"),
        ("see #12", "see \\#12"),
        ("<b>", "&lt;b&gt;"),
        ("a|b", "a\\|b"),
        ("![x](y)", "\\!\\[x\\](y)"),
        ("a\\b", "a\\\\b"),
    ],
)
def test_signs_of_markup_are_escaped_once(text: str, want: str) -> None:
    assert as_markdown._plain(text) == want

"""`gitvirt help TOPIC`: verbs first, then pages and problem codes, and a near miss is suggested."""

from __future__ import annotations

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from reconciler.cli.topics import folder

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("topic", "want"),
    [
        ("concepts", "Concepts\n"),
        ("Tutorial", "gitvirt init fleet"),
        ("gv301", "GV301: "),
        ("GV102", "What to do: "),
    ],
)
def test_shows(topic: str, want: str, capsys: Capture) -> None:
    assert main(["help", topic]) == Exit.OK
    assert want in capsys.readouterr().out


def test_every_page_is_shown_and_links_are_commands(capsys: Capture) -> None:
    for page in folder().iterdir():
        if page.name.endswith(".md"):
            assert main(["help", page.name]) == Exit.OK
    said = capsys.readouterr().out
    assert "(gitvirt help settings)" in said
    assert "(gitvirt help plan.md)" in said  # `help plan` is the verb's own


@pytest.mark.parametrize(
    ("topic", "cure"),
    [
        ("concpets", "did you mean `gitvirt help concepts`?"),
        ("qqqq", "topics: "),
        ("validat", "gitvirt help validate"),
    ],
)
def test_a_near_miss_is_suggested(topic: str, cure: str, capsys: Capture) -> None:
    assert main(["help", topic]) == Exit.USAGE
    assert cure in capsys.readouterr().err

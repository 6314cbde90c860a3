"""What the demo says fits the terminal, however narrow; on a pipe each thing stays one line."""

from __future__ import annotations

import io

import pytest

from reconciler.cli.demo.console import visible_text
from reconciler.cli.demo.hosts.libvirt import LibvirtHosts
from reconciler.cli.demo.hosts.simulated import SimulatedHosts
from reconciler.cli.demo.scenario import NEXT
from reconciler.cli.demo.screen import DemoScreen
from reconciler.cli.terminal import Terminal, width


class Looked(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def draw_lines(stream: io.StringIO) -> list[str]:
    screen = DemoScreen(Terminal(stream, {"TERM": "xterm"}))
    for title in (SimulatedHosts.title, LibvirtHosts.title):
        screen.say(title)
    screen.quote("* 4087792 gitvirt: " + "a commit with a long subject " * 5)
    for command, about in NEXT:
        screen.suggest(command, about)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("columns", [44, 60, 80, 120, 200])
def test_nothing_is_wider_than_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = draw_lines(Looked())
    assert max(map(width, lines)) < columns
    assert any("gitvirt demo --keep" in line for line in lines)
    text = " ".join(" ".join(lines).replace("\x1b[1m", "").replace("\x1b[0m", "").split())
    assert SimulatedHosts.title in text
    assert all(about in text for _, about in NEXT)


def test_on_a_pipe_each_thing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = draw_lines(io.StringIO())
    assert lines.count("") == 2
    assert len(lines) == 2 + 2 + 1 + len(NEXT)
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize(
    ("id", "raw", "want"),
    [
        ("lines", "a\r\nb\r\n", ["a", "b"]),
        ("written over", "loading\rdone\r\n", ["done"]),
        ("empty ones", "\r\n\r\na  \r\n \r\n", ["a"]),
        ("control characters", "a\x07b\n", ["a\\x07b"]),
    ],
)
def test_a_console_as_a_terminal_shows_it(id: str, raw: str, want: list[str]) -> None:
    assert visible_text(raw) == want

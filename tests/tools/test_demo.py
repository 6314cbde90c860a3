"""`gitvirt demo` as a newcomer sees it: it runs to its end, and leaves nothing, however it ends."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.demo.screen import clip_line
from reconciler.cli.terminal import width
from tests.tools.demo import PATIENCE_SECONDS, on_a_terminal, playing

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as folder:  # short, for the paths of sockets
        yield Path(folder)


@pytest.mark.early
def test_the_demo_shows_a_fleet_from_its_first_commit_to_a_host_that_fails(folder: Path) -> None:
    with playing(folder) as demo:
        assert demo.end() == 0, demo.said
        for part in (
            "machine default/web-1: Running on rack-",
            "All machines run after",
            "web-3 runs on rack-",
            "The reconciler noticed after",
            "is back after",
            "web-3 was ordered to stop after",
            "the same machine, with its disk",
            "Gone after",
            "$ hostname\n  web-1\n",
            "Ada: add web-3",
            "DELETE web-3",
            "What to try next",
        ):
            assert part in demo.said, demo.said
        assert "Traceback" not in demo.said
        demo.assert_nothing_is_left()


@pytest.mark.parametrize(
    "moment",
    ["A fleet is", "pool rack-", pytest.param("The reconciler noticed after", marks=pytest.mark.long)],
)
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 128 + signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)]
)  # fmt: skip
def test_an_interrupted_demo_leaves_nothing(
    folder: Path, number: signal.Signals, code: int, moment: str
) -> None:
    with playing(folder) as demo:
        demo.until(moment)
        demo.process.send_signal(number)
        assert demo.end() == code, demo.said
        assert "Traceback" not in demo.said
        is_announced = "The demo is stopped. Its processes and its folder are removed" in demo.said
        assert is_announced is (number is not signal.SIGKILL)
        demo.assert_nothing_is_left()


@pytest.mark.parametrize("columns", range(1, 40))
def test_a_line_is_cut_to_the_terminal_with_whole_colours(columns: int) -> None:
    line = "rack-a1  \x1b[32;1mReady\x1b[0m  \x1b[31m\u2588\u2588\u2591\x1b[0m  12%"
    cut = clip_line(line, columns)
    assert width(cut) <= columns
    assert width(line) > columns or cut == line
    assert cut.count("\x1b[0m") >= cut.count("\x1b[3") or "\x1b" not in cut


def test_on_a_terminal_a_picture_is_redrawn_in_place(folder: Path) -> None:
    with on_a_terminal(folder, 80, 24) as (demo, terminal):
        terminal.until(lambda text: ("█" in text or "░" in text) and text.count("\x1b[J") > 3)
        demo.process.send_signal(signal.SIGINT)
        terminal.until_closed()
        assert demo.process.wait(PATIENCE_SECONDS) == 128 + signal.SIGINT
        assert "Traceback" not in terminal.said
        demo.assert_nothing_is_left()

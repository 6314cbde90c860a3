"""Signals while a Secret is open in an editor: the process ends, and nothing of the readable text remains."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from iri.memory_mounts import is_in_memory
from tests.reconciler.cli.verbs.conftest import GITVIRT, gitvirt
from tests.reconciler.cli.verbs.test_secret import Keys, create, keys, secret_text

__all__ = ["keys"]
PATIENCE_SECONDS = 120.0
# As vi does, it saves what it has beside the text when it is told to end.
EDITOR = """#!/bin/sh
trap 'cp "$1" "$1.swap"; exit 1' HUP INT QUIT TERM
echo "$1" > {seen}.new
mv {seen}.new {seen}
while :; do sleep 0.05; done
"""


@dataclass
class OpenEdit:
    """`gitvirt secret edit` on a terminal of its own, whose other end is `person`, with the text open in the editor."""

    process: subprocess.Popen[bytes]
    person: int
    text: Path

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def press(self, key: bytes) -> None:
        os.write(self.person, key)

    def hang_up(self) -> None:
        os.close(self.person)
        self.person = -1


@pytest.fixture
def open_edit(fleet: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenEdit]:
    assert create("seed", monkeypatch) == 0
    seen, script = tmp_path / "seen", tmp_path / "editor"
    script.write_text(EDITOR.format(seen=seen))
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(script))
    person, terminal = pty.openpty()
    # The terminal controls the process, so that its keys and its end are signals.
    words = ["setsid", "--ctty", *GITVIRT, "secret", "edit", "seed"]
    process = subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal, cwd=fleet)
    os.close(terminal)
    wait_for(lambda: seen.exists() or process.poll() is not None)
    assert process.poll() is None, os.read(person, 10_000)
    found = OpenEdit(process, person, Path(seen.read_text().strip()))
    yield found
    process.kill()
    process.wait()
    if found.person >= 0:
        os.close(found.person)


def wait_for(is_so: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.02)


ENDS: dict[str, tuple[Callable[[OpenEdit], None], signal.Signals]] = {
    "SIGHUP": (lambda edit: edit.send(signal.SIGHUP), signal.SIGHUP),
    "SIGTERM": (lambda edit: edit.send(signal.SIGTERM), signal.SIGTERM),
    "SIGINT": (lambda edit: edit.send(signal.SIGINT), signal.SIGINT),
    "Ctrl-C": (lambda edit: edit.press(b"\x03"), signal.SIGINT),
    "Ctrl-Backslash": (lambda edit: edit.press(b"\x1c"), signal.SIGQUIT),
    "a closed terminal": (lambda edit: edit.hang_up(), signal.SIGHUP),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_signal_removes_the_readable_text(name: str, open_edit: OpenEdit, fleet: Path) -> None:
    end, number = ENDS[name]
    folder = open_edit.text.parent
    assert is_in_memory(folder)
    before = secret_text(fleet, "seed")
    end(open_edit)
    assert open_edit.process.wait(PATIENCE_SECONDS) == 128 + number
    assert not folder.exists()
    assert secret_text(fleet, "seed") == before


def test_a_second_signal_does_not_hold_up_the_removal(open_edit: OpenEdit) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
        open_edit.send(number)
    assert open_edit.process.wait(PATIENCE_SECONDS) in (128 + signal.SIGTERM, 128 + signal.SIGHUP)
    assert not open_edit.text.parent.exists()


def test_the_next_edit_works(open_edit: OpenEdit, monkeypatch: pytest.MonkeyPatch) -> None:
    open_edit.send(signal.SIGTERM)
    open_edit.process.wait(PATIENCE_SECONDS)
    monkeypatch.setenv("EDITOR", "sed -i s/correct/wrong/")
    assert gitvirt("secret", "edit", "seed") == 0

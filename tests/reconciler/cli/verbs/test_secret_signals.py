"""Signals while a Secret is open in an editor: Ctrl-C is the editor's, as with Git; others end the process, and nothing of the readable text
remains."""

from __future__ import annotations

import os
import pty
import select
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
# As vi does, it saves what it has beside the text when it is told to end, and goes on after Ctrl-C. It ends by itself when {seen}.done is there.
EDITOR = """#!/bin/sh
trap 'cp "$1" "$1.swap"; touch {seen}.heard; exit 1' HUP TERM
trap 'touch {seen}.pressed' INT QUIT
echo "$1" > {seen}.new
mv {seen}.new {seen}
until [ -e {seen}.done ]; do sleep 0.05; done
sed -i s/correct/wrong/ "$1"
cat {seen}.done >> "$1"
"""


@dataclass
class OpenEdit:
    """`gitvirt secret edit` on a terminal of its own, whose other end is `person`, with the text open in the editor."""

    process: subprocess.Popen[bytes]
    person: int
    text: Path
    seen: Path

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def press(self, key: bytes) -> None:
        os.write(self.person, key)

    def end_editor(self, more: str = "") -> None:
        """Each time it is opened, with more text at the end."""
        done = self.seen.with_name("seen.done")
        done.with_name("fresh").write_text(more)
        done.with_name("fresh").replace(done)

    @property
    def was_pressed(self) -> bool:
        """Whether a key of the terminal reached the editor."""
        return self.seen.with_name("seen.pressed").exists()

    def read_until(self, want: bytes) -> None:
        """What the person sees."""
        shown, ends = b"", time.monotonic() + PATIENCE_SECONDS
        while want not in shown:
            ready, _, _ = select.select([self.person], [], [], max(0.0, ends - time.monotonic()))
            assert ready, shown
            try:
                shown += os.read(self.person, 10_000)
            except OSError:  # its other end is closed
                pytest.fail(f"the process ended: {shown!r}")

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
    found = OpenEdit(process, person, Path(seen.read_text().strip()), seen)
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


@pytest.mark.parametrize("key", [b"\x03", b"\x1c"], ids=["Ctrl-C", "Ctrl-Backslash"])
def test_a_key_that_the_editor_takes_ends_nothing(key: bytes, open_edit: OpenEdit, fleet: Path) -> None:
    before = secret_text(fleet, "seed")
    open_edit.press(key)
    wait_for(lambda: open_edit.was_pressed or open_edit.process.poll() is not None)
    for number in (signal.SIGINT, signal.SIGQUIT):
        open_edit.send(number)
    open_edit.end_editor()
    open_edit.read_until(b"is changed")
    assert open_edit.process.wait(PATIENCE_SECONDS) == 0
    assert not open_edit.text.parent.exists()
    assert secret_text(fleet, "seed") != before


@pytest.mark.parametrize(
    ("key", "number"), [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)], ids=["Ctrl-C", "Ctrl-Backslash"]
)
def test_a_key_at_a_question_removes_the_readable_text(
    key: bytes, number: signal.Signals, open_edit: OpenEdit, fleet: Path
) -> None:
    before = secret_text(fleet, "seed")
    open_edit.end_editor("not: YAML: at all\n")
    open_edit.read_until(b"Type yes: ")
    assert open_edit.text.exists()
    open_edit.press(key)
    assert open_edit.process.wait(PATIENCE_SECONDS) == 128 + number
    assert not open_edit.text.parent.exists()
    assert secret_text(fleet, "seed") == before


def test_the_person_sees_where_the_readable_text_is(open_edit: OpenEdit) -> None:
    open_edit.read_until(f"the readable text is in {open_edit.text.parent}, ".encode())


def test_an_editor_that_no_terminal_ends_hears_the_signal(
    fleet: Path, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal of its own the editor would hear from the kernel that the first process of the session is gone."""
    assert create("seed", monkeypatch) == 0
    seen, script = tmp_path / "seen", tmp_path / "editor"
    script.write_text(EDITOR.format(seen=seen))
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", f"true; {script}")
    words = [*GITVIRT, "secret", "edit", "seed"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, cwd=fleet)
    wait_for(lambda: seen.exists() or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    try:
        wait_for(seen.with_name("seen.heard").exists)
    finally:
        seen.with_name("seen.done").touch()  # it ends in any case
    assert not Path(seen.read_text().strip()).parent.exists()


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

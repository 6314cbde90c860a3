"""A private libvirtd answers, is separate from the machine, and ends with its holder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iri.errors import Unavailable
from iri.libvirt.private_libvirtd.private_libvirtd import PrivateLibvirtd

PLACES = [Path(place, "libvirt") for place in ("/etc", "/run", "/var/lib", "/var/cache", "/var/log")]
PATIENCE_SECONDS = 60.0
HOLDER = """
import sys, time
from pathlib import Path
from iri.libvirt.private_libvirtd.private_libvirtd import PrivateLibvirtd
held = PrivateLibvirtd(Path(sys.argv[1]))
held.start()
while not held.is_answering():
    time.sleep(0.02)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="lv-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)


def processes_of(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words and not words.startswith(f"{sys.executable} -c"):
            found.append(words)
    return found


def await_end_of(folder: Path) -> None:
    until(lambda: not processes_of(folder))


def test_private_libvirtd_restarts_apart_from_the_machine(folder: Path) -> None:
    there = [place for place in PLACES if place.exists()]
    bridge = f"gvr{os.getpid()}"
    libvirtd = PrivateLibvirtd(folder)
    try:
        assert not libvirtd.is_answering()
        libvirtd.start()
        until(libvirtd.is_answering)
        first = libvirtd.pid
        libvirtd.kill()
        until(lambda: not libvirtd.is_answering())
        libvirtd.start()
        until(libvirtd.is_answering)
        assert libvirtd.pid == first
        libvirtd.inside("ip", "link", "add", bridge, "type", "bridge")
        assert not Path("/sys/class/net", bridge).exists()
        # libvirt's folders are its own; all else is the machine's.
        for place in PLACES:
            assert libvirtd.inside("stat", "-c", "%d:%i", place).stdout != f"{identity(place)}\n"
        assert "libvirt-qemu" in libvirtd.inside("cat", "/etc/passwd").stdout
        assert libvirtd.inside("cat", "/etc/hosts").stdout == Path("/etc/hosts").read_text()
        assert str(folder) not in Path("/proc/self/mountinfo").read_text()
    finally:
        libvirtd.close()
    assert processes_of(folder) == []
    assert [place for place in PLACES if place.exists()] == there


def test_crash_is_reported_and_libvirtd_can_be_started_again(folder: Path) -> None:
    libvirtd = PrivateLibvirtd(folder)
    try:
        libvirtd.start()
        until(libvirtd.is_answering)
        number = (folder / "libvirtd.pid").read_text().strip()
        libvirtd.inside("sh", "-c", f"kill -ABRT {number}")
        until(
            lambda: (
                f"process {number} ended with -{signal.SIGABRT.value}" in (folder / "first.log").read_text()
            )
        )
        assert not libvirtd.is_answering()
        libvirtd.kill()
        libvirtd.start()
        until(libvirtd.is_answering)
    finally:
        libvirtd.close()


def identity(place: Path) -> str:
    if not place.exists():
        return ""
    found = place.stat()
    return f"{found.st_dev}:{found.st_ino}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_everything_ends_with_its_holder(folder: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, folder],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[4])},
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        assert any("libvirtd" in words for words in processes_of(folder))
        holder.send_signal(number)
        holder.wait(PATIENCE_SECONDS)
        await_end_of(folder)


def test_end_closes_the_descriptors_that_were_passed(folder: Path) -> None:
    reader, writer = os.pipe()
    libvirtd = PrivateLibvirtd(folder, held=(writer,))
    os.close(writer)
    os.set_blocking(reader, False)
    try:
        libvirtd.start()
        with pytest.raises(BlockingIOError):
            os.read(reader, 1)
    finally:
        libvirtd.close()
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_private_libvirtd_that_cannot_run_names_the_cause(folder: Path) -> None:
    (folder / "run").write_text("in the way of a folder")
    libvirtd = PrivateLibvirtd(folder)
    try:
        with pytest.raises(Unavailable, match=r"cannot run a private libvirtd: .*FileExistsError"):
            libvirtd.start()
    finally:
        libvirtd.close()


def test_kill_before_the_start_kills_no_process(folder: Path) -> None:
    held = PrivateLibvirtd(folder)
    try:
        held.kill()
        held.start()
        until(held.is_answering)
    finally:
        held.close()


def test_ended_private_libvirtd_has_no_guests(folder: Path) -> None:
    held = PrivateLibvirtd(folder)
    held.close()
    assert held.pid == 0
    assert held.guests() == {}

"""Mirrors that cannot be written: their folder is read-only, or its disk is full. Guests run on, and the rest comes about afterwards."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.accidents.fleet import Fleet, Member, fleet, machine, pinned
from tests.servers.mounts import small_filesystem

pytestmark = pytest.mark.early
MIB = 1 << 20


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """As a file system that its kernel has made read-only after an error. It is made so at another place first, where no process writes."""
    aside = folder.with_name(f"{folder.name}-aside")
    aside.mkdir()
    subprocess.run(["mount", "--bind", str(folder), str(aside)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(aside)], check=True)
    subprocess.run(["mount", "--bind", str(aside), str(folder)], check=True)
    subprocess.run(["umount", "-l", str(aside)], check=True)
    aside.rmdir()
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_mirror_that_cannot_be_written_holds_nothing_up_for_long() -> None:
    with fleet("a", "b") as found:
        found.run_machine("before", pinned("a"))
        uid = found.uid_of("before")
        the_host_cannot_write(found)
        the_reconciler_cannot_write(found)
        processes_start_without_a_mirror(found)
        the_disks_are_full(found)
        assert found.hosts["a"].machines[uid].detail.boots == 1


def the_host_cannot_write(found: Fleet) -> None:
    poollet = found.hosts["a"].poollet
    assert poollet is not None
    with read_only(found.hosts["a"].folder / "mirror"):
        found.commit("meanwhile", {"machines/host.yaml": machine("host", pinned("a"))})
        found.until(lambda: "Read-only file system" in poollet.log_text, "the poollet's words")
        found.run_machine("elsewhere", pinned("b"))
        assert poollet.process.poll() is None
        assert found.host_of("before") == ["a"]
    found.until(lambda: found.is_running("before", "host"), "the host's machine")


def the_reconciler_cannot_write(found: Fleet) -> None:
    control = found.reconcilers["control"]
    with read_only(found.folder / "control" / "cache"):
        found.commit("meanwhile", {"machines/control.yaml": machine("control", pinned("b"))})
        found.until(lambda: "cannot reconcile trouble=mirror" in control.log_text, "the reconciler's words")
        assert control.process.poll() is None
        assert "Read-only file system" in control.log_text
    found.until(lambda: found.is_running("control"), "the machine")


def processes_start_without_a_mirror(found: Fleet) -> None:
    """Each says what it cannot do, and ends or tries again; a supervisor starts it again."""
    stop(found)
    with read_only(found.hosts["a"].folder / "mirror"), read_only(found.folder / "control" / "cache"):
        for member in (found.start_poollet("a"), found.start_reconciler()):
            found.until(partial(said_read_only, member), "its words")
        assert found.host_of("before") == ["a"]
    stop(found)
    found.start_poollet("a")
    found.start_reconciler()
    found.run_machine("again", pinned("a"))


def said_read_only(member: Member) -> bool:
    """Since its last start."""
    return "Read-only file system" in member.log_text[member.log_start :]


def the_disks_are_full(found: Fleet) -> None:
    """The mirror of the poollet, and that of the reconciler."""
    stop(found)
    host, control = found.hosts["a"].folder / "full", found.folder / "full"
    with small_filesystem(host, 2 * MIB), small_filesystem(control, 2 * MIB):
        settings = found.hosts["a"].folder / "poollet.yaml"
        settings.write_text(settings.read_text().replace("/a/mirror", "/a/full/mirror"))
        members = found.start_poollet("a"), found.start_reconciler(GITVIRT_CACHE=str(control))
        found.run_machine("roomy", pinned("a"))
        for folder in (host, control):
            fill(folder)
        found.commit("meanwhile", {"machines/full.yaml": machine("full", pinned("a"))})
        found.until(lambda: all("No space left" in one.log_text for one in members), "their words")
        assert [one.process.poll() for one in members] == [None, None]
        for folder in (host, control):
            (folder / "filler").unlink()
        found.until(lambda: found.is_running("full"), "the machine")
        stop(found)


def fill(folder: Path) -> None:
    with contextlib.suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(512)):
            pass


def stop(found: Fleet) -> None:
    for member in (found.hosts["a"].poollet, found.reconcilers["control"]):
        assert member is not None
        if member.process.poll() is None:
            member.kill()

"""Real guests: a deletion that is reverted in time gives back the same domain and the same disk, whoever ended meanwhile."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.accidents.fleet import SETTINGS, Fleet, fleet
from tests.accidents.test_libvirt import domains, is_running, restart
from tests.e2e.host import Host, host
from tests.e2e.manifests import LOCAL, machine
from tests.e2e.network import Place
from tests.e2e.world import CLASSES, POOL

pytestmark = [pytest.mark.early, pytest.mark.timeout(600)]
WEB = {"machines/web.yaml": machine("web", LOCAL)}
GONE = {"machines/web.yaml": None}
MARKER = "0x5a 65536 4096"  # as qemu-io writes it: a byte, where, and how often


@pytest.fixture
def made() -> Iterator[tuple[Fleet, Host]]:
    files = {
        "gitvirt.yaml": undo_time("10m"),
        "classes/micro.yaml": CLASSES,
        "pools/a.yaml": POOL.format(name="a"),
        "machines/other.yaml": machine("other"),
        **WEB,
    }
    with fleet(files=files) as found:
        repo = {"url": str(found.repo)}
        with host("a", lambda pid: Place("127.0.0.1", pid), repo) as one:
            one.start()
            found.until(lambda: is_running(found, "web") and is_running(found, "other"), "both machines")
            yield found, one


def undo_time(text: str) -> str:
    assert "{undo: 0s}" in SETTINGS
    return SETTINGS.replace("undo: 0s", f"undo: {text}")


def disk_of(one: Host, uid: str) -> Path:
    (path,) = disks_of(one, uid)
    return path


def disks_of(one: Host, uid: str) -> list[Path]:
    return list((one.folder / "volumes").glob(f"disk-{uid}-*"))


def access(disk: Path, order: str) -> str:
    """`write` or `read` the marker, of a disk that no guest has open; reading other bytes is an error."""
    done = subprocess.run(
        ["qemu-io", "-f", "qcow2", "-c", f"{order} -P {MARKER}", disk],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def is_kept(found: Fleet, one: Host, uid: str) -> bool:
    """Off, and with its domain and disk."""
    text = found.live("machines/web.yaml")
    assert "deletionTimestamp" not in text
    return "undo:" in text and uid not in one.guests and uid in domains(one) and bool(disks_of(one, uid))


def wait_for_report(found: Fleet) -> None:
    """One that begins after this call."""
    time = found.report_time("a")
    found.until(lambda: found.report_time("a") > time + 2, "a report")


def test_a_reverted_deletion_gives_back_the_domain_and_what_is_on_its_disk(made: tuple[Fleet, Host]) -> None:
    found, one = made
    uid, other, known = found.uid_of("web"), one.guests[found.uid_of("other")], sorted(domains(one))
    disk = disk_of(one, uid)
    inode = disk.stat().st_ino
    found.commit("no more web", GONE)
    found.until(lambda: is_kept(found, one, uid), "the stop")
    assert "wrote 4096/4096" in access(disk, "write")
    end_everything_once(found, one, uid)
    assert sorted(domains(one)) == known
    found.commit("Revert: no more web", {**WEB, "gitvirt.yaml": undo_time("1s")})
    found.until(lambda: is_running(found, "web") and uid in one.guests, "its return")
    assert found.uid_of("web") == uid
    assert sorted(domains(one)) == known
    assert disk_of(one, uid).stat().st_ino == inode
    assert one.guests[found.uid_of("other")] == other
    remove_for_good(found, one, uid, disk)
    assert one.guests == {found.uid_of("other"): other}
    assert not one.libvirtd.crashes()


def end_everything_once(found: Fleet, one: Host, uid: str) -> None:
    """The poollet, the runtime, then the whole host but its guests, while the machine is kept."""
    for role in ("poollet", "runtime"):
        one.processes[role].kill()
        restart(one, role)
        wait_for_report(found)
        assert is_kept(found, one, uid), role
    one.die()
    one.come_back()
    wait_for_report(found)
    assert is_kept(found, one, uid)


def remove_for_good(found: Fleet, one: Host, uid: str, disk: Path) -> None:
    """What was written is there, until the machine is deleted again and its time is over."""
    found.commit("web off", {"machines/web.yaml": machine("web", LOCAL, power="Off")})
    found.until(lambda: uid not in one.guests, "power off")
    read = access(disk, "read")
    assert "read 4096/4096" in read, read
    assert "Pattern verification failed" not in read
    found.commit("no more web, ever", GONE)
    found.until(lambda: not found.live("machines/web.yaml"), "the removal")
    assert uid not in domains(one)
    assert not disk.exists()
    assert "DELETE web, DESTROYS 1 local disk" in found.words_since("")

"""The same on real guests: what is killed in the middle of a creation, and what loses its files, creates nothing twice and ends nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.accidents.fleet import Fleet, fleet
from tests.e2e.host import Host, host
from tests.e2e.manifests import LOCAL, machine
from tests.e2e.network import Place
from tests.e2e.world import CLASSES, POOL

pytestmark = pytest.mark.early


@pytest.fixture
def made() -> Iterator[tuple[Fleet, Host]]:
    files = {"classes/micro.yaml": CLASSES, "pools/a.yaml": POOL.format(name="a")}
    with fleet(files=files) as found:
        repo = {"url": str(found.repo)}
        with host("a", lambda pid: Place("127.0.0.1", pid), repo) as one:
            one.start()
            found.until(lambda: found.has_pool("a"), "the pool")
            yield found, one


def domains(one: Host) -> list[str]:
    """The uids of all machines that libvirt knows, running or not."""
    return one.libvirtd.virsh("list", "--all", "--uuid").stdout.split()


def is_running(found: Fleet, name: str) -> bool:
    return found.state_of(name) == "Running"


def test_real_guests_are_created_once_and_outlive_everything(made: tuple[Fleet, Host]) -> None:
    found, one = made
    for role in ("poollet", "runtime"):
        kill_while_creating(found, one, role)
    lose_all_files_but_the_disks(found, one)
    assert not one.libvirtd.crashes()


def kill_while_creating(found: Fleet, one: Host, role: str) -> None:
    """As soon as libvirt knows the machine."""
    name, before = f"web-{role}", domains(one)
    found.commit(name, {f"machines/{name}.yaml": machine(name, LOCAL)})
    found.until(lambda: len(domains(one)) > len(before), "the domain")
    one.processes[role].kill()
    restart(one, role)
    found.until(lambda: is_running(found, name), name)
    assert sorted(domains(one)) == sorted([*before, found.uid_of(name)])
    assert set(one.guests) == set(domains(one))


def restart(one: Host, *roles: str) -> None:
    folder = one.folder
    commands = {
        "runtime": ("runtime", "libvirt", "--settings", f"{folder}/libvirt.yaml", "--listen", f"{folder}/s"),
        "poollet": ("poollet", "--config", f"{folder}/poollet.yaml"),
    }
    for role in roles:
        one.run(role, commands[role])


def lose_all_files_but_the_disks(found: Fleet, one: Host) -> None:
    """The mirror, consoles, and whatever else the runtime keeps beside the data of guests."""
    before = one.guests
    assert len(before) == 2
    for process in one.processes.values():
        process.cut_power()
    kept = {"volumes", "libvirt.yaml", "poollet.yaml"}
    for path in Path(one.folder).iterdir():
        if path.name in kept:
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    restart(one, "runtime", "poollet")
    found.commit("one more", {"machines/after.yaml": machine("after", LOCAL)})
    found.until(lambda: is_running(found, "after"), "one more machine")
    assert before.items() < one.guests.items()
    assert len(domains(one)) == 3
    assert is_running(found, "web-poollet")
    assert is_running(found, "web-runtime")

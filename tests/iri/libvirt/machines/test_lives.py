"""What befalls machines on real libvirt: they end by themselves, crash, are meddled with, and outlive everything."""

from __future__ import annotations

import operator
import socket
from pathlib import Path

import pytest

from iri.change import AttachVolume, DetachVolume, Resize, SetAnnotations, SetPower
from iri.errors import FailedPrecondition, NotFound, Unavailable
from iri.libvirt.settings import Settings
from iri.machine import (
    Disk,
    Image,
    MachineState,
    Power,
    RuntimeLocalDisk,
    RuntimeMachine,
)
from tests.guests.micro import READY
from tests.iri.contract.subject import OFF, devices, eventually, is_attached
from tests.iri.libvirt.machines.lab import SECONDS, Lab, condition, is_in_sync
from tests.iri.libvirt.world import console_log, local_disk, local_disks, running_runtime, with_power
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd

FOREIGN = """<domain type='qemu'><name>foreign</name><memory unit='MiB'>4</memory><os><type>hvm</type></os></domain>"""


def test_guest_that_powers_itself_off_is_started_again_with_growing_delays(
    daemon: Libvirtd, settings: Settings
) -> None:
    settings = with_power(settings, steady=6.0)
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        id = lab.running()
        loops_until_it_is_steady(lab, id)
        lab.remove(id)


def loops_until_it_is_steady(lab: Lab, id: str) -> None:
    """A busy machine takes longer now and then than a guest needs to count as steady: it begins again then."""
    boots = 1
    while (found := condition(lab.machine(id), "CrashLoop")) is None:
        boots += 1
        assert boots < 30
        lab.press(id, b"Q")
        now = boots
        lab.until(id, lambda machine, now=now: machine.detail.boots == now, "be started again")  # type: ignore[misc]
        lab.tells(id, "GuestPowerOff", boots - 1)
        lab.boots(id, boots)
    assert boots >= 4
    assert found.status == "True"
    assert "4 times in a row" in found.message
    lab.until(id, lambda machine: condition(machine, "CrashLoop") is None, "be steady")


def test_crashed_guest_is_started_again(lab: Lab) -> None:
    id = lab.running()
    lab.daemon.kill_guest(id)
    lab.until(id, lambda machine: machine.detail.boots == 2, "be started again")
    lab.tells(id, "Crash")
    lab.reaches(id, MachineState.RUNNING)


def test_guest_that_reboots_stays_running(lab: Lab) -> None:
    id = lab.running()
    lab.press(id, b"R")
    eventually(
        lambda: console_log(lab.settings, id).count(READY), lambda count: count == 2, SECONDS, "reboot"
    )
    lab.tells(id, "Rebooted")
    assert lab.machine(id).detail.boots == 1


def test_foreign_domains_are_not_listed_and_not_changed(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "foreign.xml").write_text(FOREIGN)
    lab.daemon.virsh("define", str(tmp_path / "foreign.xml"))
    try:
        id = lab.running()
        assert lab.runtime.objects(RuntimeMachine).keys() == {id}
        foreign = lab.daemon.virsh("domuuid", "foreign").stdout.strip()
        with pytest.raises(NotFound):
            lab.runtime.remove(RuntimeMachine, foreign)
        assert foreign not in lab.runtime.objects(RuntimeMachine)
    finally:
        lab.daemon.virsh("undefine", "foreign")


def test_undefined_domain_is_gone_and_its_data_comes_back_with_the_machine(lab: Lab) -> None:
    root = Disk(name="root", device="oda", local_disk=RuntimeLocalDisk(size_bytes=1 << 20))
    id = lab.create(volumes=(root,), power=Power.OFF)
    was = lab.until(id, is_in_sync, "be made")
    disk = local_disk(lab.daemon, id)
    inode = disk.stat().st_ino
    lab.daemon.virsh("undefine", id)
    eventually(lambda: id in lab.runtime.objects(RuntimeMachine), operator.not_, SECONDS, "be gone")
    lab.tells(id, "DomainUndefined")
    assert lab.runtime.create(RuntimeMachine(labels=was.labels, spec=was.spec)).id == id
    lab.runtime.change(id, SetPower(Power.ON))
    lab.reaches(id, MachineState.RUNNING)
    assert disk.stat().st_ino == inode


def test_running_domain_that_is_undefined_is_defined_again(daemon: Libvirtd, settings: Settings) -> None:
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        id = lab.running(ignition_data=b"hush")
        runtime.change(id, SetAnnotations({"a": "b"}))
        pid = daemon.guests()[id]
        daemon.virsh("undefine", id)
        lab.tells(id, "DomainRedefined")
        eventually(lambda: is_persistent(daemon, id), bool, SECONDS, "be defined again")
        was = lab.until(id, is_in_sync, "be in sync")
        assert not lab.is_autostart(id)
    daemon.virsh("undefine", id)
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        eventually(lambda: is_persistent(daemon, id), bool, SECONDS, "be defined again")
        found = lab.until(id, is_in_sync, "be in sync")
        assert (found.spec, found.labels, daemon.guests()[id]) == (was.spec, was.labels, pid)
        daemon.virsh("undefine", id)
        lab.remove(id)
    assert not leftovers(daemon, Path(settings.folder))


def is_persistent(daemon: Libvirtd, id: str) -> bool:
    return "Persistent:     yes" in daemon.virsh("dominfo", id).stdout


def test_runtime_that_lost_everything_finds_its_machines_again(daemon: Libvirtd, settings: Settings) -> None:
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        id = lab.running(ignition_data=b"hush" * 50_000, class_name="small")
        runtime.change(id, SetAnnotations({"a": "\x01<&>\u2028"}))
        runtime.change(id, Resize("large"))
        before = lab.machine(id)
    assert "hush" not in daemon.virsh("dumpxml", "--security-info", id).stdout
    with running_runtime(settings) as runtime:
        after = runtime.objects(RuntimeMachine)[id]
        assert (after.spec, after.labels, after.annotations) == (
            before.spec,
            before.labels,
            before.annotations,
        )
        assert (after.generation, after.created_at) == (before.generation, before.created_at)
        assert after.status.state is MachineState.RUNNING
        Lab(daemon, settings, runtime).remove(id)
    assert not leftovers(daemon, Path(settings.folder))


def test_guests_run_on_while_libvirtd_is_away_and_calls_are_unavailable(lab: Lab) -> None:
    id = lab.running()
    pid = lab.daemon.guests()[id]
    lab.daemon.kill()
    eventually(lambda: is_unavailable(lab), bool, SECONDS, "be unavailable")
    with pytest.raises(Unavailable):
        lab.runtime.change(id, SetPower(Power.OFF))
    lab.daemon.start()
    eventually(lambda: is_unavailable(lab), operator.not_, SECONDS, "be back")
    assert lab.daemon.guests()[id] == pid
    lab.runtime.change(id, SetPower(Power.OFF))
    lab.reaches(id, *OFF)


def test_guest_that_dies_while_libvirtd_is_away_is_started_again(lab: Lab) -> None:
    id = lab.running()
    lab.daemon.kill()
    lab.daemon.kill_guest(id)
    lab.daemon.start()
    eventually(
        lambda: not is_unavailable(lab) and lab.machine(id).detail.boots,
        lambda n: n == 2,
        SECONDS,
        "be started again",
    )


def test_guest_paused_by_a_person_while_libvirtd_is_away_stays_paused(lab: Lab) -> None:
    id = lab.running()
    pid = lab.daemon.guests()[id]
    lab.daemon.kill()
    paused_behind_libvirts_back(lab.daemon)
    lab.daemon.start()
    eventually(
        lambda: not is_unavailable(lab) and condition(lab.machine(id), "Ready").reason,  # type: ignore[union-attr]
        lambda reason: reason == "Paused",
        SECONDS,
        "be paused",
    )
    lab.daemon.virsh("resume", id)
    lab.until(id, lambda machine: condition(machine, "Ready").reason == "InSync", "go on")  # type: ignore[union-attr]
    assert lab.daemon.guests()[id] == pid
    assert "ForcedOff" not in lab.reasons(id)


def paused_behind_libvirts_back(daemon: Libvirtd) -> None:
    """As a libvirtd does that is killed before it has written down what it did."""
    (monitor,) = (daemon.folder / "lib" / "qemu").glob("domain-*/monitor.sock")
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(SECONDS)
        line.connect(str(monitor))
        for command in (b"qmp_capabilities", b"stop"):
            line.sendall(b'{"execute": "' + command + b'"}\n')
            output = b""
            while b'"return"' not in output:
                output += line.recv(4096)


def is_unavailable(lab: Lab) -> bool:
    try:
        lab.runtime.objects(RuntimeMachine)
    except Unavailable:
        return True
    return False


def test_console_takes_one_user_at_a_time(lab: Lab) -> None:
    id = lab.running()
    first = lab.runtime.console(id)
    with pytest.raises(FailedPrecondition, match="is in use"):
        lab.runtime.console(id)
    first.close()
    lab.runtime.console(id).close()
    assert b"MICRO-READY" in console_log(lab.settings, id)


def test_missing_image_is_a_condition_and_the_machine_gets_no_devices(lab: Lab) -> None:
    image = Image(image="http://127.0.0.1:9/none.qcow2")
    id = lab.create(volumes=(Disk(name="root", device="oda", local_disk=RuntimeLocalDisk(image=image)),))
    found = lab.until(id, is_in_trouble, "be in trouble")
    assert found.status.state is MachineState.PENDING
    assert not any(is_attached(found, name) for name in devices(found))
    assert lab.daemon.guests() == {}


def is_in_trouble(machine: RuntimeMachine) -> bool:
    ready = condition(machine, "Ready")
    return ready is not None and ready.status == "False"


def test_lack_of_ports_is_a_condition_and_the_guest_runs_on(lab: Lab) -> None:
    id = lab.running()
    for number in range(8):
        disk = Disk(
            name=f"d{number}", device=f"od{chr(98 + number)}", local_disk=RuntimeLocalDisk(size_bytes=1 << 20)
        )
        lab.runtime.change(id, AttachVolume(disk))
    found = lab.until(id, is_in_trouble, "run out of ports")
    assert found.status.state is MachineState.RUNNING
    assert "PCI" in condition(found, "Ready").message  # type: ignore[union-attr]
    for number in range(4, 8):
        lab.runtime.change(id, DetachVolume(f"d{number}"))
    lab.until(id, lambda machine: not is_in_trouble(machine), "be well")
    eventually(lambda: local_disks(lab.daemon, id), lambda paths: len(paths) == 4, SECONDS, "let its disk go")

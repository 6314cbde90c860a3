"""What machines on real libvirt do after a boot of their host, and what their runtime remembers of ended assignments."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from iri.change import SetPower
from iri.errors import InvalidArgument
from iri.identity import ASSIGNMENT_LABEL
from iri.libvirt.ended_file import EndedFile
from iri.libvirt.host.hardware import read_hardware_id
from iri.libvirt.runtime import LibvirtRuntime, MachineFiles
from iri.libvirt.settings import Settings
from iri.machine import HOST_BOOTED, MachineState, Power, RuntimeMachine, RuntimeMachineSpec
from tests.iri.contract.subject import eventually, uid_labels
from tests.iri.libvirt.machines.lab import SECONDS, Lab, is_in_sync
from tests.servers.libvirtd import Libvirtd


@dataclass
class Host:
    """One whose boots the test decides."""

    daemon: Libvirtd
    settings: Settings
    boot_id: Path

    @contextlib.contextmanager
    def runtime(self) -> Iterator[Lab]:
        runtime = LibvirtRuntime(self.settings, files=MachineFiles(boot_id=self.boot_id))
        runtime.start()
        try:
            yield Lab(self.daemon, self.settings, runtime)
        finally:
            runtime.close()

    def boot(self, *guests: str) -> None:
        """No guest outlives that, and the kernel has another boot id."""
        for id in guests:
            self.daemon.kill_guest(id)
        for id in guests:  # libvirtd outlives it here, and must know that they are off when a runtime starts
            state = partial(lambda id: self.daemon.virsh("domstate", id).stdout.strip(), id)
            eventually(state, lambda found: found == "shut off", SECONDS, "be off")
        self.boot_id.write_text(f"{uuid.uuid4()}\n")


@pytest.fixture
def host(daemon: Libvirtd, settings: Settings, tmp_path: Path) -> Host:
    made = Host(daemon, settings, tmp_path / "boot_id")
    made.boot()
    return made


def test_after_a_boot_machines_start_by_themselves_where_no_caller_holds_them(host: Host) -> None:
    with host.runtime() as lab:
        id = lab.running()
    host.boot(id)
    with host.runtime() as lab:
        lab.reaches(id, MachineState.RUNNING)
        lab.remove(id)


def test_after_a_boot_held_machines_wait_for_their_order_also_over_a_restart(host: Host) -> None:
    with host.runtime() as lab:
        ordered, stopped, other = lab.running(), lab.running(), lab.running()
        lab.runtime.hold_starts(release=False)
    host.boot(ordered, stopped, other)
    for _ in range(2):
        with host.runtime() as lab:
            for id in (ordered, stopped, other):
                found = lab.until(id, is_in_sync, "be looked at")
                reasons = partial(lambda id: lab.machine(id).detail.reason, id)
                eventually(reasons, lambda reason: reason == HOST_BOOTED, SECONDS, "be held")
                assert found.status.state is MachineState.TERMINATED
            assert not host.daemon.guests()
    with host.runtime() as lab:
        lab.runtime.change(ordered, SetPower(Power.ON))
        lab.runtime.change(stopped, SetPower(Power.OFF))
        lab.reaches(ordered, MachineState.RUNNING)
        lab.reaches(stopped, MachineState.SUSPENDED)
        assert lab.machine(other).status.state is MachineState.TERMINATED
        lab.runtime.hold_starts(release=True)
        lab.reaches(other, MachineState.RUNNING)
        assert lab.machine(stopped).status.state is MachineState.SUSPENDED
    with host.runtime() as lab:
        for id in (ordered, other):
            assert lab.machine(id).status.state is MachineState.RUNNING, "no boot, nothing held"
        for id in (ordered, stopped, other):
            lab.remove(id)


def test_ended_assignments_are_refused_after_a_restart_of_the_runtime(host: Host) -> None:
    labels = uid_labels(RuntimeMachine) | {ASSIGNMENT_LABEL: str(uuid.uuid4())}
    desired = RuntimeMachine(labels=labels, spec=RuntimeMachineSpec(class_name="small", power=Power.OFF))
    with host.runtime() as lab:
        lab.runtime.end_assignments((labels[ASSIGNMENT_LABEL],))
    with host.runtime() as lab:
        with pytest.raises(InvalidArgument, match="was ended"):
            lab.runtime.create(desired)
        assert not lab.runtime.objects(RuntimeMachine)


def test_an_assignment_ends_only_once_no_creation_of_it_is_under_way(tmp_path: Path) -> None:
    ended = EndedFile(tmp_path / "ended.json")
    ended.open()
    ending = threading.Thread(target=ended.end, args=(("one",),))
    with ended.admit({ASSIGNMENT_LABEL: "one"}):
        ending.start()
        eventually(lambda: (tmp_path / "ended.json").exists(), bool, SECONDS, "be recorded")
        assert ending.is_alive()
        with ended.admit({ASSIGNMENT_LABEL: "two"}):
            pass
    ending.join(SECONDS)
    assert not ending.is_alive()
    with pytest.raises(InvalidArgument), ended.admit({ASSIGNMENT_LABEL: "one"}):
        pass


@pytest.mark.parametrize(
    ("written", "want"),
    [
        ("4C4C4544-0042-3510-8058-B7C04F4A5A32\n", "4c4c4544-0042-3510-8058-b7c04f4a5a32"),
        ("00000000-0000-0000-0000-000000000000\n", ""),
        ("03000200-0400-0500-0006-000700080009", ""),
        ("Not Settable\n", ""),
        ("", ""),
    ],
)
def test_a_hardware_id_counts_only_where_it_is_the_machines_own(
    written: str, want: str, tmp_path: Path
) -> None:
    path = tmp_path / "product_uuid"
    path.write_text(written)
    assert read_hardware_id(path) == want
    assert read_hardware_id(tmp_path / "missing") == ""

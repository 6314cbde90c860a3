"""Everything dies at random moments of a storm: the runtime, libvirtd, guests. Afterwards a reconcile converges, with
nothing lost, nothing leaked and nothing twice.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from iri.address import UnixAddress
from iri.change import AttachInterface, AttachVolume, DetachInterface, DetachVolume, Resize
from iri.client import Client
from iri.errors import AlreadyExists, FailedPrecondition, IRIError, NotFound, Unavailable
from iri.host import RuntimeMachineClass
from iri.identity import UID_LABELS
from iri.libvirt.settings import Settings
from iri.machine import (
    Disk,
    MachineState,
    RuntimeGuestConfig,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
)
from tests.iri.contract.subject import devices, eventually, is_attached, uid_labels
from tests.iri.libvirt.world import micro_settings, with_power
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd, libvirtd

DATA = Disk(name="data", device="odb", local_disk=RuntimeLocalDisk(size_bytes=1 << 20))
ROOT = Disk(name="root", device="oda", local_disk=RuntimeLocalDisk(size_bytes=1 << 20))
NIC = RuntimeNetworkInterface(name="primary", network_id="storm")


class Victim:
    """The runtime as a process that is killed and comes back. It lives in libvirtd's network, as on a host."""

    def __init__(self, daemon: Libvirtd, settings: Settings) -> None:
        self._daemon = daemon
        self.folder = Path(settings.folder)
        self.address = UnixAddress(self.folder / "s")
        self._file = self.folder / "settings.json"
        self._file.write_bytes(msgspec.json.encode(settings))
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [
            "nsenter",
            f"--net={self._daemon.netns}",
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "reconciler",
            "runtime",
            "libvirt",
        ]
        with (self.folder / "runtime.log").open("ab") as log:
            return subprocess.Popen(
                [*command, "--settings", str(self._file), "--listen", str(self.address.path)],
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process = self._start()

    def revive(self) -> None:
        """Without libvirtd the runtime exits at its start, and a service manager starts it again."""
        if self.process.poll() is not None:
            self.process = self._start()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def testimony(self) -> str:
        """What it logged, and what all its threads were at when it was asked. It dies of that."""
        self.process.send_signal(signal.SIGABRT)
        self.process.wait(60)
        return (self.folder / "runtime.log").read_text(errors="replace")[-20000:]


@pytest.fixture
def daemon() -> Iterator[Libvirtd]:
    with libvirtd() as made:
        yield made


class Storm:
    def __init__(self, daemon: Libvirtd, victim: Victim, client: Client, seed: int, most: int) -> None:
        self.most = most
        self.daemon = daemon
        self.victim = victim
        self.client = client
        self.random = random.Random(seed)
        self.wanted: dict[str, RuntimeMachine] = {}
        self.deaths: dict[str, int] = {}
        self.errors: list[str] = []

    def order(self) -> None:
        """One random order; whether it arrives is not known, and does not matter."""
        ids = sorted(self.wanted)
        verb = self.random.choice(("create", "create", "attach", "detach", "unplug", "resize", "delete"))
        if verb == "create" and len(ids) >= self.most:
            verb = "delete"
        id = self.random.choice(ids) if ids else ""
        with contextlib.suppress(IRIError):
            if verb == "create" or not id:
                machine = RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=self.spec())
                self.wanted[machine.labels[UID_LABELS[RuntimeMachine]]] = machine
                self.client.create(machine)
            elif verb == "delete":
                del self.wanted[id]
                self.client.remove(RuntimeMachine, id)
            elif self.wanted[id].spec.class_name == "efi":
                return  # the firmware is the class's; and as far as this guest gets, it lets no device go, nor half of one
            elif verb == "attach":
                self.desire(id, volumes=(ROOT, DATA))
                self.client.change(id, AttachVolume(DATA))
            elif verb == "detach":
                self.desire(id, volumes=(ROOT,))
                self.client.change(id, DetachVolume("data"))
            elif verb == "unplug":
                self.desire(id, network_interfaces=())
                self.client.change(id, DetachInterface("primary"))
            else:
                self.desire(id, class_name="large")
                self.client.change(id, Resize("large"))

    def spec(self) -> RuntimeMachineSpec:
        """Each with first-boot data and secrets; one at a time with EFI firmware, which takes an emulator long."""
        has_efi = any(machine.spec.class_name == "efi" for machine in self.wanted.values())
        return RuntimeMachineSpec(
            class_name="small" if has_efi else "efi",
            volumes=(ROOT,),
            network_interfaces=(NIC,),
            guest_config=RuntimeGuestConfig(hostname="storm"),
            ignition_data=b"#cloud-config\n",
        )

    def desire(self, id: str, **fields: object) -> None:
        machine = self.wanted[id]
        self.wanted[id] = replace(machine, spec=replace(machine.spec, **fields))

    def strike(self) -> None:
        """Something dies."""
        whom = self.random.choice(("runtime", "libvirtd", "guest", "guest"))
        self.deaths[whom] = self.deaths.get(whom, 0) + 1
        if whom == "runtime":
            self.victim.kill()
        elif whom == "libvirtd":
            self.daemon.kill()
            time.sleep(self.random.uniform(0, 0.3))
            self.daemon.start()
        elif guests := sorted(self.daemon.guests()):
            with contextlib.suppress(KeyError, ProcessLookupError):
                self.daemon.kill_guest(self.random.choice(guests))

    def reconcile(self) -> bool:
        """As a poollet would: whether there is nothing more to do. What fails now is done the next time."""
        self.victim.revive()
        self.errors.clear()
        try:
            found = self.client.objects(RuntimeMachine)
        except IRIError as error:
            self.errors.append(str(error))
            self.daemon.revive()
            return False
        for id in found.keys() | self.wanted.keys():
            try:
                self.bring(id, found.get(id), self.wanted.get(id))
            except (NotFound, AlreadyExists, FailedPrecondition, Unavailable) as error:
                self.errors.append(f"{id}: {error}")
        return found.keys() == self.wanted.keys() and all(
            is_right(found[id], machine) for id, machine in self.wanted.items()
        )

    def has_found_all(self) -> bool:
        """The runtime finds a machine that libvirtd defined and did not live to confirm, a little after libvirtd is back."""
        return list_objects(self.daemon) == sorted(self.wanted)

    def bring(self, id: str, found: RuntimeMachine | None, wanted: RuntimeMachine | None) -> None:
        if wanted is None:
            self.client.remove(RuntimeMachine, id)
        elif found is None:
            self.client.create(wanted)
        else:
            self.correct(found, wanted)

    def pending(self) -> list[object]:
        """For who has to find out why."""
        try:
            found = self.client.objects(RuntimeMachine)
        except IRIError as error:
            return [error]
        return [
            (
                found.get(id, f"{id} is missing"),
                self.daemon.virsh("domstate", "--reason", id, check=False).stdout,
            )
            for id in self.wanted.keys() | found.keys()
            if id not in found or id not in self.wanted or not is_right(found[id], self.wanted[id])
        ]

    def correct(self, found: RuntimeMachine, wanted: RuntimeMachine) -> None:
        if found.spec.class_name != wanted.spec.class_name:
            self.client.change(found.id, Resize(wanted.spec.class_name))
        if found.spec.volumes != wanted.spec.volumes:
            is_in = DATA in wanted.spec.volumes
            self.client.change(found.id, AttachVolume(DATA) if is_in else DetachVolume("data"))
        if found.spec.network_interfaces != wanted.spec.network_interfaces:
            is_in = NIC in wanted.spec.network_interfaces
            self.client.change(found.id, AttachInterface(NIC) if is_in else DetachInterface("primary"))


def is_right(found: RuntimeMachine, wanted: RuntimeMachine) -> bool:
    names = {disk.name for disk in wanted.spec.volumes} | {nic.name for nic in wanted.spec.network_interfaces}
    return (
        found.spec == wanted.spec
        and found.status.state is MachineState.RUNNING
        and devices(found).keys() == names
        and all(is_attached(found, name) for name in names)
    )


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("seed", "guests", "seconds"),
    [(1, 8, 8.0), *(pytest.param(seed, 30, 40.0, marks=pytest.mark.long) for seed in range(2, 6))],
)
def test_everything_is_in_sync_after_a_storm(
    daemon: Libvirtd, seed: int, guests: int, seconds: float
) -> None:
    settings = with_efi(
        with_power(micro_settings(daemon), first_restart=0.2, longest_restart=2.0, steady=2.0)
    )
    victim = Victim(daemon, settings)
    try:
        with Client(victim.address) as client:
            eventually(lambda: is_there(client), bool, 60, "begin")
            storm = Storm(daemon, victim, client, seed, guests)
            until = time.monotonic() + seconds
            killer = threading.Thread(target=strikes, args=(storm, until))
            killer.start()
            while time.monotonic() < until:
                storm.order()
                time.sleep(0.05)
            killer.join()
            assert storm.deaths
            settle(storm, 150, f"converge after {storm.deaths}")
            check(daemon, victim, frozenset(storm.wanted))
            storm.wanted.clear()
            settle(storm, 100, "be removed")
            check(daemon, victim, frozenset())
    finally:
        victim.stop()


def with_efi(settings: Settings) -> Settings:
    host = settings.host
    efi = RuntimeMachineClass(name="efi", resources={"cpu": 1, "memory": 64 << 20})
    classes = replace(host.classes, machines=(*host.classes.machines, efi))
    traits = {**host.traits, "efi": replace(host.traits["small"], firmware="uefi")}
    return replace(settings, host=replace(host, classes=classes, traits=traits))


def settle(storm: Storm, seconds: float, what: str) -> None:
    until = time.monotonic() + seconds
    while not (storm.reconcile() and storm.has_found_all()):
        if time.monotonic() > until:
            output = "\n".join(f"{found}" for found in (*storm.errors, *storm.pending()))
            output += f"\n{storm.daemon.crashes()}\n{storm.victim.testimony()}"
            raise AssertionError(f"did not {what} within {seconds} s\n{output}")
        time.sleep(0.05)


def strikes(storm: Storm, until: float) -> None:
    chance = random.Random(storm.random.random())
    while time.monotonic() < until:
        time.sleep(chance.uniform(0.2, 1.5))
        storm.strike()


def is_there(client: Client) -> bool:
    try:
        return bool(client.about())
    except IRIError:
        return False


def list_objects(daemon: Libvirtd) -> list[str]:
    return sorted(daemon.virsh("list", "--all", "--uuid", check=False).stdout.split())


def check(daemon: Libvirtd, victim: Victim, ids: frozenset[str]) -> None:
    assert list_objects(daemon) == sorted(ids), "each once"
    # One that the last stroke hit counts as running until libvirt tells of its end.
    eventually(lambda: daemon.guests().keys(), lambda found: found == ids, 60, "have a guest each")
    # libvirtd that is killed while it starts or stops a guest leaves folders of its own; they are not ours to remove.
    eventually(
        lambda: dataclasses.replace(leftovers(daemon, victim.folder, ids), states=()),
        operator.not_,
        60,
        "leave nothing that is not needed",
    )

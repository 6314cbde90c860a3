"""A fleet in memory whose one host is a real libvirtd with QEMU guests; the reconciler and the poollet take turns."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from datetime import datetime

from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.settings import Settings
from iri.libvirt.volumes.names import local_disk
from iri.machine import MachineState, RuntimeMachine
from iri.volume import RuntimeVolume
from poollet.decide import model_to_iri
from poollet.decide.actions import Ref
from poollet.decide.decide import decide
from poollet.sync.live_index import LiveIndex
from reconciler.gitstore.repo import Refs
from reconciler.loop.tick import Reconciler
from reconciler.write.tick_commit import CommitIdentity
from tests.iri.libvirt.world import local_disks
from tests.poollet.effects_bench import Documents, Guest, Observed, files
from tests.poollet.fleet import LIVE, MAIN, Fleet
from tests.poollet.simulation import is_ordered_away
from tests.poollet.stage import START_MS, Run, StagedHost, Time
from tests.servers.libvirtd import Libvirtd

PATIENCE_SECONDS = 120.0
QUIET_SECONDS = 2.0
ROUND_SECONDS = 0.2
HOST = "host-1"
DISKS = ("root", "scratch", "new")  # by these names; a runtime names its files by their hashes


@dataclass
class LibvirtBench:
    """Time is the real one."""

    daemon: Libvirtd
    settings: Settings
    runtime: LibvirtRuntime
    fixed: Documents
    objects: Documents
    fleet: Fleet = field(default_factory=lambda: Fleet(is_bare=True))
    time: Time = field(default_factory=Time)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.fleet.commit({**self.fixed, **files(self.objects)}, MAIN)
        self.reconciler = Reconciler(self.fleet.client(Refs()), Refs(), CommitIdentity("one"))
        self.run = Run(
            self.fleet, self.time, StagedHost(self.time), name=HOST, runtime=self.runtime, decide=decide
        )
        self.come_to_rest()

    def now(self) -> datetime:
        self.time.ms = START_MS + int((time.monotonic() - self.began) * 1000)
        return self.time.clock.now()

    def round(self) -> None:
        self.now()
        self.reconciler.tick(self.time.clock.now)
        self.run.turn()

    def come_to_rest(self) -> None:
        """Guests that are on have said that they listen."""
        ends, since = time.monotonic() + PATIENCE_SECONDS, time.monotonic()
        before: object = None
        while time.monotonic() < ends:
            self.round()
            observed = self.observe()
            state = (self.fleet.head(LIVE), observed)
            if state != before or not self.is_ready(observed):
                before, since = state, time.monotonic()
            if time.monotonic() - since > QUIET_SECONDS:
                return
            time.sleep(ROUND_SECONDS)
        raise AssertionError(f"it does not come to rest: {before}")

    def is_ready(self, observed: Observed) -> bool:
        """All are on or off as declared, guests that are on listen, and nothing waits for its removal."""
        live, repo = LiveIndex(), self.fleet.client(Refs())
        repo.snapshot()
        live.advance(repo, self.fleet.head(LIVE) or "")
        is_off = {name for name, body in self.objects.items() if body.get("spec", {}).get("power") == "Off"}
        guests = observed.machines.items()
        return not any(map(is_ordered_away, live.objects())) and all(
            guest.boots and guest.is_on != (name in is_off) for name, guest in guests
        )

    def observe(self) -> Observed:
        machines: dict[str, Guest] = {}
        disks: set[tuple[str, str, str]] = set()
        for id, one in self.runtime.objects(RuntimeMachine).items():
            _, name = model_to_iri.read_name(Ref(RuntimeMachine, ""), one.labels)
            there = {path.name for path in local_disks(self.daemon, id) if path.suffix == ".qcow2"}
            own = {disk for disk in DISKS if local_disk(id, disk) in there}
            assert len(own) == len(there), f"{name} has a disk of another name: {there}"
            disks |= {(name, id, disk) for disk in own}
            is_on = one.status.state is MachineState.RUNNING
            uid = one.labels.get(model_to_iri.label_names(RuntimeMachine)[0], "")
            boots = one.detail.boots  # its console log is that of the last starts alone
            shape = self.read_shape(id) if is_on else ""
            machines[name] = Guest(HOST, id, uid, boots, is_on, shape, frozenset(own))
        volumes: dict[str, tuple[str, str, int]] = {}
        for id, found in self.runtime.objects(RuntimeVolume).items():
            _, name = model_to_iri.read_name(Ref(RuntimeVolume, ""), found.labels)
            volumes[name] = (HOST, id, found.spec.resources.storage_bytes if found.spec.resources else 0)
        stored = frozenset((name, id) for name, (_, id, _) in volumes.items())
        return Observed(machines, volumes, frozenset(disks), stored)

    def disk_bytes(self, machine: str, target: str) -> int:
        """As QEMU has it, which may be a moment behind what the runtime has recorded."""
        return int(
            self.daemon.virsh("domblkinfo", self.observe().machines[machine].id, target).stdout.split()[1]
        )

    def read_shape(self, id: str) -> str:
        """What the guest that runs has, as libvirt says: processors, memory, disks and interfaces."""
        text = self.daemon.virsh("dumpxml", id, check=False).stdout
        if not text:
            return ""
        domain = ET.fromstring(text)
        found = [f"{domain.findtext('vcpu')} {domain.findtext('currentMemory')}"]
        for device in domain.find("devices") or ():
            if device.tag in ("disk", "interface"):
                parts = (device.find(tag) for tag in ("source", "target", "mac"))
                found.append(f"{device.tag} {[dict(part.attrib) for part in parts if part is not None]}")
        return "; ".join(found)

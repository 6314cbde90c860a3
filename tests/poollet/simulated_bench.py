"""Turns of the whole system in memory, for comparing what a plan says with what simulated hosts do. A host may be lost for a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.simulated.machine_lifecycle import IS_ON, SimulatedMachine, boot_count
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide import model_to_iri
from poollet.decide.actions import Ref
from tests.iri.quick_host import PROFILE
from tests.poollet.effects_bench import Documents, Guest, Observed, files
from tests.poollet.fleet import LIVE
from tests.poollet.simulation import ROUND_MS, Simulation

GIB = 1 << 30
CLASSES = RuntimeClasses(
    machines=(
        RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": GIB}),
        RuntimeMachineClass(name="large", resources={"cpu": 2, "memory": 2 * GIB}),
    ),
    volumes=(RuntimeVolumeClass(name="standard", tps=1 << 20, iops=100),),
)
HOST = replace(PROFILE, classes=CLASSES, capacity={"cpu": 12, "memory": 12 * GIB, "storage": 400 * GIB})
LONG_ROUND_MS = 40_000  # shorter than any heartbeat timeout


def observe(simulation: Simulation) -> Observed:
    """What is on the hosts, also on those that are lost."""
    machines: dict[str, Guest] = {}
    volumes: dict[str, tuple[str, str, int]] = {}
    disks: set[tuple[str, str, str]] = set()
    stored: set[tuple[str, str]] = set()
    snapshots: set[tuple[str, str]] = set()
    for host, staged in simulation.machines.items():
        state = staged.host.state
        for record in state.list_records(SimulatedMachine).values():
            one = record.machine
            _, name = model_to_iri.read_name(Ref(type(one), ""), one.labels)
            shape = repr(
                (one.spec.class_name, one.spec.volumes, one.spec.network_interfaces, one.spec.ignition_data)
            )
            own = {disk.name for disk in one.spec.volumes if disk.local_disk is not None}
            machines[name] = Guest(
                host,
                one.id,
                one.labels.get(model_to_iri.label_names(type(one))[0], ""),
                boot_count(record),
                record.phase in IS_ON,
                shape,
                frozenset(own),
                frozenset(disk.name for disk in one.spec.volumes),
            )
            disks |= {(name, f"{host}/{one.id}", disk) for disk in own}
        for found in state.objects(RuntimeVolume).values():
            _, name = model_to_iri.read_name(Ref(RuntimeVolume, ""), found.labels)
            size = found.spec.resources.storage_bytes if found.spec.resources else 0
            volumes[name] = (host, found.id, size)
            stored.add((name, found.id))
        for taken in state.objects(RuntimeSnapshot).values():
            _, name = model_to_iri.read_name(Ref(RuntimeSnapshot, ""), taken.labels)
            snapshots.add((name, taken.id))
    return Observed(machines, volumes, frozenset(disks), frozenset(stored), frozenset(snapshots))


@dataclass
class SimulatedBench:
    """`fixed` are files that stay as they are, `objects` what people declare."""

    fixed: dict[str, str | None]
    objects: Documents
    hosts: Sequence[str]
    capacity: dict[str, int] = field(default_factory=lambda: dict(HOST.capacity))
    lost: list[str] = field(default_factory=list)
    simulation: Simulation = field(init=False)

    def __post_init__(self) -> None:
        profile = replace(HOST, capacity=self.capacity)
        script = {0: {**self.fixed, **files(self.objects)}}
        self.simulation = Simulation(self.hosts, script, profile=profile)
        self.fleet = self.simulation.fleet
        self.come_to_rest()

    def now(self) -> datetime:
        return self.simulation.time.clock.now()

    def observe(self) -> Observed:
        return observe(self.simulation)

    def come_to_rest(self) -> None:
        quiet = 0
        for _ in range(80):
            before = (self.fleet.head(LIVE), self.observe())
            self.simulation.round()
            quiet = quiet + 1 if (self.fleet.head(LIVE), self.observe()) == before else 0
            if quiet == 4:
                return
        raise AssertionError("it does not come to rest")

    def pass_time(self, minutes: float) -> None:
        """In long rounds, so that whatever waits for a time goes on, and no living host looks lost."""
        for _ in range(int(minutes * 60_000 / LONG_ROUND_MS) + 1):
            self.simulation.round()
            self.simulation.time.ms += LONG_ROUND_MS - ROUND_MS
        self.come_to_rest()

    def lose(self, host: str) -> None:
        """Its poollet and its runtime do nothing any more, and its pools are known to be lost."""
        self.lost.append(host)
        self.simulation.hosts = [name for name in self.hosts if name not in self.lost]
        self.pass_time(3)

    def bring_back(self) -> None:
        self.lost.clear()
        self.simulation.hosts = self.hosts
        self.pass_time(1)

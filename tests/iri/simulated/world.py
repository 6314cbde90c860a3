"""A simulated host whose clock the test controls, and short names for what tests need."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from iri.machine import (
    Disk,
    Image,
    Power,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
    VolumeConnection,
)
from iri.simulated import machine_calls
from iri.simulated.clock import SECOND_NS, SimulatedClock
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.state.state_log import REWRITE_FROM_BYTES, StateLog
from iri.volume import (
    ImageSource,
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeSpec,
    SnapshotSource,
    SnapshotSpec,
    VolumeDataSource,
)

MACHINE_UID = "machinepoollet.ironcore.dev/machine-uid"
VOLUME_UID = "volumepoollet.ironcore.dev/volume-uid"
SNAPSHOT_UID = "volumepoollet.ironcore.dev/volume-snapshot-uid"
START_NS = 1_700_000_000 * SECOND_NS
GIB = 1 << 30


class World:
    """A runtime on a clock that is stopped at START_NS until `pass_seconds`."""

    def __init__(
        self,
        profile: Profile | None = None,
        seed: int = 1,
        directory: Path | None = None,
        rewrite_from_bytes: int = REWRITE_FROM_BYTES,
    ) -> None:
        self.directory = directory
        self.profile = profile or Profile()
        self.seed = seed
        self.now_ns = START_NS
        self.log = StateLog(directory, rewrite_from_bytes) if directory else None
        self.host = SimulatedHost(self.profile, seed, SimulatedClock(lambda: self.now_ns), self.log)
        self.runtime = SimulatedRuntime(self.host)

    def pass_seconds(self, seconds: float) -> None:
        self.now_ns += round(seconds * SECOND_NS)

    def restart(self) -> None:
        """The process dies, and another one reads the state log."""
        assert self.log is not None
        assert self.directory is not None
        self.log.close()
        self.log = StateLog(self.directory)
        self.host = SimulatedHost(self.profile, self.seed + 1, SimulatedClock(lambda: self.now_ns), self.log)
        self.runtime = SimulatedRuntime(self.host)

    def restart_host(self, down_seconds: float) -> None:
        with self.host.lock() as now_ns:
            machine_calls.restart_host(self.host, round(down_seconds * SECOND_NS), now_ns)

    def machine(self, id: str) -> RuntimeMachine:
        return self.runtime.objects(RuntimeMachine)[id]

    def volume(self, id: str) -> RuntimeVolume:
        return self.runtime.objects(RuntimeVolume)[id]

    def snapshot(self, id: str) -> RuntimeSnapshot:
        return self.runtime.objects(RuntimeSnapshot)[id]

    def running(self, wanted: RuntimeMachine) -> RuntimeMachine:
        """Created, and a minute has passed."""
        id = self.runtime.create(wanted).id
        self.pass_seconds(60)
        return self.machine(id)

    def available(self, wanted: RuntimeVolume) -> RuntimeVolume:
        id = self.runtime.create(wanted).id
        self.pass_seconds(60)
        return self.volume(id)

    def reasons(self, id: str = "") -> list[str]:
        return [event.reason for event in self.runtime.events() if id in ("", event.id)]


def machine(
    uid: str = "m1",
    *devices: Disk | RuntimeNetworkInterface,
    class_name: str = "small",
    power: Power = Power.ON,
    annotations: dict[str, str] | None = None,
) -> RuntimeMachine:
    return RuntimeMachine(
        labels={MACHINE_UID: uid} if uid else {},
        annotations=annotations or {},
        spec=RuntimeMachineSpec(
            power=power,
            class_name=class_name,
            volumes=tuple(device for device in devices if isinstance(device, Disk)),
            network_interfaces=tuple(
                device for device in devices if isinstance(device, RuntimeNetworkInterface)
            ),
        ),
    )


def local(name: str = "root", size_bytes: int = GIB, image: str = "", device: str = "") -> Disk:
    source = Image(image=image) if image else None
    return Disk(name=name, device=device, local_disk=RuntimeLocalDisk(size_bytes=size_bytes, image=source))


def connect_disk(volume: RuntimeVolume, name: str = "data") -> Disk:
    """A volume of the host as a poollet attaches it to a machine."""
    access = volume.status.access
    assert access is not None
    connection = VolumeConnection(driver=access.driver, handle=access.handle, attributes=access.attributes)
    return Disk(name=name, connection=connection)


def interface(
    name: str = "nic", network: str = "lan", *ips: str, **attributes: str
) -> RuntimeNetworkInterface:
    return RuntimeNetworkInterface(name=name, network_id=network, ips=ips, attributes=attributes)


def volume(
    uid: str = "v1",
    size_bytes: int = GIB,
    image: str = "",
    snapshot_id: str = "",
    class_name: str = "standard",
) -> RuntimeVolume:
    source = None
    if image:
        source = VolumeDataSource(image_data_source=ImageSource(image=image))
    elif snapshot_id:
        source = VolumeDataSource(snapshot_data_source=SnapshotSource(snapshot_id=snapshot_id))
    return RuntimeVolume(
        labels={VOLUME_UID: uid} if uid else {},
        spec=RuntimeVolumeSpec(
            class_name=class_name, resources=Resources(storage_bytes=size_bytes), volume_data_source=source
        ),
    )


def snapshot(volume_id: str, uid: str = "s1") -> RuntimeSnapshot:
    return RuntimeSnapshot(labels={SNAPSHOT_UID: uid} if uid else {}, spec=SnapshotSpec(volume_id=volume_id))


def with_capacity(profile: Profile | None = None, **capacity: int) -> Profile:
    return replace(profile or Profile(), capacity=capacity)

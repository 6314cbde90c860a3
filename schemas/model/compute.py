"""Machines, their classes and pools."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

import msgspec

from schemas.kinds import Key, Kind
from schemas.model import defaults
from schemas.model.networking import NetworkInterfaceTemplate
from schemas.model.part import (
    Assignment,
    Condition,
    DestroyRequest,
    Evict,
    GrantedHost,
    LabelSelector,
    MoveRequest,
    NameRef,
    Part,
    PreviousAssignment,
    Rejection,
    Taint,
    Toleration,
    Undo,
)
from schemas.model.quantity import Quantity
from schemas.model.resource import Resource
from schemas.model.storage import VolumeTemplate


class MachineClass(Resource, frozen=True):
    """The size of machines: cpu, memory and other resources."""

    KIND: ClassVar[Kind] = Kind.MACHINE_CLASS

    capabilities: dict[str, Quantity]


class Overcommit(Part, frozen=True):
    """Factors by which a pool offers more than it has, as exact fractions."""

    cpu: Fraction = defaults.OVERCOMMIT
    memory: Fraction = defaults.OVERCOMMIT


class MachinePoolSpec(Part, frozen=True):
    """Desired state of a pool: what people decide about it."""

    provider_id: str = msgspec.field(name="providerID", default="")
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    overcommit: Overcommit = Overcommit()
    reserved: dict[str, Quantity] = {}


class PoolAddress(Part, frozen=True):
    """One address of the pool's host."""

    type: str
    address: str


class MachinePoolStatus(Part, frozen=True):
    """Observed state of a pool, on the target branch only.

    `host` and `epoch` are the grant; `destroyed` and `move` are what people ordered about it, and what became of that. They
    are the reconciler's decisions, recorded here because a lost control plane has to find them again.
    """

    state: Literal["Ready", "Pending", "Error", "Offline", ""] = ""
    conditions: tuple[Condition, ...] = ()
    available_machine_classes: tuple[NameRef, ...] = ()
    addresses: tuple[PoolAddress, ...] = ()
    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    node_info: dict[str, str] = {}
    host: GrantedHost | None = None
    epoch: int = 0
    destroyed: DestroyRequest | None = None
    move: MoveRequest | None = None


class MachinePool(Resource, frozen=True):
    """A host's capacity for machines."""

    KIND: ClassVar[Kind] = Kind.MACHINE_POOL

    spec: MachinePoolSpec = MachinePoolSpec()
    status: MachinePoolStatus = MachinePoolStatus()


class LocalDisk(Part, frozen=True):
    """A disk on the pool's host; `image` is empty for a blank one."""

    size_limit: Quantity | None = None
    image: str = ""

    @property
    def size_bytes(self) -> int:
        """The default size if the disk names none, or zero."""
        written = self.size_limit.ceil() if self.size_limit else 0
        return written or defaults.LOCAL_DISK_BYTES


class EmptyDisk(Part, frozen=True):
    """The former name of LocalDisk, from before a local disk could have an image."""

    size_limit: Quantity | None = None


class EphemeralVolume(Part, frozen=True):
    """A volume that is created and deleted with its machine."""

    volume_template: VolumeTemplate


class MachineVolume(Part, frozen=True):
    """One disk. `empty_disk` is the former name of `local_disk`: it is moved to `local_disk`, and None afterwards."""

    name: str
    device: str = ""
    volume_ref: NameRef | None = None
    local_disk: LocalDisk | None = None
    empty_disk: EmptyDisk | None = None
    ephemeral: EphemeralVolume | None = None

    def __post_init__(self) -> None:
        if self.empty_disk is not None:
            msgspec.structs.force_setattr(
                self, "local_disk", LocalDisk(size_limit=self.empty_disk.size_limit)
            )
            msgspec.structs.force_setattr(self, "empty_disk", None)

    @property
    def source(self) -> NameRef | LocalDisk | EphemeralVolume:
        """The one of the three that is set."""
        found = self.volume_ref or self.local_disk or self.ephemeral
        assert found is not None, "the schema requires exactly one"
        return found


class EphemeralNetworkInterface(Part, frozen=True):
    """A network interface that is created and deleted with its machine."""

    network_interface_template: NetworkInterfaceTemplate


class MachineNetworkInterface(Part, frozen=True):
    """One network interface: a reference or an ephemeral one."""

    name: str
    network_interface_ref: NameRef | None = None
    ephemeral: EphemeralNetworkInterface | None = None

    @property
    def source(self) -> NameRef | EphemeralNetworkInterface:
        found = self.network_interface_ref or self.ephemeral
        assert found is not None, "the schema requires exactly one"
        return found


class IgnitionRef(Part, frozen=True):
    """The Secret and its key with the configuration for the first boot."""

    name: str
    key: str = defaults.IGNITION_KEY

    def __post_init__(self) -> None:
        if self.key == "":
            msgspec.structs.force_setattr(self, "key", defaults.IGNITION_KEY)


class GuestUser(Part, frozen=True):
    """A user of the guest, beside the one that its image has."""

    name: str
    ssh_authorized_keys: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    shell: str = ""
    sudo: bool = False


class GuestConfig(Part, frozen=True):
    """Settings inside the guest. All but the host name travel as first-boot data, in the language that `user_data` is written in."""

    hostname: str = ""
    ssh_authorized_keys: tuple[str, ...] = ()
    users: tuple[GuestUser, ...] = ()
    packages: tuple[str, ...] = ()
    run_commands: tuple[str, ...] = ()
    user_data: str = ""
    timezone: str = ""

    @property
    def has_settings(self) -> bool:
        """Whether anything is to be added to data of the user's own."""
        lists = (self.ssh_authorized_keys, self.users, self.packages, self.run_commands)
        return any(lists) or self.timezone != ""


class EFIVar(Part, frozen=True):
    """One variable of the firmware."""

    name: str
    uuid: str
    value: str


class Spread(Part, frozen=True):
    """Distribute machines over the values of a topology key; counts may differ by `max_skew`."""

    topology_key: str
    label_selector: LabelSelector
    max_skew: int = defaults.MAX_SKEW
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = defaults.WHEN_UNSATISFIABLE


class AntiAffinity(Part, frozen=True):
    """An empty `topology_key` means pool by pool."""

    label_selector: LabelSelector
    topology_key: str = ""
    required: bool = True


class MachineSpec(Part, frozen=True):
    """Disks without a device get one here, so every disk has its device."""

    machine_class_ref: NameRef
    machine_pool_selector: dict[str, str] = {}
    machine_pool_ref: NameRef | None = None
    power: Literal["On", "Off"] = defaults.POWER
    volumes: tuple[MachineVolume, ...] = ()
    network_interfaces: tuple[MachineNetworkInterface, ...] = ()
    ignition_ref: IgnitionRef | None = None
    tolerations: tuple[Toleration, ...] = ()
    guest_config: GuestConfig = GuestConfig()
    efi_vars: tuple[EFIVar, ...] = ()
    spread: Spread | None = None
    anti_affinity: AntiAffinity | None = None
    priority: int = 0
    on_pool_lost: Literal["Keep", "Replace"] = defaults.ON_POOL_LOST

    def __post_init__(self) -> None:
        if all(disk.device for disk in self.volumes):
            return
        devices = defaults.devices(disk.device for disk in self.volumes)
        pairs = zip(self.volumes, devices, strict=True)
        filled = tuple(msgspec.structs.replace(disk, device=device) for disk, device in pairs)
        msgspec.structs.force_setattr(self, "volumes", filled)


class MachineVolumeStatus(Part, frozen=True):
    """Observed state of one disk."""

    name: str
    handle: str = ""
    state: Literal["Pending", "Attached", ""] = ""
    volume_ref: NameRef | None = None
    last_state_transition_time: str = ""


class MachineNetworkInterfaceStatus(Part, frozen=True):
    """Observed state of one network interface."""

    name: str
    handle: str = ""
    state: Literal["Pending", "Attached", ""] = ""
    ips: tuple[str, ...] = ()
    mac_address: str = ""
    network_interface_ref: NameRef | None = None
    last_state_transition_time: str = ""


class MachineStatus(Part, frozen=True):
    """Observed state of a machine, and the reconciler's orders about it.

    Orders: `assignment`, `evict`, `undo` and `restart`. `previous_assignment` is who had it before. Observations: the rest, copied from the
    report of the assigned host. `machine_class_ref` is the class that it has there, while that is not the one of the spec.
    """

    machine_id: str = msgspec.field(name="machineID", default="")
    state: Literal["Pending", "Running", "Shutdown", "Terminating", "Terminated", ""] = ""
    observed_revision: str = ""
    conditions: tuple[Condition, ...] = ()
    volumes: tuple[MachineVolumeStatus, ...] = ()
    network_interfaces: tuple[MachineNetworkInterfaceStatus, ...] = ()
    assignment: Assignment | None = None
    previous_assignment: PreviousAssignment | None = None
    evict: Evict | None = None
    undo: Undo | None = None
    rejections: tuple[Rejection, ...] = ()
    restart: str = ""
    machine_class_ref: NameRef | None = None


class Machine(Resource, frozen=True):
    """A virtual machine.

    `spec` is what people declared, `status` what is recorded on the target branch; in the source, `status` is ignored.
    """

    KIND: ClassVar[Kind] = Kind.MACHINE

    spec: MachineSpec
    status: MachineStatus = MachineStatus()

    @property
    def hostname(self) -> str:
        """The name that the guest gets at its first boot."""
        return self.spec.guest_config.hostname or self.name

    def volume_key(self, disk: MachineVolume) -> Key | None:
        """The Volume behind this disk; None for a disk on the pool's host."""
        match disk.source:
            case LocalDisk():
                return None
            case EphemeralVolume():
                return Key(Kind.VOLUME, self.namespace, f"{self.name}-{disk.name}")
            case reference:
                return Key(Kind.VOLUME, self.namespace, reference.name)

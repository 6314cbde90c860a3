"""Machines as callers send them to a runtime and read them from it. Frozen structs; no gRPC.

Structs mirror the messages of machine.v1alpha1 field by field. `unknown` keeps what a newer caller has sent beyond the
fields known here, because a spec must come back exactly as it was sent. No code changes a mapping in place: objects are shared between threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import msgspec

from iri.metadata import RuntimeMetadata


class Power(IntEnum):
    """The desired power."""

    UNKNOWN = -1  # any number that is not in this list
    ON = 0
    OFF = 1


class MachineState(IntEnum):
    """gitvirt's runtimes never answer STOPPED, on which existing clients fail.

    A machine that is off is SUSPENDED when its power was ordered off, and TERMINATED when it ended by itself.
    """

    UNKNOWN = -1
    PENDING = 0
    RUNNING = 1
    SUSPENDED = 2
    TERMINATED = 3
    TERMINATING = 4
    STOPPED = 5


class AttachmentState(IntEnum):
    """ATTACHED exactly while the guest has the device."""

    UNKNOWN = -1
    PENDING = 0
    ATTACHED = 1


class Image(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A reference of an OCI image; its meaning is the runtime's."""

    image: str = ""
    unknown: bytes = b""


class RuntimeLocalDisk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A disk on the machine's host. It is deleted with the machine."""

    size_bytes: int = 0  # 0: the size of the image, or the runtime's default
    image: Image | None = None
    unknown: bytes = b""


class VolumeConnection(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How to reach a volume: what its VolumeAccess says. Secrets are in here."""

    driver: str = ""
    handle: str = ""
    attributes: Mapping[str, str] = {}
    secret_data: Mapping[str, bytes] = {}
    encryption_data: Mapping[str, bytes] = {}
    effective_storage_bytes: int = 0
    unknown: bytes = b""


class Disk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A machine's disk. `name` is the attachment's; exactly one of `local_disk` and `connection` says where its data is."""

    name: str = ""
    device: str = ""
    local_disk: RuntimeLocalDisk | None = None
    connection: VolumeConnection | None = None
    unknown: bytes = b""


class RuntimeNetworkInterface(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One network card. `attributes` belong to the runtime: "mac", "cidr", "dhcp", ..."""

    name: str = ""
    network_id: str = ""
    ips: tuple[str, ...] = ()
    attributes: Mapping[str, str] = {}
    unknown: bytes = b""


class RuntimeGuestConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the guest gets to know about itself at its first boot."""

    hostname: str = ""
    unknown: bytes = b""


class RuntimeMachineSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The desired state, exactly as the caller sent it."""

    power: Power = Power.ON
    class_name: str = ""
    ignition_data: bytes = b""
    volumes: tuple[Disk, ...] = ()
    network_interfaces: tuple[RuntimeNetworkInterface, ...] = ()
    guest_config: RuntimeGuestConfig | None = None
    unknown: bytes = b""


class AttachmentStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One device by its attachment name. `handle` is the runtime's name of the device that is really there."""

    name: str = ""
    handle: str = ""
    state: AttachmentState = AttachmentState.PENDING


class RuntimeCondition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """As a condition of Kubernetes. Times are Unix nanoseconds."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: int = 0


class RuntimeMachineStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What exists now. A device stays listed for as long as the guest has it, whatever spec says."""

    observed_generation: int = 0
    state: MachineState = MachineState.PENDING
    image_ref: str = ""
    volumes: tuple[AttachmentStatus, ...] = ()
    network_interfaces: tuple[AttachmentStatus, ...] = ()
    conditions: tuple[RuntimeCondition, ...] = ()


class InterfaceDetail(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The observed MAC and addresses of one interface."""

    name: str = ""
    mac: str = ""
    ips: tuple[str, ...] = ()


HOST_BOOTED = (
    "HostBooted"  # why a machine is off that waits for its power to be ordered, after a boot of its host
)


class MachineDetail(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the machine service has no field for; the host service carries it."""

    network_interfaces: tuple[InterfaceDetail, ...] = ()
    console: str = ""  # a command on the host
    pending_changes: tuple[str, ...] = ()  # parts of spec that wait for the next boot
    boots: int = 0
    reason: str = ""  # of the state, in CamelCase: "GuestPowerOff", "Crash", ...


class RuntimeMachine(RuntimeMetadata, frozen=True, kw_only=True, gc=False):
    """A machine of one runtime: what was ordered (`spec`), what exists (`status`), and what only people read (`detail`)."""

    spec: RuntimeMachineSpec = RuntimeMachineSpec()
    status: RuntimeMachineStatus = RuntimeMachineStatus()
    detail: MachineDetail = MachineDetail()

"""The host below a runtime, and the classes that the runtime offers. Frozen structs; no gRPC.

A class name means the same resources on every host that offers it; how many machines of it fit is the offer.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class NodeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Versions for people; no decision depends on them."""

    architecture: str = ""
    operating_system: str = ""
    kernel_version: str = ""
    cpu_model: str = ""
    hypervisor: str = ""
    hypervisor_version: str = ""


class HostAddress(msgspec.Struct, frozen=True, kw_only=True):
    """One address of the host, for people and for their ssh."""

    type: str = ""  # Hostname, InternalIP, ExternalIP, InternalDNS, ExternalDNS
    address: str = ""


class HostInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`capacity` is the whole host: whole cores for "cpu", bytes for "memory" and "storage", counts for devices."""

    id: str = ""
    capacity: Mapping[str, int] = {}
    node_info: NodeInfo = NodeInfo()
    addresses: tuple[HostAddress, ...] = ()
    labels: Mapping[str, str] = {}
    hardware_id: str = ""  # empty where it is unknown


class RuntimeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`name` prefixes the ids that people see, so a runtime never changes its name. `version` is semantic."""

    name: str
    version: str
    host: HostInfo = HostInfo()
    has_host_service: bool = True  # without one it states reasons in its events alone


class RuntimeMachineClass(msgspec.Struct, frozen=True, kw_only=True):
    """`resources`: whole cores for "cpu", rounded up, bytes for "memory", counts for the rest. Keys are exactly those of the class."""

    name: str = ""
    resources: Mapping[str, int] = {}


class RuntimeVolumeClass(msgspec.Struct, frozen=True, kw_only=True):
    """What each volume of the class gets."""

    name: str = ""
    tps: int = 0  # bytes per second
    iops: int = 0


class MachineOffer(msgspec.Struct, frozen=True, kw_only=True):
    """`quantity`: how many machines of the class fit on the empty host, whatever runs on it now."""

    machine_class: RuntimeMachineClass
    quantity: int = 0


class VolumeOffer(msgspec.Struct, frozen=True, kw_only=True):
    """`quantity`: how many bytes the empty storage holds, whatever is stored now."""

    volume_class: RuntimeVolumeClass
    quantity: int = 0


class RuntimeClasses(msgspec.Struct, frozen=True, kw_only=True):
    """All classes that a runtime is to offer, or offers."""

    machines: tuple[RuntimeMachineClass, ...] = ()
    volumes: tuple[RuntimeVolumeClass, ...] = ()


class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a runtime offers. A kind that it does not have has no offers."""

    machines: tuple[MachineOffer, ...] = ()
    volumes: tuple[VolumeOffer, ...] = ()

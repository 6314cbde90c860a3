"""Networks and network interfaces."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from schemas.kinds import Kind
from schemas.model.part import Condition, NameRef, Part, TemplateMetadata
from schemas.model.resource import Resource


class IPv4(Part, frozen=True):
    cidr: str
    dhcp: bool = True
    nat: bool = False


class NetworkSpec(Part, frozen=True):
    provider_id: str = msgspec.field(name="providerID", default="")
    ipv4: IPv4 | None = None


class NetworkStatus(Part, frozen=True):
    state: Literal["Pending", "Available", "Error", ""] = ""
    conditions: tuple[Condition, ...] = ()


class Network(Resource, frozen=True):
    KIND: ClassVar[Kind] = Kind.NETWORK

    spec: NetworkSpec = NetworkSpec()
    status: NetworkStatus = NetworkStatus()


class InterfaceIP(Part, frozen=True):
    """`value` is empty for an address that IronCore's address management would assign."""

    value: str = ""


class NetworkInterfaceSpec(Part, frozen=True):
    network_ref: NameRef
    ips: tuple[InterfaceIP, ...] = ()
    ip_families: tuple[Literal["IPv4", "IPv6"], ...] = ()
    mac_address: str = ""
    attributes: dict[str, str] = {}
    provider_id: str = msgspec.field(name="providerID", default="")

    @property
    def addresses(self) -> tuple[str, ...]:
        """The requested addresses, in order."""
        return tuple(ip.value for ip in self.ips if ip.value)


class NetworkInterfaceTemplate(Part, frozen=True):
    spec: NetworkInterfaceSpec
    metadata: TemplateMetadata = TemplateMetadata()


class NetworkInterfaceStatus(Part, frozen=True):
    state: Literal["Pending", "Available", "Error", ""] = ""
    last_state_transition_time: str = ""
    ips: tuple[str, ...] = ()
    mac_address: str = ""
    conditions: tuple[Condition, ...] = ()


class NetworkInterface(Resource, frozen=True):
    KIND: ClassVar[Kind] = Kind.NETWORK_INTERFACE

    spec: NetworkInterfaceSpec
    status: NetworkInterfaceStatus = NetworkInterfaceStatus()

"""Networks and network interfaces."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from schemas.kinds import Kind
from schemas.model.part import Condition, NameRef, Part, TemplateMetadata
from schemas.model.resource import Resource


class IPv4(Part, frozen=True):
    """The address range of a network. gitvirt configures it on hosts where the network is its own."""

    cidr: str
    dhcp: bool = True
    nat: bool = False


class PeeredNetwork(Part, frozen=True):
    """A network by name; without a namespace one of the same."""

    name: str
    namespace: str = ""


class Peering(Part, frozen=True):
    """Accepted and not acted on."""

    name: str
    network_ref: PeeredNetwork


class NetworkSpec(Part, frozen=True):
    """A network of the provider, or one that gitvirt creates. `vlan` is 0 for none; `gateway` and `dns` are what guests are told."""

    provider_id: str = msgspec.field(name="providerID", default="")
    ipv4: IPv4 | None = None
    vlan: int = 0
    gateway: str = ""
    dns: tuple[str, ...] = ()
    peerings: tuple[Peering, ...] = ()

    @property
    def attributes(self) -> dict[str, str]:
        """Those of its fields that an interface may have as an attribute of the same name too, as runtimes read them."""
        written = {"vlan": str(self.vlan or ""), "gateway": self.gateway, "dns": ",".join(self.dns)}
        return {name: value for name, value in written.items() if value}


class NetworkStatus(Part, frozen=True):
    """Observed state of a network."""

    state: Literal["Pending", "Available", "Error", ""] = ""
    conditions: tuple[Condition, ...] = ()


class Network(Resource, frozen=True):
    """A network that machines are connected to."""

    KIND: ClassVar[Kind] = Kind.NETWORK

    spec: NetworkSpec = NetworkSpec()
    status: NetworkStatus = NetworkStatus()


class InterfaceIP(Part, frozen=True):
    """`value` is empty for an address that IronCore's address management would assign."""

    value: str = ""


class NetworkInterfaceSpec(Part, frozen=True):
    """Network, addresses and hardware address of an interface."""

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
    """What the generated network interface of an ephemeral entry gets."""

    spec: NetworkInterfaceSpec
    metadata: TemplateMetadata = TemplateMetadata()


class NetworkInterfaceStatus(Part, frozen=True):
    """Observed state of a network interface."""

    state: Literal["Pending", "Available", "Error", ""] = ""
    last_state_transition_time: str = ""
    ips: tuple[str, ...] = ()
    mac_address: str = ""
    conditions: tuple[Condition, ...] = ()


class NetworkInterface(Resource, frozen=True):
    """A network interface that exists independently of a machine."""

    KIND: ClassVar[Kind] = Kind.NETWORK_INTERFACE

    spec: NetworkInterfaceSpec
    status: NetworkInterfaceStatus = NetworkInterfaceStatus()

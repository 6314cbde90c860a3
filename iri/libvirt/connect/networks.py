"""libvirt's networks: XML and plain values in, plain values out.

libvirt has a persistent definition of a network and, while the network is active, a live one. Reservations are changed in both, so
that a restart of libvirtd loses none and running guests get their address at the next request. A definition is changed only while
the network is stopped: `networks.networks` stops it first.

Limits: decides nothing. Which networks are needed, and which are ours, is `networks.networks`'s to know.
"""

from __future__ import annotations

from collections.abc import Callable

import libvirt

from iri.errors import NotFound
from iri.libvirt import xml
from iri.libvirt.connect.libvirt_errors import default_if_missing
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.networks.network_xml import ObservedNetwork, parse_network, reservation

LIVE_AND_KEPT = libvirt.VIR_NETWORK_UPDATE_AFFECT_LIVE | libvirt.VIR_NETWORK_UPDATE_AFFECT_CONFIG
KEPT = libvirt.VIR_NETWORK_UPDATE_AFFECT_CONFIG


class LibvirtNetworks:
    """Calls about networks and their reservations, by the network's name. Raises NotFound where it does not exist."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link

    def find(self, name: str) -> ObservedNetwork | None:
        """None when libvirt has no network of that name, whoever made it."""
        try:
            return self._link.call(
                lambda raw: _observe(raw.networkLookupByName(name)), "looking for a network"
            )
        except NotFound:
            return None

    def all(self) -> tuple[ObservedNetwork, ...]:
        """All networks, ours or not; those that are removed meanwhile are left out."""

        def list_all(raw: libvirt.virConnect) -> tuple[ObservedNetwork, ...]:
            return tuple(each for network in raw.listAllNetworks() if (each := _observe_if_present(network)))

        return self._link.call(list_all, "listing the networks")

    def define(self, document: str) -> None:
        """Redefines a network of the same name and UUID, which takes effect at its next start."""
        self._link.call(lambda raw: raw.networkDefineXML(document), "defining a network")

    def start(self, name: str) -> None:
        """Also has libvirt start it with the host. No error when it runs already."""

        def start_network(network: libvirt.virNetwork) -> None:
            if not network.isActive():
                network.create()
            network.setAutostart(True)

        self._call(name, start_network, "starting a network")

    def stop(self, name: str) -> None:
        """Cuts off the guests that use it. No error when it is stopped already."""
        self._call(
            name, lambda network: network.destroy() if network.isActive() else None, "stopping a network"
        )

    def undefine(self, name: str) -> None:
        """Only a stopped network disappears with its definition; a running one would stay until it is stopped."""
        self._call(name, lambda network: network.undefine(), "removing a network")

    def reserve(self, name: str, mac: str, address: str) -> None:
        """libvirt refuses a second reservation of the same MAC address."""
        self._update(name, libvirt.VIR_NETWORK_UPDATE_COMMAND_ADD_LAST, mac, address)

    def release(self, name: str, mac: str, address: str) -> None:
        """libvirt refuses to release what is not reserved; the caller releases what it has observed."""
        self._update(name, libvirt.VIR_NETWORK_UPDATE_COMMAND_DELETE, mac, address)

    def is_used(self, name: str) -> bool:
        """Whether a running guest uses it, ours or not."""

        def is_in_use(raw: libvirt.virConnect) -> bool:
            return any(
                source.get("network") == name
                for domain in raw.listAllDomains(libvirt.VIR_CONNECT_LIST_DOMAINS_ACTIVE)
                for source in xml.parse(_document(domain)).iterfind("devices/interface/source")
            )

        return self._link.call(is_in_use, "looking for users of a network")

    def _update(self, name: str, command: int, mac: str, address: str) -> None:
        """In the definition, and in the running network where it runs."""
        document = xml.text(reservation(mac, address))

        def update_reservation(network: libvirt.virNetwork) -> None:
            flags = LIVE_AND_KEPT if network.isActive() else KEPT
            network.update(command, libvirt.VIR_NETWORK_SECTION_IP_DHCP_HOST, -1, document, flags)

        self._call(name, update_reservation, "changing the reservations of a network")

    def _call(self, name: str, action: Callable[[libvirt.virNetwork], object], doing: str) -> None:
        self._link.call(lambda raw: action(raw.networkLookupByName(name)), doing)


def _document(domain: libvirt.virDomain) -> str:
    """Empty for a domain that went away since it was listed."""
    return default_if_missing(libvirt.VIR_ERR_NO_DOMAIN, "<domain/>", domain.XMLDesc)


def _observe(network: libvirt.virNetwork) -> ObservedNetwork:
    return parse_network(xml.parse(network.XMLDesc()), is_active=bool(network.isActive()))


def _observe_if_present(network: libvirt.virNetwork) -> ObservedNetwork | None:
    return default_if_missing(libvirt.VIR_ERR_NO_NETWORK, None, _observe, network)

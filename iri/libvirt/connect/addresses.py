"""What libvirt can learn about the addresses of a running domain."""

from __future__ import annotations

import libvirt

from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.domain.domain_state import has_agent
from iri.libvirt.networks.guest_addresses import Learned, LearnedFrom

SOURCES = {
    LearnedFrom.LEASE: libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE,
    LearnedFrom.AGENT: libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT,
    LearnedFrom.ARP: libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP,
}


class LibvirtAddresses:
    """Implements networks.guest_addresses.AddressSource."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link

    def has_agent(self, machine_id: str) -> bool:
        """An agent that does not answer costs seconds, so only a connected one is asked."""
        document = self._link.call(
            lambda raw: raw.lookupByUUIDString(machine_id).XMLDesc(), "looking for a guest agent"
        )
        return has_agent(document)

    def learn(self, machine_id: str, source: LearnedFrom) -> Learned:
        """Addresses by MAC, from one source of libvirt's."""
        answer = self._link.call(
            lambda raw: raw.lookupByUUIDString(machine_id).interfaceAddresses(SOURCES[source]),
            "learning addresses",
        )
        return {
            interface["hwaddr"]: [address["addr"] for address in interface["addrs"] or ()]
            for interface in answer.values()
            if interface["hwaddr"]
        }

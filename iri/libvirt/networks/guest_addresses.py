"""Which addresses a machine's interfaces have: from the guest's agent, which knows best but may lie; from DHCP leases; from the
host's ARP table. Pure but for `GuestAddresses`.

    source       knows                               asked
    agent        all addresses, as the guest says    when it is connected
    DHCP lease   the address that libvirt gave       for interfaces without an address so far
    ARP table    addresses that the host has met     for interfaces without an address so far

Addresses are shown to people and in reports; nothing here is decided by them, because a guest may claim any.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol

from iri.errors import FailedPrecondition, NotFound, TimedOut, Unimplemented

log = logging.getLogger(__name__)
MOST = 16  # for each interface: a guest can claim any number
Learned = Mapping[str, Sequence[str]]  # by MAC


class LearnedFrom(Enum):
    """In the order in which they are asked."""

    AGENT = "agent"
    LEASE = "lease"
    ARP = "arp"


class AddressSource(Protocol):
    """What libvirt knows of one guest; `LibvirtDomains` is one. Raises NotFound without the machine."""

    def has_agent(self, machine_id: str) -> bool: ...
    def learn(self, machine_id: str, source: LearnedFrom) -> Learned: ...


class GuestAddresses:
    """Keeps nothing: each lookup asks libvirt."""

    def __init__(self, source: AddressSource) -> None:
        self._source = source

    def lookup(self, machine_id: str, macs: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Known addresses by MAC. Asks each source only for the interfaces that the sources before did not know."""
        known: dict[str, tuple[str, ...]] = {}
        for source in LearnedFrom:
            if source is LearnedFrom.AGENT and not self._source.has_agent(machine_id):
                continue
            missing = [mac for mac in macs if mac not in known]
            if not missing:
                break
            known |= usable(self._ask(machine_id, source), missing)
        return known

    def _ask(self, machine_id: str, source: LearnedFrom) -> Learned:
        """A source that fails knows nothing. Raises Unavailable, because then the others would fail too."""
        try:
            return self._source.learn(machine_id, source)
        except (FailedPrecondition, NotFound, TimedOut, Unimplemented) as error:
            log.debug("cannot query addresses machine=%s source=%s error=%s", machine_id, source.value, error)
            return {}


def usable(learned: Learned, macs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The reachable addresses of the machine's own interfaces, each once and in order."""
    lower = {mac.lower(): texts for mac, texts in learned.items()}
    found = {}
    for mac in macs:
        addresses = {address: None for text in lower.get(mac, ()) if (address := _reachable(text))}
        if addresses:
            found[mac] = tuple(addresses)[:MOST]
    return found


def _reachable(text: str) -> str:
    """The address in its usual spelling; empty for text that is not one, and for one that nothing outside the guest reaches."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    is_unreachable = (
        address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
    )
    return "" if is_unreachable else str(address)

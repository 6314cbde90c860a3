"""Which addresses a machine's interfaces have, as far as the host can learn: from the guest's agent, which knows best but
is the guest's own word; from DHCP leases; from what the host has heard in the neighbourhood (ARP). Pure but for `Addresses`.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol

from iri.errors import FailedPrecondition, NotFound, TimedOut, Unimplemented

log = logging.getLogger(__name__)
MOST = 16  # of one interface: a guest can claim any number
Learned = Mapping[str, Sequence[str]]  # by MAC


class LearnedFrom(Enum):
    AGENT = "agent"
    LEASE = "lease"
    ARP = "arp"


class AddressSource(Protocol):
    def has_agent(self, machine_id: str) -> bool: ...
    def learn(self, machine_id: str, source: LearnedFrom) -> Learned: ...


class GuestAddresses:
    def __init__(self, source: AddressSource) -> None:
        self._source = source

    def lookup(self, machine_id: str, macs: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """By MAC, for those that are known. Asks the next source only for what the last one did not tell."""
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
        try:
            return self._source.learn(machine_id, source)
        except (FailedPrecondition, NotFound, TimedOut, Unimplemented) as error:
            log.debug("no addresses machine=%s source=%s error=%s", machine_id, source.value, error)
            return {}


def usable(learn: Learned, macs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Those that others can reach, each once and in order, of the interfaces that the machine really has."""
    lower = {mac.lower(): texts for mac, texts in learn.items()}
    parse_network = {}
    for mac in macs:
        addresses = {address: None for text in lower.get(mac, ()) if (address := _reachable(text))}
        if addresses:
            parse_network[mac] = tuple(addresses)[:MOST]
    return parse_network


def _reachable(text: str) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    is_odd = address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
    return "" if is_odd else str(address)

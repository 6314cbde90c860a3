"""Domains by their UUIDs, with plain values in and out. Never lists or changes a domain without our metadata.

The UUID of a domain is the id of its machine, so every call is by id, and a domain that a person has renamed is still found. Each
domain has a persistent definition and, while it runs, a live one. `CONFIG` changes the first, `LIVE` the second; callers that mean
both make two calls, because a guest may refuse the live one for a long time.

    libvirt's answer                        here
    no such domain                          NotFound: it was undefined, by us or by a person
    the domain is in another state          FailedPrecondition: observe again
    QEMU does not answer                    TimedOut: the call may have taken effect
    libvirtd is away                        Unavailable, at once
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TypeVar

import libvirt

from iri.errors import FailedPrecondition, NotFound
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.domain.domain_state import DomainState, RunState, StopReason, has_agent, parse_hardware
from iri.libvirt.domain.record import NAMESPACE, PREFIX, TAG
from iri.libvirt.networks.guest_addresses import Learned, LearnedFrom
from iri.libvirt.xml import Element, parse, text

T = TypeVar("T")
CONFIG = libvirt.VIR_DOMAIN_AFFECT_CONFIG
LIVE = libvirt.VIR_DOMAIN_AFFECT_LIVE
AGENT, POWER_BUTTON = libvirt.VIR_DOMAIN_SHUTDOWN_GUEST_AGENT, libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN
BYTES = libvirt.VIR_DOMAIN_BLOCK_RESIZE_BYTES
PAUSED_STATES = {
    libvirt.VIR_DOMAIN_PAUSED_IOERROR: RunState.IO_ERROR,
    libvirt.VIR_DOMAIN_PAUSED_STARTING_UP: RunState.UNFINISHED_START,
    libvirt.VIR_DOMAIN_PAUSED_UNKNOWN: RunState.UNFINISHED_START,
    libvirt.VIR_DOMAIN_PAUSED_SHUTTING_DOWN: RunState.RUNNING,
}
OFF_STATES = (libvirt.VIR_DOMAIN_SHUTOFF, libvirt.VIR_DOMAIN_CRASHED, libvirt.VIR_DOMAIN_NOSTATE)
STOP_REASONS = {
    libvirt.VIR_DOMAIN_SHUTOFF_SHUTDOWN: StopReason.SHUTDOWN,
    libvirt.VIR_DOMAIN_SHUTOFF_DESTROYED: StopReason.DESTROYED,
    libvirt.VIR_DOMAIN_SHUTOFF_CRASHED: StopReason.CRASHED,
    libvirt.VIR_DOMAIN_SHUTOFF_FAILED: StopReason.FAILED,
}
ADDRESS_SOURCES = {
    LearnedFrom.LEASE: libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE,
    LearnedFrom.AGENT: libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT,
    LearnedFrom.ARP: libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP,
}
# Everything that libvirt keeps beside a domain is removed with it.
UNDEFINE = (
    libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
    | libvirt.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
    | libvirt.VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA
    | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
)


class LibvirtDomains:
    """Every method may raise an IRIError: NotFound without such a domain. Thread-safe.

    Implements networks.guest_addresses.AddressSource too."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link

    def metadata(self) -> Mapping[str, Element]:
        """Our metadata of all domains that have it, by id."""

        def list_metadata(raw: libvirt.virConnect) -> Mapping[str, Element]:
            found = {}
            for domain in raw.listAllDomains(0):
                with contextlib.suppress(NotFound):
                    found[domain.UUIDString()] = parse(metadata_of(domain))
            return found

        return self._link.call(list_metadata, "listing the domains")

    def define(self, document: str) -> None:
        """Replaces the persistent definition. A running guest keeps its live one until its next boot."""
        self._link.call(lambda raw: raw.defineXML(document), "defining the domain")

    def write_metadata(self, id: str, metadata: Element) -> None:
        """Replaces our metadata in the persistent definition. A domain that was undefined while it runs is defined again."""
        written = text(metadata)

        def write_metadata(raw: libvirt.virConnect) -> None:
            domain = raw.lookupByUUIDString(id)
            if not domain.isPersistent():
                raw.defineXML(domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE))
            domain.setMetadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, written, PREFIX, NAMESPACE, CONFIG)

        self._link.call(write_metadata, "recording")

    def next_boot_document(self, id: str) -> str:
        """With its secrets, so that it can be defined again as it is. Must not be logged."""
        flags = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE
        return self._call(id, lambda domain: str(domain.XMLDesc(flags)), "reading the domain")

    def observe(self, id: str) -> DomainState:
        """State and both configurations, as of one call."""
        return self._call(id, domain_state, "observing the domain")

    def wait_for_qemu(self, id: str) -> None:
        """Waits until libvirtd has spoken to the guest's QEMU again; before that it does not report the guest's end."""
        with contextlib.suppress(FailedPrecondition):
            self._call(id, lambda domain: domain.memoryStats(), "speaking to QEMU")

    def has_agent(self, id: str) -> bool:
        """Whether the guest's agent is connected: one that does not answer costs seconds."""
        return self.observe(id).has_agent

    def learn(self, id: str, source: LearnedFrom) -> Learned:
        """Addresses by MAC, from one of libvirt's sources."""
        source_id = ADDRESS_SOURCES[source]
        answer = self._call(id, lambda domain: domain.interfaceAddresses(source_id), "learning addresses")
        return {
            interface["hwaddr"]: [address["addr"] for address in interface["addrs"] or ()]
            for interface in answer.values()
            if interface["hwaddr"]
        }

    def start(self, id: str) -> None:
        """Returns once QEMU runs, long before the guest has booted. FailedPrecondition when it runs already."""
        self._call(id, lambda domain: domain.createWithFlags(0), "starting the machine")

    def press_power_button(self, id: str) -> None:
        """A request: the guest may be deaf to it, and libvirt does not tell."""
        self._call(id, lambda domain: domain.shutdownFlags(POWER_BUTTON), "pressing the power button")

    def ask_agent_to_power_off(self, id: str) -> None:
        """Blocks until the agent answers, or libvirt gives up on it."""
        self._call(id, lambda domain: domain.shutdownFlags(AGENT), "asking the guest's agent to power off")

    def force_off(self, id: str) -> None:
        """As if the power were cut. FailedPrecondition when it is off already."""
        self._call(id, lambda domain: domain.destroyFlags(0), "switching the machine off")

    def resume(self, id: str) -> None:
        """For a guest that an I/O error has paused. One whose disk still fails is paused again."""
        self._call(id, lambda domain: domain.resume(), "resuming the machine")

    def undefine(self, id: str) -> None:
        """Deletes the definition with our record in it, and the firmware's variables. Disks stay."""
        self._call(id, lambda domain: domain.undefineFlags(UNDEFINE), "undefining the domain")

    def set_autostart(self, id: str, *, is_on: bool) -> None:
        """Whether libvirt starts the domain when the host boots, before this runtime runs."""
        self._call(id, lambda domain: domain.setAutostart(int(is_on)), "setting autostart")

    def is_autostart(self, id: str) -> bool:
        return bool(self._call(id, lambda domain: domain.autostart(), "reading autostart"))

    def attach(self, id: str, device: Element, *, is_live: bool) -> None:
        """Into the running guest, or into the definition of its next boot; never both."""
        document = text(device)
        flags = LIVE if is_live else CONFIG
        self._call(id, lambda domain: domain.attachDeviceFlags(document, flags), "attaching a device")

    def detach(self, id: str, alias: str, *, is_live: bool) -> None:
        """A running guest releases the device later, or never; an event reports which."""
        flags = LIVE if is_live else CONFIG
        self._call(id, lambda domain: domain.detachDeviceAlias(alias, flags), "detaching a device")

    def set_cpus(self, id: str, count: int) -> None:
        """Of the running guest: at most what its domain was defined with."""
        self._call(id, lambda domain: domain.setVcpusFlags(count, LIVE), "changing the processors")

    def set_memory(self, id: str, size_bytes: int) -> None:
        """Sets the guest's balloon: at most what the guest was started with."""
        self._call(id, lambda domain: domain.setMemoryFlags(size_bytes // 1024, LIVE), "changing the memory")

    def disk_bytes(self, id: str, target: str) -> int:
        """The size that the running guest sees."""
        return self._call(id, lambda domain: int(domain.blockInfo(target)[0]), "measuring a disk")

    def grow_disk(self, id: str, target: str, size_bytes: int) -> None:
        """The size that QEMU shows to the guest. The data must have that size already, or grows with it."""
        self._call(id, lambda domain: domain.blockResize(target, size_bytes, BYTES), "growing a disk")

    def _call(self, id: str, action: Callable[[libvirt.virDomain], T], doing: str) -> T:
        return self._link.call(lambda raw: action(raw.lookupByUUIDString(id)), doing)


def metadata_of(domain: libvirt.virDomain) -> str:
    """Raises NotFound for a domain that is not ours, or gone."""
    try:
        where = CONFIG if domain.isPersistent() else LIVE
        found: str = domain.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, NAMESPACE, where)
    except libvirt.libvirtError as error:
        if error.get_error_code() in (libvirt.VIR_ERR_NO_DOMAIN_METADATA, libvirt.VIR_ERR_NO_DOMAIN):
            raise NotFound(f"no <{TAG}> metadata of gitvirt") from None
        raise
    return found


def domain_state(domain: libvirt.virDomain) -> DomainState:
    """Both configurations are read at each observation; a running domain has its devices in the live one alone for a while."""
    state, reason = domain.state()
    following = parse_hardware(domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE))
    if state in OFF_STATES:
        return DomainState(
            run_state=RunState.OFF,
            stop_reason=STOP_REASONS.get(reason, StopReason.UNKNOWN),
            next_boot=following,
        )
    document = domain.XMLDesc(0)
    run_state = RunState.RUNNING
    if state == libvirt.VIR_DOMAIN_PAUSED:
        run_state = PAUSED_STATES.get(reason, RunState.PAUSED)
    elif state == libvirt.VIR_DOMAIN_PMSUSPENDED:
        run_state = RunState.PAUSED
    return DomainState(
        run_state=run_state,
        live=parse_hardware(document),
        next_boot=following,
        has_agent=has_agent(document),
        is_transient=not domain.isPersistent(),
    )

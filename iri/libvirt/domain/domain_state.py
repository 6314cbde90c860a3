"""What libvirt says of a domain, as far as it matters to us. Pure: defaults that libvirt filled in are not even read."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from iri.libvirt.domain.names import Alias, DeviceKind, parse_alias
from iri.libvirt.xml import Element, parse


class RunState(Enum):
    OFF = "off"
    RUNNING = "running"
    PAUSED = "paused"  # by people, or by libvirt while it works on it
    IO_ERROR = "io-error"  # paused by an input or output error
    UNFINISHED_START = "unfinished-start"  # libvirtd did not live to finish its start: it has never run


class StopReason(Enum):
    """Why a domain is off."""

    UNKNOWN = "unknown"  # never started, or libvirtd has been restarted since
    SHUTDOWN = "shutdown"  # by the guest, on its own or when asked
    DESTROYED = "destroyed"
    CRASHED = "crashed"
    FAILED = "failed"  # to start


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """Of one of a domain's two configurations: that of the running guest, and that of its next boot."""

    disks: Mapping[Alias, str] = {}  # with the target name
    nics: Mapping[Alias, str] = {}  # with the MAC address
    targets: frozenset[str] = frozenset()  # all that are taken
    cpus: int = 0
    memory_bytes: int = 0  # that it was built with
    balloon_bytes: int = 0  # that it has of it

    @property
    def aliases(self) -> frozenset[Alias]:
        return frozenset(self.disks) | frozenset(self.nics)


class DomainState(msgspec.Struct, frozen=True, kw_only=True):
    run_state: RunState = RunState.OFF
    stop_reason: StopReason = StopReason.UNKNOWN
    live: Hardware | None = None  # while it is on
    next_boot: Hardware = Hardware()
    has_agent: bool = False
    is_transient: bool = False  # somebody undefined it while it runs: with the guest it would be gone

    @property
    def is_on(self) -> bool:
        return self.run_state is not RunState.OFF

    @property
    def current(self) -> Hardware:
        """What is really there: of a domain that is off, what it would start with."""
        return self.live or self.next_boot

    @property
    def aliases(self) -> frozenset[Alias]:
        """Whatever is still somewhere."""
        return self.next_boot.aliases | (self.live.aliases if self.live else frozenset())


def parse_hardware(document: str) -> Hardware:
    root = parse(document)
    disks: dict[Alias, str] = {}
    nics: dict[Alias, str] = {}
    targets = set()
    for disk in root.iterfind("devices/disk"):
        target = attribute(disk, "target", "dev")
        targets.add(target)
        alias = parse_alias(attribute(disk, "alias", "name"))
        if alias is not None and alias.kind == DeviceKind.DISK.value:
            disks[alias] = target
    for nic in root.iterfind("devices/interface"):
        alias = parse_alias(attribute(nic, "alias", "name"))
        if alias is not None and alias.kind == DeviceKind.NIC.value:
            nics[alias] = attribute(nic, "mac", "address")
    vcpu = root.find("vcpu")
    cpus = int(vcpu.get("current") or vcpu.text or 0) if vcpu is not None else 0
    return Hardware(
        disks=disks,
        nics=nics,
        targets=frozenset(targets),
        cpus=cpus,
        memory_bytes=kibibytes(root, "memory"),
        balloon_bytes=kibibytes(root, "currentMemory"),
    )


def has_agent(document: str) -> bool:
    """Whether the guest's agent has its end of the channel open. Only a running domain's XML says so."""
    targets = parse(document).iterfind("devices/channel/target")
    return any(
        target.get("name") == "org.qemu.guest_agent.0" and target.get("state") == "connected"
        for target in targets
    )


def attribute(parent: Element, tag: str, name: str) -> str:
    found = parent.find(tag)
    return found.get(name, "") if found is not None else ""


def kibibytes(root: Element, tag: str) -> int:
    """libvirt always answers in KiB."""
    return int(root.findtext(tag) or 0) * 1024

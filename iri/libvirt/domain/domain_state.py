"""What libvirt shows of a domain, as far as the runtime uses it. Pure. Defaults that libvirt filled in are not read.

    libvirt's state (reason)                 RunState
    shut off, crashed, no state              OFF, with the StopReason
    running, blocked, shutting down          RUNNING
    paused (I/O error)                       IO_ERROR: the guest waits until it is resumed
    paused (starting up, unknown)            UNFINISHED_START: libvirtd was killed while starting it
    paused (shutting down)                   RUNNING, until it is off
    paused (other), pmsuspended              PAUSED: by a person, or by libvirt while it works on the domain

StopReason is UNKNOWN after a restart of libvirtd: it forgets why a domain is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from iri.libvirt.domain.names import Alias, DeviceKind, parse_alias
from iri.libvirt.xml import Element, attribute, parse


class RunState(Enum):
    """Whether the domain runs, as far as a reconciliation must tell cases apart."""

    OFF = "off"
    RUNNING = "running"
    PAUSED = "paused"  # by a person, or by libvirt while it works on the domain
    IO_ERROR = "io-error"  # paused by an input or output error
    UNFINISHED_START = "unfinished-start"  # libvirtd was killed while starting it; the guest has never run


class StopReason(Enum):
    """Why a domain is off."""

    UNKNOWN = "unknown"  # never started, or libvirtd was restarted since
    SHUTDOWN = "shutdown"  # by the guest, of its own or on request
    DESTROYED = "destroyed"
    CRASHED = "crashed"
    FAILED = "failed"  # to start


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """One of a domain's two configurations: that of the running guest, or that of its next boot."""

    disks: Mapping[Alias, str] = {}  # with the target name
    nics: Mapping[Alias, str] = {}  # with the MAC address
    taps: Mapping[Alias, str] = {}  # with the device on the host; of a running guest, as far as it has one
    targets: frozenset[str] = frozenset()  # all names in use
    cpus: int = 0
    memory_bytes: int = 0  # at the start
    balloon_bytes: int = 0  # what the guest has of it now

    @property
    def aliases(self) -> frozenset[Alias]:
        return frozenset(self.disks) | frozenset(self.nics)


class DomainState(msgspec.Struct, frozen=True, kw_only=True):
    """One observation of a domain. `live` is None while the domain is off."""

    run_state: RunState = RunState.OFF
    stop_reason: StopReason = StopReason.UNKNOWN
    live: Hardware | None = None  # while it is on
    next_boot: Hardware = Hardware()
    has_agent: bool = False
    is_transient: bool = False  # it was undefined while it runs, so it would be gone with the guest

    @property
    def is_on(self) -> bool:
        return self.run_state is not RunState.OFF

    @property
    def current(self) -> Hardware:
        """The running configuration, or that of the next boot while the domain is off."""
        return self.live or self.next_boot

    @property
    def aliases(self) -> frozenset[Alias]:
        """Devices of either configuration."""
        return self.next_boot.aliases | (self.live.aliases if self.live else frozenset())


def parse_hardware(document: str) -> Hardware:
    """Devices without an alias of ours are left out, but their target names count as taken."""
    root = parse(document)
    disks: dict[Alias, str] = {}
    nics: dict[Alias, str] = {}
    taps: dict[Alias, str] = {}
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
            if tap := attribute(nic, "target", "dev"):
                taps[alias] = tap
    vcpu = root.find("vcpu")
    cpus = int(vcpu.get("current") or vcpu.text or 0) if vcpu is not None else 0
    return Hardware(
        disks=disks,
        nics=nics,
        taps=taps,
        targets=frozenset(targets),
        cpus=cpus,
        memory_bytes=kibibytes(root, "memory"),
        balloon_bytes=kibibytes(root, "currentMemory"),
    )


def has_agent(document: str) -> bool:
    """Whether the guest's agent is connected. Only a running domain's XML says so."""
    targets = parse(document).iterfind("devices/channel/target")
    return any(
        target.get("name") == "org.qemu.guest_agent.0" and target.get("state") == "connected"
        for target in targets
    )


def kibibytes(root: Element, tag: str) -> int:
    """libvirt always answers in KiB."""
    return int(root.findtext(tag) or 0) * 1024

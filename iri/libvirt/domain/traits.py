"""How domains of a class are built beyond the class's resources. Set by the operator, never by a machine's spec. Frozen.

A class that a poollet sets has resources alone; its traits are looked up in the settings by its name. Without an entry the defaults
hold. Traits are read when a domain is defined or resized. So a change of the settings reaches an existing machine with its next
resize, as far as processors and memory go, and otherwise when the machine is recreated.
"""

from __future__ import annotations

from typing import Literal

import msgspec

MOST_PORTS = 200


class ClassTraits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The operator's choices for all machines of one class."""

    machine: str = ""  # QEMU's machine type; empty: the best of the architecture
    cpu: Literal["auto", "default", "host-model", "host-passthrough", "maximum"] = "auto"
    most_cpus: int = 0  # most that a running guest can get; 0: as many as the host has
    firmware: Literal["bios", "uefi"] = "bios"
    is_hugepages: bool = msgspec.field(default=False, name="hugepages")
    hotplug_ports: int = 8  # devices that can be plugged into a running guest
    kernel: str = ""  # a file of the host, for machines whose image has no kernel
    initramfs: str = ""
    cmdline: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.hotplug_ports <= MOST_PORTS:
            raise ValueError(f"hotplugPorts must be between 0 and {MOST_PORTS}")
        if self.most_cpus < 0:
            raise ValueError("mostCpus must not be negative")


class HostPlatform(msgspec.Struct, frozen=True, kw_only=True):
    """What the host can do: whether it runs guests with KVM, and on what processors."""

    domain_type: str = "qemu"  # or kvm
    architecture: str = "x86_64"
    cpus: int = 1

    @property
    def machine(self) -> str:
        return "q35" if self.architecture == "x86_64" else "virt"

"""A domain's whole XML from its plan. Pure, and the only place that decides how machines are built.

A plan is complete before the document is rendered: record, class, host, prepared devices, first-boot files. The same plan gives the
same text. libvirt adds addresses and defaults of its own when it defines the domain, so a domain that was defined with its devices
is not rendered again: a resize replaces the class's part in libvirt's text (`resized_document`), devices are plugged one by one.

Must never happen: a secret is in the document, which every user of the host may read; a value of a spec becomes markup (`xml` builds
elements); a running guest lacks a free port for a device that its class allows to be plugged.

    part                      decided by
    name, UUID, metadata      the machine
    memory, processors        its class (resources) and the operator's traits of the class
    domain type, machine      the host's platform, and the traits
    firmware, kernel          traits, or the first disk whose image brings a kernel
    devices                   the spec, through prepared sources; the rest is the same for every machine
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from iri.libvirt.device_sources import Boot, NicSource, PreparedDisk, SeedFiles
from iri.libvirt.domain.devices import cdrom_element, disk_element, nic_element
from iri.libvirt.domain.names import alias_of, choose_target, domain_name
from iri.libvirt.domain.record import NAMESPACE, TAG, MachineRecord, to_metadata
from iri.libvirt.domain.traits import ClassTraits, HostPlatform
from iri.libvirt.xml import Element, child, element, parse, text
from iri.machine import Disk, RuntimeNetworkInterface

MIB = 1 << 20
CONSOLE = "console.sock"
STATS_SECONDS = 15  # how often the guest's balloon driver says how its memory is used
OWN_PORTS = 3  # serial bus, random numbers, balloon
MOST_CPUS_BY_ITSELF = 16
TRANSLATION_SHARE = 4  # 1/4 of the memory for QEMU's cache of translated code, where it emulates
LEAST_TRANSLATION, MOST_TRANSLATION = 16, 512  # MiB


class DomainPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Without disks and nics: a machine that is only recorded."""

    id: str
    record: MachineRecord
    traits: ClassTraits = ClassTraits()
    platform: HostPlatform = HostPlatform()
    disks: tuple[tuple[Disk, PreparedDisk], ...] = ()
    nics: tuple[tuple[RuntimeNetworkInterface, NicSource], ...] = ()
    seed: SeedFiles = SeedFiles()
    folder: Path  # the machine's own

    @property
    def machine(self) -> str:
        """QEMU's machine type."""
        return self.traits.machine or self.platform.machine

    @property
    def most_cpus(self) -> int:
        """Processors that the running guest can grow to. Without a choice of the operator: as many as the host has, up to
        MOST_CPUS_BY_ITSELF."""
        return max(self.record.cpus, self.traits.most_cpus or min(self.platform.cpus, MOST_CPUS_BY_ITSELF))

    @property
    def boot(self) -> Boot | None:
        """The kernel of the first disk whose image has one, else that of the class."""
        for _, prepared in self.disks:
            if prepared.boot is not None:
                return prepared.boot
        if self.traits.kernel:
            return Boot(
                kernel=self.traits.kernel, initramfs=self.traits.initramfs, cmdline=self.traits.cmdline
            )
        return None


def render_domain(plan: DomainPlan) -> str:
    """The whole domain: identity, record, resources, boot, devices."""
    root = element("domain", type_=plan.platform.domain_type)
    child(root, "name", domain_name(plan.id, plan.record.labels))
    child(root, "uuid", plan.id)
    child(child(root, "metadata"), f"{{{NAMESPACE}}}{TAG}", to_metadata(plan.record).text)
    for part in resources(plan):
        root.append(part)
    if plan.seed.ignition is not None:
        info = child(root, "sysinfo", type_="fwcfg")
        child(info, "entry", name="opt/com.coreos/config", file=str(plan.seed.ignition))
    root.append(system(plan))
    root.append(features(plan))
    child(root, "clock", offset="utc")
    child(root, "on_poweroff", "destroy")
    child(root, "on_reboot", "restart")
    child(root, "on_crash", "destroy")
    root.append(devices(plan))
    return text(root)


def resized_document(existing: str, plan: DomainPlan) -> str:
    """The next boot's configuration with the class's part replaced. All else stays, device addresses included."""
    root = parse(existing)
    for tag in ("maxMemory", "memory", "currentMemory", "vcpu", "vcpus", "memoryBacking", "cpu"):
        for part in root.findall(tag):
            root.remove(part)
    for part in resources(plan):
        root.append(part)
    return text(root)


def resources(plan: DomainPlan) -> tuple[Element, ...]:
    """The elements that a class decides; a resize replaces just these."""
    memory_kib = str(plan.record.memory_bytes // 1024)
    parts = [
        element("memory", memory_kib, unit="KiB"),
        element("currentMemory", memory_kib, unit="KiB"),
        element("vcpu", str(plan.most_cpus), placement="static", current=plan.record.cpus),
    ]
    if plan.traits.is_hugepages:
        backing = element("memoryBacking")
        child(backing, "hugepages")
        parts.append(backing)
    mode = plan.traits.cpu
    if mode == "auto":
        # Emulation takes QEMU's default: it cannot pass the host's processor on.
        mode = "host-passthrough" if plan.platform.domain_type == "kvm" else "default"
    if mode != "default":
        parts.append(element("cpu", mode=mode))
    return tuple(parts)


def system(plan: DomainPlan) -> Element:
    """The firmware and what it boots: a kernel from the host's files, or the first disk."""
    uefi = plan.traits.firmware == "uefi"
    made = element("os", firmware="efi") if uefi else element("os")
    child(made, "type", "hvm", arch=plan.platform.architecture, machine=plan.machine)
    if uefi:
        # Else libvirt may pick the build with Secure Boot, which starts no unsigned kernel.
        firmware = child(made, "firmware")
        child(firmware, "feature", enabled="no", name="secure-boot")
        child(firmware, "feature", enabled="no", name="enrolled-keys")
        child(made, "nvram", str(plan.seed.nvram or plan.folder / "nvram.fd"))
    boot = plan.boot
    if boot is not None:
        child(made, "kernel", boot.kernel)
        if boot.initramfs:
            child(made, "initrd", boot.initramfs)
        if boot.cmdline:
            child(made, "cmdline", boot.cmdline)
    else:
        child(made, "boot", dev="hd")
    return made


def features(plan: DomainPlan) -> Element:
    """ACPI is needed for the power button."""
    made = element("features")
    child(made, "acpi")
    if plan.platform.architecture == "x86_64":
        child(made, "apic")
    if plan.platform.domain_type == "qemu":
        share = plan.record.memory_bytes // MIB // TRANSLATION_SHARE
        size = min(max(share, LEAST_TRANSLATION), MOST_TRANSLATION)
        child(child(made, "tcg"), "tb-cache", str(size), unit="MiB")
    return made


def devices(plan: DomainPlan) -> Element:
    """Free PCIe ports are part of the plan: a running guest gets no new ones."""
    made = element("devices")
    child(made, "controller", type_="usb", model="none")
    if "i440fx" not in plan.machine and plan.machine != "pc":  # their only bus has slots for all devices
        child(made, "controller", type_="pci", index=0, model="pcie-root")
        seeds = int(plan.seed.iso is not None)
        for _ in range(OWN_PORTS + seeds + len(plan.disks) + len(plan.nics) + plan.traits.hotplug_ports):
            child(made, "controller", type_="pci", model="pcie-root-port")
    for part in own_devices(plan):
        made.append(part)
    if plan.seed.iso is not None:
        # Cloud kernels may have virtio drivers and none for SATA.
        child(made, "controller", type_="scsi", model="virtio-scsi")
        made.append(cdrom_element(str(plan.seed.iso), "sda", "scsi"))
    taken: list[str] = []
    for disk, prepared in plan.disks:
        taken.append(choose_target(disk.device, taken))
        made.append(disk_element(alias_of(disk), disk.device, taken[-1], prepared.source))
    for interface, source in plan.nics:
        made.append(nic_element(alias_of(interface), source))
    return made


def own_devices(plan: DomainPlan) -> tuple[Element, ...]:
    """The devices of every machine, whatever its spec says."""
    serial = element("serial", type_="unix")
    child(serial, "source", mode="bind", path=str(plan.folder / CONSOLE))
    child(serial, "log", file=str(plan.folder / "console.log"), append="on")
    agent = element("channel", type_="unix")
    child(agent, "target", type_="virtio", name="org.qemu.guest_agent.0")
    random = element("rng", model="virtio")
    child(random, "backend", "/dev/urandom", model="random")
    balloon = element("memballoon", model="virtio")
    child(balloon, "stats", period=STATS_SECONDS)
    parts = [serial, agent, random, balloon]
    if plan.platform.architecture == "x86_64":
        parts.append(element("panic", model="isa"))
    return tuple(parts)

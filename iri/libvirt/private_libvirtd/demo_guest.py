"""A guest that boots within seconds from what this machine has: its kernel, a busybox, and a disk that says where it is from.

Nothing is fetched. init.sh is the guest's first process: it loads the modules in their order, takes the host name from the first-boot
disk, gets an address by DHCP and serves a shell at the console. The power button switches the guest off, as with any other guest.

Limits: for the demo and the tests. Nothing of it is used for machines that a poollet orders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from iri.libvirt.private_libvirtd.cpio_archive import CpioArchive
from iri.libvirt.private_libvirtd.host_kernel import HostKernel

INIT = Path(__file__).with_name("init.sh")
FOLDERS = (
    "bin",
    "dev",
    "proc",
    "sys",
    "modules",
    "seed",
    "etc",
    "etc/acpi",
    "etc/acpi/PWRF",
    "run",
    "var",
    "var/log",
)
# Drivers of the devices that every machine has. Those that the kernel has built in are left out.
MODULES = (
    "virtio_pci",
    "virtio_net",
    "virtio_blk",
    "virtio_scsi",
    "virtio_balloon",
    "virtio_rng",
    "sr_mod",
    "isofs",
    "evdev",
    "button",
)
LEASED = """#!/bin/sh
case "$1" in bound|renew) ip addr replace "$ip/${mask:-24}" dev "$interface" ;; esac
"""
POWER_BUTTON = "#!/bin/sh\npoweroff -f\n"
# An emulated timer is late on a busy machine, and the kernel would take it for broken.
CMDLINE = "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check"
MEMORY_BYTES = 256 << 20  # distributions' kernels do not boot in much less
DISK_BYTES = 4 << 20
DISK_TEXT = b"made from the image of gitvirt's demo\n"


@dataclass(frozen=True)
class DemoGuest:
    """`kernel` and `initramfs` are loaded by the hypervisor; `disk` is the image for its disks."""

    kernel: Path
    initramfs: Path
    disk: Path


def build_guest(kernel: HostKernel, busybox: Path, folder: Path) -> DemoGuest:
    """Writes all files into the folder. Copies the kernel, because QEMU may not be able to read the machine's."""
    guest = DemoGuest(folder / "kernel", folder / "initramfs", folder / "disk.raw")
    guest.kernel.write_bytes(kernel.image.read_bytes())
    modules = dict(kernel.unpack_modules())
    guest.initramfs.write_bytes(build_initramfs(modules, busybox.read_bytes()))
    with guest.disk.open("wb") as disk:
        disk.write(DISK_TEXT)
        disk.truncate(DISK_BYTES)
    return guest


def build_initramfs(modules: Mapping[str, bytes], busybox: bytes) -> bytes:
    """Modules by name, in the order in which they are loaded."""
    archive = CpioArchive()
    archive.add_folders(*FOLDERS)
    archive.add_devices()
    archive.add_program("bin/busybox", busybox)
    archive.add_link("bin/sh", "busybox")
    archive.add_program("init", INIT.read_bytes())
    archive.add_program("leased.sh", LEASED.encode())
    archive.add_program("etc/acpi/PWRF/00000080", POWER_BUTTON.encode())
    for name, data in modules.items():
        archive.add_program(f"modules/{name}.ko", data)
    archive.add_program("modules.order", "".join(f"{name}\n" for name in modules).encode())
    return archive.to_gzip()

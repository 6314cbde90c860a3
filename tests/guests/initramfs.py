"""The root file system of the tests' Linux guests, in memory: busybox, a few modules, and a first process that reports."""

from __future__ import annotations

from pathlib import Path

from iri.libvirt.private_libvirtd.cpio_archive import CpioArchive
from iri.libvirt.private_libvirtd.demo_guest import FOLDERS

BUSYBOX = Path("/bin/busybox")
INIT = Path(__file__).with_name("init.sh")
LEASED = """#!/bin/sh
[ "$1" = bound ] || exit 0
ip addr add "$ip/${mask:-24}" dev "$interface"
echo "GUEST address $(cat /sys/class/net/$interface/address) $ip" >/dev/ttyS0
"""
POWER_BUTTON = "#!/bin/sh\necho GUEST power-button >/dev/ttyS0\npoweroff -f\n"


def initramfs(kernel: Path) -> bytes:
    """`kernel`: the folder that tools/guest-kernel filled."""
    archive = CpioArchive()
    archive.add_folders(*FOLDERS)
    archive.add_devices()
    archive.add_program("bin/busybox", BUSYBOX.read_bytes())
    archive.add_link("bin/sh", "busybox")
    archive.add_program("init", INIT.read_bytes())
    archive.add_program("leased.sh", LEASED.encode())
    archive.add_program("etc/acpi/PWRF/00000080", POWER_BUTTON.encode())
    modules = (kernel / "modules").read_text()
    for name in modules.split():
        archive.add_program(f"modules/{name}.ko", (kernel / f"{name}.ko").read_bytes())
    archive.add_program("modules.order", modules.encode())
    return archive.to_gzip()

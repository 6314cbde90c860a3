"""A disk image that a Linux guest boots from as from any cloud's: a boot record, a file system, kernel and initramfs on it."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

from tests.guests.initramfs import initramfs

KERNEL = Path(__file__).parents[2] / ".venv" / "guest-kernel"
BOOT_RECORD = Path("/usr/lib/syslinux/mbr/mbr.bin")
MIB = 1 << 20
SECTOR = 512
SIZE = 32 * MIB
START = MIB  # of the only partition
CONFIG = """SERIAL 0
DEFAULT linux
PROMPT 0
LABEL linux
  KERNEL vmlinuz
  INITRD initrd
  APPEND console=ttyS0 quiet panic=-1 mitigations=off no_timer_check
"""
CMDLINE = "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check"
MEMORY_BYTES = 112 * MIB


def linux_kernel(folder: Path) -> tuple[Path, Path]:
    """Kernel and initramfs, for a guest that the hypervisor loads itself."""
    packed = folder / "initramfs"
    packed.write_bytes(initramfs(KERNEL))
    return KERNEL / "vmlinuz", packed


def linux_image(folder: Path) -> Path:
    """A bootable raw image, made in that folder in about a second."""
    kernel, packed = linux_kernel(folder)
    config, image = folder / "syslinux.cfg", folder / "linux.raw"
    config.write_text(CONFIG)
    partition = struct.pack(
        "<B3sB3sII", 0x80, b"\xfe\xff\xff", 0x0E, b"\xfe\xff\xff", START // SECTOR, (SIZE - START) // SECTOR
    )
    record = BOOT_RECORD.read_bytes()[:440].ljust(446, b"\0") + partition + bytes(48) + b"\x55\xaa"
    with image.open("wb") as file:
        file.write(record)
        file.truncate(SIZE)
    quietly = {**os.environ, "MTOOLS_SKIP_CHECK": "1"}
    inside = f"{image}@@{START}"
    for command in (
        ["/usr/sbin/mkfs.fat", "-F16", "--offset", START // SECTOR, image, (SIZE - START) // 1024],
        ["mcopy", "-i", inside, kernel, "::vmlinuz"],
        ["mcopy", "-i", inside, packed, "::initrd"],
        ["mcopy", "-i", inside, config, "::syslinux.cfg"],
        ["syslinux", "--install", "--offset", START, image],
    ):
        subprocess.run([str(word) for word in command], check=True, capture_output=True, env=quietly)
    return image

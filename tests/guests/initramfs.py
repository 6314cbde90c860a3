"""The root file system of the tests' Linux guests, in memory: busybox, a few modules, and a first process that reports.

A newc archive, written here: neither root nor device nodes nor the program cpio are needed.
"""

from __future__ import annotations

import gzip
import stat
from pathlib import Path

BUSYBOX = Path("/bin/busybox")
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
INIT = Path(__file__).with_name("init.sh")
LEASED = """#!/bin/sh
[ "$1" = bound ] || exit 0
ip addr add "$ip/${mask:-24}" dev "$interface"
echo "GUEST address $(cat /sys/class/net/$interface/address) $ip" >/dev/ttyS0
"""
POWER_BUTTON = "#!/bin/sh\necho GUEST power-button >/dev/ttyS0\npoweroff -f\n"


class Archive:
    def __init__(self) -> None:
        self._written = bytearray()
        self._count = 0

    def add(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        self._count += 1
        encoded = name.encode() + b"\0"
        numbers = (self._count, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        self._written += b"070701" + b"".join(b"%08X" % number for number in numbers) + encoded
        self._pad()
        self._written += data
        self._pad()

    def file(self, name: str, data: bytes) -> None:
        self.add(name, stat.S_IFREG | 0o755, data)

    def packed(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return gzip.compress(bytes(self._written), 1, mtime=0)

    def _pad(self) -> None:
        self._written += b"\0" * (-len(self._written) % 4)


def initramfs(kernel: Path) -> bytes:
    """`kernel`: the folder that tools/guest-kernel filled."""
    archive = Archive()
    for folder in FOLDERS:
        archive.add(folder, stat.S_IFDIR | 0o755)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.add("dev/null", stat.S_IFCHR | 0o666, device=(1, 3))
    archive.file("bin/busybox", BUSYBOX.read_bytes())
    archive.add("bin/sh", stat.S_IFLNK | 0o777, b"busybox")
    archive.file("init", INIT.read_bytes())
    archive.file("leased.sh", LEASED.encode())
    archive.file("etc/acpi/PWRF/00000080", POWER_BUTTON.encode())
    modules = (kernel / "modules").read_text()
    for name in modules.split():
        archive.file(f"modules/{name}.ko", (kernel / f"{name}.ko").read_bytes())
    archive.file("modules.order", modules.encode())
    return archive.packed()

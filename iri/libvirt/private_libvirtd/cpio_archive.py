"""An initramfs as a newc archive, which a kernel unpacks in memory. Needs neither root nor device nodes nor the program cpio.

Each entry is a header of hexadecimal numbers, the name, and the data, padded to four bytes. The last entry has the name that ends an
archive. There are no times, so equal entries give equal bytes.
"""

from __future__ import annotations

import gzip
import stat


class CpioArchive:
    """Entries in the order in which they are added; a folder must come before its files."""

    def __init__(self) -> None:
        self._written = bytearray()
        self._count = 0

    def add(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        """`mode` has the file's type as well; `device` is for device nodes alone."""
        self._count += 1
        encoded = name.encode() + b"\0"
        numbers = (self._count, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        self._written += b"070701" + b"".join(b"%08X" % number for number in numbers) + encoded
        self._pad()
        self._written += data
        self._pad()

    def add_folders(self, *names: str) -> None:
        """Each before the files in it."""
        for name in names:
            self.add(name, stat.S_IFDIR | 0o755)

    def add_devices(self) -> None:
        """The devices that the first process needs before it has mounted /dev."""
        self.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        self.add("dev/null", stat.S_IFCHR | 0o666, device=(1, 3))

    def add_program(self, name: str, data: bytes) -> None:
        self.add(name, stat.S_IFREG | 0o755, data)

    def add_link(self, name: str, target: str) -> None:
        self.add(name, stat.S_IFLNK | 0o777, target.encode())

    def to_gzip(self) -> bytes:
        """Ends the archive: nothing can be added afterwards. No time is written, so equal archives are equal bytes."""
        self.add("TRAILER!!!", 0)
        return gzip.compress(bytes(self._written), 1, mtime=0)

    def _pad(self) -> None:
        self._written += b"\0" * (-len(self._written) % 4)

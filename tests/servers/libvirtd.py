"""A libvirtd of one's own: its network, its folders, its processes; nothing of it outlives the test process.

Needs root. `hypervisor.py` is its first process and says how.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.servers.daemon import bare

FIRST = Path(__file__).with_name("hypervisor.py")
READY_SECONDS = 30.0


class Libvirtd:
    """`folder` is short and QEMU, which runs as root here, may use it all."""

    def __init__(self, folder: Path, first: subprocess.Popen[str]) -> None:
        self.folder = folder
        self._first = first

    @property
    def uri(self) -> str:
        return f"qemu+unix:///system?socket={self.folder}/run/libvirt-sock"

    @property
    def pid(self) -> int:
        """The first process inside; its namespaces are those of all the others. Zero once nothing is left."""
        children = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children").read_text().split()
        return int(children[0]) if children else 0

    @property
    def netns(self) -> Path:
        return Path(f"/proc/{self.pid}/ns/net")

    def start(self) -> None:
        self._order("start")
        until = time.monotonic() + READY_SECONDS
        while self.virsh("version", check=False).returncode:
            assert time.monotonic() < until, (self.folder / "libvirtd.log").read_text(errors="replace")
            time.sleep(0.05)

    def kill(self) -> None:
        """As a crash would: guests go on."""
        self._order("kill")

    def virsh(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["virsh", "-q", "-c", self.uri, *arguments],
            env=bare(),
            check=check,
            text=True,
            capture_output=True,
        )

    def inside(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs a command in the hypervisor's network and folders."""
        command = ["nsenter", "-t", str(self.pid), "-m", "-n", "-p", *map(str, arguments)]
        return subprocess.run(command, env=bare(), check=True, text=True, capture_output=True)

    def guests(self) -> dict[str, int]:
        """The process of each running QEMU by the domain's UUID."""
        return {uuid: pid for pid, uuid in self._qemus()}

    def kill_guest(self, uuid: str) -> None:
        os.kill(self.guests()[uuid], signal.SIGKILL)

    def _qemus(self) -> Iterator[tuple[int, str]]:
        own = Path(f"/proc/{self.pid}/ns/pid").readlink()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if (folder / "ns" / "pid").readlink() == own and "-uuid" in words:
                    yield int(folder.name), words[words.index("-uuid") + 1]

    def _order(self, order: str) -> None:
        assert self._first.stdin is not None
        assert self._first.stdout is not None
        self._first.stdin.write(f"{order}\n")
        self._first.stdin.flush()
        assert self._first.stdout.readline() == "done\n", (self.folder / "first.log").read_text()


@contextlib.contextmanager
def libvirtd(*, has_own_network: bool = True) -> Iterator[Libvirtd]:
    """Without a network of its own it is in that of the tests, and changes its rules."""
    folder = Path(tempfile.mkdtemp(prefix="lv-", dir="/tmp"))
    folder.chmod(0o755)
    arguments: Sequence[str | Path] = (
        "--mount",
        *(["--net"] if has_own_network else []),
        "--pid",
        "--fork",
        "--kill-child",
        sys.executable,
        "-I",
        FIRST,
        folder,
    )
    with (folder / "first.log").open("wb") as log:
        first = subprocess.Popen(
            ["unshare", *map(str, arguments)],
            env=bare(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        made = Libvirtd(folder, first)
        made.start()
        yield made
    finally:
        assert first.stdin is not None
        assert first.stdout is not None
        first.stdin.close()
        first.stdout.close()
        first.wait(20)
        shutil.rmtree(folder)

"""A libvirtd of one's own beside whatever else runs on the machine, with its own network, folders and processes.

Needs root. `init_process.py` is its first process. Everything ends with the process that holds this object, however that ends.
The caller makes the folder and removes it.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from pathlib import Path

from iri.errors import Unavailable

FIRST = Path(__file__).with_name("init_process.py")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
}
LAST_LINES = 3


class PrivateLibvirtd:
    """`folder` has a short path, for the sockets in it. QEMU runs as root here and may use all of it.

    Without its own network it uses that of the caller, and changes its firewall rules. `held`: descriptors that stay open
    until none of its processes is left.
    """

    def __init__(self, folder: Path, *, has_own_network: bool = True, held: tuple[int, ...] = ()) -> None:
        self.folder = folder
        command = ["unshare", "--mount", *(["--net"] if has_own_network else []), "--pid", "--fork"]
        with (folder / "first.log").open("wb") as log:
            self._first = subprocess.Popen(
                [*command, "--kill-child", sys.executable, "-I", FIRST, folder],
                env=ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                pass_fds=held,
            )

    @property
    def uri(self) -> str:
        """For `Settings.uri`, and for `virsh -c`."""
        return f"qemu+unix:///system?socket={self.listening}"

    @property
    def listening(self) -> Path:
        return self.folder / "run" / "libvirt-sock"

    @property
    def pid(self) -> int:
        """The first process inside, whose namespaces all others share. 0 once none is left."""
        try:
            children = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            return 0
        return int(children[0]) if children else 0

    @property
    def netns(self) -> Path:
        """The network namespace that its guests' bridges are in."""
        return Path(f"/proc/{self.pid}/ns/net")

    def start(self) -> None:
        """Starts libvirtd, also again after `kill`. Returns before it answers."""
        self._order("start")

    def kill(self) -> None:
        """Kills libvirtd as a crash would; guests run on."""
        self._order("kill")

    def is_answering(self) -> bool:
        """Whether libvirtd accepts connections: `start` returns before that."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.connect(str(self.listening))
            return True
        return False

    def inside(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs a command in the hypervisor's network and folders."""
        command = ["nsenter", "-t", str(self.pid), "-m", "-n", "-p", *map(str, arguments)]
        return subprocess.run(command, env=ENVIRONMENT, check=True, text=True, capture_output=True)

    def guests(self) -> dict[str, int]:
        """The process of each running QEMU by the domain's UUID. By /proc, not by libvirt, which may be dead."""
        try:
            own = Path(f"/proc/{self.pid}/ns/pid").readlink()
        except (FileNotFoundError, ProcessLookupError):
            return {}  # all ended with the first process
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if (folder / "ns" / "pid").readlink() == own and "-uuid" in words:
                    found[words[words.index("-uuid") + 1]] = int(folder.name)
        return found

    def end(self) -> None:
        """Tells the first process to end; `close` waits for that."""
        for pipe in (self._first.stdin, self._first.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def close(self) -> None:
        """Ends everything and returns once no process is left."""
        self.end()
        self._first.wait()

    def _order(self, order: str) -> None:
        """Raises Unavailable with the last lines of the log when the first process has ended."""
        assert self._first.stdin is not None
        assert self._first.stdout is not None
        try:
            self._first.stdin.write(f"{order}\n")
            self._first.stdin.flush()
            done = self._first.stdout.readline()
        except BrokenPipeError:
            done = ""
        if done != "done\n":
            raise Unavailable(f"cannot run a private libvirtd: {self._last_lines()}")

    def _last_lines(self) -> str:
        """Of the first process: libvirtd has a log of its own beside it."""
        lines = (self.folder / "first.log").read_text(errors="replace").splitlines()
        return " / ".join(line.strip() for line in lines[-LAST_LINES:]) or "no output"

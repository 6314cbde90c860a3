"""The first process of a private hypervisor's namespaces: mounts its folders, runs libvirtd, reaps what that leaves.

Run by tests/servers/libvirtd.py, as `python hypervisor.py FOLDER`, in mount, network and process namespaces of its own. It
takes orders on its standard input: `start` and `kill` mean libvirtd. Its end ends everything, so nothing outlives whoever
holds the other end. Imports nothing of the project.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

PRIVATE = {
    "run": "/run/libvirt",
    "lib": "/var/lib/libvirt",
    "cache": "/var/cache/libvirt",
    "etc": "/etc/libvirt",
    "log": "/var/log/libvirt",
}
# libvirtd refuses to start without these, even where nothing runs as them.
PASSWD = "libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n"
GROUP = "libvirt-qemu:x:64055:\nkvm:x:64056:\n"
QEMU_CONF = """user = "root"
group = "root"
stdio_handler = "file"
security_driver = "none"
namespaces = []
cgroup_controllers = []
remember_owner = 0
"""


def do(*arguments: str | Path) -> None:
    subprocess.run([str(argument) for argument in arguments], check=True)


def prepare(folder: Path) -> None:
    do("mount", "--make-rprivate", "/")
    do("mount", "-t", "proc", "proc", "/proc")
    do("mount", "-t", "sysfs", "sysfs", "/sys")
    do("ip", "link", "set", "lo", "up")
    for name, place in PRIVATE.items():
        (folder / name).mkdir(exist_ok=True)
        Path(place).mkdir(parents=True, exist_ok=True)
        do("mount", "--bind", folder / name, place)
    for file, addition in (("/etc/passwd", PASSWD), ("/etc/group", GROUP)):
        own = folder / Path(file).name
        kept = [line for line in Path(file).read_text().splitlines() if not line.startswith("libvirt-qemu:")]
        own.write_text("\n".join(kept) + "\n" + addition)
        do("mount", "--bind", own, file)
    (folder / "etc" / "qemu.conf").write_text(QEMU_CONF)


def start(folder: Path) -> int:
    # A session of its own: what is sent to this process's group does not reach it.
    log = os.open(folder / "libvirtd.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    process = subprocess.Popen(
        ["/usr/sbin/libvirtd", "-p", str(folder / "libvirtd.pid")],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    os.close(log)
    return process.pid


def reap() -> None:
    """Only the children that nobody here waits for: libvirtd counts on it that a dead guest is no zombie."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            threading.Event().wait(0.05)


def main() -> None:
    folder = Path(sys.argv[1])
    prepare(folder)
    daemon = 0
    threading.Thread(target=reap, daemon=True).start()
    for order in sys.stdin:
        if order == "start\n":
            daemon = start(folder)
        elif order == "kill\n":
            os.kill(daemon, signal.SIGKILL)
        print("done", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

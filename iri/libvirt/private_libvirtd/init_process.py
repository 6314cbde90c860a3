"""The first process of a private hypervisor's namespaces: makes its folders, runs libvirtd, reaps what that leaves.

Run by private_libvirtd.py, as `python init_process.py FOLDER`, in mount, network and process namespaces of its own. It takes
orders on its standard input: `start` and `kill` mean libvirtd. Its end ends everything, so nothing outlives whoever holds
the other end. What it mounts is seen by nobody else, and no folder is made outside of its own. Imports nothing of the project.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

REAL = ".real"
# Where libvirt has a folder, and where that lies in ours. The services of the machine are none of its business.
PRIVATE = {"/run": "run", "/var/lib": "lib", "/var/cache": "cache", "/var/log": "log"}
SERVICES = ("dbus", "systemd", "udev")
LIBVIRT = "libvirt"
UNBORN = re.compile(r"<domstatus [^>]*pid='0'")
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


def run(*arguments: str | Path) -> None:
    subprocess.run([str(argument) for argument in arguments], check=True)


def prepare_folders(folder: Path) -> None:
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    run("mount", "-t", "sysfs", "sysfs", "/sys")
    run("ip", "link", "set", "lo", "up")
    for place, own in PRIVATE.items():
        (folder / own).mkdir(exist_ok=True)
        with replaced_folder(Path(place), folder, LIBVIRT, *SERVICES) as shadow:
            (shadow / LIBVIRT).mkdir()
            run("mount", "--bind", folder / own, shadow / LIBVIRT)
    users = {"passwd": PASSWD, "group": GROUP}
    with replaced_folder(Path("/etc"), folder, LIBVIRT, *users) as shadow:
        for name, addition in users.items():
            lines = Path("/etc", name).read_text().splitlines()
            kept = [line for line in lines if not line.startswith("libvirt-qemu:")]
            (shadow / name).write_text("\n".join(kept) + "\n" + addition)
        (shadow / LIBVIRT).mkdir()
        (shadow / LIBVIRT / "qemu.conf").write_text(QEMU_CONF)


@contextlib.contextmanager
def replaced_folder(place: Path, folder: Path, *without: str) -> Iterator[Path]:
    """In place of the folder comes one that has all of its entries, as links, but these."""
    shadow = folder / "shadow"
    shadow.mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", shadow)
    (shadow / REAL).mkdir()
    run("mount", "--rbind", place, shadow / REAL)
    for entry in place.iterdir():
        if entry.name not in without:
            (shadow / entry.name).symlink_to(f"{REAL}/{entry.name}")
    yield shadow
    run("mount", "--move", shadow, place)
    shadow.rmdir()


def delete_unborn_states(folder: Path) -> None:
    """As docs/systemd/libvirtd-unborn.conf does on a host: libvirtd would take guests that never had a process for running ones."""
    for path in (folder / "run" / "qemu").glob("*.xml"):
        if UNBORN.search(path.read_text(encoding="utf-8", errors="replace")):
            path.unlink()


def start_libvirtd(folder: Path) -> int:
    delete_unborn_states(folder)
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


def kill_process(process: int) -> None:
    """It is gone when this returns, as a service manager would wait for it."""
    if not process:
        return  # zero would mean everybody here
    with contextlib.suppress(ProcessLookupError):  # it has ended by itself
        os.kill(process, signal.SIGKILL)
    while Path("/proc", str(process)).exists():
        time.sleep(0.005)


def reap_children() -> None:
    """Only the children that nobody here waits for: libvirt counts on it that a dead guest is no zombie. Tells of those that failed."""
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            threading.Event().wait(0.05)
            continue
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, -signal.SIGKILL, -signal.SIGTERM):
            os.write(sys.stderr.fileno(), f"process {pid} ended with {code}\n".encode())


def main() -> None:
    folder = Path(sys.argv[1])
    prepare_folders(folder)
    daemon = 0
    threading.Thread(target=reap_children, daemon=True).start()
    for order in sys.stdin:
        if order == "start\n":
            daemon = start_libvirtd(folder)
        elif order == "kill\n":
            kill_process(daemon)
        os.write(sys.stdout.fileno(), b"done\n")
    os._exit(0)


if __name__ == "__main__":
    main()

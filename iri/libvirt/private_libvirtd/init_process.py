"""The first process in a private libvirtd's namespaces: creates its folders, runs libvirtd, reaps orphaned processes.

Run by private_libvirtd.py as `python init_process.py FOLDER`, in mount, network and process namespaces of its own. It reads orders
from standard input: `start` and `kill` libvirtd. Its end ends every process in the namespaces. Its mounts are invisible outside,
and it creates no folder outside its own. It imports nothing of the project.
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
# libvirt's folders, and their places in ours. The machine's own services are hidden.
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
    """Raises CalledProcessError: a namespace that is half prepared must not run a libvirtd."""
    subprocess.run([str(argument) for argument in arguments], check=True)


def prepare_folders(folder: Path) -> None:
    """Puts folders and files of its own where libvirtd expects the host's. Only ever called in this process's own mount namespace; outside of
    it, the host's libvirt would lose its settings."""
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
    """Replaces the folder by one with links to all of its entries but those named in `without`."""
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
    """Deletes the states of guests that never had a process, which libvirtd would take for running ones.

    docs/systemd/libvirtd-unborn.conf does the same on a host.
    """
    for path in (folder / "run" / "qemu").glob("*.xml"):
        if UNBORN.search(path.read_text(encoding="utf-8", errors="replace")):
            path.unlink()


def start_libvirtd(folder: Path) -> int:
    """Returns the process id at once; the caller waits for the socket."""
    delete_unborn_states(folder)
    # A session of its own, so that signals to this process's group do not reach libvirtd.
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
    """Returns once the process is gone, as a service manager waits for it."""
    if not process:
        return  # 0 would signal the whole process group
    with contextlib.suppress(ProcessLookupError):  # it has ended by itself
        os.kill(process, signal.SIGKILL)
    while Path("/proc", str(process)).exists():
        time.sleep(0.005)


def reap_children() -> None:
    """Reaps all children, because libvirt expects that a dead guest does not stay a zombie. Reports those that failed."""
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
    """Ends when standard input ends, and with it every process of the namespace."""
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

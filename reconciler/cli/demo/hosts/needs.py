"""What real guests need of this machine beyond gitvirt, and what to say where it is not there. Looks, and changes
nothing.

Every missing package is named at once, with the one command that installs all: a person should not run the demo
once per package. It installs nothing by itself.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

from iri.libvirt.private_libvirtd.demo_guest import MODULES
from iri.libvirt.private_libvirtd.host_kernel import HostKernel, NoKernelError, find_kernel
from reconciler.cli.exits import CommandError

# What must be there, and the Debian package that brings it: the same as in tools/packages.libvirt, which `make` installs.
PACKAGES = {
    "/usr/sbin/libvirtd": "libvirt-daemon",
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "/usr/sbin/dnsmasq": "dnsmasq-base",
    "iptables": "iptables",
    "ip": "iproute2",
    "busybox": "busybox-static",
}
BUILD_PACKAGES = ("gcc", "libvirt-dev", "pkg-config", "python3-dev")
SIMULATED = "`gitvirt demo` shows the same with simulated hosts"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UNPACKED = Path(sys.prefix) / "guest-kernel"  # where tools/guest-kernel puts one


def check_needs() -> tuple[HostKernel, Path]:
    """The kernel and the busybox that guests are made of. CommandError says what is missing, and the command that brings it."""
    refuse(platform.machine(), os.geteuid())
    missing = [package for thing, package in PACKAGES.items() if place(thing) is None]
    busybox = place("busybox")
    if busybox is not None and not is_static(busybox):
        missing.append("busybox-static")
        busybox = None
    if missing or busybox is None:
        raise CommandError(f"missing Debian packages: {' '.join(sorted(missing))}", install_hint(*missing))
    if importlib.util.find_spec("libvirt") is None:
        cure = f"{install_hint(*BUILD_PACKAGES)} && {sys.executable} -m pip install 'gitvirt[libvirt]'"
        raise CommandError("libvirt's Python library is not installed", cure)
    return kernel(), busybox


def refuse(architecture: str, user: int) -> None:
    """Raises CommandError where the demo can never run: another architecture, or without root."""
    if architecture != "x86_64":
        raise CommandError(f"the demo needs an x86-64 machine; this is {architecture}", SIMULATED)
    if user != 0:
        command = f"sudo {shutil.which('gitvirt') or 'gitvirt'} demo --runtime libvirt"
        raise CommandError("only root can create hosts with networks of their own", f"{command}; {SIMULATED}")


def kernel() -> HostKernel:
    """A kernel with the modules that guests need, also one that `make` unpacked."""
    try:
        return find_kernel(MODULES, release=platform.release(), unpacked=UNPACKED)
    except NoKernelError as error:
        cure = "`make demo RUNTIME=libvirt` in a checkout of gitvirt unpacks one; or install the package linux-image-amd64"
        raise CommandError(f"found no Linux kernel for the guests: {error}", cure) from None


def place(thing: str) -> Path | None:
    """The path of a program, or None. The search path is the system's, because a person's may leave out sbin."""
    path = shutil.which(thing, path=SYSTEM_PATH) if "/" not in thing else thing
    return Path(path) if path is not None and Path(path).exists() else None


def is_static(program: Path) -> bool:
    """A guest has no libraries."""
    return b"/ld-linux" not in program.read_bytes()


def install_hint(*packages: str) -> str:
    return f"apt-get update && apt-get install -y --no-install-recommends {' '.join(sorted(packages))}"

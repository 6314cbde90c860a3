"""Finds a Linux kernel on this machine, and the modules that a guest needs, in an order that loads.

Looks for the kernel of the machine itself, any other installed one, and one that was unpacked into a folder (tools/guest-kernel).
Fetches nothing.

A kernel counts as usable only with the modules of its own release: a guest with another release's could load none of them.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

NAMES = ("vmlinuz", "vmlinux")
MODULE = re.compile(r"(?P<name>[^/]+)\.ko(?P<packing>\.gz|\.xz|\.zst)?")


class NoKernelError(Exception):
    """No kernel can be used. The text names each that was found, and why it cannot be used."""


@dataclass(frozen=True)
class HostKernel:
    """`modules`: files, each after those that it needs; without those that the kernel has built in."""

    image: Path
    modules: tuple[Path, ...]

    def unpack_modules(self) -> Iterator[tuple[str, bytes]]:
        """Name and content of each, in the order in which they load."""
        for path in self.modules:
            yield module_name(path), read_module(path)


def find_kernel(
    wanted: Sequence[str], root: Path = Path("/"), release: str = "", unpacked: Path | None = None
) -> HostKernel:
    """The first usable kernel: of this release, else the latest, else the unpacked one. Raises NoKernelError without any."""
    refused = []
    own = [(unpacked / "vmlinuz", unpacked)] if unpacked is not None else []
    for image, modules in (*installed_kernels(root, release), *own):
        if not os.access(image, os.R_OK):
            refused += [f"{image} cannot be read"] if image.exists() else []
        elif (unpackable := missing_program(load_order(modules, wanted))) is not None:
            refused.append(f"the modules of {image} need the program {unpackable}")
        else:
            return HostKernel(image, load_order(modules, wanted))
    raise NoKernelError("; ".join(refused) or "there is no Linux kernel in /boot")


def installed_kernels(root: Path, release: str) -> list[tuple[Path, Path]]:
    """Kernel images with the folders of their modules, the best first. Without modules a guest could not find its disk."""
    pairs = []
    for modules in (root / "lib" / "modules").glob("*"):
        beside = [root / "boot" / f"{name}-{modules.name}" for name in NAMES] + [modules / "vmlinuz"]
        image = next((path for path in beside if path.exists()), None)
        if image is not None and (modules / "modules.dep").exists():
            pairs.append((image, modules))
    pairs.sort(key=lambda pair: (pair[1].name == release, numbers(pair[1].name)), reverse=True)
    return pairs


def numbers(release: str) -> list[int]:
    """For comparing releases: 6.10 is later than 6.9."""
    return [int(digits) for digits in re.findall(r"\d+", release)]


def load_order(modules: Path, wanted: Sequence[str]) -> tuple[Path, ...]:
    """The files of the modules and of those that they need, each after those that it needs."""
    listing = modules / "modules"
    if listing.exists():  # an unpacked kernel, with just the modules that guests need
        return tuple(modules / f"{name}.ko" for name in listing.read_text().split())
    needs: dict[str, tuple[Path, list[str]]] = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, others = line.partition(":")
        needs[module_name(Path(path))] = (
            modules / path,
            [module_name(Path(other)) for other in others.split()],
        )
    taken: dict[str, Path] = {}

    def add(name: str) -> None:
        if name in needs and name not in taken:
            path, others = needs[name]
            for other in others:
                add(other)
            taken[name] = path

    for name in wanted:
        add(kernel_name(name))
    return tuple(taken.values())


def module_name(path: Path) -> str:
    """Without its folder and its packing."""
    match = MODULE.fullmatch(path.name)
    return kernel_name(match["name"] if match else path.name)


def kernel_name(name: str) -> str:
    """The kernel's own spelling of a module's name."""
    return name.replace("-", "_")


def missing_program(modules: Sequence[Path]) -> str | None:
    """The program that unpacks them and is not installed, or None."""
    return "zstd" if any(path.suffix == ".zst" for path in modules) and shutil.which("zstd") is None else None


def read_module(path: Path) -> bytes:
    """The bytes of a kernel module for the demo guest, unpacked: older kernels cannot unpack modules themselves."""
    match path.suffix:
        case ".gz":
            return gzip.decompress(path.read_bytes())
        case ".xz":
            return lzma.decompress(path.read_bytes())
        case ".zst":
            return subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
        case _:
            return path.read_bytes()

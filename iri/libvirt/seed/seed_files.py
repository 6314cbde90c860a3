"""Seeds as files of the host, in the folder of their machine: made whole or not at all. The folder belongs to others."""

from __future__ import annotations

import os
from pathlib import Path

from iri.errors import FailedPrecondition, ResourceExhausted
from iri.libvirt.protocols import SeedFiles
from iri.libvirt.seed.efi_variables import add_variables
from iri.libvirt.seed.seed import Reader, Seed, no_yaml, plan_seed
from iri.machine import RuntimeMachine

ISO, IGNITION, NVRAM = "seed.iso", "ignition.ign", "nvram.fd"
PRIVATE = 0o600  # seeds hold secrets; libvirt gives a file to QEMU's user when it starts the domain


class SeedWriter:
    """`efi_template` is the host's file of empty firmware variables, where it has such a firmware."""

    def __init__(self, efi_template: Path | None = None, read_yaml: Reader = no_yaml) -> None:
        self._efi_template = efi_template
        self._read_yaml = read_yaml

    def refuse(self, machine: RuntimeMachine) -> None:
        """Touches nothing. InvalidArgument or FailedPrecondition for what this host never gives to a guest."""
        if plan_seed(machine, self._read_yaml).efi_variables and self._efi_template is None:
            raise FailedPrecondition("the machine brings EFI variables, and this host has no EFI firmware")

    def write(self, machine: RuntimeMachine, folder: Path) -> SeedFiles:
        """Idempotent. What the guest's firmware has written to its variables since the first time stays."""
        return write(plan_seed(machine, self._read_yaml), folder, self._efi_template)


def write(seed: Seed, folder: Path, template: Path | None) -> SeedFiles:
    try:
        return SeedFiles(
            iso=_write_file(folder / ISO, seed.iso),
            ignition=_write_file(folder / IGNITION, seed.ignition),
            nvram=_write_variables(folder / NVRAM, seed, template),
        )
    except OSError as error:
        raise ResourceExhausted(f"the machine's seed could not be written: {error.strerror}") from None


def _write_variables(path: Path, seed: Seed, template: Path | None) -> Path | None:
    if not seed.efi_variables:
        return None
    if path.exists():
        return path
    if template is None:
        raise FailedPrecondition("the machine brings EFI variables, and this host has no EFI firmware")
    return _write_file(path, add_variables(template.read_bytes(), seed.efi_variables))


def _write_file(path: Path, data: bytes) -> Path | None:
    """The file with this content, or no file when there is none."""
    if not data:
        path.unlink(missing_ok=True)
        return None
    if _read_own(path) == data:
        return path
    draft = path.with_name(f"{path.name}.partial")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    draft.replace(path)
    return path


def _read_own(path: Path) -> bytes | None:
    """None too when the file is QEMU's at present: its folder is ours, so another can take its place."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, PermissionError):
        return None

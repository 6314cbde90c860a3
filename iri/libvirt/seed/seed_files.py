"""Writes a machine's first-boot data into the machine's folder. A file is complete or absent. QEMU's user may own the files.

file            kept or replaced                                     read by
seed.iso        replaced whenever the data differs                   cloud-init, at each boot
ignition.ign    replaced whenever the data differs                   Ignition, at the first boot
nvram.fd        written once: the firmware stores its own in it      the firmware, at each boot

What comes of a Secret (`ignition_data`) is in a folder on tmpfs, and is written again before each start; all else is on disk.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from iri.errors import FailedPrecondition, ResourceExhausted
from iri.libvirt.device_sources import SeedFiles
from iri.libvirt.seed.efi_variables import EfiVariable, add_variables
from iri.libvirt.seed.memory_folder import make_own_folder, require_memory
from iri.libvirt.seed.seed import Reader, no_yaml, plan_seed
from iri.libvirt.whole_files import PRIVATE, replace_file
from iri.machine import RuntimeMachine

ISO, IGNITION, NVRAM = "seed.iso", "ignition.ign", "nvram.fd"


class SeedWriter:
    """`efi_template`: the host's file of empty firmware variables, or None without EFI firmware."""

    def __init__(
        self, efi_template: Path | None = None, read_yaml: Reader = no_yaml, memory: Path | None = None
    ) -> None:
        """`memory` is the folder on tmpfs; None where the host has none."""
        self._efi_template = efi_template
        self._read_yaml = read_yaml
        self._memory = memory

    def refuse(self, machine: RuntimeMachine) -> None:
        """Changes nothing of a machine. Raises InvalidArgument or FailedPrecondition for data that this host cannot give to a guest."""
        if machine.spec.ignition_data:
            require_memory(self._memory)
        if plan_seed(machine, self._read_yaml).efi_variables and self._efi_template is None:
            raise FailedPrecondition("the machine has EFI variables, but this host has no EFI firmware")

    def write(self, machine: RuntimeMachine, folder: Path) -> SeedFiles:
        """Idempotent. Keeps an existing variable store, which the guest's firmware may have changed."""
        # Each file on its own: a crash between two leaves each complete, and the next call writes the rest.
        seed = plan_seed(machine, self._read_yaml)
        try:
            place = self._place(machine, folder)
            return SeedFiles(
                iso=_write_file(place / ISO, seed.iso),
                ignition=_write_file(place / IGNITION, seed.ignition),
                nvram=self._write_variables(folder / NVRAM, seed.efi_variables),
            )
        except OSError as error:
            raise ResourceExhausted(f"cannot write the machine's first-boot data: {error.strerror}") from None

    def _place(self, machine: RuntimeMachine, folder: Path) -> Path:
        """The folder of what cloud-init and Ignition read. Where it is on tmpfs, none of it is on disk."""
        if not machine.spec.ignition_data:
            self.forget(machine.id)
            return folder
        place = require_memory(self._memory) / machine.id
        make_own_folder(place)
        for name in (ISO, IGNITION):
            (folder / name).unlink(missing_ok=True)
        return place

    def forget(self, id: str) -> None:
        """Removes what is on tmpfs of a machine that is deleted."""
        if self._memory is not None:
            shutil.rmtree(self._memory / id, ignore_errors=True)

    def _write_variables(self, path: Path, variables: tuple[EfiVariable, ...]) -> Path | None:
        """Only for a machine that brings variables; libvirt makes the store of any other from its own template."""
        if not variables:
            return None
        if path.exists():
            return path
        if self._efi_template is None:
            raise FailedPrecondition("the machine has EFI variables, but this host has no EFI firmware")
        return _write_file(path, add_variables(self._efi_template.read_bytes(), variables))


def _write_file(path: Path, data: bytes) -> Path | None:
    """Makes a machine's file for the first boot have this content; empty content removes it. Returns its path, or None where there is no
    file. Equal content is not written again."""
    if not data:
        path.unlink(missing_ok=True)
        return None
    if _read_own(path) == data:
        return path
    # They hold secrets; libvirt gives them to QEMU's user at each start.
    replace_file(path, data, PRIVATE)
    return path


def _read_own(path: Path) -> bytes | None:
    """None for a missing file, and for one that belongs to QEMU's user: it is replaced, because the folder is ours."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, PermissionError):
        return None

"""The operator's settings of a host's libvirt runtime: one document, composed of the settings of each part.

A machine's spec reaches nothing of the host beyond what this document names. A document that does not decode is refused whole: half of
the operator's limits would be none. Each part declares and checks its own settings beside the code that they limit; this module only
puts them together. docs/libvirt.md describes every field.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from iri.errors import InvalidArgument
from iri.libvirt.host.settings import HostSettings
from iri.libvirt.images.settings import ImageSettings
from iri.libvirt.machines.power_settings import PowerSettings
from iri.libvirt.networks.network_policy import NetworkPolicy
from iri.libvirt.volumes.settings import StorageSettings

# Where distributions keep the empty variables of the EFI firmware without Secure Boot.
EFI_VARIABLES = (
    "/usr/share/OVMF/OVMF_VARS_4M.fd",
    "/usr/share/OVMF/OVMF_VARS.fd",
    "/usr/share/edk2/x64/OVMF_VARS.4m.fd",
    "/usr/share/edk2/ovmf/OVMF_VARS.fd",
)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`folder` holds the runtime's own files on the host; QEMU's user must be able to enter it."""

    uri: str = "qemu:///system"
    folder: str = "/var/lib/gitvirt"
    efi_variables: str = ""  # a file of empty EFI variables; empty: where distributions keep it
    host: HostSettings = HostSettings()
    networks: NetworkPolicy = NetworkPolicy()
    images: ImageSettings = ImageSettings()
    storage: StorageSettings = StorageSettings()
    power: PowerSettings = PowerSettings()
    qemu_logs: str = "/var/log/libvirt/qemu"  # libvirt's logs, one for each machine, removed with the machine

    def __post_init__(self) -> None:
        paths = {"folder": self.folder, "qemuLogs": self.qemu_logs, "efiVariables": self.efi_variables or "/"}
        for name, path in paths.items():
            if not path.startswith("/"):
                raise ValueError(f"{name} must be a path that begins with a slash")

    @property
    def efi_template(self) -> Path | None:
        """None where the host has no EFI firmware."""
        candidates = (self.efi_variables,) if self.efi_variables else EFI_VARIABLES
        return next((path for path in map(Path, candidates) if path.is_file()), None)


def decode_settings(document: bytes) -> Settings:
    """Decodes JSON. InvalidArgument names the field that is wrong."""
    try:
        return msgspec.json.decode(document, type=Settings)
    except (msgspec.MsgspecError, ValueError, InvalidArgument) as error:
        raise InvalidArgument(f"invalid settings: {error}") from None

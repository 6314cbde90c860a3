"""A machine's seed: all that its guest is told at its first boot. Pure.

The instance id is the machine's: cloud-init runs its first-boot steps once for each id, so a machine that is declared anew
gets them again and one that moves to another definition does not.
"""

from __future__ import annotations

import re

import msgspec

from iri.errors import InvalidArgument
from iri.libvirt.seed.content import Language, language
from iri.libvirt.seed.efi_variables import EfiVariable, efi_variables
from iri.libvirt.seed.ignition import Reader, ignition, no_yaml
from iri.libvirt.seed.nocloud import nocloud
from iri.machine import RuntimeMachine

EFI_ANNOTATION = "gitvirt.dev/efi-variables"
IGNITION_KEY = "opt/com.coreos/config"  # where Ignition looks, in QEMU's firmware configuration
HOSTNAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")
LONGEST_HOSTNAME = 253


class Seed(msgspec.Struct, frozen=True, kw_only=True):
    iso: bytes = b""  # empty: no disk
    ignition: bytes = b""
    efi_variables: tuple[EfiVariable, ...] = ()


def plan(machine: RuntimeMachine, read_yaml: Reader = no_yaml) -> Seed:
    """InvalidArgument when its hostname or its EFI variables are none, or its data is for a tool that comes before."""
    data = machine.spec.ignition_data
    hostname = machine.spec.guest_config.hostname if machine.spec.guest_config else ""
    if hostname and (len(hostname) > LONGEST_HOSTNAME or not HOSTNAME.fullmatch(hostname)):
        raise InvalidArgument(
            "guest_config.hostname is no host name: letters, digits and hyphens, with dots between"
        )
    form = language(data)
    user_data = data if form is Language.CLOUD_INIT else b""
    return Seed(
        iso=nocloud(machine.id, hostname, user_data) if hostname or user_data else b"",
        ignition=ignition(data, read_yaml) if form is Language.IGNITION else b"",
        efi_variables=efi_variables(machine.annotations.get(EFI_ANNOTATION, "")),
    )

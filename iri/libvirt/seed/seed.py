"""What a guest is given at its first boot: a NoCloud disk, Ignition data, EFI variables. Pure.

Rule: the content of a machine's first-boot data decides its language; there is no setting. Data that begins as cloud-init data
does goes onto a NoCloud disk. All other data is for Ignition and is not checked here: stock clients send it as it is, and the
guest reports errors in it. Addresses that DHCP does not tell go to both: onto the disk, and beside a config of Ignition (`ignition_network`).

The instance id is the machine's id: cloud-init runs its first-boot steps once for each id. So a recreated machine runs them
again, and a machine whose definition changes does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum

import msgspec

from iri.errors import InvalidArgument
from iri.libvirt.seed.efi_variables import EfiVariable, parse_efi_variables
from iri.libvirt.seed.ignition_network import add_network
from iri.libvirt.seed.iso9660 import iso9660_image
from iri.libvirt.seed.network_config import guest_interfaces, network_config
from iri.machine import RuntimeMachine

EFI_ANNOTATION = "gitvirt.dev/efi-variables"
IGNITION_KEY = "opt/com.coreos/config"  # where Ignition looks, in QEMU's firmware configuration
HOSTNAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")
LONGEST_HOSTNAME = 253
NOCLOUD_LABEL = "cidata"
EMPTY_USER_DATA = b"#cloud-config\n{}\n"  # cloud-init ignores a disk without user-data
# The first bytes by which cloud-init itself tells its formats apart.
CLOUD_INIT = (
    b"#cloud-config",
    b"#!",
    b"#include",
    b"#cloud-boothook",
    b"#part-handler",
    b"#upstart-job",
    b"## template:",
    b"content-type:",
    b"mime-version:",
)
GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The value of a YAML document, or None when the bytes are none. Handed in, because this package does not read YAML.
Reader = Callable[[bytes], object]


class Language(Enum):
    """What first-boot data is written in."""

    NONE = "none"
    CLOUD_INIT = "cloud-init"
    IGNITION = "ignition"


class Seed(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the files; `seed_files` writes them."""

    iso: bytes = b""  # empty: no disk
    ignition: bytes = b""
    efi_variables: tuple[EfiVariable, ...] = ()


def no_yaml(data: bytes) -> None:
    """A reader for callers that have none."""
    del data


def plan_seed(machine: RuntimeMachine, read_yaml: Reader = no_yaml) -> Seed:
    """InvalidArgument for a bad host name, bad EFI variables, or data that another tool must translate first."""
    data = machine.spec.ignition_data
    hostname = machine.spec.guest_config.hostname if machine.spec.guest_config else ""
    if hostname and (len(hostname) > LONGEST_HOSTNAME or not HOSTNAME.fullmatch(hostname)):
        raise InvalidArgument(
            "invalid guest_config.hostname: use letters, digits and hyphens, with dots between labels"
        )
    language = detect_language(data)
    user_data = data if language is Language.CLOUD_INIT else b""
    network = network_config(machine)
    ignition = to_ignition_json(data, read_yaml) if language is Language.IGNITION else b""
    has_disk = hostname or user_data or network
    return Seed(
        iso=nocloud_iso(machine.id, hostname, user_data, network) if has_disk else b"",
        ignition=add_network(ignition, guest_interfaces(machine)) if network else ignition,
        efi_variables=parse_efi_variables(machine.annotations.get(EFI_ANNOTATION, "")),
    )


def detect_language(data: bytes) -> Language:
    """Compressed data is taken for that of cloud-init, which unpacks it."""
    if not data:
        return Language.NONE
    if data.startswith(GZIP):
        return Language.CLOUD_INIT
    start = data.removeprefix(BYTE_ORDER_MARK).lstrip()[:32].lower()
    return Language.CLOUD_INIT if start.startswith(CLOUD_INIT) else Language.IGNITION


def to_ignition_json(data: bytes, read_yaml: Reader) -> bytes:
    """Turns a configuration in YAML into JSON, which is all that guests read. Leaves all other data as it is."""
    if data.lstrip()[:1] == b"{":
        return data
    value = read_yaml(data)
    if not isinstance(value, dict):
        return data
    if "variant" in value and "ignition" not in value:
        raise InvalidArgument("the ignition data is Butane: translate it with `butane --strict` first")
    return msgspec.json.encode(value) if isinstance(value.get("ignition"), dict) else data


def nocloud_iso(instance_id: str, hostname: str, user_data: bytes, network: bytes = b"") -> bytes:
    """The disk on which cloud-init looks for its data, by its label. Without `network` the guest uses DHCP on its first interface."""
    files = {"meta-data": meta_data(instance_id, hostname), "user-data": user_data or EMPTY_USER_DATA}
    if network:
        files["network-config"] = network
    return iso9660_image(NOCLOUD_LABEL, files)


def meta_data(instance_id: str, hostname: str) -> bytes:
    """YAML. JSON strings are YAML too, and quote every character that needs it."""
    values = {"instance-id": instance_id, "local-hostname": hostname}
    lines = [
        b"%s: %s\n" % (key.encode(), msgspec.json.encode(value)) for key, value in values.items() if value
    ]
    return b"".join(lines)

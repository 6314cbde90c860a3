"""cloud-init's NoCloud disk: user-data and meta-data on a volume of the label that it looks for. Pure."""

from __future__ import annotations

import msgspec

from iri.libvirt.seed.iso9660 import iso

LABEL = "cidata"
NOTHING_TO_DO = b"#cloud-config\n{}\n"  # without user-data, cloud-init would not take the disk for its own


def nocloud(instance_id: str, hostname: str, user_data: bytes) -> bytes:
    files = {"meta-data": meta_data(instance_id, hostname), "user-data": user_data or NOTHING_TO_DO}
    return iso(LABEL, files)


def meta_data(instance_id: str, hostname: str) -> bytes:
    """JSON strings are YAML too, and quote whatever stands in them."""
    values = {"instance-id": instance_id, "local-hostname": hostname}
    lines = [
        b"%s: %s\n" % (key.encode(), msgspec.json.encode(value)) for key, value in values.items() if value
    ]
    return b"".join(lines)

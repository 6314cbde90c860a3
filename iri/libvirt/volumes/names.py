"""Names of volumes, snapshots, local disks and secrets outside of the runtime: always from ids, never from a spec's text. Pure.

The patterns are the inverse: by them a start finds its own files, images and secrets, and leaves everything else alone. They match
whole names, so a file that a person has put there is never taken for one of ours.
"""

from __future__ import annotations

import hashlib
import re
import uuid

UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
OBJECT = re.compile(rf"(?P<kind>volume|snapshot)-(?P<id>{UUID})")
LOCAL_DISK = re.compile(rf"disk-(?P<machine>{UUID})-[0-9a-f]{{16}}\.qcow2")
PARTIAL = re.compile(rf"(?:(?:volume|snapshot)-{UUID}\.json|disk-{UUID}-[0-9a-f]{{16}}\.qcow2)\.partial")
SECRET_USAGE = re.compile(rf"gitvirt/(?P<name>volume-{UUID}|disk-{UUID}-[0-9a-f]{{16}}|pool-.+)")
MARK_USAGE = re.compile(r"gitvirt/mark-(?P<pool>.+)")
SECRETS = uuid.UUID("6a2f0c4e-9d36-5b0f-8a3c-2f6f6d0b7e51")


def local_disk(machine_id: str, attachment: str) -> str:
    """An attachment's name can be any text, so the file name has its digest."""
    return f"disk-{machine_id}-{hashlib.sha256(attachment.encode()).hexdigest()[:16]}.qcow2"


def handle(volume_id: str) -> str:
    """A world wide name, short enough for a disk's serial number. Depends on the id alone."""
    return hashlib.blake2b(volume_id.encode(), digest_size=8).hexdigest()


def secret_usage(name: str) -> str:
    """As `virsh secret-list` shows it."""
    return f"gitvirt/{name}"


def secret_id(usage: str) -> str:
    """The UUID follows from the usage, so a secret is found again without a list."""
    return str(uuid.uuid5(SECRETS, usage))

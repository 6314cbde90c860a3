"""Local disks from one revision to the next: one that was made from an image holds a machine's system."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.model import Machine
from schemas.validate.finding import Finding
from schemas.validate.tree import AnyEntry

HINT = "restore it, or declare a new machine"


def of_disks(new: AnyEntry, before: Machine, after: Machine) -> Iterator[Finding]:
    now = {volume.name: (position, volume) for position, volume in enumerate(after.spec.volumes)}
    for volume in before.spec.volumes:
        if volume.local_disk is None or not volume.local_disk.image:
            continue
        if volume.name not in now:
            message = f"disk {volume.name} was made from an image and may not be removed"
            yield new.finding("GV408", "/spec/volumes" if now else "/spec", message, HINT)
            continue
        position, found = now[volume.name]
        image = found.local_disk.image if found.local_disk else None
        if image != volume.local_disk.image:
            pointer = f"/spec/volumes/{position}" + ("/localDisk/image" if image else "")
            message = f"disk {volume.name} was made from {volume.local_disk.image} and is not made anew"
            yield new.finding("GV408", pointer, message, HINT)

"""Ids from uid labels, so that creating the same object twice finds it by its id. Pure.

Poollets label what they create with the uid it has in their world. A uid that is a UUID is the id itself, which lets a
libvirt domain carry it as its own; any other text gets the UUID that stands for it. Without the label there is no
identity to keep, and the runtime takes a random id.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping

from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind
from iri.volume import RuntimeSnapshot, RuntimeVolume

UID_LABELS: Mapping[RuntimeKind, str] = {
    RuntimeMachine: "machinepoollet.ironcore.dev/machine-uid",
    RuntimeVolume: "volumepoollet.ironcore.dev/volume-uid",
    RuntimeSnapshot: "volumepoollet.ironcore.dev/volume-snapshot-uid",
}
CANONICAL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAMESPACE = uuid.UUID("5f1a6ab4-6f0f-5c53-9d0b-1f0f0a3b9c11")


def derive_id(kind: RuntimeKind, labels: Mapping[str, str]) -> str | None:
    label = UID_LABELS[kind]
    uid = labels.get(label, "")
    if not uid:
        return None
    if CANONICAL.fullmatch(uid):
        return uid
    return str(uuid.uuid5(NAMESPACE, f"{label}={uid}"))

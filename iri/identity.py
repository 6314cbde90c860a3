"""Ids derived from uid labels, which make `create` idempotent. Pure.

A poollet labels every object that it creates with the object's uid. The runtime derives the id from the label, so a
second create of the same object finds the first one, also after a lost answer or a restart of either side:

    label                          id
    a canonical UUID               that UUID (a libvirt domain has it as its own)
    any other text                 uuid5 of label and text
    missing                        None: the runtime takes a random id, and create is not idempotent

Must never happen: NAMESPACE or the rule changes. Every existing object would be created a second time.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping

from iri.errors import NotFound
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind
from iri.volume import RuntimeSnapshot, RuntimeVolume

UID_LABELS: Mapping[RuntimeKind, str] = {
    RuntimeMachine: "machinepoollet.ironcore.dev/machine-uid",
    RuntimeVolume: "volumepoollet.ironcore.dev/volume-uid",
    RuntimeSnapshot: "volumepoollet.ironcore.dev/volume-snapshot-uid",
}
# Of the order that an object was created by. A runtime refuses to create one of an assignment that was ended there, and to change or remove
# one of another assignment than its caller means: the id of an object comes back when it is created again.
ASSIGNMENT_LABEL = "gitvirt.dev/assignment"
CANONICAL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAMESPACE = uuid.UUID("5f1a6ab4-6f0f-5c53-9d0b-1f0f0a3b9c11")


def derive_id(kind: RuntimeKind, labels: Mapping[str, str]) -> str | None:
    """The id that a `create` gives to an object with this uid label, so that a repeated call finds the first one's object. None without a
    uid label for this kind: the runtime then makes up an id, and a repeated call creates another object."""
    label = UID_LABELS[kind]
    uid = labels.get(label, "")
    if not uid:
        return None
    if CANONICAL.fullmatch(uid):
        return uid
    return str(uuid.uuid5(NAMESPACE, f"{label}={uid}"))


def require_assignment(id: str, labels: Mapping[str, str], assignment: str) -> None:
    """NotFound for an object of another assignment than the one that a call is about. Empty: the call is about whatever has that id."""
    if assignment and labels.get(ASSIGNMENT_LABEL, "") != assignment:
        raise NotFound(
            f"{id} under assignment {assignment} does not exist any more; another object has that id"
        )

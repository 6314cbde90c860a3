"""Disks whose entries name another volume by now, and that must not wait until that volume is ready. Pure.

Theory of operation. A disk stays attached until what its entry names by now is ready, so that a guest does not lose it for a volume that may
never come. Two machines that swap their volumes would wait for each other for ever. So a disk does not stay where its volume

    - is named by another entry of the machine, because a guest has a volume once;
    - is needed by another machine, and its claim on `live` is released or is another machine's already.

People ordered in the same commit that the machine has it no longer, and plan said so. The other machine gets it only after this host
reported it detached (reconciler/decide/volume_claim.py).

Must never happen: a volume is detached that an entry of that name still means.
"""

from __future__ import annotations

from iri.machine import RuntimeMachine
from poollet.decide.decision_pass import DecisionPass
from schemas.kinds import Key
from schemas.model import Machine, Volume


def replaced_disks(machine: Machine, there: RuntimeMachine, current: DecisionPass) -> frozenset[str]:
    """By name, by the rule above. A disk whose handle is of no volume on `live`, or of several, is none of them."""
    users = current.view.volume_users
    entries = {key: entry.name for entry in machine.spec.volumes if (key := machine.volume_key(entry))}
    found = set[str]()
    for disk in there.spec.volumes:
        named = users.find(machine.namespace, disk.connection.handle) if disk.connection is not None else ()
        for volume in named if len(named) == 1 else ():
            has_own_entry = entries.get(volume, disk.name) != disk.name
            is_awaited = volume not in entries and users.is_needed(volume, machine.key)
            if has_own_entry or (is_awaited and is_given_away(volume, machine, current)):
                found.add(disk.name)
    return frozenset(found)


def is_given_away(key: Key, machine: Machine, current: DecisionPass) -> bool:
    """Whether the claim of the volume on `live` is released, or is another machine's."""
    volume = current.view.objects.get(key)
    claim = volume.spec.claim_ref if isinstance(volume, Volume) else None
    return claim is not None and (bool(claim.released) or claim.uid != machine.metadata.uid)

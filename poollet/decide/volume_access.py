"""How a machine reaches a volume: by the access data of this host's own runtime, else by the access data on `live`.

Git never contains access secrets. For a volume on this host they come from its runtime. For a volume on another host
the operator puts them into this host's secrets file under the volume's namespace and name.
"""

from __future__ import annotations

from collections.abc import Mapping

from iri.machine import VolumeConnection
from iri.volume import RuntimeVolume, VolumeState
from poollet.decide import secrets
from poollet.decide.actions import Ref
from poollet.decide.decision import PoolletFacts
from poollet.decide.inventory import Inventory
from poollet.decide.secrets import NotReady
from poollet.report import conditions
from poollet.sync.live_view import Lookup
from schemas.kinds import Kind
from schemas.model import Volume


def resolve_connection(
    volume: Volume, objects: Lookup, inventory: Inventory, facts: PoolletFacts
) -> VolumeConnection | NotReady:
    """A volume of a pool of this poollet is local, also while `live` has no access data of it yet. All others are remote."""
    encryption = read_encryption(volume, objects, facts)
    if isinstance(encryption, NotReady):
        return encryption
    assignment = volume.status.assignment
    if assignment is not None and (pool := facts.pools.get((Kind.VOLUME_POOL, assignment.pool))):
        here = inventory.at(Ref(RuntimeVolume, volume.metadata.uid), pool.runtime)
        return connect_local(volume, here if isinstance(here, RuntimeVolume) else None, encryption)
    return connect_remote(volume, objects, facts, encryption)


def connect_local(
    volume: Volume, here: RuntimeVolume | None, encryption: Mapping[str, bytes]
) -> VolumeConnection | NotReady:
    """From the runtime itself, so that secrets and sizes are current and never pass through Git."""
    if here is None or here.deleted_at or here.status.state is not VolumeState.AVAILABLE:
        why = f": {here.detail.message}" if here is not None and here.detail.message else ""
        return NotReady("VolumeNotReady", f"Volume {volume.name} is not available yet{why}")
    access = here.status.access
    if access is None:
        return NotReady("VolumeNotReady", f"Volume {volume.name} has no access data yet")
    return VolumeConnection(
        driver=access.driver,
        handle=access.handle,
        attributes=access.attributes,
        secret_data=access.secret_data,
        encryption_data=encryption,
        effective_storage_bytes=here.status.resources.storage_bytes if here.status.resources else 0,
    )


def connect_remote(
    volume: Volume, objects: Lookup, facts: PoolletFacts, encryption: Mapping[str, bytes]
) -> VolumeConnection | NotReady:
    """From `live`, which carries what the volume's own host reported, plus the secret from this host's file if one is required."""
    access = volume.status.access
    if volume.status.state != "Available" or access is None or not access.handle:
        return NotReady("VolumeNotReady", f"Volume {volume.name} is not available yet")
    secret = read_access_secret(volume, objects, facts)
    if isinstance(secret, NotReady):
        return secret
    storage = volume.status.resources.get("storage")
    return VolumeConnection(
        driver=access.driver,
        handle=access.handle,
        attributes=access.volume_attributes,
        secret_data=secret,
        encryption_data=encryption,
        effective_storage_bytes=storage.ceil() if storage is not None else 0,
    )


def read_access_secret(
    volume: Volume, objects: Lookup, facts: PoolletFacts
) -> Mapping[str, bytes] | NotReady:
    """A Secret that the volume names, else an entry of this host's secrets file if the volume's host says that one is required."""
    access = volume.status.access
    if access is not None and access.secret_ref is not None:
        found = secrets.read_secret(volume.namespace, access.secret_ref.name, objects, facts)
        return found if isinstance(found, NotReady) else found.by_key
    required = [one for one in volume.status.conditions if one.type == conditions.ACCESS_SECRET]
    if not required or required[0].status != "True":
        return {}
    own = facts.secrets.get(volume.namespace, volume.name)
    if own is None:
        return NotReady(
            "AccessSecretMissing",
            f"access to Volume {volume.name} requires {required[0].message}: "
            f"add them to this host's secrets file as {volume.namespace}/{volume.name}",
        )
    return own


def read_encryption(volume: Volume, objects: Lookup, facts: PoolletFacts) -> Mapping[str, bytes] | NotReady:
    if volume.spec.encryption is None:
        return {}
    found = secrets.read_secret(volume.namespace, volume.spec.encryption.secret_ref.name, objects, facts)
    return found if isinstance(found, NotReady) else found.by_key

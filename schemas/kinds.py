"""The kinds: which there are, the groups they live in, and what identifies an object of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFAULT_NAMESPACE = "default"


class Kind(StrEnum):
    MACHINE_CLASS = "MachineClass"
    MACHINE_POOL = "MachinePool"
    MACHINE = "Machine"
    VOLUME_CLASS = "VolumeClass"
    VOLUME_POOL = "VolumePool"
    VOLUME = "Volume"
    VOLUME_SNAPSHOT = "VolumeSnapshot"
    NETWORK = "Network"
    NETWORK_INTERFACE = "NetworkInterface"
    SECRET = "Secret"
    RESOURCE_QUOTA = "ResourceQuota"

    @property
    def is_namespaced(self) -> bool:
        return self not in CLUSTER_WIDE


CLUSTER_WIDE = frozenset({Kind.MACHINE_CLASS, Kind.MACHINE_POOL, Kind.VOLUME_CLASS, Kind.VOLUME_POOL})

GROUPS = {
    Kind.MACHINE_CLASS: "compute",
    Kind.MACHINE_POOL: "compute",
    Kind.MACHINE: "compute",
    Kind.VOLUME_CLASS: "storage",
    Kind.VOLUME_POOL: "storage",
    Kind.VOLUME: "storage",
    Kind.VOLUME_SNAPSHOT: "storage",
    Kind.NETWORK: "networking",
    Kind.NETWORK_INTERFACE: "networking",
    Kind.SECRET: "",  # apiVersion: v1
    Kind.RESOURCE_QUOTA: "core",
}


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Identity: kind, namespace (empty for cluster-wide kinds) and name; never the path."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)

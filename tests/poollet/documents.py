"""Short documents as `live` has them."""

from __future__ import annotations

import uuid
from typing import Any

from poollet.sync.live_view import LiveDocument
from schemas.kinds import Kind, api_version
from schemas.model import decode

FLEET = "f1ee7000-0000-4000-8000-000000000001"
GIB = 1 << 30
HOST, EPOCH = "this host", 3  # that the pools are granted to
NAMESPACE = uuid.UUID("00000000-0000-4000-8000-00000000a11c")


def uid_of(kind: Kind, name: str, turn: int = 0) -> str:
    return str(uuid.uuid5(NAMESPACE, f"{kind}/{name}/{turn}"))


def assignment_of(uid: str, turn: int = 0) -> str:
    return str(uuid.uuid5(NAMESPACE, f"assignment/{uid}/{turn}"))


def document(
    kind: Kind,
    name: str,
    *,
    spec: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    path: str = "",
    **rest: Any,
) -> LiveDocument:
    body: dict[str, Any] = {
        "apiVersion": api_version(kind),
        "kind": kind.value,
        "metadata": {"name": name, **(metadata or {})},
    }
    if spec is not None:
        body["spec"] = spec
    return LiveDocument(path or f"{kind.lower()}s/{name}.yaml", decode(kind, body | rest))


def assign(
    kind: Kind, name: str, pool: str, spec: dict[str, Any], *, turn: int = 0, **more: Any
) -> LiveDocument:
    """`going` orders it away, `evicted` does so with an eviction; `annotations`, `owner`, `status`, `host`, `epoch` and
    `path` as they say."""
    uid = uid_of(kind, name, turn)
    metadata: dict[str, Any] = {"uid": uid, "annotations": more.get("annotations", {})}
    if more.get("going"):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if owner := more.get("owner"):
        metadata["ownerReferences"] = [
            {"apiVersion": api_version(Kind.MACHINE), "kind": "Machine", "name": "x", "uid": owner}
        ]
    status: dict[str, Any] = {
        "assignment": {
            "pool": pool,
            "id": assignment_of(uid, more.get("round", 0)),
            "host": more.get("host", HOST),
            "epoch": more.get("epoch", EPOCH),
        }
    }
    if more.get("evicted"):
        status["evict"] = {"assignment": status["assignment"]["id"], "reason": "drained"}
    status |= more.get("status", {})
    return document(kind, name, spec=spec, metadata=metadata, status=status, path=more.get("path", ""))


def machine(name: str = "web", pool: str = "a", *, class_name: str = "small", **more: Any) -> LiveDocument:
    spec = {"machineClassRef": {"name": class_name}, **more.pop("spec", {})}
    return assign(Kind.MACHINE, name, pool, spec, **more)


def volume(
    name: str = "data",
    pool: str = "disks",
    *,
    size: str = "1Gi",
    claim: str = "",
    class_name: str = "standard",
    **more: Any,
) -> LiveDocument:
    """`claim` names the machine that holds it; `policy` is that of its data, which goes with one that is ordered away."""
    spec: dict[str, Any] = {"volumeClassRef": {"name": class_name}, "resources": {"storage": size}}
    if policy := more.pop("policy", "Delete" if more.get("going") else ""):
        spec["deletionPolicy"] = policy
    if claim:
        holder = uid_of(Kind.MACHINE, claim, more.pop("claim_turn", 0))
        held = assignment_of(holder, more.pop("claim_round", 0))
        spec["claimRef"] = {
            "name": claim,
            "uid": holder,
            "assignment": held,
            "released": more.pop("released", ""),
        }
    return assign(Kind.VOLUME, name, pool, spec | more.pop("spec", {}), **more)


def snapshot(name: str = "shot", of: str = "data", pool: str = "disks", **more: Any) -> LiveDocument:
    return assign(Kind.VOLUME_SNAPSHOT, name, pool, {"volumeRef": {"name": of}}, **more)


def referring(*names: str) -> list[dict[str, Any]]:
    """A machine's disks that are volumes, attached by their own names."""
    return [{"name": name, "volumeRef": {"name": name}} for name in names]


def interfaces(*names: str, network: str = "lan") -> list[dict[str, Any]]:
    template = {"spec": {"networkRef": {"name": network}}}
    return [{"name": name, "ephemeral": {"networkInterfaceTemplate": template}} for name in names]


def secret(name: str, **values: str) -> LiveDocument:
    return document(Kind.SECRET, name, stringData=values)


CLASSES = (
    document(Kind.MACHINE_CLASS, "small", capabilities={"cpu": "1", "memory": "1Gi"}),
    document(Kind.MACHINE_CLASS, "medium", capabilities={"cpu": "2", "memory": "4Gi"}),
    document(Kind.MACHINE_CLASS, "large", capabilities={"cpu": "8", "memory": "32Gi"}),
    document(
        Kind.VOLUME_CLASS,
        "standard",
        capabilities={"tps": "100Mi", "iops": "1000"},
        resizePolicy="ExpandOnly",
    ),
    document(Kind.VOLUME_CLASS, "static", capabilities={"tps": "100Mi", "iops": "1000"}),
    document(Kind.NETWORK, "lan", spec={"ipv4": {"cidr": "10.1.0.0/24"}}),
)

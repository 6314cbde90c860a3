"""Short ways to write manifests for tests: each function gives a document as text (JSON is YAML)."""

from __future__ import annotations

import json
from typing import Any


def document(group: str, kind: str, name: str, namespace: str | None, rest: dict[str, Any]) -> str:
    version = "v1" if group == "v1" else f"{group}.ironcore.dev/v1alpha1"
    metadata: dict[str, Any] = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= rest.pop("metadata", {})
    return json.dumps({"apiVersion": version, "kind": kind, "metadata": metadata, **rest})


def machine_class(name: str = "small", cpu: str = "1", memory: str = "1Gi", **more: Any) -> str:
    capabilities = {"cpu": cpu, "memory": memory, **more}
    return document("compute", "MachineClass", name, None, {"capabilities": capabilities})


def volume_class(name: str = "fast", policy: str = "Static", iops: str = "100") -> str:
    rest = {"capabilities": {"tps": "1Mi", "iops": iops}, "resizePolicy": policy}
    return document("storage", "VolumeClass", name, None, rest)


def pool(group: str, kind: str, name: str, labels: dict[str, str] | None, spec: dict[str, Any]) -> str:
    rest: dict[str, Any] = {key: spec.pop(key) for key in ("status",) if key in spec}
    if labels:
        rest["metadata"] = {"labels": labels}
    return document(group, kind, name, None, {"spec": spec, **rest})


def machine_pool(name: str = "a", labels: dict[str, str] | None = None, **spec: Any) -> str:
    return pool("compute", "MachinePool", name, labels, spec)


def volume_pool(name: str = "a", labels: dict[str, str] | None = None, **spec: Any) -> str:
    return pool("storage", "VolumePool", name, labels, spec)


def machine(name: str = "web", namespace: str | None = None, **spec: Any) -> str:
    rest: dict[str, Any] = {key: spec.pop(key) for key in ("metadata", "status") if key in spec}
    spec.setdefault("machineClassRef", {"name": "small"})
    return document("compute", "Machine", name, namespace, {**rest, "spec": spec})


def volume(name: str = "data", namespace: str | None = None, size: str = "1Gi", **spec: Any) -> str:
    rest: dict[str, Any] = {key: spec.pop(key) for key in ("metadata", "status") if key in spec}
    volume_spec = {"volumeClassRef": {"name": "fast"}, "resources": {"storage": size}, **spec}
    return document("storage", "Volume", name, namespace, {**rest, "spec": volume_spec})


def snapshot(name: str = "snap", volume: str = "data", namespace: str | None = None) -> str:
    return document("storage", "VolumeSnapshot", name, namespace, {"spec": {"volumeRef": {"name": volume}}})


def network(name: str = "net", namespace: str | None = None, cidr: str = "", **spec: Any) -> str:
    ipv4 = {"ipv4": {"cidr": cidr}} if cidr else {}
    return document("networking", "Network", name, namespace, {"spec": {**ipv4, **spec}})


def interface(name: str = "nic", namespace: str | None = None, ips: tuple[str, ...] = (), **spec: Any) -> str:
    spec.setdefault("networkRef", {"name": "net"})
    addresses = {"ips": [{"value": ip} for ip in ips]} if ips else {}
    return document("networking", "NetworkInterface", name, namespace, {"spec": {**spec, **addresses}})


def secret(name: str = "key", namespace: str | None = None, **rest: Any) -> str:
    return document("v1", "Secret", name, namespace, rest)


def quota(namespace: str = "default", name: str = "quota", scope: Any = None, **hard: str) -> str:
    names = {
        "machines": "count/machines.compute.ironcore.dev",
        "volumes": "count/volumes.storage.ironcore.dev",
        "cpu": "requests.cpu",
        "memory": "requests.memory",
        "storage": "requests.storage",
    }
    spec: dict[str, Any] = {"hard": {names[key]: value for key, value in hard.items()}}
    if scope:
        spec["scopeSelector"] = {"matchExpressions": scope}
    return document("core", "ResourceQuota", name, namespace, {"spec": spec})


def ref(name: str) -> dict[str, str]:
    return {"name": name}


def uses_volume(volume: str, name: str = "data", **more: Any) -> dict[str, Any]:
    return {"name": name, "volumeRef": ref(volume), **more}


def uses_interface(interface: str, name: str = "nic") -> dict[str, Any]:
    return {"name": name, "networkInterfaceRef": ref(interface)}


def ephemeral_volume(name: str = "tmp", size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    template = {"volumeClassRef": ref("fast"), "resources": {"storage": size}, **spec}
    return {"name": name, "ephemeral": {"volumeTemplate": {"spec": template}}}


def ephemeral_interface(name: str = "nic", ips: tuple[str, ...] = (), **spec: Any) -> dict[str, Any]:
    template: dict[str, Any] = {"networkRef": ref("net"), **spec}
    if ips:
        template["ips"] = [{"value": ip} for ip in ips]
    return {"name": name, "ephemeral": {"networkInterfaceTemplate": {"spec": template}}}


def together(*documents: str) -> str:
    return "\n---\n".join(documents) + "\n"

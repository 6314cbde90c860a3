"""What an API server exported into what a person would have written: manifests for a repo.

    in the export                                      becomes
    a List, or several documents                       one document each
    fields that a server writes (uid, status, ...)     nothing
    the pool that IronCore's scheduler chose           nothing: in the source it would be a pin; `keep_pools` keeps it
    an object that another one generated               skipped: gitvirt generates it again from its owner
    a Secret                                           skipped: its data would be readable by everyone who can read the repo
    a kind that gitvirt does not have                  skipped, and named

Pure. It never guesses: a document that is misspelled, or that has no name, is skipped with the reason, and nothing is dropped without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from schemas.kinds import DEFAULT_NAMESPACE, Foreign, Key, Kind, NearMiss, recognize_document
from schemas.reader import Value

# Names become paths of files.
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
_DROPPED_ANNOTATIONS = ("kubectl.kubernetes.io/last-applied-configuration",)
_WRITTEN_BY_SERVERS = {
    Kind.VOLUME: ("claimRef",),
    Kind.NETWORK_INTERFACE: ("machineRef",),
}
_POOLS = {Kind.MACHINE: "machinePoolRef", Kind.VOLUME: "volumePoolRef"}


@dataclass(frozen=True, slots=True)
class Imported:
    """`body` is ready to be written into a file. `dropped` names the fields that were left out."""

    key: Key
    body: dict[str, Any]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """`name` is the object's kind and name in the export, `reason` the cause for which it was left out."""

    name: str
    reason: str


def import_documents(values: tuple[Value, ...], *, keep_pools: bool = False) -> Iterator[Imported | Skipped]:
    """In the order of the export."""
    for body in values:
        if body is None:
            continue
        items = body.get("items") if isinstance(body, dict) else None
        if isinstance(body, dict) and isinstance(items, list) and str(body.get("kind", "")).endswith("List"):
            yield from (_import_document(item, keep_pools) for item in items)
        else:
            yield _import_document(body, keep_pools)


def _import_document(body: object, keep_pools: bool) -> Imported | Skipped:
    name = _describe(body)
    match recognize_document(body):
        case Foreign(reason):
            return Skipped(name, reason)
        case NearMiss(_, message, hint):
            return Skipped(name, f"{message}; {hint}")
        case Kind() as kind:
            return _import_object(kind, name, cast("Mapping[str, Any]", body), keep_pools)


def _import_object(kind: Kind, name: str, body: Mapping[str, Any], keep_pools: bool) -> Imported | Skipped:
    metadata = body.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        return Skipped(name, "it has no metadata.name")
    if not all(_NAME.fullmatch(str(metadata.get(field, "x"))) for field in ("name", "namespace")):
        return Skipped(name, "its name or namespace is not a DNS name")
    if kind is Kind.SECRET:
        return Skipped(
            name, "everyone who can read the repo could read its data; encrypt it and add it by hand"
        )
    if owner := _find_controller(metadata):
        return Skipped(name, f"{owner} generates it, here as well")
    dropped = [f"metadata.{field}" for field in metadata if field not in _KEPT_METADATA]
    kept = {field: metadata[field] for field in _KEPT_METADATA if metadata.get(field)}
    if "annotations" in kept and isinstance(kept["annotations"], Mapping):
        annotations = {
            key: value for key, value in kept["annotations"].items() if key not in _DROPPED_ANNOTATIONS
        }
        kept["annotations"] = annotations
        if not annotations:
            del kept["annotations"]
    namespace = kept.get("namespace", DEFAULT_NAMESPACE) if kind.is_namespaced else ""
    found: dict[str, Any] = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": kept}
    found |= {field: value for field, value in body.items() if field not in found and field != "status"}
    if body.get("status"):
        dropped.append("status")
    if isinstance(found.get("spec"), Mapping):
        spec, fields = _clean_spec(kind, found["spec"], keep_pools)
        found["spec"] = spec
        dropped += fields
    return Imported(Key(kind, str(namespace), kept["name"]), found, tuple(dropped))


def _clean_spec(kind: Kind, spec: Mapping[str, Any], keep_pools: bool) -> tuple[dict[str, Any], list[str]]:
    """The spec, and which fields were dropped from it."""
    unwanted = {*_WRITTEN_BY_SERVERS.get(kind, ())}
    if not keep_pools and kind in _POOLS:
        unwanted.add(_POOLS[kind])
    dropped = [f"spec.{field}" for field in spec if field in unwanted]
    kept = {field: value for field, value in spec.items() if field not in unwanted and value is not None}
    if kept.get("dataSource") == {}:
        del kept["dataSource"]
    return kept, dropped


def _find_controller(metadata: Mapping[str, Any]) -> str:
    """The object that generated this one, as `Machine/web-1`, or nothing."""
    owners = metadata.get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, Mapping) and owner.get("controller") is True:
            return f"{owner.get('kind')}/{owner.get('name')}"
    return ""


def _describe(body: object) -> str:
    if not isinstance(body, Mapping):
        return "a document that is not an object"
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    parts = (body.get("kind"), metadata.get("namespace"), metadata.get("name"))
    return "/".join(str(part) for part in parts if part) or "a document without kind and name"

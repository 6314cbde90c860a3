"""Selects the objects that `gitvirt iri` shows: with their details, oldest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from iri.client import Client
from iri.errors import Unimplemented
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeObject
from iri.volume import RuntimeVolume


def select_objects(
    client: Client, kind: type[Any], id: str, labels: Mapping[str, str]
) -> list[RuntimeObject]:
    """By id or labels, all without either. Oldest first, then by id."""
    items: list[RuntimeObject] = list(client.select(kind, id, labels).values())
    return sorted(add_details(client, kind, items), key=lambda item: (item.created_at, item.id))


def add_details(client: Client, kind: type[Any], items: Sequence[RuntimeObject]) -> list[RuntimeObject]:
    """The objects with their details; unchanged where the runtime has no host service."""
    details: Mapping[str, object] = {}
    ids = [item.id for item in items]
    try:
        if ids and kind is RuntimeMachine:
            details = client.describe(ids)
        elif ids and kind is RuntimeVolume:
            details = client.describe_volumes(ids)
    except Unimplemented:
        return list(items)
    return [replace(item, detail=details[item.id]) if item.id in details else item for item in items]

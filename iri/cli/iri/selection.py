"""Objects of a runtime as `gitvirt iri` shows them: selected, with all that is known of them, in the order they came."""

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
    """By age, then id: the order in which they came."""
    items: list[RuntimeObject] = list(client.select(kind, id, labels).values())
    return sorted(add_details(client, kind, items), key=lambda item: (item.created_at, item.id))


def add_details(client: Client, kind: type[Any], items: Sequence[RuntimeObject]) -> list[RuntimeObject]:
    """With what the host service knows of them, if there is one."""
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

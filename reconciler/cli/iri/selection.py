"""Objects of a runtime as `gitvirt iri` shows them: selected, with all that is known of them, in the order they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from iri.client import Client
from iri.errors import Unimplemented
from iri.machine import Machine
from iri.runtime import Object


def selected(client: Client, kind: type[Any], id: str, labels: Mapping[str, str]) -> list[Object]:
    """By age, then id: the order in which they came."""
    items: list[Object] = list(client.select(kind, id, labels).values())
    if kind is Machine:
        items = described(client, items)
    return sorted(items, key=lambda item: (item.created_at, item.id))


def described(client: Client, items: Sequence[Object]) -> list[Object]:
    """With what the host service knows of them, if there is one."""
    try:
        details = client.describe([item.id for item in items]) if items else {}
    except Unimplemented:
        return list(items)
    return [
        replace(item, detail=details[item.id]) if isinstance(item, Machine) and item.id in details else item
        for item in items
    ]

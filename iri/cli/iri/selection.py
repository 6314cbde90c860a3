"""Selects the objects that `gitvirt iri` shows: with their details, oldest first.

One list, then one call for the details of those objects. Limits: sorts for people only; a caller that needs every change watches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iri.client import Client
from iri.runtime import RuntimeObject


def select_objects(
    client: Client, kind: type[Any], id: str, labels: Mapping[str, str]
) -> list[RuntimeObject]:
    """By id or labels, all without either. Oldest first, then by id."""
    found = client.select(kind, id, labels)
    detailed = client.add_details(kind, found, is_complete=not id and not labels)
    return sorted(detailed.values(), key=lambda item: (item.created_at, item.id))

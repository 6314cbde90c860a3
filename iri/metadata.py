"""The fields that a machine, a volume and a snapshot have in common. Frozen; no gRPC.

The messages of the interface have these fields as `ObjectMetadata`, and iri.wire translates. `id` is the runtime's own: a uid label
decides it (see iri.identity). Names that people know are labels.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class RuntimeMetadata(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`generation` counts changes of spec, not of annotations. Times are Unix nanoseconds; 0 is unset, as on the wire."""

    id: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    generation: int = 0
    created_at: int = 0
    deleted_at: int = 0  # when the removal was ordered; the object is listed until it is gone

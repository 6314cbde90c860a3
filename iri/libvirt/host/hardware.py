"""The UUID of the machine that the host runs on, from its DMI tables. A disk that is copied to another machine meets another one.

Limits: it tells hardware apart where the vendor does. Some boards have the same UUID, or none; such a value counts as unknown.
"""

from __future__ import annotations

import uuid
from pathlib import Path

HARDWARE_ID = Path("/sys/class/dmi/id/product_uuid")  # which only root can read
# Of boards whose vendor set none: all of them have the same one.
SHARED = frozenset(
    (
        uuid.UUID(int=0),
        uuid.UUID(int=(1 << 128) - 1),
        uuid.UUID("03000200-0400-0500-0006-000700080009"),
        uuid.UUID("12345678-1234-5678-90ab-cddeefaabbcc"),
    )
)


def read_hardware_id(path: Path = HARDWARE_ID) -> str:
    """Empty where it cannot be read, is not a UUID, or is shared by many machines."""
    try:
        found = uuid.UUID(path.read_text("ascii").strip())
    except (OSError, ValueError):
        return ""
    return "" if found in SHARED else str(found)

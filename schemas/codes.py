"""Every problem code: what it means, what usually causes it, what cures it. docs/problems.md is rendered from here.

GV1xx reading a file, GV2xx one document against its schema, GV3xx rules between objects, GV4xx against an earlier
revision, GV5xx quota and secrets, GV6xx settings (gitvirt.yaml, poollet.yaml, reports), GV7xx editing, GV8xx Git.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    title: str
    cause: str
    cure: str


CODES: dict[str, Code] = {}

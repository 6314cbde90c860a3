"""What of a report is worth a push of its own. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

POOLLET, EVENTS = "poollet.json", "events.json"


def without_volatile_fields(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The report without what may wait for the next push: the commit of `live` that was applied, and how often an event that was
    reported before happened again. Events that differ in nothing else are one."""
    found = dict(files)
    if POOLLET in found:
        by = msgspec.json.decode(found[POOLLET])
        by.pop("liveCommit", None)
        found[POOLLET] = msgspec.json.encode(by, order="sorted")
    if EVENTS in found:
        events = msgspec.json.decode(found[EVENTS]).get("events", ())
        plain = ({**one, "count": 0, "last": ""} for one in events)
        found[EVENTS] = b"\n".join(sorted({msgspec.json.encode(one, order="sorted") for one in plain}))
    return found

"""Which line of a commit `gitvirt history` shows of an object: its own, and not one that only names it."""

from __future__ import annotations

import pytest

from reconciler.query.object_history import find_line
from schemas.kinds import Key, Kind

BODY = """
- schedule default/web-1 onto rack-a: of the pools that fit it has the most room
- default/web is unknown: pool lost: no heartbeat from pool rack-a within its timeout
- volume default/data: Pending -> Available
- update default/data: NetworkInterfacesReady: True
- remove default/old from rack-b: confirmed by its host
- rack-a: Ready -> Unknown: the report of rack-a has not changed (Ready: ReportLost)
- grant volume pool rack-b: to host 1a2b
- from main: machines/web.yaml
"""


@pytest.mark.parametrize(
    ("kind", "name", "want"),
    [
        (Kind.MACHINE, "web", "default/web is unknown"),
        (Kind.MACHINE, "web-1", "schedule default/web-1 onto"),
        (Kind.MACHINE, "data", "update default/data"),
        (Kind.MACHINE, "old", "remove default/old"),
        (Kind.VOLUME, "data", "volume default/data: "),
        (Kind.MACHINE_POOL, "rack-a", "rack-a: Ready -> Unknown"),
        (Kind.VOLUME_POOL, "rack-b", "grant volume pool rack-b"),
        # No line is its own: the first one that names it.
        (Kind.MACHINE_POOL, "rack-b", "remove default/old from rack-b"),
        (Kind.NETWORK, "web", "default/web is unknown"),
        (Kind.MACHINE, "we", None),
    ],
)
def test_the_line_of_the_object_comes_before_lines_that_name_it(
    kind: Kind, name: str, want: str | None
) -> None:
    found = find_line(BODY, Key(kind, "default" if kind.is_namespaced else "", name))
    assert found is None if want is None else found is not None and found.startswith(want)

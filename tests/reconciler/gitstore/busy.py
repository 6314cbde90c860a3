"""A party that commits without end, to be killed at any moment: python -m tests.reconciler.gitstore.busy MIRROR REMOTE.

Prints each commit that the remote has acknowledged.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from reconciler.gitstore.errors import DamageError
from reconciler.gitstore.mirror.mirror import Mirror
from reconciler.gitstore.mirror.repack import RepackLimits
from reconciler.gitstore.remote import address
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.repo import Pushed, Refs, Snapshot
from reconciler.gitstore.store import Store
from tests.reconciler.gitstore.worlds import LIVE, REPORTS, draft


def main(directory: Path, remote: str) -> None:
    mirror = Mirror(directory, remote, allowed=RepackLimits(packs=3, garbage=10, loose_refs=1), patience=60)
    place = address.parse_address(remote, directory)
    transport = GitTransport(mirror.repo, place, RemoteAccess(), os.environ, inherit=(mirror.lock,))
    store = Store(mirror, transport, Refs(), seconds=30)

    def tidy() -> None:
        while True:
            store.housekeep()

    threading.Thread(target=tidy, daemon=True).start()
    while True:
        found = store.snapshot()
        if not isinstance(found, Snapshot):
            continue
        try:
            count = len(list(store.commits(found.target, None))) if found.target else 0
        except DamageError:
            print("DAMAGE", flush=True)
            continue
        report = found.reports.get("one")
        outcome = store.write(
            [
                draft(LIVE, found.target, {f"f{count % 4}/m": b"%d" % count}, f"{count}"),
                draft(REPORTS + "one", None, {"r": b"%d" % count}, expected=report, has_parents=False),
            ]
        )
        if isinstance(outcome, Pushed):
            print(outcome.commits[LIVE], flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

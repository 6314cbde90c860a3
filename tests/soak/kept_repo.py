"""A long life, kept as a repo on disk: for `gitvirt audit verify`, and for other verbs that read one.

    python -m tests.soak.kept_repo FOLDER [COMMITS] [SEED]

The server is never restored from a backup here, since that rewinds `live`, and the commits that it forgets are in no repo. All else happens. From time to
time everything is healed, or one trouble after the other would leave nothing that works.

Limits: the laws are not asked. They judge lives of some hundred steps that end at rest (`tests.soak`), and this one only has to make commits.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

from reconciler.gitstore.memory import MemoryRemote
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.database import GitObject
from reconciler.gitstore.objects.pack import build_pack
from tests.soak import troubles
from tests.soak.laws import Laws
from tests.soak.stage import HOSTS
from tests.soak.walk import ACTS, Life

COMMITS, SEED = 10_000, 1
LEFT_OUT = ("backup", "restore")
STEPS_TO_REST = 60
ROUNDS = 4  # in which people look at what waits
LIVE = "refs/heads/live"


def live_long(commits: int, seed: int) -> MemoryRemote:
    """The server of a life with so many commits on `live`."""
    life = Life(seed, 0, acts={name: each for name, each in ACTS.items() if name not in LEFT_OUT})
    life.laws = Unasked(life.stage, life.people)
    remote = life.stage.fleet.remote
    while count_commits(remote) < commits:
        for _ in range(STEPS_TO_REST):
            life.step()
        heal(life)
    return remote


class Unasked(Laws):
    def check(self) -> None:
        """Nothing is judged."""


def heal(life: Life) -> None:
    """Every party works and reaches the server, people approve what waits, and no host lies. Then a few rounds without a new trouble."""
    for weather in life.stage.weathers.values():
        weather.clear_up()
    for machine in life.stage.machines.values():
        machine.faults.clear()
    life.stage.empty = {}
    life.stage.clones.clear()
    life.end_slow_calls()
    troubles.banish(life)
    life.people.heal()
    life.land_all()
    for _ in range(ROUNDS):
        for _ in range(3):
            life.play_round()
        trailers = [found for name in HOSTS if (found := life.stage.mismatch(name)) is not None]
        life.people.commit(trailers)
        life.confirm()


def count_commits(remote: MemoryRemote) -> int:
    """On the first-parent line."""
    found, commit = 0, remote.refs.get(LIVE)
    while commit is not None:
        found, commit = found + 1, decode_commit(remote.get(commit)[1]).first_parent
    return found


def keep_repo(remote: MemoryRemote, folder: Path) -> None:
    """A bare repo in a new folder, with all that the server ever got."""
    subprocess.run(("git", "init", "--quiet", "--bare", str(folder)), check=True)
    pack = build_pack(GitObject(id, type, data) for id, (type, data) in remote.objects.items())
    place = folder / "objects" / "pack" / f"pack-{pack.name}"
    place.with_suffix(".pack").write_bytes(pack.data)
    place.with_suffix(".idx").write_bytes(pack.idx)
    updates = "".join(f"create {ref} {commit}\n" for ref, commit in sorted(remote.refs.items()))
    command = ("git", "-C", str(folder), "update-ref", "--stdin")
    subprocess.run(command, input=updates.encode(), check=True)


def main(folder: str, commits: str = str(COMMITS), seed: str = str(SEED)) -> None:
    logging.disable(logging.CRITICAL)
    keep_repo(live_long(int(commits), int(seed)), Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])

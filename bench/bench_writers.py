"""Eight writers at once, each with a mirror of its own: on one ref, where they race, and on refs of their own."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import figure
from reconciler.gitstore.redaction import SecretValue
from reconciler.gitstore.remote.access import RemoteAccess
from tests.servers.places import NO_SSH_CONFIG
from tests.servers.repository import bare, git
from tests.servers.sshd import ssh_server
from tests.servers.web import web_server
from tests.servers.writers import LIVE, write_together

WRITERS = 8
TURNS = {"path": 10, "http": 6, "ssh": 2}


@contextlib.contextmanager
def remotes(folder: Path) -> Iterator[dict[str, tuple[Path, str, RemoteAccess]]]:
    """Per kind: where its repos lie, what their URLs start with, and how to get in."""
    with web_server(folder / "web", "token") as web, ssh_server(folder / "ssh") as sshd:
        web.allow("ann", "password")
        key = sshd.allow("ann")
        yield {
            "path": (folder, f"{folder}/", RemoteAccess()),
            "http": (web.repos, web.url(""), RemoteAccess(username="ann", token=SecretValue("password"))),
            "ssh": (
                sshd.repos,
                sshd.url(""),
                RemoteAccess(identity=key, known_hosts=sshd.known_hosts, ssh_config=NO_SSH_CONFIG),
            ),
        }


def main() -> None:
    figures: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory(prefix="gv-") as name, remotes(Path(name)) as kinds:
        folder = Path(name)
        for kind, (place, start, access) in kinds.items():
            for how in ("one ref", "own refs"):
                refs = [LIVE if how == "one ref" else f"refs/heads/w{number}" for number in range(WRITERS)]
                repo = bare(place / f"{kind}-{how[:3]}.git")
                mirrors = folder / f"mirrors-{repo.name}"
                tally = write_together(
                    start + repo.name, access, os.environ, mirrors, refs=refs, turns=TURNS[kind]
                )
                kept = len(git(repo, "rev-list", "--all").splitlines())
                rate, wanted = tally.landed / tally.seconds, WRITERS * TURNS[kind]
                figures.append((f"{kind}, {how}: commits/s of 8 writers", f"{rate:.1f}"))
                rejected = f"{tally.rejected_per_success:.1f}"
                figures.append((f"{kind}, {how}: rejected pushes per success", rejected))
                figures.append((f"{kind}, {how}: commits on the server of those wanted", f"{kept}/{wanted}"))
    for name, value in figures:
        figure(name, value)


if __name__ == "__main__":
    main()

"""One change of 100,000 manifests on its way to a remote, by path, http and ssh; and what a commit adds to either side."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp

from bench.fleet_repo import LIVE, Fleet, edits, fleet, git, manifest, party, path, put
from bench.measure import figure, seconds
from reconciler.gitstore.redaction import SecretValue
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.store import Store
from tests.servers.sshd import ssh_server
from tests.servers.web import web_server

GROWTH = 100  # commits


def main() -> None:
    with fleet() as made:
        pushes(made)
        growth(made)


def pushes(made: Fleet) -> None:
    """Build, pack, fsync, push by compare-and-swap, the answer: all of `write`."""
    servers = Path(mkdtemp(prefix="gv-"))
    with ExitStack() as running:
        running.callback(shutil.rmtree, servers, ignore_errors=True)
        web = running.enter_context(web_server(servers / "web", "no-bearer"))
        sshd = running.enter_context(ssh_server(servers / "ssh"))
        web.allow("ann", "pass-1")
        over_http = RemoteAccess(username="ann", token=SecretValue("pass-1"))
        over_ssh = RemoteAccess(
            identity=sshd.allow("ann"), known_hosts=sshd.known_hosts, ssh_config=Path("/dev/null")
        )
        measure_push("a path", made.store, made.main)
        for name, url, access, repos in [
            ("http", web.url("fleet.git"), over_http, web.repos),
            ("ssh", sshd.url("fleet.git"), over_ssh, sshd.repos),
        ]:
            serve_remote(made.remote, repos / "fleet.git")
            mirror, store = party(made.folder / name, url, access)
            store.snapshot()
            measure_push(name, store, made.main)
            mirror.close()


def serve_remote(remote: Path, repo: Path) -> None:
    shutil.copytree(remote, repo)
    git(repo, "config", "http.receivepack", "true")
    owner = repo.parent.stat()
    for place in [repo, *repo.rglob("*")]:
        os.chown(place, owner.st_uid, owner.st_gid)


def measure_push(name: str, store: Store, main: str) -> None:
    ref = f"refs/heads/push-{name.replace(' ', '-')}"
    head = put(store, ref, main, {"README.md": b"first"}, expected=None, source=main)
    mark = 0

    def change() -> None:
        nonlocal head, mark
        mark += 1
        head = put(store, ref, head, edits(1, mark))

    figure(f"push of one change to {name}", f"{seconds(change, 9) * 1000:.0f} ms")
    figure(f"looking at {name} with nothing new", f"{seconds(store.snapshot, 9) * 1000:.0f} ms")


def growth(made: Fleet) -> None:
    """Commits of one file each in ever other folders of a thousand."""
    live = put(made.store, LIVE, made.main, edits(1, 7), expected=None, source=made.main)
    first = live
    made.store.housekeep()
    mirror, remote = size(made.mirror.repo), size(made.remote)
    for number in range(GROWTH):
        live = put(made.store, LIVE, live, {path(number, 1): manifest(number, 1, 9)})
    wire = len(git(made.mirror.repo, "pack-objects", "--revs", "--thin", "--stdout", "-q", data=f"{live}\n^{live}~1\n".encode()))  # fmt: skip
    figure("bytes on the wire for a commit of one file", f"{wire}")
    figure("bytes in the mirror for a commit of one file", per_commit(made.mirror.repo, mirror))
    made.store.housekeep()
    figure("the same after housekeeping", per_commit(made.mirror.repo, mirror))
    figure("bytes on the remote for a commit of one file", per_commit(made.remote, remote))
    given = f"{live}\n^{first}\n".encode()
    packed = len(git(made.remote, "pack-objects", "--revs", "--thin", "--stdout", "-q", data=given))
    figure("the same after git gc there", f"{packed // GROWTH}")


def per_commit(repo: Path, before: int) -> str:
    return f"{(size(repo) - before) // GROWTH}"


def size(repo: Path) -> int:
    return sum(place.stat().st_size for place in (repo / "objects").rglob("*") if place.is_file())


if __name__ == "__main__":
    main()

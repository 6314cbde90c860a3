"""A poollet with the least rights that docs/poollet.md names: it reads the repo, and writes its one ref."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.address import UnixAddress
from iri.simulated.host import SimulatedHost
from iri.simulated.server import SimulatedServer
from tests.iri.quick_host import PROFILE
from tests.poollet.cli.process import FleetRepo, grants, running, until, web
from tests.poollet.fleet import SETTINGS, machine_class
from tests.servers import repository
from tests.servers.gitolite import GitoliteServer


@pytest.fixture
def fleet_repo(gitolite: GitoliteServer) -> FleetRepo:
    """The server's own copy, whose `live` an administrator writes."""
    repo = gitolite.repos / "fleet.git"
    for name in repository.git(repo, "for-each-ref", "--format=%(refname)").split():
        repository.git(repo, "update-ref", "-d", name)
    fleet_repo = FleetRepo(gitolite.repos)
    files = {"gitvirt.yaml": SETTINGS, "classes/small.yaml": machine_class(), **grants(), "web-1.yaml": web()}
    fleet_repo.commit(files)
    return fleet_repo


@pytest.fixture
def socket(short_folder: Path) -> Iterator[Path]:
    place = short_folder / "rights.sock"
    with SimulatedServer(SimulatedHost(PROFILE, 7), [UnixAddress(place)]):
        yield place


def config(folder: Path, server: GitoliteServer, socket: Path, name: str) -> list[str]:
    path = folder / f"{name}.yaml"
    path.write_text(
        f"name: {name}\nrepo:\n  url: {server.url('fleet')}\n  identity: {server.ssh.folder / 'key_host-1'}\n"
        f"  knownHosts: {server.ssh.known_hosts}\n  mirror: {folder / 'mirror'}\n"
        f"runtimes: [{{name: sim, machine: {socket}, volume: {socket}}}]\nintervals: {{poll: 1s, list: 1s}}\n"
    )
    return ["--config", str(path)]


def test_reading_and_one_ref_are_enough(
    fleet_repo: FleetRepo,
    gitolite: GitoliteServer,
    socket: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITVIRT_SSH_CONFIG", "/dev/null")
    with running(tmp_path, *config(tmp_path, gitolite, socket, "host-1"), fleet_repo=fleet_repo) as one:
        until(lambda: fleet_repo.report().machines != {})
        until(
            lambda: getattr(fleet_repo.report().machines["default", "web-1"].status, "state", "") == "Running"
        )
        code, logged = one.end()
    assert code == 0, logged
    assert " error " not in logged
    # The same key under another name writes nothing, acts on nothing, and says why.
    with running(tmp_path, *config(tmp_path, gitolite, socket, "host-2"), fleet_repo=fleet_repo) as other:
        until(lambda: "report refused" in other.log_text)
        code, logged = other.end()
    assert "DENIED" in logged
    assert "step done" not in logged
    assert not fleet_repo.head("refs/poollets/host-2")

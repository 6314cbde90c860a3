"""The servers as fixtures, one of each a test process, started when a test first asks for it."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from tests.servers.gitolite import GitoliteServer, gitolite_server
from tests.servers.libvirtd import Libvirtd
from tests.servers.libvirtd import libvirtd as started_libvirtd
from tests.servers.places import Place, place
from tests.servers.proxy import Proxy, proxy
from tests.servers.relay import Relay, relay
from tests.servers.sshd import SshServer, ssh_server
from tests.servers.web import WebServer, web_server

BEARER = "bearer-token-5f1c9a"
# docs/git.md shows the second repo's rules.
GITOLITE_RULES = """
repo fleets/..*
    C               = ann
    RW+             = ann

repo fleet
    R                             = @all
    RWC     refs/heads/live$      = reconciler
    RW+CD   refs/poollets/host-1$ = host-1
    RW+CD   refs/poollets/host-2$ = host-2
    RWC     refs/heads/main$      = ann
"""


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """Unix sockets have room for about 100 characters of path."""
    folder = Path(tempfile.mkdtemp(prefix="gv-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def web(short_folder: Path) -> Iterator[WebServer]:
    with web_server(short_folder / "web", BEARER) as server:
        yield server


@pytest.fixture(scope="session")
def sshd(short_folder: Path) -> Iterator[SshServer]:
    with ssh_server(short_folder / "ssh") as server:
        yield server


@pytest.fixture(scope="session")
def gitolite(short_folder: Path) -> Iterator[GitoliteServer]:
    with gitolite_server(short_folder / "lite") as server:
        server.configure(GITOLITE_RULES, "ann", "reconciler", "host-1", "host-2")
        yield server


@pytest.fixture(scope="session")
def libvirtd() -> Iterator[Libvirtd]:
    with started_libvirtd() as daemon:
        yield daemon


@dataclass(frozen=True)
class StartedOnDemand:
    """Starts a server only for the kinds of remote that need it."""

    request: pytest.FixtureRequest
    bearer: str = BEARER

    @property
    def folder(self) -> Path:
        return cast(Path, self.request.getfixturevalue("short_folder"))

    @property
    def web(self) -> WebServer:
        return cast(WebServer, self.request.getfixturevalue("web"))

    @property
    def sshd(self) -> SshServer:
        return cast(SshServer, self.request.getfixturevalue("sshd"))

    @property
    def gitolite(self) -> GitoliteServer:
        return cast(GitoliteServer, self.request.getfixturevalue("gitolite"))


@pytest.fixture
def remote(request: pytest.FixtureRequest) -> Iterator[Place]:
    """An empty repo on the kind of remote that the test's indirect parameter names."""
    with place(request.param, StartedOnDemand(request), f"r{uuid.uuid4().hex[:10]}") as made:
        yield made


@pytest.fixture
def forward_proxy() -> Iterator[Proxy]:
    with proxy() as made:
        yield made


@pytest.fixture
def web_relay(web: WebServer) -> Iterator[Relay]:
    with relay(web.http) as made:
        yield made


@pytest.fixture
def ssh_relay(sshd: SshServer) -> Iterator[Relay]:
    with relay(sshd.port) as made:
        yield made

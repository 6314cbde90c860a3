"""One empty repo on each kind of remote that gitvirt knows, with what it takes to get in."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from reconciler.gitstore.redaction import SecretValue
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.remote.git_transport import GitTransport
from tests.servers.agent import ssh_agent
from tests.servers.gitolite import GitoliteServer
from tests.servers.proxy import proxy
from tests.servers.repository import bare
from tests.servers.sshd import SshServer
from tests.servers.web import WebServer

NO_SSH_CONFIG = Path("/dev/null")


@dataclass(frozen=True)
class Place:
    """`repo` is where the server keeps it."""

    url: str
    access: RemoteAccess
    repo: Path
    ambient: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def transport(self, mirror: Path) -> GitTransport:
        return GitTransport(mirror, parse_address(self.url, Path("/")), self.access, self.ambient)


class Servers(Protocol):
    """Where the running servers come from; a test gives its fixtures."""

    @property
    def folder(self) -> Path: ...
    @property
    def web(self) -> WebServer: ...
    @property
    def sshd(self) -> SshServer: ...
    @property
    def gitolite(self) -> GitoliteServer: ...
    @property
    def bearer(self) -> str: ...


def path(servers: Servers, name: str) -> Iterator[Place]:
    repo = bare(servers.folder / f"{name}.git")
    yield Place(str(repo), RemoteAccess(), repo)


def file(servers: Servers, name: str) -> Iterator[Place]:
    repo = bare(servers.folder / f"{name}.git")
    yield Place(f"file://{repo}", RemoteAccess(), repo)


def http(servers: Servers, name: str) -> Iterator[Place]:
    servers.web.allow("ann", "http-pass-77")
    repo = bare(servers.web.repos / f"{name}.git")
    yield Place(
        servers.web.url(repo.name), RemoteAccess(username="ann", token=SecretValue("http-pass-77")), repo
    )


def https(servers: Servers, name: str) -> Iterator[Place]:
    servers.web.allow("x-access-token", "https-token-88")
    repo = bare(servers.web.repos / f"{name}.git")
    access = RemoteAccess(token=SecretValue("https-token-88"), ca_file=servers.web.authority.ca)
    yield Place(servers.web.url(repo.name, "https"), access, repo)


def bearer(servers: Servers, name: str) -> Iterator[Place]:
    repo = bare(servers.web.repos / f"{name}.git")
    access = RemoteAccess(token=SecretValue(servers.bearer), is_bearer=True, ca_file=servers.web.authority.ca)
    yield Place(servers.web.url(repo.name, "https", "bearer"), access, repo)


def mutual(servers: Servers, name: str) -> Iterator[Place]:
    repo = bare(servers.web.repos / f"{name}.git")
    client = servers.web.client
    ca = servers.web.authority.ca
    access = RemoteAccess(ca_file=ca, certificate_file=client.certificate, key_file=client.key)
    yield Place(servers.web.mutual_url(repo.name), access, repo)


def behind_proxy(servers: Servers, name: str) -> Iterator[Place]:
    with proxy("ann", "proxy-pass-66") as between:
        for place in https(servers, name):
            through = SecretValue(f"http://ann:proxy-pass-66@127.0.0.1:{between.port}")
            access = RemoteAccess(token=place.access.token, ca_file=place.access.ca_file, proxy=through)
            yield Place(place.url, access, place.repo)


def ssh(servers: Servers, name: str) -> Iterator[Place]:
    repo = bare(servers.sshd.repos / f"{name}.git")
    access = RemoteAccess(
        identity=servers.sshd.allow(name), known_hosts=servers.sshd.known_hosts, ssh_config=NO_SSH_CONFIG
    )
    yield Place(servers.sshd.url(repo.name), access, repo)


def agent(servers: Servers, name: str) -> Iterator[Place]:
    repo = bare(servers.sshd.repos / f"{name}.git")
    access = RemoteAccess(known_hosts=servers.sshd.known_hosts, ssh_config=NO_SSH_CONFIG)
    with ssh_agent(servers.folder / f"a{name}", servers.sshd.allow(name)) as socket:
        ambient = {"PATH": os.environ["PATH"], "SSH_AUTH_SOCK": str(socket)}
        yield Place(servers.sshd.url(repo.name), access, repo, ambient)


def scp(servers: Servers, name: str) -> Iterator[Place]:
    """host:path, where host is a name that only the person's ssh configuration knows."""
    sshd = servers.sshd
    repo = bare(sshd.repos / f"{name}.git")
    config = servers.folder / f"{name}.ssh"
    config.write_text(
        f"Host fleet-{name}\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User {sshd.user}\n"
        f"  IdentityFile {sshd.allow(name)}\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n"
    )
    access = RemoteAccess(known_hosts=sshd.known_hosts, ssh_config=config)
    yield Place(f"fleet-{name}:{repo}", access, repo)


def gitolite(servers: Servers, name: str) -> Iterator[Place]:
    lite = servers.gitolite
    access = RemoteAccess(
        identity=lite.ssh.folder / "key_ann", known_hosts=lite.ssh.known_hosts, ssh_config=NO_SSH_CONFIG
    )
    yield Place(lite.url(f"fleets/{name}"), access, lite.repos / "fleets" / f"{name}.git")


KINDS: dict[str, Callable[[Servers, str], Iterator[Place]]] = {
    make.__name__: make
    for make in (path, file, http, https, bearer, mutual, behind_proxy, ssh, agent, scp, gitolite)
}


@contextlib.contextmanager
def place(kind: str, servers: Servers, name: str) -> Iterator[Place]:
    yield from KINDS[kind](servers, name)

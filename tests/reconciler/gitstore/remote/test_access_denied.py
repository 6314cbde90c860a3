"""Who we are and who they are: each way in which a remote does not let us in, or is not the one it should be."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.gitstore.redaction import SecretValue
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.remote.transport import (
    RefsFetched,
    RefsListed,
    RefsPushed,
    RefUpdate,
    RemoteErrorKind,
    RemoteUnavailable,
)
from tests.servers import repository
from tests.servers.certificates import authority
from tests.servers.fixtures import BEARER
from tests.servers.gitolite import GitoliteServer
from tests.servers.places import NO_SSH_CONFIG
from tests.servers.proxy import proxy
from tests.servers.repository import bare, commit
from tests.servers.sshd import SshServer, new_key
from tests.servers.web import WebServer

SECONDS = 90.0
MAIN, LIVE = "refs/heads/main", "refs/heads/live"


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return bare(tmp_path / "mirror")


@dataclass(frozen=True)
class Client:
    mirror: Path

    def at(self, url: str, access: RemoteAccess | None = None) -> GitTransport:
        return GitTransport(self.mirror, parse_address(url, Path("/")), access or RemoteAccess(), os.environ)


@pytest.fixture
def client(mirror: Path) -> Client:
    return Client(mirror)


@pytest.fixture
def hosted_repo(web: WebServer) -> Iterator[str]:
    """A repo on the web server, with an account ann."""
    web.allow("ann", "right-password")
    repo = bare(web.repos / f"denied{os.getpid()}.git")
    yield repo.name
    for place in sorted(repo.rglob("*"), reverse=True):
        place.rmdir() if place.is_dir() else place.unlink()
    repo.rmdir()


def all_of(transport: GitTransport) -> list[RemoteUnavailable]:
    """What listing, fetching and pushing each say; all must fail, and alike."""
    first = commit(transport.mirror, "first")
    outcomes = (
        transport.list_refs([MAIN], SECONDS),
        transport.fetch([MAIN], SECONDS),
        transport.push([RefUpdate(MAIN, None, first)], SECONDS),
    )
    assert all(isinstance(each, RemoteUnavailable) for each in outcomes), outcomes
    return [each for each in outcomes if isinstance(each, RemoteUnavailable)]


@pytest.mark.parametrize(
    "access",
    [
        RemoteAccess(),
        RemoteAccess(username="ann", token=SecretValue("wrong-password")),
        RemoteAccess(username="bob", token=SecretValue("right-password")),
        RemoteAccess(token=SecretValue("right-password"), is_bearer=True),
    ],
    ids=["nothing", "wrong password", "wrong user", "wrong way"],
)
def test_a_web_server_that_does_not_know_us(
    client: Client, web: WebServer, hosted_repo: str, access: RemoteAccess
) -> None:
    for each in all_of(client.at(web.url(hosted_repo), access)):
        assert each.kind is RemoteErrorKind.AUTH
        assert "token" in each.cure
        assert not each.is_unknown


def test_an_account_that_is_revoked_and_given_back(client: Client, web: WebServer, hosted_repo: str) -> None:
    transport = client.at(
        web.url(hosted_repo), RemoteAccess(username="ann", token=SecretValue("right-password"))
    )
    first = commit(client.mirror, "first")
    assert isinstance(transport.list_refs([MAIN], SECONDS), RefsListed)
    web.revoke("ann")
    assert {each.kind for each in all_of(transport)} == {RemoteErrorKind.AUTH}
    web.allow("ann", "right-password")
    assert transport.push([RefUpdate(MAIN, None, first)], SECONDS) == RefsPushed({MAIN: first})
    assert transport.fetch([MAIN], SECONDS) == RefsFetched()


def test_a_token_that_was_rotated_on_disk_is_used_at_once(
    client: Client, web: WebServer, hosted_repo: str, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("right-password\n")
    transport = client.at(web.url(hosted_repo), RemoteAccess(username="ann", token_file=token))
    assert isinstance(transport.list_refs([MAIN], SECONDS), RefsListed)
    web.allow("ann", "new-password")
    assert isinstance(transport.list_refs([MAIN], SECONDS), RemoteUnavailable)
    token.write_text("new-password\n")
    assert isinstance(transport.list_refs([MAIN], SECONDS), RefsListed)


def test_a_reader_may_not_write(client: Client, web: WebServer, hosted_repo: str) -> None:
    repository.git(web.repos / hosted_repo, "config", "http.receivepack", "false")
    transport = client.at(
        web.url(hosted_repo), RemoteAccess(username="ann", token=SecretValue("right-password"))
    )
    assert isinstance(transport.list_refs([MAIN], SECONDS), RefsListed)
    outcome = transport.push([RefUpdate(MAIN, None, commit(client.mirror, "first"))], SECONDS)
    assert isinstance(outcome, RemoteUnavailable)
    assert outcome.kind is RemoteErrorKind.AUTH
    assert "403" in outcome.cause
    assert "right" in outcome.cure


def test_a_missing_token_file_is_named(
    client: Client, web: WebServer, hosted_repo: str, tmp_path: Path
) -> None:
    for each in all_of(client.at(web.url(hosted_repo), RemoteAccess(token_file=tmp_path / "gone"))):
        assert each.kind is RemoteErrorKind.AUTH
        assert str(tmp_path / "gone") in each.cause


def test_a_token_never_goes_over_plain_http_to_another_machine(client: Client) -> None:
    for each in all_of(client.at("http://192.0.2.1/fleet.git", RemoteAccess(token=SecretValue("t")))):
        assert each.kind is RemoteErrorKind.AUTH
        assert "https://" in each.cure


@pytest.mark.parametrize("is_bearer", [False, True], ids=["basic", "bearer"])
def test_a_redirect_to_another_host_gets_no_credentials(
    client: Client, web: WebServer, hosted_repo: str, is_bearer: bool
) -> None:
    """127.0.0.1 sends us on to localhost at another port, which asks for a password and writes down what it gets."""
    before = web.read_redirected()
    access = RemoteAccess(username="ann", token=SecretValue("right-password"), is_bearer=is_bearer)
    for each in all_of(client.at(web.url(hosted_repo, place="moved"), access)):
        assert each.kind in (RemoteErrorKind.AUTH, RemoteErrorKind.PROTOCOL)
    leaked = web.read_redirected().removeprefix(before)
    assert "authorization=[-]" in leaked or is_bearer
    assert "authorization=[B" not in leaked


def test_a_certificate_of_an_unknown_authority(
    client: Client, web: WebServer, hosted_repo: str, tmp_path: Path
) -> None:
    unknown_authority = authority(tmp_path / "pki", "stranger").ca
    token = SecretValue("right-password")
    for access in (
        RemoteAccess(username="ann", token=token),
        RemoteAccess(username="ann", token=token, ca_file=unknown_authority),
    ):
        for each in all_of(client.at(web.url(hosted_repo, "https"), access)):
            assert each.kind is RemoteErrorKind.AUTH
            assert "CA" in each.cure


def test_a_certificate_of_another_host(client: Client, web: WebServer, hosted_repo: str) -> None:
    url = web.url(hosted_repo, "https").replace("127.0.0.1", "127.0.0.2")
    access = RemoteAccess(username="ann", token=SecretValue("right-password"), ca_file=web.authority.ca)
    with proxy(always_to="127.0.0.1") as there:
        through = dataclasses.replace(access, proxy=SecretValue(f"http://127.0.0.1:{there.port}"))
        for each in all_of(client.at(url, through)):
            assert each.kind is RemoteErrorKind.AUTH
            assert "127.0.0.2" in each.cause


@pytest.mark.parametrize(
    ("url", "access"),
    [
        ("https://127.0.0.1:1/f", RemoteAccess(ca_file=Path("/no/file"))),
        ("https://127.0.0.1:1/f", RemoteAccess(certificate_file=Path("/no/file"))),
        ("https://127.0.0.1:1/f", RemoteAccess(key_file=Path("/no/file"))),
        ("ssh://127.0.0.1:1/f", RemoteAccess(identity=Path("/no/file"))),
        ("ssh://127.0.0.1:1/f", RemoteAccess(known_hosts=Path("/no/file"))),
        ("ssh://127.0.0.1:1/f", RemoteAccess(ssh_config=Path("/no/file"))),
    ],
)
def test_a_missing_file_is_named(client: Client, url: str, access: RemoteAccess) -> None:
    for each in all_of(client.at(url, access)):
        assert each.kind is RemoteErrorKind.AUTH
        assert each.cause == "cannot read /no/file"


def test_client_certificates(client: Client, web: WebServer, hosted_repo: str, tmp_path: Path) -> None:
    unknown = authority(tmp_path / "pki", "stranger").issue("stranger")
    known = RemoteAccess(ca_file=web.authority.ca)
    wrong = dataclasses.replace(known, certificate_file=unknown.certificate, key_file=unknown.key)
    for access in (known, wrong):
        for each in all_of(client.at(web.mutual_url(hosted_repo), access)):
            assert "client certificate" in each.cure


def test_a_proxy_that_wants_a_password(client: Client, web: WebServer, hosted_repo: str) -> None:
    access = RemoteAccess(username="ann", token=SecretValue("right-password"), ca_file=web.authority.ca)
    with proxy("ann", "proxy-password") as there:
        for place in (f"http://127.0.0.1:{there.port}", f"http://ann:wrong@127.0.0.1:{there.port}"):
            through = dataclasses.replace(access, proxy=SecretValue(place))
            for each in all_of(client.at(web.url(hosted_repo, "https"), through)):
                assert each.kind is RemoteErrorKind.AUTH
                assert "proxy" in each.cure
        assert there.asked == []


@pytest.mark.parametrize("place", ["settings", "environment"])
def test_the_proxy_is_used(client: Client, web: WebServer, hosted_repo: str, place: str) -> None:
    access = RemoteAccess(username="ann", token=SecretValue("right-password"), ca_file=web.authority.ca)
    with proxy() as there:
        address = f"http://127.0.0.1:{there.port}"
        ambient = dict(os.environ)
        if place == "settings":
            access = dataclasses.replace(access, proxy=SecretValue(address))
        else:
            ambient["https_proxy"] = address
        transport = dataclasses.replace(client.at(web.url(hosted_repo, "https"), access), ambient=ambient)
        assert isinstance(transport.list_refs([MAIN], SECONDS), RefsListed)
        assert there.asked == [f"CONNECT 127.0.0.1:{web.https} HTTP/1.1"]


def test_bearer_tokens(client: Client, web: WebServer, hosted_repo: str) -> None:
    url = web.url(hosted_repo, place="bearer")
    assert isinstance(
        client.at(url, RemoteAccess(token=SecretValue(BEARER), is_bearer=True)).list_refs([], SECONDS),
        RefsListed,
    )
    for each in all_of(client.at(url, RemoteAccess(token=SecretValue("wrong"), is_bearer=True))):
        assert each.kind is RemoteErrorKind.AUTH


@pytest.mark.parametrize("case", ["unknown host", "changed host", "unknown key", "unsafe key"])
def test_ssh_that_does_not_trust(client: Client, sshd: SshServer, tmp_path: Path, case: str) -> None:
    repo = bare(sshd.repos / f"{tmp_path.name}.git")
    hosts, key = sshd.known_hosts, sshd.allow(tmp_path.name)
    if case == "unknown host":
        hosts = tmp_path / "known_hosts"
        hosts.touch()
    elif case == "changed host":
        hosts = tmp_path / "known_hosts"
        kind, value = new_key(tmp_path / "other", "other").with_suffix(".pub").read_text().split()[:2]
        hosts.write_text(f"[127.0.0.1]:{sshd.port} {kind} {value}\n")
    elif case == "unknown key":
        key = new_key(tmp_path / "stranger", "stranger")
    elif case == "unsafe key":
        key.chmod(0o644)
    before = hosts.read_text()
    access = RemoteAccess(identity=key, known_hosts=hosts, ssh_config=NO_SSH_CONFIG)
    for each in all_of(client.at(sshd.url(repo.name), access)):
        assert each.kind is RemoteErrorKind.AUTH, each
        assert ("host key" if case.endswith("host") else "ssh key") in each.cure
    assert hosts.read_text() == before


def test_a_persons_ssh_configuration_cannot_make_us_trust(
    client: Client, sshd: SshServer, tmp_path: Path
) -> None:
    repo = bare(sshd.repos / f"{tmp_path.name}.git")
    config, hosts = tmp_path / "config", tmp_path / "known_hosts"
    config.write_text("Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  BatchMode no\n")
    hosts.touch()
    access = RemoteAccess(identity=sshd.allow(tmp_path.name), known_hosts=hosts, ssh_config=config)
    for each in all_of(client.at(sshd.url(repo.name), access)):
        assert each.kind is RemoteErrorKind.AUTH


def test_an_ssh_key_that_is_revoked(client: Client, sshd: SshServer, tmp_path: Path) -> None:
    repo = bare(sshd.repos / f"{tmp_path.name}.git")
    key = sshd.allow(tmp_path.name)
    access = RemoteAccess(identity=key, known_hosts=sshd.known_hosts, ssh_config=NO_SSH_CONFIG)
    assert isinstance(client.at(sshd.url(repo.name), access).list_refs([], SECONDS), RefsListed)
    sshd.revoke(tmp_path.name)
    for each in all_of(client.at(sshd.url(repo.name), access)):
        assert each.kind is RemoteErrorKind.AUTH


def test_paths_with_blanks_and_quotes(client: Client, sshd: SshServer, tmp_path: Path) -> None:
    folder = tmp_path / """it's a "folder" """
    folder.mkdir()
    repo = bare(folder / "my fleet.git")
    assert isinstance(client.at(str(repo)).list_refs([], SECONDS), RefsListed)
    key = sshd.allow(tmp_path.name)
    hosts = tmp_path / "my known_hosts"
    hosts.write_text(sshd.known_hosts.read_text())
    (tmp_path / "my key").write_bytes(key.read_bytes())
    (tmp_path / "my key").chmod(0o600)
    bare(sshd.repos / "with blank.git")
    access = RemoteAccess(identity=tmp_path / "my key", known_hosts=hosts, ssh_config=NO_SSH_CONFIG)
    assert isinstance(client.at(sshd.url("with blank.git"), access).list_refs([], SECONDS), RefsListed)


def test_gitolite_hides_what_one_may_not_see(client: Client, gitolite: GitoliteServer) -> None:
    key = gitolite.ssh.folder / "key_host-1"
    access = RemoteAccess(identity=key, known_hosts=gitolite.ssh.known_hosts, ssh_config=NO_SSH_CONFIG)
    for each in all_of(client.at(gitolite.url("secret"), access)):
        assert each.kind is RemoteErrorKind.AUTH
        assert "DENIED" in each.cause


def test_the_persons_own_git_configuration_is_used_only_on_request(
    client: Client, web: WebServer, hosted_repo: str, tmp_path: Path
) -> None:
    """Their credential helper, and their name for the server."""
    config = tmp_path / "gitconfig"
    config.write_text(
        f'[url "http://127.0.0.1:{web.http}/"]\n  insteadOf = http://fleet.example/\n'
        '[credential]\n  helper = "!echo username=ann; echo password=right-password;:"\n'
    )
    ambient = dict(os.environ) | {"GIT_CONFIG_GLOBAL": str(config)}
    url = f"http://fleet.example/git/{hosted_repo}"
    own = dataclasses.replace(client.at(url, RemoteAccess(uses_own_config=True)), ambient=ambient)
    assert isinstance(own.list_refs([], SECONDS), RefsListed)
    blank = dataclasses.replace(client.at(web.url(hosted_repo)), ambient=ambient)
    assert isinstance(blank.list_refs([], SECONDS), RemoteUnavailable)

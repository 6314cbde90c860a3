"""Two servers of the link, and a host that is connected to one of them alone: what reaches its machines asks the one that has it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.cli.link_ends import LinkLine, LinkLog
from iri.console_log import LogRequest
from reconciler.cli import api_client as api
from reconciler.cli.api_client import LinkServers, ServerUnavailableError
from reconciler.cli.exits import CommandError
from reconciler.cli.forward import relay_socket
from tests.poollet.link.piped import ALL, ANN, BOB, HOST, NAME, PipedSite, picture, piped_site
from tests.poollet.link.test_forward import echo, listening
from tests.poollet.link.test_poollet_link import FAST
from tests.reconciler.link.client import api_client, list_client
from tests.reconciler.link.serving import Served, serving, wait_for
from tests.servers.daemon import free_port


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PipedSite]:
    with piped_site(tmp_path) as found:
        yield found


@pytest.fixture
def other(tmp_path: Path, site: PipedSite) -> Iterator[Served]:
    """Another server with the same certificate and the same picture; no host is connected to it."""
    with serving(tmp_path / "other", link=site.served.link) as found:
        entries = list_client("ann", ANN, ALL, ("default",)) + list_client("bob", BOB, ALL, ("*",))
        found.follow({NAME: HOST}, f"{FAST}clients:\n{entries}")
        found.server.show(picture())
        yield found


@pytest.fixture
def servers(site: PipedSite, other: Served) -> Iterator[LinkServers]:
    """The one without the host comes first."""
    first, second = other.server.address, site.served.server.address
    with (
        api_client(first, other.link, ANN) as one,
        api_client(second, site.served.link, ANN) as two,
    ):
        yield LinkServers({first: one.channel, second: two.channel})


def test_a_console_a_log_and_a_port_are_opened_where_the_host_is_connected(servers: LinkServers) -> None:
    line = servers.open(lambda channel: LinkLine(channel, "web"))
    shown = b""
    for part in line.receive():
        assert isinstance(part, bytes), part
        shown += part
        if b"login: " in shown:
            break
    line.close()
    log = servers.open(lambda channel: LinkLog(channel, "web", LogRequest()))
    assert log.read()
    log.close()
    here, there = socket.socketpair()
    with listening(echo) as port, here:
        threading.Thread(target=relay_socket, args=(there, servers, "default/web", port)).start()
        here.sendall(b"hello ")
        here.shutdown(socket.SHUT_WR)
        assert b"".join(iter(lambda: here.recv(100), b"")) == b"hello over"


def test_where_no_server_has_the_host_the_refusal_names_it_and_the_cure(
    site: PipedSite, other: Served, servers: LinkServers
) -> None:
    site.host.link.leave(None)
    wait_for(lambda: site.served.server.hosts.count() == 0)
    with pytest.raises(ServerUnavailableError) as found:
        servers.open(lambda channel: LinkLine(channel, "web"))
    assert f"host {NAME} of Machine/default/web is not connected" in found.value.cause
    assert "log of its poollet" in found.value.cure


def test_a_refusal_that_every_server_would_give_comes_from_the_first(servers: LinkServers) -> None:
    tried = []

    def attempt(channel: object) -> LinkLine:
        tried.append(channel)
        return LinkLine(channel, "nowhere")

    with pytest.raises(CommandError, match="is not in the fleet"):
        servers.open(attempt)
    assert len(tried) == 1


def test_a_server_that_is_down_is_passed_over(
    site: PipedSite, other: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "DIAL_SECONDS", 0.5)
    down, up = f"127.0.0.1:{free_port()}", site.served.server.address
    with api_client(down, other.link, ANN) as one, api_client(up, site.served.link, ANN) as two:
        found = LinkServers({down: one.channel, up: two.channel}).open(
            lambda channel: LinkLine(channel, "web")
        )
        found.close()
        alone = LinkServers({down: one.channel})
        with pytest.raises(ServerUnavailableError, match="the link does not answer"):
            alone.open(lambda channel: LinkLine(channel, "web"))

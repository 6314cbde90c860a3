"""Who is refused, with which status, which words for operators, and which count."""

from __future__ import annotations

import logging
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Hello
from reconciler.link.callers import LinkRefusal, LinkRefusalReason
from schemas.settings.certificate import LINK_NAME
from schemas.settings.fleet import FleetSettings, parse
from tests.reconciler.link.http2 import call_status
from tests.reconciler.link.serving import (
    CONNECT,
    FLEET,
    PATIENCE,
    Served,
    raw_host,
    serving,
    wait_for,
    welcomed,
)
from tests.servers.link_certificates import indent, link_settings, make_certificate


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, "rack-a1", "rack-a2") as found:
        yield found


def test_a_listed_host_is_welcome(served: Served) -> None:
    with welcomed(served, "rack-a1"):
        wait_for(lambda: served.server.read().signs.keys() == {"rack-a1"})
        assert served.server.hosts.count() == 1


def test_an_unknown_certificate_gets_no_connection(served: Served) -> None:
    with raw_host(served, make_certificate("rack-a1")) as stranger:
        stranger.hello("rack-a1")
        status, _ = stranger.end()
    assert status is grpc.StatusCode.UNAVAILABLE
    assert served.server.hosts.count() == 0


def test_nobody_gets_in_before_the_first_tick(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.hosts["rack-a1"] = make_certificate("rack-a1")
        with raw_host(served, served.hosts["rack-a1"]) as early:
            early.hello("rack-a1")
            assert early.end()[0] is grpc.StatusCode.UNAVAILABLE
        with raw_host(served, served.link) as itself:
            itself.hello("rack-a1")
            assert itself.end()[0] in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


def test_an_expired_certificate_gets_no_connection(served: Served) -> None:
    served.hosts["rack-a1"] = make_certificate("rack-a1", seconds=(-7200, -3600))
    served.list_hosts("rack-a1", "rack-a2")
    with raw_host(served, served.hosts["rack-a1"]) as late:
        late.hello("rack-a1")
        assert late.end()[0] is grpc.StatusCode.UNAVAILABLE


def test_a_certificate_that_expires_while_its_stream_is_open_ends_it(served: Served) -> None:
    served.hosts["rack-a1"] = make_certificate("rack-a1", seconds=(-3600, 10))
    served.list_hosts("rack-a1", "rack-a2", more="heartbeat: {link: 30s}\n")
    with welcomed(served, "rack-a1") as host:
        status, words = host.end()
    assert status is grpc.StatusCode.UNAUTHENTICATED
    assert "has expired" in words
    assert served.count("gitvirt_link_refused_total", reason="expired") == 1


@pytest.mark.parametrize(
    ("hello", "status", "reason", "words"),
    [
        pytest.param(
            {"poollet": "rack-a2"},
            grpc.StatusCode.PERMISSION_DENIED,
            "other_name",
            "belongs to poollet rack-a1, and not to 'rack-a2'",
            id="another host's name",
        ),
        pytest.param(
            {"fleet": "another"},
            grpc.StatusCode.FAILED_PRECONDITION,
            "other_fleet",
            "is of fleet another",
            id="another fleet",
        ),
        pytest.param(
            {"host_id": ""}, grpc.StatusCode.INVALID_ARGUMENT, "bad_hello", "sent no Hello", id="no host"
        ),
        pytest.param(
            {"instance": "x" * 300},
            grpc.StatusCode.INVALID_ARGUMENT,
            "bad_hello",
            "sent no Hello",
            id="an instance too long",
        ),
        pytest.param(
            {"fleet": "x" * 100_000},
            grpc.StatusCode.INVALID_ARGUMENT,
            "bad_hello",
            "sent no Hello",
            id="a fleet too long for log and status",
        ),
    ],
)
def test_a_wrong_hello_is_refused_with_its_cause(
    served: Served,
    caplog: pytest.LogCaptureFixture,
    hello: dict[str, str],
    status: grpc.StatusCode,
    reason: str,
    words: str,
) -> None:
    right = {
        "fleet": FLEET,
        "poollet": "rack-a1",
        "host_id": "h",
        "instance": "i",
    }
    with (
        caplog.at_level(logging.WARNING),
        raw_host(served, served.hosts["rack-a1"]) as host,
    ):
        host.send(hello=Hello(**{**right, **hello}))  # type: ignore[arg-type]
        found, text = host.end()
    assert found is status
    assert words in text
    assert served.count("gitvirt_link_refused_total", reason=reason) == 1
    (line,) = [each.getMessage() for each in caplog.records if "refused" in each.getMessage()]
    assert words in line
    assert " cure=" in line
    assert served.server.hosts.count() == 0


def test_a_message_before_hello_is_refused(served: Served) -> None:
    with raw_host(served, served.hosts["rack-a1"]) as host:
        host.beat(0)
        assert host.end()[0] is grpc.StatusCode.INVALID_ARGUMENT


def test_a_client_is_no_host(served: Served) -> None:
    client = make_certificate("ci")
    entry = f"    certificates:\n{indent(client, '    ')}    namespaces: []\n    rights: []\n"
    more = f"clients:\n  ci:\n{entry}"
    served.list_hosts("rack-a1", more=more)
    with raw_host(served, client) as host:
        host.hello("rack-a1")
        status, words = host.end()
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert "belongs to client ci" in words


def test_a_removed_certificate_closes_its_streams_within_five_seconds(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    gone = served.hosts["rack-a1"]
    with welcomed(served, "rack-a1") as host, welcomed(served, "rack-a2") as other:
        with caplog.at_level(logging.WARNING):
            begun = time.monotonic()
            served.list_hosts("rack-a2")
            status, words = host.end()
            assert time.monotonic() - begun < 5
        assert status is grpc.StatusCode.UNAUTHENTICATED
        assert gone.identity in words
        assert f"certificate SHA-256 {gone.identity} is not listed" in caplog.text
        assert "list it in gitvirt.yaml: poollets.<name>.certificates" in caplog.text
        other.beat(2)
        assert other.next().heartbeat.answers == 2
        assert served.count("gitvirt_link_refused_total", reason="unknown_certificate") == 1


def test_a_connection_of_before_a_removal_gets_no_second_stream(served: Served) -> None:
    """TLS checks at the beginning of a connection alone, so each call is checked."""
    with welcomed(served, "rack-a1") as host:
        served.list_hosts("rack-a2")
        host.end()
        with pytest.raises(grpc.RpcError) as refused:
            host.channel.unary_unary(CONNECT, bytes, bytes)(b"", timeout=PATIENCE)
    found: Any = refused.value
    assert found.code() is grpc.StatusCode.UNAUTHENTICATED


def test_a_certificate_that_moved_to_another_name_closes_its_stream(served: Served) -> None:
    with welcomed(served, "rack-a1") as host:
        served.follow({"rack-a3": served.hosts["rack-a1"]})
        status, words = host.end()
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert "belongs to poollet rack-a3" in words


def test_both_certificates_of_a_rotation_count(served: Served) -> None:
    old, new = served.hosts["rack-a1"], make_certificate("rack-a1")
    text = link_settings(FLEET, ["127.0.0.1:1"], served.link, {"rack-a1": old}) + indent(new, "    ")
    both = parse(text.encode())
    assert isinstance(both, FleetSettings)
    served.server.follow(both)
    for each in (old, new):
        with raw_host(served, each) as host:
            host.hello("rack-a1")
            assert host.next().HasField("welcome")


def test_tls_1_2_is_refused(served: Served, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """The handshake succeeds, since gRPC has no least version to set; no call does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=served.link.pem)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    key, certificate = served.hosts["rack-a1"].write(tmp_path, "rack-a1")
    context.load_cert_chain(certificate, key)
    host, _, port = served.server.address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname=LINK_NAME) as connection,
    ):
        assert connection.version() == "TLSv1.2"
        assert call_status(connection, CONNECT) == grpc.StatusCode.UNAUTHENTICATED.value[0]
    assert "the connection uses TLSv1.2, and the link needs TLSv1.3" in caplog.text
    assert served.count("gitvirt_link_refused_total", reason="old_tls") == 1


def test_a_refusal_is_logged_once(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """A host that is refused comes back every few seconds."""
    for _ in range(3):
        with raw_host(served, served.hosts["rack-a1"]) as host:
            host.hello("rack-a2")
            host.end()
    assert caplog.text.count("belongs to poollet rack-a1") == 1
    assert served.count("gitvirt_link_refused_total", reason="other_name") == 3


def test_every_refusal_is_counted_from_the_start(served: Served) -> None:
    for reason in LinkRefusalReason:
        assert served.registry.get_sample_value("gitvirt_link_refused_total", {"reason": reason.value}) == 0


def test_a_refusal_reads_as_cause_and_cure() -> None:
    found = LinkRefusal(
        LinkRefusalReason.UNKNOWN, grpc.StatusCode.UNAUTHENTICATED, "it is not listed", "list it"
    )
    assert str(found) == "it is not listed; list it"

"""The server with hosts that do only what a test tells them to: signs of life, nudges, limits, and its end."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Leaving, Offer, ReportMoved, ServerMessage
from reconciler.link.agent_stream import QUEUE_LENGTH
from reconciler.link.server_key import LinkSetupError, read_key_pair
from tests.reconciler.link.serving import COMMIT, Served, raw_host, serving, wait_for, welcomed
from tests.servers.link_certificates import make_certificate

FAST = "heartbeat: {link: 500ms}\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, "rack-a1", "rack-a2") as found:
        yield found


def test_a_heartbeat_that_answers_and_stands_for_a_commit_is_a_sign_of_life(served: Served) -> None:
    with welcomed(served, "rack-a1") as host:
        first = served.server.read().signs["rack-a1"]
        assert first.commit == COMMIT
        host.beat(2)
        host.next()
        assert served.server.read().signs["rack-a1"].at > first.at


@pytest.mark.parametrize(
    ("answers", "commit"),
    [(2, ""), (2, "not a commit"), (1, "d" * 40), (0, "d" * 40), (99, "d" * 40)],
    ids=["no commit", "no commit's id", "an older answer", "no answer", "an answer to nothing"],
)
def test_other_heartbeats_are_none(served: Served, answers: int, commit: str) -> None:
    with welcomed(served, "rack-a1") as host:
        before = served.server.read().signs
        host.beat(answers, commit)
        assert host.next().heartbeat.answers == 2
        assert served.server.read().signs == before


def test_report_moved_wakes_the_loop(served: Served) -> None:
    with welcomed(served, "rack-a1") as host:
        wait_for(lambda: not served.wakes.empty())
        while not served.wakes.empty():
            served.wakes.get()
        host.send(report_moved=ReportMoved(commit=COMMIT))
        assert served.wakes.get(timeout=30)


def test_hosts_that_a_commit_concerns_are_told(served: Served) -> None:
    with welcomed(served, "rack-a1") as first, welcomed(served, "rack-a2") as second:
        served.server.nudge("a" * 40, {"rack-a1", "unknown"})
        assert first.next().live_moved.commit == "a" * 40
        served.server.nudge("b" * 40, None)
        assert first.next().live_moved.commit == "b" * 40
        assert second.next().live_moved.commit == "b" * 40


def test_a_stream_that_ends_is_known_at_once(served: Served) -> None:
    with welcomed(served, "rack-a1"):
        assert served.server.read().ended == {}
    wait_for(lambda: served.server.read().ended.keys() == {"rack-a1"})
    with welcomed(served, "rack-a1"):
        wait_for(lambda: not served.server.read().ended)


def test_a_host_that_leaves_is_not_connected(served: Served) -> None:
    with welcomed(served, "rack-a1") as host:
        host.send(leaving=Leaving(cause=Leaving.CAUSE_RESTART))
        assert host.end()[0] is grpc.StatusCode.OK
    assert served.server.read().ended.keys() == {"rack-a1"}


def test_a_stream_that_gave_no_sign_leaves_no_trace(served: Served) -> None:
    """Nothing was ever expected of it."""
    with raw_host(served, served.hosts["rack-a1"]) as host:
        host.hello("rack-a1")
        host.next()
        host.send(leaving=Leaving())
        host.end()
    assert served.server.read().ended == {}


def test_the_newest_stream_of_a_name_takes_the_place_of_the_older(served: Served) -> None:
    with welcomed(served, "rack-a1") as old, welcomed(served, "rack-a1"):
        status, words = old.end()
        assert status is grpc.StatusCode.ABORTED
        assert "a newer stream" in words
        assert served.server.hosts.count() == 1
        assert served.server.read().ended == {}


def test_a_silent_host_is_lost_after_three_missed_heartbeats(served: Served) -> None:
    served.list_hosts("rack-a1", more=FAST)
    with welcomed(served, "rack-a1") as host:
        started = time.monotonic()
        status, words = host.end()
        assert 1.5 <= time.monotonic() - started < 10
    assert status is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "no heartbeat in time" in words
    assert served.count("gitvirt_link_lost_total") == 1
    assert served.server.read().ended.keys() == {"rack-a1"}


def test_a_host_that_answers_no_new_question_is_lost(served: Served) -> None:
    """It sends and does not read: whatever it sends says nothing about now."""
    served.list_hosts("rack-a1", more=FAST)
    with welcomed(served, "rack-a1") as host:
        ends: list[object] = []
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not ends:
            host.beat(2)
            time.sleep(0.2)
            while not host.received.empty():
                found = host.received.get()
                ends += [found] if isinstance(found, grpc.RpcError) else []
    assert ends
    assert served.count("gitvirt_link_lost_total") == 1


def test_a_flood_ends_its_stream_and_no_other(served: Served) -> None:
    with welcomed(served, "rack-a1") as host, welcomed(served, "rack-a2") as other:
        for _ in range(1000):
            host.beat(0)
        status, words = host.end()
        assert status is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "more messages than the link allows" in words
        other.beat(2)
        assert other.next().heartbeat.answers == 2
    assert served.count("gitvirt_link_refused_total", reason="too_many") == 1


def test_a_message_that_is_too_large_ends_its_stream(served: Served) -> None:
    with welcomed(served, "rack-a1") as host:
        host.send(report_moved=ReportMoved(commit="x" * 2_000_000))
        assert host.end()[0] is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_messages_to_a_host_are_bounded(served: Served) -> None:
    """More than wait in the network and in the queue together, of which each is as large as offers are."""
    with raw_host(served, served.hosts["rack-a1"]) as host:
        host.hello("rack-a1")
        wait_for(lambda: served.server.hosts.count() == 1)
        offer = ServerMessage(offer=Offer(id="x" * 500_000))
        for _ in range(4 * QUEUE_LENGTH):
            served.server.hosts.send(offer)
        wait_for(lambda: served.server.hosts.count() == 0)
    assert served.count("gitvirt_link_refused_total", reason="too_many") == 1


def test_streams_of_one_certificate_are_bounded(served: Served) -> None:
    silent = [raw_host(served, served.hosts["rack-a1"]) for _ in range(5)]
    opened = [each.__enter__() for each in silent]
    try:
        wait_for(lambda: served.count("gitvirt_link_refused_total", reason="too_many") == 1)
    finally:
        for each in silent:
            each.__exit__(None, None, None)
    assert len(opened) == 5


def test_hosts_that_are_not_listed_any_more_are_forgotten(served: Served) -> None:
    with welcomed(served, "rack-a1"):
        pass
    wait_for(lambda: served.server.read().ended.keys() == {"rack-a1"})
    served.list_hosts("rack-a2")
    assert (served.server.read().ended, served.server.read().signs) == ({}, {})


def test_a_server_that_stops_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, "rack-a1") as served:
        with_host = welcomed(served, "rack-a1")
        host = with_host.__enter__()
    status, words = host.end()
    with_host.__exit__(None, None, None)
    assert status is grpc.StatusCode.UNAVAILABLE
    assert "the server stops" in words


def test_a_port_in_use_is_an_error_at_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LinkSetupError, match="is the address in use"), serving(tmp_path, port=port):
            pass


@pytest.mark.parametrize(
    ("key", "certificate", "words"),
    [
        pytest.param("no.key", "link.crt", "cannot be read", id="no key"),
        pytest.param("link.crt", "link.crt", "has no private key", id="not a key"),
        pytest.param("link.key", "link.key", "this is a private key", id="not a certificate"),
        pytest.param("host.key", "host.crt", "is not for the name gitvirt-link", id="a host's"),
        pytest.param(
            "host.key", "link.crt", "is not the private key of", id="the key of another certificate"
        ),
    ],
)
def test_files_that_cannot_work_are_an_error_at_the_start(
    tmp_path: Path, key: str, certificate: str, words: str
) -> None:
    make_certificate("link", is_link=True).write(tmp_path, "link")
    host = make_certificate("rack-a1")
    host.write(tmp_path, "host")
    with pytest.raises(LinkSetupError, match=words) as refused:
        read_key_pair(tmp_path / key, tmp_path / certificate)
    assert refused.value.cure
    assert "BEGIN" not in str(refused.value)


def test_a_server_whose_certificate_is_not_listed_warns(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    served.link = make_certificate("another", is_link=True)
    served.list_hosts("rack-a1")
    served.list_hosts("rack-a1")
    assert caplog.text.count("hosts will not connect") == 1
    assert "link.certificates" in caplog.text

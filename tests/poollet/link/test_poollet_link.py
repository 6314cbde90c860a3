"""A poollet's end of the link before a real server of it: which servers it connects to, what it refuses, and what it says."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from poollet.clock import Clock
from poollet.link.link_thread import LinkThread
from poollet.link.poollet_link import LinkEvents, LinkIdentity, PoolletLink
from schemas.settings.fleet import FleetSettings, parse
from tests.reconciler.link.serving import COMMIT, FLEET, Served, serving, wait_for
from tests.servers.link_certificates import LinkCertificate, link_settings, make_certificate

NAME = "rack-a1"
FAST = "heartbeat: {link: 500ms}\n"


@dataclass
class Caused:
    """What the link caused."""

    looks: list[str] = field(default_factory=list)
    changes: list[bool] = field(default_factory=list)
    standing: str = COMMIT


@dataclass
class LinkedPoollet:
    """One poollet's link, with its files in `folder`."""

    folder: Path
    certificate: LinkCertificate
    link: PoolletLink
    caused: Caused

    def follow(
        self, servers: list[Served], *, listed: LinkCertificate | None = None, more: str = FAST
    ) -> None:
        self.link.follow(fleet_settings(servers, listed or self.certificate, more))

    def count(self) -> int:
        return self.link.count_connected()[0]


def fleet_settings(servers: list[Served], host: LinkCertificate, more: str) -> FleetSettings:
    addresses = [each.server.address for each in servers]
    found = parse(link_settings(FLEET, addresses, servers[0].link, {NAME: host}, more).encode())
    assert isinstance(found, FleetSettings), found
    return found


@contextmanager
def linked_poollet(folder: Path, certificate: LinkCertificate | None = None) -> Iterator[LinkedPoollet]:
    certificate = certificate or make_certificate(NAME)
    key, pem = certificate.write(folder, NAME)
    thread, caused = LinkThread(), Caused()
    link = PoolletLink(LinkIdentity(NAME, "host-1", "run-1", {}, key, pem), thread, Clock(), random.Random(1))
    link.events = LinkEvents(
        lambda: caused.changes.append(link.is_steady()), caused.looks.append, lambda _: caused.standing
    )
    thread.start()
    try:
        yield LinkedPoollet(folder, certificate, link, caused)
    finally:
        link.leave(None)
        thread.stop()


@pytest.fixture
def poollet(tmp_path: Path) -> Iterator[LinkedPoollet]:
    with linked_poollet(tmp_path / "host") as found:
        yield found


@contextmanager
def servers(folder: Path, host: LinkCertificate, count: int = 1) -> Iterator[list[Served]]:
    """All with one certificate, as a fleet may have them."""
    link = make_certificate("link", is_link=True)
    with ExitStack() as opened:
        found = [opened.enter_context(serving(folder / str(number), link=link)) for number in range(count)]
        for each in found:
            each.follow({NAME: host}, FAST)
        yield found


def test_it_connects_to_all_servers_and_its_heartbeats_count(tmp_path: Path, poollet: LinkedPoollet) -> None:
    with servers(tmp_path, poollet.certificate, 2) as found:
        poollet.follow(found)
        wait_for(lambda: all(NAME in each.server.read().signs for each in found))
        assert poollet.link.count_connected() == (2, 2)
        assert {each.server.read().signs[NAME].commit for each in found} == {COMMIT}


def test_with_one_of_two_servers_down_no_heartbeat_counts(tmp_path: Path, poollet: LinkedPoollet) -> None:
    with servers(tmp_path, poollet.certificate) as (served,):
        with servers(tmp_path / "down", poollet.certificate) as (down,):
            settings = fleet_settings([served, down], poollet.certificate, FAST)
        poollet.link.follow(settings)
        wait_for(lambda: poollet.count() == 1)
        wait_for(lambda: served.count("gitvirt_link_heartbeats_total") > 3)
        assert served.server.read().signs == {}
        assert not poollet.link.is_steady()


def test_it_looks_at_git_when_it_has_connected_and_when_live_moved(
    tmp_path: Path, poollet: LinkedPoollet
) -> None:
    with servers(tmp_path, poollet.certificate) as (served,):
        poollet.follow([served])
        wait_for(lambda: poollet.caused.looks == [""])
        served.server.nudge("a" * 40, {NAME})
        took = wait_for(lambda: poollet.caused.looks == ["", "a" * 40])
        assert took < 5


def test_a_report_that_landed_wakes_the_loop(tmp_path: Path, poollet: LinkedPoollet) -> None:
    with servers(tmp_path, poollet.certificate) as (served,):
        poollet.follow([served])
        wait_for(lambda: NAME in served.server.read().signs)
        while not served.wakes.empty():
            served.wakes.get()
        poollet.link.report_moved(COMMIT)
        assert served.wakes.get(timeout=30)


def test_it_connects_again_after_a_server_was_gone(tmp_path: Path, poollet: LinkedPoollet) -> None:
    link = make_certificate("link", is_link=True)
    with serving(tmp_path, link=link) as served:
        served.follow({NAME: poollet.certificate}, FAST)
        poollet.follow([served])
        wait_for(lambda: poollet.count() == 1)
        port = int(served.server.address.rpartition(":")[2])
    wait_for(lambda: poollet.count() == 0)
    with serving(tmp_path, link=link, port=port) as again:
        again.follow({NAME: poollet.certificate}, FAST)
        wait_for(lambda: poollet.count() == 1)
        wait_for(lambda: NAME in again.server.read().signs)


def test_an_address_that_is_not_listed_any_more_is_left(tmp_path: Path, poollet: LinkedPoollet) -> None:
    with servers(tmp_path, poollet.certificate, 2) as found:
        poollet.follow(found)
        wait_for(lambda: poollet.count() == 2)
        poollet.follow(found[:1])
        wait_for(lambda: found[1].server.hosts.count() == 0)
        assert poollet.link.count_connected() == (1, 1)


def test_no_heartbeat_counts_while_git_lacks_the_report(tmp_path: Path, poollet: LinkedPoollet) -> None:
    with servers(tmp_path, poollet.certificate) as (served,):
        poollet.caused.standing = ""
        poollet.follow([served])
        wait_for(lambda: served.count("gitvirt_link_heartbeats_total") > 3)
        assert served.server.read().signs == {}
        poollet.caused.standing = COMMIT
        wait_for(lambda: NAME in served.server.read().signs)


def test_it_trusts_no_server_whose_certificate_is_not_listed(
    tmp_path: Path, poollet: LinkedPoollet, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(tmp_path) as impostor:
        impostor.follow({NAME: poollet.certificate}, FAST)
        impostor.link = make_certificate("link", is_link=True)  # that gitvirt.yaml lists
        with caplog.at_level(logging.WARNING):
            poollet.follow([impostor])
            wait_for(lambda: "not connected to the link" in caplog.text)
        assert impostor.server.hosts.count() == 0
        assert "gitvirt.yaml lists the certificates of both ends" in caplog.text


def test_a_host_whose_certificate_is_not_listed_says_which_and_where(
    tmp_path: Path, poollet: LinkedPoollet, caplog: pytest.LogCaptureFixture
) -> None:
    with servers(tmp_path, poollet.certificate) as (served,):
        with caplog.at_level(logging.WARNING):
            poollet.follow([served], listed=make_certificate(NAME))
            wait_for(lambda: "not connected" in caplog.text)
        assert poollet.certificate.identity in caplog.text
        assert "list it under poollets.rack-a1.certificates of gitvirt.yaml" in caplog.text
        assert served.server.hosts.count() == 0
        poollet.follow([served])
        wait_for(lambda: poollet.count() == 1)


def test_a_host_whose_certificate_has_expired_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    late = make_certificate(NAME, seconds=(-7200, -3600))
    with linked_poollet(tmp_path / "host", late) as poollet, servers(tmp_path, late) as (served,):
        poollet.follow([served])
        wait_for(lambda: "make a new one and list it" in caplog.text)
        assert served.server.hosts.count() == 0


def test_files_may_be_replaced_while_it_runs(tmp_path: Path, poollet: LinkedPoollet) -> None:
    new = make_certificate(NAME)
    with servers(tmp_path, new) as (served,):
        poollet.follow([served], listed=new)
        new.write(poollet.folder, NAME)
        wait_for(lambda: poollet.count() == 1)


def test_a_refusal_of_the_server_is_in_the_log(
    tmp_path: Path, poollet: LinkedPoollet, caplog: pytest.LogCaptureFixture
) -> None:
    """Here the server lists the certificate under another name than the host's settings do."""
    with servers(tmp_path, poollet.certificate) as (served,):
        served.follow({"rack-a2": poollet.certificate}, FAST)
        poollet.follow([served])
        wait_for(lambda: "PERMISSION_DENIED: certificate SHA-256" in caplog.text)


def test_without_addresses_it_connects_to_nothing(poollet: LinkedPoollet) -> None:
    found = parse(f"fleet: {{id: {FLEET}}}\n".encode())
    assert isinstance(found, FleetSettings)
    assert poollet.link.name_interval(found) == "15s"
    assert poollet.link.count_connected() == (0, 0)
    assert not poollet.link.is_steady()


def test_another_run_has_pushed_by_then(tmp_path: Path, poollet: LinkedPoollet) -> None:
    """A run of before a power failure cannot be connected once this one is."""
    with servers(tmp_path, poollet.certificate) as (served,):
        assert poollet.link.answers_by() is None
        poollet.follow([served])
        wait_for(lambda: poollet.count() == 1)
        by_ms = poollet.link.answers_by()
        assert by_ms is not None
        assert 70_000 < by_ms - Clock().moment_ms() <= 75_000
        assert poollet.caused.changes

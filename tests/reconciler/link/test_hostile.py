"""Ten thousand streams of one certificate: what it gets, what the others notice of it, and what is left of it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ListNodesRequest, WatchInstancesRequest
from reconciler.link.client_calls import OPEN_CALLS
from reconciler.picture.fleet_picture import FleetPicture, PictureNews
from tests.reconciler.link.client import ApiClient, api_client, list_client
from tests.reconciler.link.serving import RawHost, Served, serving, wait_for, welcomed
from tests.servers.link_certificates import make_certificate

STREAMS = 10_000
EVE, ANN = make_certificate("eve"), make_certificate("ann")
PATIENCE = 30.0  # of an honest caller, on a machine that other tests use too


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as found:
        found.server.show(PictureNews(FleetPicture()))
        clients = list_client("eve", EVE, ("read",), ("*",)) + list_client("ann", ANN, ("read",), ("*",))
        found.list_hosts("rack-a1", "rack-a2", more=f"clients:\n{clients}")
        yield found


class Storm:
    """Calls that are opened one after the other, and never ended. `statuses` are those of calls that the server has ended."""

    def __init__(self, open_call: Any) -> None:
        self.calls: list[Any] = []
        self.statuses: SimpleQueue[grpc.StatusCode] = SimpleQueue()
        self.thread = threading.Thread(target=self._run, args=(open_call,))
        self.thread.start()

    def _run(self, open_call: Any) -> None:
        for _ in range(STREAMS):
            call = open_call()
            call.add_done_callback(lambda call: self.statuses.put(call.code()))
            self.calls.append(call)

    def end(self) -> None:
        self.thread.join()
        for call in self.calls:
            call.cancel()

    def count(self) -> int:
        return self.statuses.qsize()

    def read(self) -> Counter[grpc.StatusCode]:
        return Counter(self.statuses.get() for _ in range(self.count()))


class Honest:
    """A client and a host that do what they always do. `slowest` is the longest time in which either was answered."""

    def __init__(self, client: ApiClient, host: RawHost) -> None:
        self.client, self.host = client, host
        self.slowest, self.newest = 0.0, 2  # after `welcomed`

    def act(self) -> None:
        started = time.monotonic()
        self.client.call("ListNodes", ListNodesRequest())
        self.host.beat(self.newest)
        self.newest = self.host.next().heartbeat.number
        self.slowest = max(self.slowest, time.monotonic() - started)

    def act_until(self, holds: Callable[[], object]) -> None:
        """As often as either may."""
        deadline = time.monotonic() + 120
        while not holds():
            assert time.monotonic() < deadline, "it did not happen in time"
            self.act()
            time.sleep(0.06)


@pytest.mark.early
def test_ten_thousand_watches_of_a_client_leave_the_others_answered(served: Served) -> None:
    with (
        api_client(served.server.address, served.link, EVE) as eve,
        api_client(served.server.address, served.link, ANN) as ann,
        welcomed(served, "rack-a1") as host,
    ):
        storm = Storm(lambda: eve.call("WatchInstances", WatchInstancesRequest(), seconds=600))
        try:
            honest = Honest(ann, host)
            honest.act_until(lambda: storm.count() >= STREAMS - OPEN_CALLS)
            assert honest.slowest < PATIENCE
            assert served.count("gitvirt_link_calls") <= OPEN_CALLS + 1
        finally:
            storm.end()
        refused = served.count("gitvirt_link_refused_total", reason="too_many")
    statuses = storm.read()
    by_library = statuses[grpc.StatusCode.UNAVAILABLE]  # gRPC itself refuses streams that come too fast
    assert statuses[grpc.StatusCode.RESOURCE_EXHAUSTED] == refused > 0, statuses
    assert refused + by_library >= STREAMS - OPEN_CALLS, statuses
    wait_for(lambda: served.count("gitvirt_link_calls") == 0)

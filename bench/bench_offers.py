"""What offers cost: one tick that places 10,000 machines on 100 hosts, with a link whose hosts answer and without one.

python -m bench.bench_offers [MACHINES] [HOSTS]

The reconciler and its server of the link are one process, as in `gitvirt run`; the hosts' own code is in two others, over TLS on loopback, with
a lot of room. The repo is a bare one on this disk. Both kinds of ticks take turns, each on a repo of its own.

The cost is the share of a tick that goes by from the first question to the last answer: the difference of two ticks says less than their noise
where others use the same processors.
"""

from __future__ import annotations

import gc
import logging
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from prometheus_client import CollectorRegistry

from bench.bench_link import COMMIT, HOST_PROCESSES, begin, read_settings, wait_for_all
from bench.bench_reconcile import Bench, now, run_until_converged
from bench.fleet_repo import MAIN, party
from bench.measure import figure
from poollet.clock import Clock
from poollet.decide.decision import PoolFacts, PoolletFacts
from poollet.decide.host_room import HostRoom
from poollet.link.link_thread import LinkThread
from poollet.link.poollet_link import LinkEvents, LinkIdentity, PoolletLink
from poollet.offer_replies import OfferReplies
from poollet.sync.live_view import PoolGrant
from reconciler.decide.placement.offers import Answers, OfferedObject
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.repo import Refs
from reconciler.link.metrics import LinkMetrics
from reconciler.link.server import LinkServer
from reconciler.link.server_key import ServerKey
from reconciler.loop.link_port import LinkPort, NoLink
from reconciler.loop.loop import read_steady_clock
from reconciler.loop.outcome import Committed
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Key, Kind
from schemas.model import MachineClass, decode
from schemas.report import PoolletReport, PoolReport, Report, ReportedPoolStatus, render
from schemas.report.objects import ObjectRef
from tests.servers.daemon import free_port
from tests.servers.link_certificates import link_settings, make_certificate

FLEET = "7a1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00"
REPEATS = 3
CLASS = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\nmetadata: {name: small}\n"
    "capabilities: {cpu: '1', memory: 1Gi}\n"
)
MACHINE = """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: m-{number}
  namespace: team-{team}
  labels: {{app: web}}
spec:
  machineClassRef: {{name: small}}
  image: registry.example.org/images/debian:12
  volumes:
  - name: root
    localDisk: {{sizeLimit: 20Gi}}
"""
ROOM = {"cpu": 10_000_000, "memory": 1 << 50, "storage": 1 << 50}


def be_hosts(pipe: Connection, folder: Path, names: list[str]) -> None:
    logging.disable(logging.WARNING)
    settings, thread = read_settings(folder), LinkThread()
    thread.start()
    links = [connect(folder, name, thread) for name in names]
    for link in links:
        link.follow(settings)
    while pipe.recv() != "end":
        pipe.send(sum(link.count_connected()[0] for link in links))
    thread.stop()


def connect(folder: Path, name: str, thread: LinkThread) -> PoolletLink:
    who = LinkIdentity(name, name, name, {}, folder / f"{name}.key", folder / f"{name}.crt")
    link = PoolletLink(who, thread, Clock(), random.Random(name))
    room = make_room(name)
    replies = OfferReplies(lambda: room, link.clock)
    link.events = LinkEvents(standing=lambda _: COMMIT, answer_offer=replies.answer)
    return link


def make_room(name: str) -> HostRoom:
    pool = (Kind.MACHINE_POOL, name)
    facts = PoolletFacts(FLEET, {pool: PoolFacts("sim", frozenset(("small",)), ROOM)}, host_id=name)
    body = {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "MachineClass",
        "metadata": {"name": "small"},
        "capabilities": {"cpu": "1", "memory": "1Gi"},
    }
    small = decode(Kind.MACHINE_CLASS, body)
    assert isinstance(small, MachineClass)
    classes = {Key(Kind.MACHINE_CLASS, "", "small"): small}
    return HostRoom(facts, {pool: dict(ROOM)}, classes, {pool: PoolGrant(name, 1)})


def report(name: str, epoch: int) -> Report:
    status = ReportedPoolStatus(
        state="Ready",
        available_machine_classes=(ObjectRef(name="small"),),
        capacity={"cpu": 10_000, "memory": "40Ti", "storage": "400Ti"},
    )
    instance = "00000000-0000-4000-8000-000000000001"
    poollet = PoolletReport(fleet=FLEET, name=name, host_id=name, instance=instance, interval="1h")
    return Report(poollet=poollet, pools={name: PoolReport(status=status, epoch=epoch)})


class TimedLink(NoLink):
    """A link that is asked for nothing but offers, and how long that took."""

    def __init__(self, server: LinkServer) -> None:
        self._server = server
        self.seconds = 0.0

    def may_offer(self, poollet: str, host: str) -> bool:
        return self._server.may_offer(poollet, host)

    def offer(self, offered: Sequence[OfferedObject], seconds: float) -> Answers:
        started = time.perf_counter()
        found = self._server.offer(offered, seconds)
        self.seconds += time.perf_counter() - started
        return found


@dataclass
class OfferBench:
    settings: bytes
    hosts: list[str]
    machines: int

    def push_reports(self, bench: Bench, epoch: int) -> None:
        for name in self.hosts:
            bench.push(f"refs/poollets/{name}", dict(render(report(name, epoch))), is_report=True)

    def measure(self, link: LinkPort) -> tuple[float, int]:
        """Seconds of the tick that places all machines, and how many of them their hosts have accepted."""
        with TemporaryDirectory(prefix="gv-") as folder:
            bench = Bench(Path(folder))
            bench.push(MAIN, {"gitvirt.yaml": self.settings, "classes/small.yaml": CLASS.encode()})
            self.push_reports(bench, 0)
            store = party(Path(folder) / "mirror", str(bench.remote), RemoteAccess())[1]
            around = ProcessInputs(start_wait=None, link=link)
            reconciler = Reconciler(store, Refs(), CommitIdentity("bench"), around=around)
            run_until_converged(reconciler)
            self.push_reports(bench, 1)  # they act under the grant that the first tick made
            run_until_converged(reconciler)
            bench.push(MAIN, dict(new_machine(number) for number in range(self.machines)))
            gc.collect()
            started = time.perf_counter()
            outcome = reconciler.tick(now)
            took = time.perf_counter() - started
            assert isinstance(outcome, Committed), outcome
            records = [each.after for each in outcome.plan.changes if each.key.kind is Kind.MACHINE]
            assigned = [each.assignment for each in records if each is not None and each.assignment]
            assert len(assigned) == self.machines, len(assigned)
            reconciler.close()
            return took, sum(each.accepted for each in assigned)


def new_machine(number: int) -> tuple[str, bytes]:
    text = MACHINE.format(number=number, team=number % 20)
    return f"new/{number // 100:04}/{number}.yaml", text.encode()


@contextmanager
def connect_all(folder: Path, hosts: int) -> Iterator[tuple[LinkServer, OfferBench]]:
    """A server with all hosts connected."""
    names = [f"rack-{number}" for number in range(hosts)]
    own, port = make_certificate("link", is_link=True), free_port()
    made = {name: make_certificate(name) for name in names}
    for name, certificate in (("link", own), *made.items()):
        certificate.write(folder, name)
    text = link_settings(FLEET, [f"127.0.0.1:{port}"], own, made)
    (folder / "gitvirt.yaml").write_text(text)
    key = ServerKey(folder / "link.key", folder / "link.crt", read_steady_clock)
    metrics = LinkMetrics(CollectorRegistry())
    address = ("127.0.0.1", port)
    with LinkServer(address, key, lambda: None, read_steady_clock, metrics, version="1") as server:
        server.follow(read_settings(folder))
        pipes = [begin(be_hosts, folder, names[each::HOST_PROCESSES])[1] for each in range(HOST_PROCESSES)]
        wait_for_all(pipes, hosts)
        yield server, OfferBench(text.encode(), names, 0)
        for pipe in pipes:
            pipe.send("end")


def main(machines: int, hosts: int) -> None:
    logging.disable(logging.WARNING)
    with TemporaryDirectory(prefix="gv-") as folder, connect_all(Path(folder), hosts) as (server, bench):
        bench.machines = machines
        bench.measure(server)  # both sides have seen all code once
        found: dict[str, list[tuple[float, int]]] = {"without": [], "with": []}
        shares = []
        for _ in range(REPEATS):
            found["without"].append(bench.measure(NoLink()))
            link = TimedLink(server)
            found["with"].append(bench.measure(link))
            shares.append(link.seconds / found["with"][-1][0])
    seconds = {name: median(took for took, _ in each) for name, each in found.items()}
    accepted = [count for _, count in found["with"]]
    for name, each in found.items():
        print(f"{name} offers: " + ", ".join(f"{took:.2f} s" for took, _ in each))
    figure("machines, hosts", f"{machines:,}, {hosts:,}")
    figure("accepted in time, each tick", ", ".join(f"{count:,}" for count in accepted))
    figure("placed a second without offers", f"{machines / seconds['without']:,.0f}")
    figure("placed a second with offers", f"{machines / seconds['with']:,.0f}")
    figure("of each tick spent in offers", ", ".join(f"{share:.1%}" for share in shares))
    figure("offers cost of the placement rate", f"{median(shares):.1%}")


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    main(*numbers, *(10_000, 100)[len(numbers) :])

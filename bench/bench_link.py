"""The link over real TLS on loopback.

python -m bench.bench_link [HOSTS]             200 unless told: one server process, and the hosts' own code in other processes, without Git
python -m bench.bench_link schedule [CALLS]    30 unless told: Schedule call -> Running, with `gitvirt run`, poollets and simulated hosts
"""

from __future__ import annotations

import logging
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

from prometheus_client import CollectorRegistry

from iri.proto.gitvirt.link.v1alpha1 import controller_pb2
from poollet.clock import Clock
from poollet.link.link_thread import LinkThread
from poollet.link.poollet_link import LinkEvents, LinkIdentity, PoolletLink
from reconciler.link.metrics import LinkMetrics
from reconciler.link.server import LinkServer
from reconciler.link.server_key import ServerKey
from reconciler.loop.loop import read_steady_clock
from schemas.settings.fleet import FleetSettings, parse
from tests.e2e.linked_fleet import MACHINE, linked_fleet
from tests.reconciler.link.client import api_client, list_client
from tests.servers.daemon import free_port
from tests.servers.link_certificates import link_settings, make_certificate

FLEET = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
COMMIT = "c" * 40
HOST_PROCESSES = 2
REST_SECONDS = 20.0
NUDGES = 20


def serve(pipe: Connection, folder: Path, port: int) -> None:
    """The server's process: one answer for each word."""
    settings = read_settings(folder)
    metrics = LinkMetrics(CollectorRegistry())
    own = ServerKey(folder / "link.key", folder / "link.crt", read_steady_clock)
    with LinkServer(
        ("127.0.0.1", port), own, lambda: None, read_steady_clock, metrics, version="1"
    ) as server:
        server.follow(settings)
        while (word := pipe.recv()) != "end":
            match word:
                case "count":
                    pipe.send(len(server.read().signs) if server.hosts.count() else 0)
                case "nudge":
                    server.nudge(COMMIT, None)
                    pipe.send(time.monotonic())
                case "use":
                    used = resource.getrusage(resource.RUSAGE_SELF)
                    pipe.send((used.ru_utime + used.ru_stime, memory_kib()))


def be_hosts(pipe: Connection, folder: Path, names: list[str]) -> None:
    logging.disable(logging.WARNING)
    settings, thread, arrivals = read_settings(folder), LinkThread(), list[float]()
    thread.start()
    links = [connect(folder, name, thread, arrivals) for name in names]
    for link in links:
        link.follow(settings)
    while (word := pipe.recv()) != "end":
        if word == "arrivals":
            pipe.send(list(arrivals))
            arrivals.clear()
        else:
            pipe.send(sum(link.count_connected()[0] for link in links))
    thread.stop()


def connect(folder: Path, name: str, thread: LinkThread, arrivals: list[float]) -> PoolletLink:
    who = LinkIdentity(name, name, name, {}, folder / f"{name}.key", folder / f"{name}.crt")
    link = PoolletLink(who, thread, Clock(), random.Random(name))

    def look(commit: str) -> None:
        if commit:
            arrivals.append(time.monotonic())

    link.events = LinkEvents(lambda: None, look, lambda _: COMMIT)
    return link


def read_settings(folder: Path) -> FleetSettings:
    found = parse((folder / "gitvirt.yaml").read_bytes())
    assert isinstance(found, FleetSettings)
    return found


def memory_kib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def ask(pipe: Connection, word: str) -> object:
    pipe.send(word)
    return pipe.recv()


def ask_use(pipe: Connection) -> tuple[float, int]:
    """Seconds of processor, and KiB of memory."""
    pipe.send("use")
    seconds, kib = pipe.recv()
    return float(seconds), int(kib)


def wait_for_all(pipes: list[Connection], hosts: int) -> float:
    started = time.monotonic()
    while sum(int(str(ask(pipe, "count"))) for pipe in pipes) < hosts:
        time.sleep(0.05)
    return time.monotonic() - started


def begin(
    target: Callable[..., None], *arguments: object
) -> tuple[multiprocessing.context.SpawnProcess, Connection]:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    return process, mine


def measure(folder: Path, hosts: int) -> None:
    names = [f"rack-{number}" for number in range(hosts)]
    link, port = make_certificate("link", is_link=True), free_port()
    made = {name: make_certificate(name) for name in names}
    for name, certificate in (("link", link), *made.items()):
        certificate.write(folder, name)
    (folder / "gitvirt.yaml").write_text(link_settings(FLEET, [f"127.0.0.1:{port}"], link, made))
    server, control = begin(serve, folder, port)
    _, before = ask_use(control)
    pipes = [begin(be_hosts, folder, names[each::HOST_PROCESSES])[1] for each in range(HOST_PROCESSES)]
    wait_for_all([pipes[0]], 1)
    connected = wait_for_all(pipes, hosts)
    used, after = ask_use(control)
    time.sleep(REST_SECONDS)
    at_rest = (ask_use(control)[0] - used) / REST_SECONDS
    delays: list[float] = []
    for _ in range(NUDGES):
        at = float(str(ask(control, "nudge")))
        time.sleep(0.5)
        arrived = [each for pipe in pipes for each in ask(pipe, "arrivals")]  # type: ignore[attr-defined]
        delays += [max(0.0, each - at) for each in arrived]
    server.kill()
    server.join()
    _, control = begin(serve, folder, port)
    time.sleep(0.2)
    back = wait_for_all([control], hosts)
    for pipe in (*pipes, control):
        pipe.send("end")
    delays.sort()
    print(f"{hosts} hosts in {HOST_PROCESSES} processes, heartbeats each 2 s")
    print(
        f"all connected after the first: {connected:.1f} s, {hosts / max(connected, 0.05):.0f} handshakes/s"
    )
    print(f"server at rest: {at_rest:.1%} of a core, {at_rest / hosts * 1e6:.0f} us/s for each host")
    print(f"memory of the server for each host: {(after - before) / hosts:.0f} KiB")
    print(
        f"nudge to host, {len(delays)} of {hosts * NUDGES}: p50 {median(delays) * 1e3:.1f} ms, p99 {delays[int(len(delays) * 0.99)] * 1e3:.1f} ms"
    )
    print(f"server killed and started: all hosts back with a sign of life after {back:.1f} s")


def measure_schedule(folder: Path, calls: int) -> None:
    """One call after the other, each of a machine of its own, from the call to its last report."""
    own = make_certificate("bench")
    with linked_fleet(folder, hosts=("rack-1", "rack-2", "rack-3")) as fleet:
        clients = "clients:\n" + list_client("bench", own, ("schedule",), ("default",))
        fleet.commit({"gitvirt.yaml": fleet.settings() + clients})
        fleet.run_reconciler("one")
        for name in fleet.hosts:
            fleet.run_host(name)
        fleet.until(lambda: fleet.count_connected("one") == len(fleet.hosts))
        fleet.commit({"machines/first.yaml": MACHINE.format(name="first")})
        fleet.until(lambda: fleet.is_running("first"))
        took: dict[str, list[float]] = {}
        with api_client(f"127.0.0.1:{fleet.servers['one']}", fleet.link, own) as client:
            for number in range(calls):
                request = controller_pb2.ScheduleRequest(manifest=MACHINE.format(name=f"m{number}").encode())
                started = time.monotonic()
                for status in client.call("Schedule", request):
                    state = controller_pb2.InstanceState.Name(status.state).removeprefix("INSTANCE_STATE_")
                    took.setdefault(state, []).append(time.monotonic() - started)
    for state, times in took.items():
        times.sort()
        last = times[int(len(times) * 0.95)]
        print(f"Schedule -> {state}, {len(times)} calls: p50 {median(times):.3f} s, p95 {last:.3f} s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="gv-") as place:
        if sys.argv[1:2] == ["schedule"]:
            measure_schedule(Path(place), int(sys.argv[2]) if len(sys.argv) > 2 else 30)
        else:
            measure(Path(place), int(sys.argv[1]) if len(sys.argv) > 1 else 200)

"""The libvirt runtime beside libvirt by hand, with tiny guests that the hypervisor boots directly: how long until a guest
speaks, how long for 25 at once, how soon its end is known, what a list of 100 costs, what the runtime weighs.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import libvirt
import msgspec

from bench.measure import figure, percentile
from iri.address import UnixAddress
from iri.change import SetPower
from iri.client import Client
from iri.libvirt.settings import Settings
from iri.machine import MachineState, Power, RuntimeMachine, RuntimeMachineSpec
from tests.guests.micro import READY
from tests.iri.contract.subject import uid_labels
from tests.iri.libvirt.world import micro_settings
from tests.servers.libvirtd import Libvirtd, libvirtd

ROUNDS = 10
AT_ONCE = 25
LISTED = 100
STOPS = 5
WAIT_SECONDS = 120


def main() -> None:
    with libvirtd() as daemon:
        settings = micro_settings(daemon)
        folder = Path(settings.folder)
        (folder / "settings.json").write_bytes(msgspec.json.encode(settings))
        command = [sys.executable, "-m", "reconciler", "runtime", "libvirt"]
        runtime = subprocess.Popen(
            [*command, "--settings", str(folder / "settings.json"), "--listen", str(folder / "s")],
            stdout=subprocess.PIPE,
        )
        assert runtime.stdout is not None
        runtime.stdout.readline()
        try:
            with Client(UnixAddress(folder / "s")) as client:
                measure(daemon, settings, client, runtime.pid)
        finally:
            runtime.terminate()
            runtime.wait(30)
            runtime.stdout.close()


def measure(daemon: Libvirtd, settings: Settings, client: Client, pid: int) -> None:
    template = document(daemon, settings, client)
    ours, virsh = first_lines(daemon, settings, client, template)
    stops = [stop_known(daemon, client, settings) for _ in range(STOPS)]
    together = at_once(settings, client)
    loop = plain_loop(daemon, template)
    listed, rest = list_of_many(client)
    figure("create to first line, p50", f"{statistics.median(ours) * 1000:.0f} ms")
    figure("create to first line, p99", f"{percentile(ours, 99) * 1000:.0f} ms")
    figure("the same with virsh, p50", f"{statistics.median(virsh) * 1000:.0f} ms")
    figure("the same with virsh, p99", f"{percentile(virsh, 99) * 1000:.0f} ms")
    figure("ratio to virsh, p50", f"{statistics.median(ours) / statistics.median(virsh):.2f} x")
    figure(f"{AT_ONCE} at once, until all have spoken", f"{together:.1f} s")
    figure("ratio to a plain loop over libvirt", f"{together / loop:.2f} x")
    figure("guest ends, until the event is out, p50", f"{statistics.median(stops) * 1000:.0f} ms")
    figure("guest ends, until the event is out, worst", f"{max(stops) * 1000:.0f} ms")
    figure(f"list of {LISTED} machines, over the socket", f"{listed * 1000:.0f} ms")
    figure(f"memory of the runtime with {rest} machines", f"{memory_mib(pid):.0f} MiB")


def first_lines(
    daemon: Libvirtd, settings: Settings, client: Client, template: str
) -> tuple[list[float], list[float]]:
    """In turns, so that whatever else the machine does is felt by both."""
    ours, virsh = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        id = client.create(machine_of()).id
        until(lambda id=id: READY in log_of(settings, id))  # type: ignore[misc]
        ours.append(time.perf_counter() - began)
        remove(client, id)

        id = str(uuid.uuid4())
        log = by_hand(daemon, template, id)
        began = time.perf_counter()
        daemon.virsh("define", str(log.with_suffix(".xml")))
        daemon.virsh("start", id)
        until(lambda log=log: log.exists() and READY in log.read_bytes())  # type: ignore[misc]
        virsh.append(time.perf_counter() - began)
        daemon.virsh("destroy", id)
        daemon.virsh("undefine", id)
    return ours, virsh


def at_once(settings: Settings, client: Client) -> float:
    began = time.perf_counter()
    ids = [client.create(machine_of()).id for _ in range(AT_ONCE)]
    until(lambda: all(READY in log_of(settings, id) for id in ids))
    took = time.perf_counter() - began
    for id in ids:
        client.remove(RuntimeMachine, id)
    until(lambda: not client.objects(RuntimeMachine))
    return took


def plain_loop(daemon: Libvirtd, template: str) -> float:
    raw = libvirt.open(daemon.uri)
    ids = [str(uuid.uuid4()) for _ in range(AT_ONCE)]
    logs = [by_hand(daemon, template, id) for id in ids]
    documents = [log.with_suffix(".xml").read_text() for log in logs]
    began = time.perf_counter()
    domains = []
    for document_ in documents:
        domains.append(raw.defineXML(document_))
        domains[-1].create()
    until(lambda: all(READY in log.read_bytes() for log in logs))
    took = time.perf_counter() - began
    for domain in domains:
        domain.destroy()
        domain.undefine()
    raw.close()
    return took


def stop_known(daemon: Libvirtd, client: Client, settings: Settings) -> float:
    """From the moment its QEMU is gone until a watcher at the other end of the socket has been told and sees it off."""
    id = client.create(machine_of()).id
    until(lambda: READY in log_of(settings, id))
    watch = client.watch()
    while watch.next(0.3):
        pass
    daemon.kill_guest(id)
    began = time.perf_counter()
    while client.objects(RuntimeMachine)[id].status.state is MachineState.RUNNING:
        watch.next(5)
    took = time.perf_counter() - began
    watch.close()
    remove(client, id)
    return took


def list_of_many(client: Client) -> tuple[float, int]:
    ids = [client.create(machine_of(Power.OFF)).id for _ in range(LISTED)]
    until(
        lambda: all(
            found.status.state is MachineState.SUSPENDED for found in client.objects(RuntimeMachine).values()
        )
    )
    times = []
    for _ in range(20):
        began = time.perf_counter()
        assert len(client.objects(RuntimeMachine)) == LISTED
        times.append(time.perf_counter() - began)
    for id in ids[1:]:
        client.remove(RuntimeMachine, id)
    client.change(ids[0], SetPower(Power.OFF))
    return statistics.median(times), LISTED


def document(daemon: Libvirtd, settings: Settings, client: Client) -> str:
    """A machine's domain as libvirt has it, to be made again by hand."""
    id = client.create(machine_of()).id
    until(lambda: READY in log_of(settings, id))
    found = daemon.virsh("dumpxml", "--inactive", id).stdout
    remove(client, id)
    # A domain written by hand has no metadata, nor the addresses that libvirt assigns.
    found = re.sub(r"<metadata.*?</metadata>", "", found, flags=re.DOTALL)
    found = re.sub(r"<address type='pci'[^>]*/>", "", found)
    return found.replace(str(Path(settings.folder) / "machines" / id), "FOLDER").replace(id, "ID")


def by_hand(daemon: Libvirtd, template: str, id: str) -> Path:
    """Where its console's log will be; the document lies beside it."""
    folder = daemon.folder / f"h-{id[:8]}"
    folder.mkdir()
    (folder / "console.xml").write_text(template.replace("FOLDER", str(folder)).replace("ID", id))
    return folder / "console.log"


def machine_of(power: Power = Power.ON) -> RuntimeMachine:
    return RuntimeMachine(
        labels=uid_labels(RuntimeMachine), spec=RuntimeMachineSpec(class_name="small", power=power)
    )


def remove(client: Client, id: str) -> None:
    client.remove(RuntimeMachine, id)
    until(lambda: id not in client.objects(RuntimeMachine))


def log_of(settings: Settings, id: str) -> bytes:
    path = Path(settings.folder) / "machines" / id / "console.log"
    return path.read_bytes() if path.exists() else b""


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "did not come"
        time.sleep(0.002)


def memory_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


if __name__ == "__main__":
    main()

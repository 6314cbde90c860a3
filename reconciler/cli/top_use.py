"""`gitvirt top machines` and `gitvirt top hosts`: what they really use, by the counters of their hypervisors, over the link.

The numbers come from the controller API alone: they are in no commit. A machine that is off, and one whose host is not connected to the link,
is not measured; a note says so where it was named.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from reconciler.cli.api_client import call, open_channel, translate
from reconciler.cli.exits import Exit
from reconciler.cli.interrupt import end_at_once
from reconciler.cli.measured_use import HostUse, MachineUse, Rates, find_host, list_machines
from reconciler.cli.output import Column, is_value, show_table, show_value
from reconciler.cli.terminal import err, out, printable
from schemas.kinds import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import UsageReport, UsageRequest

UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
STEP = 1024
MachineOrHost = TypeVar("MachineOrHost", MachineUse, HostUse)
Shown = dict[str, "UsageReport"]


def show_use(arguments: argparse.Namespace) -> int:
    """Once, or again with each measurement until Ctrl-C."""
    import grpc

    request = build_request(arguments)
    with end_at_once(), open_channel(arguments) as channel:
        reports = call(channel, "Usage")(request)
        shown: Shown = {}
        try:
            for report in reports:
                shown[report.node] = report
                if arguments.watch:
                    redraw(arguments, shown)
        except grpc.RpcError as error:
            raise translate(error) from None
        finally:
            reports.cancel()
    if not arguments.watch:
        show(arguments, shown)
    return Exit.OK


def build_request(arguments: argparse.Namespace) -> UsageRequest:
    from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import InstanceRef, UsageRequest

    if arguments.what == "hosts":
        return UsageRequest(nodes=arguments.names, follow=arguments.watch)
    instances = [
        InstanceRef(namespace=namespace or arguments.namespace or DEFAULT_NAMESPACE, name=name)
        for namespace, _, name in (each.rpartition("/") for each in arguments.names)
    ]
    return UsageRequest(instances=instances, follow=arguments.watch)


def redraw(arguments: argparse.Namespace, shown: Shown) -> None:
    if not is_value(arguments.output):
        out().clear()
    show(arguments, shown)
    out().stream.flush()


def show(arguments: argparse.Namespace, shown: Shown) -> None:
    if arguments.what == "hosts":
        hosts = [found for report in shown.values() if (found := find_host(report)) is not None]
        show_rows(arguments, arrange(arguments.sort, hosts), HOSTS, host_value)
        return
    machines = [each for report in shown.values() for each in list_machines(report)]
    if arguments.namespace and not arguments.names:
        machines = [each for each in machines if each.namespace == arguments.namespace]
    show_rows(arguments, arrange(arguments.sort, machines), MACHINES, machine_value)


def show_rows(
    arguments: argparse.Namespace,
    rows: Sequence[MachineOrHost],
    columns: Sequence[Column[MachineOrHost]],
    value: Callable[[MachineOrHost], dict[str, object]],
) -> None:
    if is_value(arguments.output):
        show_value(out(), arguments.output, [value(each) for each in rows], is_one_of_many=arguments.watch)
        return
    if rows:
        show_table(out(), columns, rows)
    else:
        why = "a host is measured while it is connected to the link, and a machine while it runs"
        err().line(f"nothing is measured: {why}")


def arrange(sort: str, rows: Iterable[MachineOrHost]) -> list[MachineOrHost]:
    """By name, or the largest first; what is unknown comes last."""
    named = sorted(rows, key=name_of)
    if sort == "cpu":
        return sorted(named, key=lambda each: -(each.rates.cpu or 0.0))
    if sort == "memory":
        return sorted(named, key=lambda each: -each.memory_used)
    return named


def name_of(use: MachineUse | HostUse) -> tuple[str, str]:
    return (use.namespace, use.name) if isinstance(use, MachineUse) else ("", use.name)


def cores(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.2f}"


def size(count: float) -> str:
    """Three digits, as 1.50Gi, 24.0Mi, 512."""
    for unit in UNITS:
        if count < STEP or unit == UNITS[-1]:
            break
        count /= STEP
    digits = 0 if not unit or count >= 100 else 1 if count >= 10 else 2
    return f"{count:.{digits}f}{unit}"


def pair(first: float | None, second: float | None) -> str:
    return "" if first is None or second is None else f"{size(first)} {size(second)}"


def share(part: float | None, whole: int) -> str:
    return "" if part is None or not whole else f"{100 * part / whole:3.0f}%"


def guest_memory(use: MachineUse) -> str:
    if not use.guest_memory:
        return ""
    used = use.guest_memory - use.guest_available
    return f"{share(used, use.guest_memory)}  {size(used)} of {size(use.guest_memory)}"


def host_cpu(use: HostUse) -> str:
    return (
        ""
        if use.rates.cpu is None
        else f"{share(use.rates.cpu, use.cpus)}  {cores(use.rates.cpu)} of {use.cpus}"
    )


def host_memory(use: HostUse) -> str:
    return f"{share(use.memory_used, use.memory)}  {size(use.memory_used)} of {size(use.memory)}"


def disk(use: MachineUse | HostUse) -> str:
    return pair(use.rates.disk_read, use.rates.disk_written)


def network(use: MachineUse | HostUse) -> str:
    return pair(use.rates.received, use.rates.sent)


MACHINES = [
    Column[MachineUse]("MACHINE", lambda use: f"{use.namespace}/{use.name}"),
    Column[MachineUse]("HOST", lambda use: use.host),
    Column[MachineUse]("CPU", lambda use: cores(use.rates.cpu)),
    Column[MachineUse]("MEMORY", lambda use: size(use.memory_used)),
    Column[MachineUse]("IN THE GUEST", guest_memory),
    Column[MachineUse]("DISK READ WRITE/s", disk),
    Column[MachineUse]("NET IN OUT/s", network),
]
HOSTS = [
    Column[HostUse]("HOST", lambda use: use.name),
    Column[HostUse]("CPU", host_cpu),
    Column[HostUse]("LOAD", lambda use: f"{use.load:.2f}"),
    Column[HostUse]("MEMORY", host_memory),
    Column[HostUse]("MACHINES", lambda use: str(use.machines)),
    Column[HostUse]("DISK READ WRITE/s", disk),
    Column[HostUse]("NET IN OUT/s", network),
]


def rate_values(rates: Rates) -> dict[str, object]:
    """null: there is no second measurement yet, or a start in between."""
    return {
        "cpuCores": rates.cpu,
        "diskReadBytesPerSecond": rates.disk_read,
        "diskWrittenBytesPerSecond": rates.disk_written,
        "networkReceivedBytesPerSecond": rates.received,
        "networkSentBytesPerSecond": rates.sent,
    }


def machine_value(use: MachineUse) -> dict[str, object]:
    return {
        "kind": "Machine",
        "namespace": use.namespace,
        "name": use.name,
        "host": printable(use.host),
        "time": use.time.isoformat(),
        "memoryBytes": use.memory_used,
        "guestMemoryBytes": use.guest_memory,
        "guestAvailableBytes": use.guest_available,
        **rate_values(use.rates),
    }


def host_value(use: HostUse) -> dict[str, object]:
    return {
        "kind": "Host",
        "name": use.name,
        "time": use.time.isoformat(),
        "machines": use.machines,
        "cpus": use.cpus,
        "load": use.load,
        "memoryBytes": use.memory,
        "memoryUsedBytes": use.memory_used,
        **rate_values(use.rates),
    }

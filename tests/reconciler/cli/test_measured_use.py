"""Two measurements → rates: when they are known, and when not."""

from __future__ import annotations

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import DiskUsage, MachineUsage, NetworkUsage, NodeUsage, Usage
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import UsageReport
from reconciler.cli.measured_use import Rates, find_host, list_machines
from reconciler.cli.top_use import size


def usage(second: int, cpu: float, moved: int = 0) -> Usage:
    """Of one machine with two disks and one interface."""
    machine = MachineUsage(
        uid="1",
        name="web",
        cpu_time=Duration(nanos=round(cpu * 1e9) % 10**9, seconds=int(cpu)),
        disks=[DiskUsage(read_bytes=moved, written_bytes=2 * moved)] * 2,
        networks=[NetworkUsage(received_bytes=3 * moved, sent_bytes=4 * moved)],
    )
    node = NodeUsage(cpu_time=Duration(seconds=10 * second), cpus=16)
    return Usage(time=Timestamp(seconds=second), node=node, machines=[machine])


UNKNOWN = Rates()


@pytest.mark.parametrize(
    ("report", "want"),
    [
        pytest.param(UsageReport(usage=usage(100, 5.0)), UNKNOWN, id="one measurement"),
        pytest.param(
            UsageReport(usage=usage(110, 7.5, 1000), previous=usage(100, 5.0)),
            Rates(0.25, 200.0, 400.0, 300.0, 400.0),
            id="two",
        ),
        pytest.param(
            UsageReport(usage=usage(110, 0.5), previous=usage(100, 5.0)), UNKNOWN, id="started in between"
        ),
        pytest.param(
            UsageReport(usage=usage(110, 7.5, 0), previous=usage(100, 5.0, 10)),
            UNKNOWN,
            id="a device was replaced",
        ),
        pytest.param(
            UsageReport(usage=usage(100, 7.5), previous=usage(100, 5.0)), UNKNOWN, id="of the same moment"
        ),
        pytest.param(
            UsageReport(usage=usage(90, 7.5), previous=usage(100, 5.0)), UNKNOWN, id="the clock went back"
        ),
        pytest.param(
            UsageReport(usage=usage(110, 5.0), previous=Usage(time=Timestamp(seconds=100))),
            UNKNOWN,
            id="a new machine",
        ),
    ],
)
def test_a_rate_is_known_between_two_measurements_of_one_start(report: UsageReport, want: Rates) -> None:
    (found,) = list_machines(report)
    assert found.rates == want


def test_a_device_that_only_one_measurement_has_makes_no_rate() -> None:
    """It was attached in between, or could not be asked about: what it counted before is not of these seconds."""
    now, before = usage(110, 7.5, 1000), usage(100, 5.0)
    now.machines[0].disks.add(name="data", read_bytes=10**12, written_bytes=10**12)
    assert [each.rates for each in list_machines(UsageReport(usage=now, previous=before))] == [
        Rates(0.25, 200.0, 400.0, 300.0, 400.0)
    ]


def test_a_host_without_its_own_measurement_is_not_shown() -> None:
    alone = usage(100, 1.0)
    alone.ClearField("node")
    assert find_host(UsageReport(usage=alone)) is None
    host = find_host(UsageReport(usage=usage(110, 1.0), previous=usage(100, 1.0)))
    assert host is not None
    assert host.rates.cpu == 10.0


@pytest.mark.parametrize(
    ("count", "want"),
    [
        (0, "0"),
        (1023, "1023"),
        (1024, "1.00Ki"),
        (1536, "1.50Ki"),
        (24 << 20, "24.0Mi"),
        (300 << 30, "300Gi"),
    ],
)
def test_sizes_have_three_digits(count: int, want: str) -> None:
    assert size(count) == want

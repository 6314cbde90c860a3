"""Which host a poollet takes itself for, on its own disk and on a copy of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from iri.errors import Unavailable
from iri.host import HostInfo, RuntimeInfo
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile
from iri.simulated.runtime import SimulatedRuntime
from poollet.host_identity import (
    HostIdentity,
    derive_host_id,
    identify,
    read_hardware_id,
    read_identity,
    resolve_identity,
)
from schemas.report import PoolletReport

HERE, OTHER = "the machine-id", "another machine-id"
FIRST, COPY = "hardware one", "hardware two"
PLAIN, BOUND, OF_COPY = (derive_host_id(HERE, hardware) for hardware in ("", FIRST, COPY))
UNRELATED = HostIdentity(derive_host_id(OTHER, FIRST), FIRST)

CASES = [
    ("first start", FIRST, [], HostIdentity(BOUND, FIRST)),
    ("first start, hardware unknown", "", [], HostIdentity(PLAIN)),
    ("upgrade", FIRST, [HostIdentity(PLAIN)], HostIdentity(PLAIN, FIRST)),
    ("after the upgrade", FIRST, [HostIdentity(PLAIN, FIRST)], HostIdentity(PLAIN, FIRST)),
    ("the runtime does not answer", "", [HostIdentity(PLAIN, FIRST)], HostIdentity(PLAIN, FIRST)),
    ("the runtime does not answer, new host", "", [HostIdentity(BOUND, FIRST)], HostIdentity(BOUND, FIRST)),
    ("copied disk of an old host", COPY, [HostIdentity(PLAIN, FIRST)], HostIdentity(OF_COPY, COPY)),
    ("copied disk of a new host", COPY, [HostIdentity(BOUND, FIRST)], HostIdentity(OF_COPY, COPY)),
    ("the copy, which was granted the pool", COPY, [HostIdentity(OF_COPY, COPY)], HostIdentity(OF_COPY, COPY)),
    ("report lost, file there", FIRST, [None, HostIdentity(PLAIN, FIRST)], HostIdentity(PLAIN, FIRST)),
    ("report of another host, file there", FIRST, [UNRELATED, HostIdentity(PLAIN, FIRST)], HostIdentity(PLAIN, FIRST)),
    ("report of another host", FIRST, [UNRELATED, None], HostIdentity(BOUND, FIRST)),
]  # fmt: skip


@pytest.mark.parametrize(("case", "hardware", "remembered", "want"), CASES, ids=[one[0] for one in CASES])
def test_identity_follows_machine_id_and_hardware(
    case: str, hardware: str, remembered: list[HostIdentity | None], want: HostIdentity
) -> None:
    assert resolve_identity(HERE, hardware, remembered) == want, case


def test_each_hardware_and_each_machine_id_makes_another_host() -> None:
    assert len({PLAIN, BOUND, OF_COPY, UNRELATED.host_id, derive_host_id(OTHER)}) == 5


def runtime(hardware: str) -> SimulatedRuntime:
    return SimulatedRuntime(SimulatedHost(Profile(hardware_id=hardware), seed=1))


def report_of(identity: HostIdentity) -> PoolletReport:
    return PoolletReport("f", "a", identity.host_id, "i", "15s", hardware_id=identity.hardware_id)


def test_a_copied_disk_is_another_host_also_without_the_report(tmp_path: Path) -> None:
    file = tmp_path / "a.host.json"
    first = identify(HERE, file, None, [runtime(FIRST)])
    assert identify(HERE, file, None, [runtime(FIRST)]) == first
    assert identify(HERE, tmp_path / "lost", report_of(first), [runtime(FIRST)]) == first
    for report, place in ((report_of(first), tmp_path / "lost"), (None, file)):
        assert identify(HERE, place, report, [runtime(COPY)]).host_id == OF_COPY


def test_an_earlier_versions_host_stays_itself_and_remembers_its_hardware(tmp_path: Path) -> None:
    file = tmp_path / "a.host.json"
    assert identify(HERE, file, report_of(HostIdentity(PLAIN)), [runtime("")]) == HostIdentity(PLAIN)
    assert not file.exists()
    upgraded = identify(HERE, file, report_of(HostIdentity(PLAIN)), [runtime(FIRST)])
    assert (upgraded.host_id, read_identity(file)) == (PLAIN, HostIdentity(PLAIN, FIRST))
    file.write_text("{")
    assert read_identity(file) is None


class Starting(SimulatedRuntime):
    """Answers from the second call on."""

    calls = 0

    def about(self) -> RuntimeInfo:
        self.calls += 1
        if self.calls == 1:
            raise Unavailable("not yet")
        return RuntimeInfo(name="late", version="0", host=HostInfo(hardware_id=COPY))


def test_a_hardware_id_that_has_to_be_compared_is_waited_for() -> None:
    late = Starting(SimulatedHost(Profile(), seed=1))
    assert read_hardware_id([late], 30.0) == COPY
    late.calls = 0
    assert read_hardware_id([late], 0.0) == ""

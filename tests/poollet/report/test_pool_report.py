"""What a host says of its pools: classes by name and equal capabilities, what there is and what it gives away."""

from __future__ import annotations

import pytest

from iri import host as iri
from poollet.report import pool_report
from poollet.report.pool_report import DeclaredClasses
from poollet.runtimes.runtime_client import RuntimeState
from poollet.sync.live_sync import LiveProblem
from schemas import report
from schemas.live_layout import SHARE
from schemas.manifest import parse
from schemas.model import MachineClass, MachinePool, VolumeClass, decode
from schemas.model.capacity import WHOLE_HOST
from schemas.model.quantity import parse as parse_quantity
from schemas.settings.host import PoolSettings
from tests.poollet.fleet import machine_class

GIB = 1 << 30
POOL = PoolSettings(name="host-1", runtime="r1")
ABOUT = iri.RuntimeInfo(
    name="gitvirt-simulated",
    version="1.2.3",
    host=iri.HostInfo(
        id="h",
        capacity={"cpu": 4, "memory": 8 * GIB, "storage": 100 * GIB},
        node_info=iri.NodeInfo(architecture="x86_64", hypervisor="qemu"),
        addresses=(
            iri.HostAddress(type="Hostname", address="rack-1"),
            iri.HostAddress(type="Odd", address="x"),
        ),
        labels={"topology.ironcore.dev/zone": "a", "rack": "1"},
    ),
)


def offers(small: dict[str, int] | None = None, quantity: int = 4) -> iri.Offers:
    resources = small or {"cpu": 1, "memory": GIB}
    return iri.Offers(
        machines=(
            iri.MachineOffer(
                machine_class=iri.RuntimeMachineClass(name="small", resources=resources), quantity=quantity
            ),
            iri.MachineOffer(machine_class=iri.RuntimeMachineClass(name="theirs"), quantity=3),
        ),
        volumes=(
            iri.VolumeOffer(
                volume_class=iri.RuntimeVolumeClass(name="fast", tps=100, iops=10), quantity=50 * GIB
            ),
        ),
    )


def model(text: str) -> object:
    (document,) = parse("a.yaml", text.encode()).documents
    return decode(document.kind, document.body)


def small(cpu: str = "1", memory: str = "1Gi") -> MachineClass:
    found = model(machine_class(cpu=cpu, memory=memory))
    assert isinstance(found, MachineClass)
    return found


def fast() -> VolumeClass:
    text = "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeClass\nmetadata: {name: fast}\n"
    found = model(text + "capabilities: {tps: 100, iops: 10}\n")
    assert isinstance(found, VolumeClass)
    return found


DECLARED = DeclaredClasses((small(),), (fast(),))


def machine_pool(
    runtime_state: RuntimeState,
    pool: PoolSettings = POOL,
    declared_classes: DeclaredClasses = DECLARED,
    live: MachinePool | None = None,
) -> report.PoolReport:
    return pool_report.machine_pool(pool, runtime_state, declared_classes, live, None)[0]


def test_a_pool_as_it_is_announced() -> None:
    found, facts = pool_report.machine_pool(POOL, RuntimeState(ABOUT, offers()), DECLARED, None, None)
    status = found.status
    assert status.state == "Ready"
    assert [one.name for one in status.available_machine_classes] == ["small"]
    assert status.capacity == {
        "class/machine.small": "4",
        "cpu": "4",
        "memory": "8Gi",
        "storage": "100Gi",
    }
    assert status.allocatable == status.capacity
    assert status.addresses == (report.ReportedAddress("Hostname", "rack-1"),)
    assert status.node_info["runtimeVersion"] == "1.2.3"
    assert found.labels == {"topology.ironcore.dev/zone": "a", "rack": "1"}
    assert facts.classes == {"small"}
    assert facts.allocatable == {"cpu": 4000, "memory": 8 * GIB, "storage": 100 * GIB}


def test_what_the_host_keeps_is_not_given_away_and_its_labels_win() -> None:
    pool = PoolSettings(
        name="host-1", runtime="r1", labels={"rack": "9"}, reserved={"cpu": "500m", "memory": "6Gi"}
    )
    found = machine_pool(RuntimeState(ABOUT, offers()), pool)
    assert found.status.capacity["cpu"] == "4"
    assert (found.status.allocatable["cpu"], found.status.allocatable["memory"]) == ("3500m", "2Gi")
    assert found.status.allocatable["class/machine.small"] == "2"
    assert found.labels["rack"] == "9"


def test_what_people_decide_about_the_pool_counts_for_admission_alone() -> None:
    text = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\n"
    live = model(text + "metadata: {name: host-1}\nspec: {overcommit: {cpu: '2'}, reserved: {memory: 1Gi}}\n")
    assert isinstance(live, MachinePool)
    found, facts = pool_report.machine_pool(POOL, RuntimeState(ABOUT, offers()), DECLARED, live, None)
    assert found.status.allocatable["cpu"] == "4"
    assert facts.allocatable is not None
    assert (facts.allocatable["cpu"], facts.allocatable["memory"]) == (8000, 7 * GIB)


@pytest.mark.parametrize(
    "resources", [{"cpu": 2, "memory": GIB}, {"cpu": 1, "memory": GIB, "gpu": 1}, {"cpu": 1}]
)
def test_a_class_of_the_same_name_that_means_something_else_is_not_offered(resources: dict[str, int]) -> None:
    status = machine_pool(RuntimeState(ABOUT, offers(resources))).status
    assert status.available_machine_classes == ()
    (matched,) = [one for one in status.conditions if one.type == pool_report.MATCHED]
    assert (matched.status, "small" in matched.message) == ("False", True)


def test_a_runtime_that_counts_classes_only_is_shared_by_count() -> None:
    about = iri.RuntimeInfo(name="stock", version="1.0.0")
    found, facts = pool_report.machine_pool(POOL, RuntimeState(about, offers()), DECLARED, None, None)
    assert found.status.allocatable == {"class/machine.small": "4"}
    assert facts.allocatable == {SHARE: WHOLE_HOST}
    assert facts.shares == {"small": WHOLE_HOST // 4}


def test_a_runtime_that_falls_silent_leaves_what_was_known_and_admits_nothing() -> None:
    known, _ = pool_report.machine_pool(POOL, RuntimeState(ABOUT, offers()), DECLARED, None, None)
    silent, facts = pool_report.machine_pool(POOL, RuntimeState(error="no answer"), DECLARED, None, known)
    assert silent.status.state == "Error"
    assert silent.status.capacity == known.status.capacity
    assert silent.status.conditions[0].message == "no answer"
    assert facts.allocatable is None
    again, facts = pool_report.machine_pool(
        POOL, RuntimeState(ABOUT, offers(), "no answer"), DECLARED, None, silent
    )
    assert again.status.state == "Error"
    assert (
        facts.allocatable is not None
    )  # nothing is created while it is silent, and nothing is refused for it


def test_a_runtime_that_never_answered_is_pending_however_often_one_looks() -> None:
    first, _ = pool_report.machine_pool(POOL, RuntimeState(), DECLARED, None, None)
    second, _ = pool_report.machine_pool(POOL, RuntimeState(error="no socket"), DECLARED, None, first)
    assert (first.status.state, second.status.state) == ("Pending", "Pending")


def test_a_volume_pool_names_who_reaches_it() -> None:
    pool = PoolSettings(
        name="host-1",
        kind="VolumePool",
        runtime="r1",
        reserved={"storage": "10Gi"},
        reachable_from=("host-1",),
    )
    found, facts = pool_report.volume_pool(pool, RuntimeState(ABOUT, offers()), DECLARED, None)
    status = found.status
    assert (status.state, status.reachable_from) == ("Available", ("host-1",))
    assert status.capacity == {"class/volume.fast": "50Gi", "storage": "100Gi"}
    assert status.allocatable == {"class/volume.fast": "40Gi", "storage": "90Gi"}
    assert facts.classes == {"fast"}
    silent, facts = pool_report.volume_pool(pool, RuntimeState(error="x"), DECLARED, found)
    assert (silent.status.state, silent.status.capacity) == ("Unavailable", status.capacity)
    assert facts.allocatable is None


@pytest.mark.parametrize(
    ("last", "counted", "reported"),
    [
        pytest.param(1000, 1000, 1000, id="as it was"),
        pytest.param(1000, 1019, 1000, id="a little more"),
        pytest.param(1000, 1100, 1100, id="much more"),
        pytest.param(1000, 999, 990, id="a little less, with a margin"),
        pytest.param(980, 985, 980, id="the drift after it"),
        pytest.param(1000, 900, 900, id="much less"),
        pytest.param(1000, 0, 0, id="nothing"),
        pytest.param(10, 9, 9, id="one unit of a few"),
    ],
)
def test_the_drift_of_a_provider_that_states_no_capacity_is_not_reported(
    last: int, counted: int, reported: int
) -> None:
    disks = PoolSettings(name="host-1", kind="VolumePool", runtime="r1")
    about = iri.RuntimeInfo(name="ceph", version="1")

    def volume_offers(quantity: int) -> iri.Offers:
        offer = iri.VolumeOffer(
            volume_class=iri.RuntimeVolumeClass(name="fast", tps=100, iops=10), quantity=quantity
        )
        return iri.Offers(volumes=(offer,))

    before, _ = pool_report.volume_pool(disks, RuntimeState(about, volume_offers(last)), DECLARED, None)
    found, facts = pool_report.volume_pool(
        disks, RuntimeState(about, volume_offers(counted)), DECLARED, before
    )
    assert parse_quantity(str(found.status.capacity["storage"])).ceil() == reported
    assert facts.allocatable is not None
    assert facts.allocatable["storage"] == reported


def test_drift_costs_one_report_at_most() -> None:
    """A cluster that fills and empties by up to 1%: the first step sets the margin, and no later one differs."""
    disks = PoolSettings(name="host-1", kind="VolumePool", runtime="r1")
    about = iri.RuntimeInfo(name="ceph", version="1")
    last, written = None, set()
    for step in range(200):
        quantity = 100 * GIB - (step * 7 % 100) * GIB // 100
        offer = iri.VolumeOffer(
            volume_class=iri.RuntimeVolumeClass(name="fast", tps=100, iops=10), quantity=quantity
        )
        last, _ = pool_report.volume_pool(
            disks, RuntimeState(about, iri.Offers(volumes=(offer,))), DECLARED, last
        )
        written.add(str(last.status.capacity))
    assert len(written) == 2


def test_runtimes_are_configured_with_classes_in_whole_numbers_and_a_stable_order() -> None:
    found = pool_report.classes(DeclaredClasses((small("500m", "1.5Gi"),), (fast(),)))
    assert found.machines == (
        iri.RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": 3 * GIB // 2}),
    )
    assert found.volumes == (iri.RuntimeVolumeClass(name="fast", tps=100, iops=10),)


@pytest.mark.parametrize(
    ("matter", "leaving", "state", "follows"),
    [
        (None, None, "Ready", "True"),
        (None, "stopping", "Ready", "True"),
        (None, "leaving", "Offline", "True"),
        (LiveProblem("LiveRewritten", "x", True), None, "Error", "False"),
        (LiveProblem("LiveMissing", "x", False), None, "Ready", "True"),
    ],
)
def test_what_holds_for_the_host_holds_for_its_pools(
    matter: LiveProblem | None, leaving: str | None, state: str, follows: str
) -> None:
    pool = machine_pool(RuntimeState(ABOUT, offers()))
    found = pool_report.of_host(pool, matter, leaving)
    assert found.status.state == state
    assert found.status.conditions[-1].status == follows


HELD, WARNED = LiveProblem("LiveRewritten", "x", True), LiveProblem("LiveUntrusted", "x", False)

# the state of the runtime, what is wrong with `live`, whether the host leaves, the state of the pool
VOLUME_POOLS: dict[str, tuple[RuntimeState, LiveProblem | None, str | None, str]] = {
    "answers": (RuntimeState(ABOUT, offers()), None, None, "Available"),
    "answers, `live` has a warning": (RuntimeState(ABOUT, offers()), WARNED, None, "Available"),
    "answers, `live` is held": (RuntimeState(ABOUT, offers()), HELD, None, "Unavailable"),
    "answers, the process ends": (RuntimeState(ABOUT, offers()), None, "stopping", "Available"),
    "answers, the host leaves": (RuntimeState(ABOUT, offers()), None, "leaving", "Unavailable"),
    "answered before": (RuntimeState(ABOUT, offers(), "x"), None, None, "Unavailable"),
    "never answered": (RuntimeState(), None, None, "Pending"),
    "never answered, `live` is held": (RuntimeState(), HELD, None, "Pending"),
    "never answered, the host leaves": (RuntimeState(), None, "leaving", "Pending"),
}


@pytest.mark.parametrize(
    ("runtime_state", "problem", "leaving", "want"), VOLUME_POOLS.values(), ids=VOLUME_POOLS.keys()
)
def test_a_volume_pool_has_the_state_of_its_runtime_and_its_host(
    runtime_state: RuntimeState, problem: LiveProblem | None, leaving: str | None, want: str
) -> None:
    disks = PoolSettings(name="host-1", kind="VolumePool", runtime="r1")
    pool, _ = pool_report.volume_pool(disks, runtime_state, DECLARED, None)
    assert pool_report.of_host(pool, problem, leaving).status.state == want


READY: dict[str, tuple[RuntimeState, tuple[str, str, str]]] = {
    "answers": (RuntimeState(ABOUT, offers()), ("True", "RuntimeReady", "")),
    "does not answer": (
        RuntimeState(ABOUT, offers(), "refused"),
        ("False", "RuntimeUnreachable", "refused"),
    ),
    "has not answered yet": (
        RuntimeState(),
        ("False", "RuntimePending", "the runtime has not answered yet"),
    ),
    "never answered, and fails": (
        RuntimeState(error="no socket"),
        ("False", "RuntimeUnreachable", "no socket"),
    ),
    "answered in part": (
        RuntimeState(ABOUT),
        ("False", "RuntimePending", "the runtime has not answered yet"),
    ),
}


@pytest.mark.parametrize(("runtime_state", "want"), READY.values(), ids=READY.keys())
def test_a_pool_is_ready_while_its_runtime_answers(
    runtime_state: RuntimeState, want: tuple[str, str, str]
) -> None:
    (ready,) = [one for one in machine_pool(runtime_state).status.conditions if one.type == "Ready"]
    assert (ready.status, ready.reason, ready.message) == want


def about(host: iri.HostInfo) -> RuntimeState:
    return RuntimeState(iri.RuntimeInfo(name="r", version="1", host=host), offers())


def test_labels_and_addresses_that_a_report_cannot_carry_are_left_out() -> None:
    addresses = (
        iri.HostAddress(type="InternalIP", address="10.0.0.1"),
        iri.HostAddress(type="InternalIP", address=""),
        iri.HostAddress(type="Hostname", address="x" * 254),
        iri.HostAddress(type="Hostname", address="x" * 253),
    )
    labels = {"short": "x" * 63, "long": "x" * 64}
    found = machine_pool(about(iri.HostInfo(id="h", labels=labels, addresses=addresses)))
    assert found.labels == {"short": "x" * 63}
    assert [one.address for one in found.status.addresses] == ["10.0.0.1", "x" * 253]


def test_node_info_names_the_host_and_leaves_out_what_is_empty() -> None:
    hostname = iri.HostAddress(type="Hostname", address="rack-1")
    node = iri.NodeInfo(architecture="x86_64", cpu_model="x" * 300)
    found = machine_pool(about(iri.HostInfo(id="h", addresses=(hostname,), node_info=node)))
    assert found.status.node_info == {
        "architecture": "x86_64",
        "cpuModel": "x" * 253,
        "hostID": "h",
        "hostName": "rack-1",
        "runtime": "r",
        "runtimeVersion": "1",
    }

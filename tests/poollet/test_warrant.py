"""Orders are asked for again right before they are carried out: what was withdrawn while it waited is not done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from iri.change import SetPower
from iri.machine import Machine, Power
from iri.simulated.hindrance import HinderedRuntime
from poollet.decide.assignments import orders
from poollet.decide.decide import decide
from poollet.decide.memory import Memory
from poollet.decide.step import Alter, Ref, Remove, Step
from poollet.decide.warrant import of_order, of_orphan, warrants
from poollet.sync.view import Document, OrphanOrder
from schemas.kinds import Kind
from tests.poollet.documents import machine, snapshot, uid_of, volume
from tests.poollet.fleet import Fleet, machine_class, uid
from tests.poollet.fleet import machine as machine_text
from tests.poollet.site import Site, site
from tests.poollet.stage import Run, SimulatedMachine, Time

WEB = uid_of(Kind.MACHINE, "web")
RETAINED = ".gitvirt/retained/Volume/default/data.yaml"
ASIDE = ".gitvirt/deleting/Machine/default/web.yaml"

# decided by, what stands there now, whether it is still carried out
NOW: dict[str, tuple[list[Document], list[Document], bool]] = {
    "the same": ([machine(going=True)], [machine(going=True)], True),
    "only the status differs": (
        [machine(going=True)],
        [machine(going=True, status={"state": "Shutdown"})],
        True,
    ),
    "moved aside": ([machine(going=True)], [machine(going=True, path=ASIDE)], True),
    "deletion withdrawn": ([machine(going=True)], [machine()], False),
    "eviction withdrawn": ([machine(evicted=True)], [machine()], False),
    "eviction in place of deletion": ([machine(going=True)], [machine(evicted=True)], True),
    "of another assignment": ([machine(evicted=True)], [machine(evicted=True, round=1)], False),
    "paused": (
        [machine(going=True)],
        [machine(going=True, annotations={"gitvirt.dev/paused": "true"})],
        False,
    ),
    "not there any more": ([machine(going=True)], [], False),
    "twice there": ([machine(going=True)], [machine(going=True), machine(path="b.yaml")], False),
    "another wish": ([machine()], [machine(spec={"power": "Off"})], False),
    "retained instead of deleted": (
        [volume(going=True)],
        [volume(going=True, path=RETAINED)],
        False,
    ),
    "claimed meanwhile": ([volume(going=True)], [volume(going=True, claim="web")], False),
    "a snapshot": ([volume(), snapshot(going=True)], [volume(), snapshot(going=True)], True),
    "a snapshot that is to stay": ([volume(), snapshot(going=True)], [volume(), snapshot()], False),
}


@pytest.mark.parametrize(("before", "now", "is_done"), NOW.values(), ids=NOW.keys())
def test_whether_an_order_still_stands(before: list[Document], now: list[Document], is_done: bool) -> None:
    here = site(*before)
    order = orders(here.view, here.facts, Memory())[-1]
    step = Step(order.ref, "sim", "default", "web", (Remove(order.ref.kind, "x"),), warrant=of_order(order))
    here.documents = now
    assert warrants(here.view).cover(step) is is_done


def of_orphans(*documents: Document, orders: tuple[OrphanOrder, ...], unread: tuple[str, ...] = ()) -> Site:
    here = site(*documents)
    here.orphan_orders, here.unread = orders, unread
    return here


TOLD = OrphanOrder(WEB, "a")
ORPHANS: dict[str, tuple[Site, bool]] = {
    "the same": (of_orphans(orders=(TOLD,)), True),
    "withdrawn": (of_orphans(orders=()), False),
    "another pool": (of_orphans(orders=(OrphanOrder(WEB, "b"),)), False),
    "ordered meanwhile": (of_orphans(machine(), orders=(TOLD,)), False),
    "a part cannot be read": (of_orphans(orders=(TOLD,), unread=("x.yaml",)), False),
}


@pytest.mark.parametrize(("now", "is_done"), ORPHANS.values(), ids=ORPHANS.keys())
def test_whether_an_orphan_may_still_go(now: Site, is_done: bool) -> None:
    before = of_orphans(orders=(TOLD,))
    warrant = of_orphan(WEB, "a", before.view)
    step = Step(Ref(Machine, WEB), "sim", "default", "web", (Remove(Machine, "x"),), warrant=warrant)
    assert warrants(now.view).cover(step) is is_done


def test_every_step_of_a_decision_says_what_it_follows_from() -> None:
    here = site(machine(), volume(), snapshot())
    seen = 0
    for documents in (here.documents, [machine(going=True), volume(going=True), snapshot(going=True)]):
        here.documents = list(documents)
        for _ in range(20):
            decision = here.round(2.5)
            seen += len(decision.steps)
            assert all(warrants(here.view).cover(step) for step in decision.steps)
    assert seen >= 6


def test_a_step_without_a_warrant_is_not_carried_out() -> None:
    step = Step(Ref(Machine, WEB), "sim", "default", "web", (Alter("x", SetPower(Power.OFF)),))
    assert not warrants(site().view).cover(step)


GOING = '  deletionTimestamp: "2026-01-01T00:00:00Z"\n'


def texts(more: str = "", names: tuple[str, ...] = ("m1", "m2", "m3")) -> dict[str, str]:
    return {
        f"machines/{name}.yaml": machine_text(
            name, "host-1", uid(number), uid(90 + number), more if name in names else ""
        )
        for number, name in enumerate(("m1", "m2", "m3"), 1)
    }


def queued(gate: threading.Event, removals: list[str]) -> tuple[Fleet, Run]:
    """Three machines that are to go, the first of which waits for its runtime, and the others for the first."""
    time = Time()
    host = SimulatedMachine(time)

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        if call == "DeleteMachine":
            removals.append(call)
            assert gate.wait(60)
        yield

    grounds = Fleet({"classes/small.yaml": machine_class(cpu="1m", memory="1Mi"), **texts()})
    run = Run(grounds, time, host, decide=decide, runtime=HinderedRuntime(host.runtime, slow), workers=1)
    until(run, lambda: len(host.host.state.objects(Machine)) == 3 and run.poollet.is_at_rest)
    grounds.commit(dict(texts(GOING)))
    until(run, lambda: len(removals) == 1 and len(run.poollet.execution.attempts().busy) == 3)
    return grounds, run


def until(run: Run, is_so: Callable[[], bool]) -> None:
    """Turned as long as it takes; with each a breath for the thread that carries out."""
    breath = threading.Event()
    for _ in range(2_000):
        run.turn()
        if is_so():
            return
        run.time.ms += 2_500
        breath.wait(0.02)
    raise AssertionError("it does not come to that")


@pytest.mark.parametrize("is_withdrawn", [False, True])
def test_what_is_withdrawn_while_it_waits_is_not_removed(is_withdrawn: bool) -> None:
    gate, breath = threading.Event(), threading.Event()
    removals: list[str] = []
    grounds, run = queued(gate, removals)
    if is_withdrawn:
        grounds.commit(dict(texts(GOING, ("m1",))))
    run.remote.look()  # Seen, and nothing decided by it yet.
    gate.set()
    for _ in range(6_000):
        if run.poollet.execution.is_idle:
            break
        breath.wait(0.01)
    until(run, lambda: phases(run) == ["gone", *(["present"] * 2 if is_withdrawn else ["gone"] * 2)])
    turned(run)
    assert len(run.machine.host.state.objects(Machine)) == (2 if is_withdrawn else 0)
    assert len(removals) == (1 if is_withdrawn else 3)
    run.poollet.close()


def phases(run: Run) -> list[str]:
    return [entry.phase for _, entry in sorted(run.report().machines.items())]


def turned(run: Run) -> None:
    for _ in range(20):
        run.turn()
        run.time.ms += 2_500

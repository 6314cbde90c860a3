"""The precondition of an action is checked right before each call: an order that was withdrawn meanwhile is not carried out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from iri.change import SetPower
from iri.machine import Power, RuntimeMachine
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from poollet.decide.actions import ObjectAction, Ref, RemoveCall, UpdateCall
from poollet.decide.decide import decide
from poollet.decide.preconditions import digest_orders, still_holds
from poollet.sync.live_view import LiveDocument, LiveView, OrphanOrder, PoolGrant, PoolId
from schemas.kinds import Kind
from tests.poollet.documents import EPOCH, HOST, machine, referring, snapshot, uid_of, volume
from tests.poollet.fleet import Fleet, machine_class, uid
from tests.poollet.fleet import machine as machine_text
from tests.poollet.site import POOLS, A, site
from tests.poollet.stage import Run, StagedHost, Time

WEB, DATA = uid_of(Kind.MACHINE, "web"), uid_of(Kind.VOLUME, "data")
SNAP = uid_of(Kind.VOLUME_SNAPSHOT, "shot")
RETAINED = ".gitvirt/retained/Volume/default/data.yaml"
ASIDE = ".gitvirt/deleting/Machine/default/web.yaml"

OTHER = uid_of(Kind.MACHINE, "db")
ORPHAN = OrphanOrder(WEB, "a")
USER = machine(spec={"volumes": referring("data")})


class LiveDocuments(NamedTuple):
    """What `live` says at one moment."""

    documents: tuple[LiveDocument, ...] = ()
    orphans: tuple[OrphanOrder, ...] = ()
    unread: tuple[str, ...] = ()
    grants: Mapping[PoolId, PoolGrant] = dict.fromkeys(POOLS, PoolGrant(HOST, EPOCH))


def live(*documents: LiveDocument) -> LiveDocuments:
    return LiveDocuments(documents)


def granting(grant: PoolGrant) -> LiveDocuments:
    return LiveDocuments((machine(),), grants={**LiveDocuments().grants, A: grant})


def view_of(at: LiveDocuments) -> LiveView:
    here = site(*at.documents)
    here.orphan_orders, here.unread, here.grants = at.orphans, at.unread, dict(at.grants)
    return here.view


def pause(**more: bool) -> LiveDocument:
    return machine(annotations={"gitvirt.dev/paused": "true"}, **more)  # type: ignore[arg-type]


UNREAD = LiveDocuments((machine(going=True),), unread=("x.yaml",))
BOTH = LiveDocuments((machine(),), (ORPHAN,))

# uid, `live` at the decision, `live` right before the call, whether the call is made
CASES: dict[str, tuple[str, LiveDocuments, LiveDocuments, bool]] = {
    "the same": (WEB, live(machine(going=True)), live(machine(going=True)), True),
    "the claim of its volume is the same": (
        WEB,
        live(USER, volume(claim="web")),
        live(USER, volume(claim="web")),
        True,
    ),
    "another machine got its volume": (
        WEB,
        live(USER, volume(claim="web")),
        live(USER, volume(claim="db")),
        False,
    ),
    "its volume is released": (
        WEB,
        live(USER, volume(claim="web")),
        live(USER, volume(claim="web", released="c0ffee")),
        False,
    ),
    "only the status differs": (
        WEB,
        live(machine(going=True)),
        live(machine(going=True, status={"state": "Shutdown"})),
        True,
    ),
    "moved to .gitvirt/deleting": (
        WEB,
        live(machine(going=True)),
        live(machine(going=True, path=ASIDE)),
        True,
    ),
    "deletion withdrawn": (WEB, live(machine(going=True)), live(machine()), False),
    "deletion ordered": (WEB, live(machine()), live(machine(going=True)), False),
    "eviction withdrawn": (WEB, live(machine(evicted=True)), live(machine()), False),
    "eviction ordered": (WEB, live(machine()), live(machine(evicted=True)), False),
    "eviction in place of deletion": (WEB, live(machine(going=True)), live(machine(evicted=True)), True),
    "another assignment": (WEB, live(machine(evicted=True)), live(machine(evicted=True, round=1)), False),
    "another assignment, to be kept": (WEB, live(machine()), live(machine(round=1)), False),
    "another pool": (WEB, live(machine()), live(machine(pool="b")), False),
    "another host": (WEB, live(machine()), live(machine(host="another host")), False),
    "another epoch": (WEB, live(machine()), live(machine(epoch=EPOCH + 1)), False),
    "a grant for another host": (WEB, live(machine()), granting(PoolGrant("another host", EPOCH)), False),
    "a grant of another epoch": (WEB, live(machine()), granting(PoolGrant(HOST, EPOCH + 1)), False),
    "a cleared grant": (WEB, live(machine()), LiveDocuments((machine(),), grants={}), False),
    "paused": (WEB, live(machine(going=True)), live(pause(going=True)), False),
    "no longer paused": (WEB, live(pause()), live(machine()), False),
    "another annotation": (WEB, live(machine()), live(machine(annotations={"a": "b"})), False),
    "not on live any more": (WEB, live(machine(going=True)), live(), False),
    "twice on live": (
        WEB,
        live(machine(going=True)),
        live(machine(going=True), machine(path="b.yaml")),
        False,
    ),
    "another power": (WEB, live(machine()), live(machine(spec={"power": "Off"})), False),
    "another class": (WEB, live(machine()), live(machine(class_name="large")), False),
    "another object changed": (
        WEB,
        live(machine(), machine("db")),
        live(machine(), machine("db", going=True)),
        True,
    ),
    "another file unreadable": (WEB, live(machine(going=True)), UNREAD, True),
    "retained instead of deleted": (
        DATA,
        live(volume(going=True)),
        live(volume(going=True, path=RETAINED)),
        False,
    ),
    "retained still": (DATA, live(volume(path=RETAINED)), live(volume(path=RETAINED)), True),
    "claimed": (DATA, live(volume(going=True)), live(volume(going=True, claim="web")), False),
    "larger volume": (DATA, live(volume()), live(volume(size="2Gi")), False),
    "snapshot": (SNAP, live(volume(), snapshot(going=True)), live(volume(), snapshot(going=True)), True),
    "snapshot kept": (SNAP, live(volume(), snapshot(going=True)), live(volume(), snapshot()), False),
    "orphan": (WEB, LiveDocuments(orphans=(ORPHAN,)), LiveDocuments(orphans=(ORPHAN,)), True),
    "orphan order withdrawn": (WEB, LiveDocuments(orphans=(ORPHAN,)), live(), False),
    "orphan of another pool": (
        WEB,
        LiveDocuments(orphans=(ORPHAN,)),
        LiveDocuments(orphans=(OrphanOrder(WEB, "b"),)),
        False,
    ),
    "orphan of another uid": (
        WEB,
        LiveDocuments(orphans=(ORPHAN,)),
        LiveDocuments(orphans=(OrphanOrder(OTHER, "a"),)),
        False,
    ),
    "another orphan as well": (
        WEB,
        LiveDocuments(orphans=(ORPHAN,)),
        LiveDocuments(orphans=(ORPHAN, OrphanOrder(OTHER, "a"))),
        True,
    ),
    "orphan assigned again": (WEB, LiveDocuments(orphans=(ORPHAN,)), BOTH, False),
    "orphan beside its document": (WEB, BOTH, BOTH, True),
    "orphan, a file unreadable": (
        WEB,
        LiveDocuments(orphans=(ORPHAN,)),
        LiveDocuments(orphans=(ORPHAN,), unread=("x.yaml",)),
        False,
    ),
    "orphan beside its document, a file unreadable": (WEB, BOTH, BOTH._replace(unread=("x.yaml",)), False),
    "nothing said, before and now": (WEB, live(), live(), False),
}


@pytest.mark.parametrize(("uid", "decided_by", "now", "is_made"), CASES.values(), ids=CASES.keys())
def test_a_call_is_made_only_while_live_says_the_same_of_its_object(
    uid: str, decided_by: LiveDocuments, now: LiveDocuments, is_made: bool
) -> None:
    precondition = digest_orders(uid, view_of(decided_by))
    action = ObjectAction(
        Ref(RuntimeMachine, uid),
        "sim",
        "default",
        "web",
        (RemoveCall(RuntimeMachine, "x"),),
        precondition=precondition,
    )
    assert still_holds(action, view_of(now)) is is_made


def test_every_action_of_a_decision_carries_its_precondition() -> None:
    here = site(machine(), volume(), snapshot())
    seen = 0
    for documents in (here.documents, [machine(going=True), volume(going=True), snapshot(going=True)]):
        here.documents = list(documents)
        for _ in range(20):
            decision = here.round(2.5)
            seen += len(decision.actions)
            assert all(still_holds(action, here.view) for action in decision.actions)
    assert seen >= 6


def test_an_action_without_a_precondition_makes_no_call() -> None:
    action = ObjectAction(
        Ref(RuntimeMachine, WEB), "sim", "default", "web", (UpdateCall("x", SetPower(Power.OFF)),)
    )
    assert not still_holds(action, site(machine()).view)


GOING = '  deletionTimestamp: "2026-01-01T00:00:00Z"\n'


def texts(more: str = "", names: tuple[str, ...] = ("m1", "m2", "m3")) -> dict[str, str]:
    return {
        f"machines/{name}.yaml": machine_text(
            name, "host-1", uid(number), uid(90 + number), more if name in names else ""
        )
        for number, name in enumerate(("m1", "m2", "m3"), 1)
    }


def queue_removals(gate: threading.Event, removals: list[str]) -> tuple[Fleet, Run]:
    """Three machines that are to go, the first of which waits for its runtime, and the others for the first."""
    time = Time()
    host = StagedHost(time)

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        if call == "DeleteMachine":
            removals.append(call)
            assert gate.wait(60)
        yield

    grounds = Fleet({"classes/small.yaml": machine_class(cpu="1m", memory="1Mi"), **texts()})
    run = Run(
        grounds, time, host, decide=decide, runtime=FaultInjectingRuntime(host.runtime, slow), workers=1
    )
    until(run, lambda: len(host.host.state.objects(RuntimeMachine)) == 3 and run.agent.is_at_rest)
    grounds.commit(dict(texts(GOING)))
    until(run, lambda: len(removals) == 1 and len(run.agent.executor.state().busy) == 3)
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
def test_a_removal_that_is_withdrawn_while_queued_is_not_made(is_withdrawn: bool) -> None:
    gate, breath = threading.Event(), threading.Event()
    removals: list[str] = []
    grounds, run = queue_removals(gate, removals)
    if is_withdrawn:
        grounds.commit(dict(texts(GOING, ("m1",))))
    run.remote.fetch()  # Seen, and nothing decided by it yet.
    gate.set()
    for _ in range(6_000):
        if run.agent.executor.is_idle:
            break
        breath.wait(0.01)
    until(run, lambda: phases(run) == ["gone", *(["present"] * 2 if is_withdrawn else ["gone"] * 2)])
    turn_often(run)
    assert len(run.machine.host.state.objects(RuntimeMachine)) == (2 if is_withdrawn else 0)
    assert len(removals) == (1 if is_withdrawn else 3)
    run.agent.close()


def phases(run: Run) -> list[str]:
    return [entry.phase for _, entry in sorted(run.report().machines.items())]


def turn_often(run: Run) -> None:
    for _ in range(20):
        run.turn()
        run.time.ms += 2_500

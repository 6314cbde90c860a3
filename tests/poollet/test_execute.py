"""Steps carried out: several at once, one an object, idempotent, and with a pause after each failure."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from iri.change import DetachVolume, SetPower
from iri.errors import Internal, InvalidArgument, IRIError, NotFound, Unavailable
from iri.identity import UID_LABELS
from iri.machine import Power, RuntimeMachine, RuntimeMachineSpec
from iri.runtime import Runtime
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from iri.simulated.runtime import SimulatedRuntime
from poollet.decide.actions import Call, Create, ObjectAction, Ref, Remove, Update
from poollet.runtimes.executor import HOPELESS_PAUSE_MS, LONGEST_PAUSE_MS, Executor
from tests.iri.quick_host import quick_host


def wanted(uid: str) -> RuntimeMachine:
    return RuntimeMachine(
        labels={UID_LABELS[RuntimeMachine]: uid}, spec=RuntimeMachineSpec(class_name="small")
    )


def step(uid: str, *calls: Call, runtime: str = "r1") -> ObjectAction:
    return ObjectAction(Ref(RuntimeMachine, uid), runtime, "default", uid, calls)


class Desk:
    """An execution, the time it is given, and what ended."""

    def __init__(self, runtimes: Mapping[str, Runtime], workers: int = 0) -> None:
        self.now_ms = 1_000_000
        self.ended: list[tuple[str, str]] = []
        self.execution = Executor(
            runtimes,
            lambda: self.now_ms,
            random.Random(1),
            lambda step, fault: self.ended.append((step.name, fault)),
            workers,
        )


def test_what_exists_is_not_created_again_and_what_is_gone_is_gone() -> None:
    runtime = SimulatedRuntime(quick_host())
    desk = Desk({"r1": runtime})
    desk.execution.submit([step("m1", Create(wanted("m1"))), step("m1", Create(wanted("m1")))])
    assert len(runtime.objects(RuntimeMachine)) == 1
    desk.execution.submit([step("m2", Remove(RuntimeMachine, "nobody"))])
    assert [fault for _, fault in desk.ended] == ["", "", ""]
    desk.execution.submit([step("m3", Update("nobody", SetPower(Power.OFF)))])
    assert desk.ended[-1][1]


def around(error: IRIError | None, calls: list[str], only: str = "") -> FaultInjectingRuntime:
    @contextmanager
    def hindered(call: str) -> Iterator[None]:
        calls.append(call)
        if error is not None and call.startswith(only):
            raise error
        yield

    return FaultInjectingRuntime(SimulatedRuntime(quick_host()), hindered)


def test_to_detach_what_is_not_attached_has_succeeded() -> None:
    desk = Desk({"r1": around(NotFound("no such"), [])})
    desk.execution.submit([step("m1", Update("m1", DetachVolume("data")))])
    assert desk.ended == [("m1", "")]


def test_the_first_error_ends_a_step_and_pauses_grow() -> None:
    calls: list[str] = []
    desk = Desk({"r1": around(Unavailable("later"), calls, "Delete")})
    pauses, counts = [], []
    for _ in range(12):
        desk.execution.submit([step("m1", Remove(RuntimeMachine, "x"), Create(wanted("m1")))])
        (failure,) = desk.execution.attempts().failures[Ref(RuntimeMachine, "m1")]
        pauses.append(failure.retry_ms - desk.now_ms)
        counts.append(failure.count)
        desk.now_ms = failure.retry_ms
        assert (failure.code, failure.message) == ("Unavailable", "later")
    assert "CreateMachine" not in calls
    assert 500 <= pauses[0] <= 1000
    assert LONGEST_PAUSE_MS / 2 <= pauses[-1] <= LONGEST_PAUSE_MS
    assert counts == list(range(1, 13))


@pytest.mark.parametrize("error", [InvalidArgument("no"), Internal("bug")])
def test_what_cannot_succeed_is_not_tried_in_haste(error: IRIError) -> None:
    desk = Desk({"r1": around(error, [], "Delete")})
    desk.execution.submit([step("m1", Remove(RuntimeMachine, "x"))])
    (failure,) = desk.execution.attempts().failures[Ref(RuntimeMachine, "m1")]
    is_hopeless = isinstance(error, InvalidArgument)
    assert (failure.retry_ms - desk.now_ms >= HOPELESS_PAUSE_MS / 2) is is_hopeless


def test_one_step_an_object_and_a_slow_runtime_holds_up_no_other() -> None:
    gate, begun = threading.Event(), threading.Semaphore(0)
    done = threading.Semaphore(0)

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        begun.release()
        assert gate.wait(60)
        yield

    runtimes: dict[str, Runtime] = {
        "r1": FaultInjectingRuntime(SimulatedRuntime(quick_host()), slow),
        "r2": SimulatedRuntime(quick_host()),
    }
    ended: list[str] = []

    def over(step: ObjectAction, fault: str) -> None:
        ended.append(step.name)
        done.release()

    execution = Executor(runtimes, lambda: 1, random.Random(1), over, workers=2)
    names = [f"m{number}" for number in range(5)]
    execution.submit([step(name, Create(wanted(name))) for name in names])
    execution.submit([step(names[0], Create(wanted(names[0])))])
    for _ in range(2):
        assert begun.acquire(timeout=60)
    execution.submit([step("other", Create(wanted("other")), runtime="r2")])
    assert done.acquire(timeout=60)
    assert ended == ["other"]
    assert execution.attempts().busy == {Ref(RuntimeMachine, name) for name in names}
    gate.set()
    for _ in names:
        assert done.acquire(timeout=60)
    execution.close()
    assert execution.is_idle
    assert len(runtimes["r1"].objects(RuntimeMachine)) == 5


def test_what_has_not_begun_is_dropped_and_may_be_ordered_again() -> None:
    gate, begun, done = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        begun.release()
        assert gate.wait(60)
        yield

    runtime = FaultInjectingRuntime(SimulatedRuntime(quick_host()), slow)
    ended: list[str] = []

    def over(step: ObjectAction, fault: str) -> None:
        ended.append(step.name)
        done.release()

    execution = Executor({"r1": runtime}, lambda: 1, random.Random(1), over, workers=1)
    execution.submit([step(name, Create(wanted(name))) for name in ("m1", "m2", "m3")])
    assert begun.acquire(timeout=60)
    execution.drop()
    assert execution.attempts().busy == {Ref(RuntimeMachine, "m1")}
    execution.submit([step("m3", Create(wanted("m3")))])
    gate.set()
    for _ in range(2):
        assert done.acquire(timeout=60)
    execution.close()
    assert ended == ["m1", "m3"]
    assert len(runtime.objects(RuntimeMachine)) == 2

"""Actions run against runtimes: several at once, one for each object, idempotent, each call with a result."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest

from iri.change import DetachVolume, SetPower
from iri.errors import Internal, IRIError, NotFound, Unavailable
from iri.identity import UID_LABELS
from iri.machine import Power, RuntimeMachine, RuntimeMachineSpec
from iri.runtime import Runtime
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from iri.simulated.runtime import SimulatedRuntime
from poollet.decide.actions import (
    Call,
    CallError,
    CallResult,
    CreateCall,
    EventText,
    ObjectAction,
    Ref,
    RemoveCall,
    UpdateCall,
)
from poollet.runtimes.executor import KEPT_MS, Executor
from tests.iri.quick_host import quick_host


def make_machine(uid: str) -> RuntimeMachine:
    return RuntimeMachine(
        labels={UID_LABELS[RuntimeMachine]: uid}, spec=RuntimeMachineSpec(class_name="small")
    )


def step(uid: str, *calls: Call, runtime: str = "r1") -> ObjectAction:
    return ObjectAction(Ref(RuntimeMachine, uid), runtime, "default", uid, calls)


class ExecutorUnderTest:
    """An executor, the time it is given, and the actions that ended."""

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


def test_creating_what_exists_and_removing_what_is_gone_succeed() -> None:
    runtime = SimulatedRuntime(quick_host())
    tested = ExecutorUnderTest({"r1": runtime})
    tested.execution.submit(
        [step("m1", CreateCall(make_machine("m1"))), step("m1", CreateCall(make_machine("m1")))]
    )
    assert len(runtime.objects(RuntimeMachine)) == 1
    tested.execution.submit([step("m2", RemoveCall(RuntimeMachine, "unknown"))])
    assert [fault for _, fault in tested.ended] == ["", "", ""]
    tested.execution.submit([step("m3", UpdateCall("unknown", SetPower(Power.OFF)))])
    assert tested.ended[-1][1]


def around(error: IRIError | None, calls: list[str], only: str = "") -> FaultInjectingRuntime:
    @contextmanager
    def inject(call: str) -> Iterator[None]:
        calls.append(call)
        if error is not None and call.startswith(only):
            raise error
        yield

    return FaultInjectingRuntime(SimulatedRuntime(quick_host()), inject)


def test_detaching_a_volume_that_is_not_attached_succeeds() -> None:
    tested = ExecutorUnderTest({"r1": around(NotFound("no such"), [])})
    tested.execution.submit([step("m1", UpdateCall("m1", DetachVolume("data")))])
    assert tested.ended == [("m1", "")]


def results_of(tested: ExecutorUnderTest, uid: str) -> tuple[CallResult, ...]:
    return tested.execution.state().results[Ref(RuntimeMachine, uid)]


def test_the_first_error_ends_an_action_and_the_calls_after_it_are_skipped() -> None:
    calls: list[str] = []
    tested = ExecutorUnderTest({"r1": around(Unavailable("later"), calls, "Delete")})
    detach, remove = UpdateCall("x", DetachVolume("data")), RemoveCall(RuntimeMachine, "x")
    create = CreateCall(make_machine("m1"))
    tested.execution.submit([step("m1", detach, remove, create)])
    first, second, third = results_of(tested, "m1")
    assert (first.call, first.error, first.is_skipped) == (detach, None, False)
    assert (second.call, second.error, second.is_skipped) == (
        remove,
        CallError("Unavailable", "later"),
        False,
    )
    assert (third.call, third.error, third.is_skipped) == (create, None, True)
    assert 0.5 <= second.spread <= 1.0
    assert "CreateMachine" not in calls
    assert tested.ended == [("m1", "later")]


def test_the_waits_of_calls_that_fail_together_are_spread() -> None:
    tested = ExecutorUnderTest({"r1": around(Unavailable("later"), [], "Delete")})
    names = [f"m{number}" for number in range(20)]
    tested.execution.submit([step(name, RemoveCall(RuntimeMachine, "x")) for name in names])
    assert len({results_of(tested, name)[0].spread for name in names}) == len(names)


def test_an_error_without_a_message_is_reported_with_its_name() -> None:
    tested = ExecutorUnderTest({"r1": around(Internal(""), [], "Delete")})
    tested.execution.submit([step("m1", RemoveCall(RuntimeMachine, "x"))])
    message = "the runtime answered Internal without a message"
    assert results_of(tested, "m1")[0].error == CallError("Internal", message)
    assert tested.ended == [("m1", message)]


def test_results_are_kept_for_ten_minutes() -> None:
    tested = ExecutorUnderTest({"r1": SimulatedRuntime(quick_host())})
    tested.execution.submit([step("m1", CreateCall(make_machine("m1")))])
    tested.now_ms += KEPT_MS - 1
    assert tested.execution.state().results
    tested.now_ms += 1
    assert not tested.execution.state().results
    assert not tested.execution.state().ended_ms


@pytest.mark.parametrize("valid_for", [0, 1])
def test_calls_that_live_does_not_order_any_more_are_cancelled(valid_for: int) -> None:
    runtime = SimulatedRuntime(quick_host())
    checks: list[str] = []

    def is_valid(action: ObjectAction) -> bool:
        checks.append(action.name)
        return len(checks) <= valid_for

    ended: list[tuple[str, str, int]] = []
    executor = Executor(
        {"r1": runtime},
        lambda: 1_000,
        random.Random(1),
        lambda action, error: ended.append((action.name, error, len(action.events))),
        0,
        is_valid,
    )
    action = replace(
        step("m1", CreateCall(make_machine("m1")), RemoveCall(RuntimeMachine, "x")),
        events=(EventText("Created", ""),),
    )
    executor.submit([action])
    assert ended == [("m1", "", 0)]
    assert len(runtime.objects(RuntimeMachine)) == valid_for
    assert len(executor.state().results.get(action.ref, ())) == valid_for
    assert executor.is_idle


def test_a_fault_of_the_poollet_is_an_error_of_the_call_that_was_under_way() -> None:
    done = threading.Event()

    @contextmanager
    def broken(call: str) -> Iterator[None]:
        if call == "DeleteMachine":
            raise ZeroDivisionError
        yield

    runtime = FaultInjectingRuntime(SimulatedRuntime(quick_host()), broken)
    executor = Executor({"r1": runtime}, lambda: 1_000, random.Random(1), lambda *_: done.set(), workers=1)
    executor.submit([step("m1", CreateCall(make_machine("m1")), RemoveCall(RuntimeMachine, "x"))])
    assert done.wait(60)
    created, removed = executor.state().results[Ref(RuntimeMachine, "m1")]
    assert created.error is None
    assert removed.error == CallError("Internal", "internal error of the poollet: ZeroDivisionError")
    executor.close()


def test_an_object_has_one_action_and_a_slow_runtime_holds_up_no_other() -> None:
    gate, started = threading.Event(), threading.Semaphore(0)
    done = threading.Semaphore(0)

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        started.release()
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
    execution.submit([step(name, CreateCall(make_machine(name))) for name in names])
    execution.submit([step(names[0], CreateCall(make_machine(names[0])))])
    for _ in range(2):
        assert started.acquire(timeout=60)
    execution.submit([step("other", CreateCall(make_machine("other")), runtime="r2")])
    assert done.acquire(timeout=60)
    assert ended == ["other"]
    assert execution.state().busy == {Ref(RuntimeMachine, name) for name in names}
    gate.set()
    for _ in names:
        assert done.acquire(timeout=60)
    execution.close()
    assert execution.is_idle
    assert len(runtimes["r1"].objects(RuntimeMachine)) == 5


def test_queued_actions_are_cancelled_and_may_be_ordered_again() -> None:
    gate, started, done = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        started.release()
        assert gate.wait(60)
        yield

    runtime = FaultInjectingRuntime(SimulatedRuntime(quick_host()), slow)
    ended: list[str] = []

    def over(step: ObjectAction, fault: str) -> None:
        ended.append(step.name)
        done.release()

    execution = Executor({"r1": runtime}, lambda: 1, random.Random(1), over, workers=1)
    execution.submit([step(name, CreateCall(make_machine(name))) for name in ("m1", "m2", "m3")])
    assert started.acquire(timeout=60)
    execution.cancel_queued()
    assert execution.state().busy == {Ref(RuntimeMachine, "m1")}
    execution.submit([step("m3", CreateCall(make_machine("m3")))])
    gate.set()
    for _ in range(2):
        assert done.acquire(timeout=60)
    execution.close()
    assert ended == ["m1", "m3"]
    assert len(runtime.objects(RuntimeMachine)) == 2


def test_the_log_has_the_reason_of_an_action_that_no_order_names(caplog: pytest.LogCaptureFixture) -> None:
    tested = ExecutorUnderTest({"r1": SimulatedRuntime(quick_host())})
    removal = step("m1", RemoveCall(RuntimeMachine, "unknown"))
    with caplog.at_level(logging.INFO, "poollet.runtimes.executor"):
        tested.execution.submit([removal, replace(removal, why="host h2 has it")])
    done = [each.getMessage() for each in caplog.records if "action done" in each.getMessage()]
    assert [each.rpartition("calls=")[2] for each in done] == ["Remove", "Remove why=host h2 has it"]

"""The remedies that a plan proposes: one for each reason, what counts as less effort, and what is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.plan.suggestion import is_rounded_away, is_short, suggest
from reconciler.schedule.decision import Predicate, Reason, Refusal

SHORT = Reason(Predicate.CAPACITY, "cpu is short", "cpu", "4", "1500m")
VOLUME = Reason(Predicate.VOLUME_CAPACITY, "storage is short", "storage", "2Gi", "1Gi", volume="a/b", volume_pool="c")  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "want"),
    [
        pytest.param(Reason(Predicate.READY, "x"), "the pool ready", id="not ready"),
        pytest.param(Reason(Predicate.CORDON, "x"), "the pool uncordoned", id="cordoned"),
        pytest.param(Reason(Predicate.TAINT, "x", taint="gpu:NoSchedule"), "a toleration of gpu:NoSchedule", id="a taint"),
        pytest.param(Reason(Predicate.SELECTOR, "x", "zone", "a", "b"), "label zone=a on it", id="a label that differs"),
        pytest.param(Reason(Predicate.CLASS, "x"), "that class offered", id="a class"),
        pytest.param(Reason(Predicate.PINNED, "x"), "the pin removed", id="a pin"),
        pytest.param(Reason(Predicate.REJECTED, "x"), "the reason for its rejection fixed", id="a rejection"),
        pytest.param(Reason(Predicate.ANTI_AFFINITY, "x"), "the machines that it keeps apart from moved to other pools", id="anti-affinity"),
        pytest.param(Reason(Predicate.SPREAD, "x", "maxSkew", "2", "1"), "a larger maxSkew", id="the skew"),
        pytest.param(Reason(Predicate.SPREAD, "x"), "that label on it", id="spread over a label that the pool lacks"),
        pytest.param(Reason(Predicate.VOLUME, "x"), "its volumes within reach", id="volumes out of reach"),
        pytest.param(Reason(Predicate.CAPACITY, "x", "cpu", "4", "1500m"), "cpu 2500m more", id="cpu, exactly"),
        pytest.param(Reason(Predicate.CAPACITY, "x", "memory", "64Gi", "60Gi"), "memory 4Gi more", id="memory in the notation of the need"),
        pytest.param(Reason(Predicate.CAPACITY, "x", "share", "1/3 of the host", "0 of the host"), "share (1/3 of the host needed, 0 of the host there) more", id="amounts that are not quantities"),
        pytest.param(VOLUME, "storage 1Gi more for its volumes", id="room for volumes"),
        pytest.param(replace(VOLUME, need="", have=""), "a volume pool that takes its volumes", id="another reason of a volume pool"),
        pytest.param(Reason(Predicate.QUOTA, "x", "requests.cpu", "2", "1"), "requests.cpu 1 more in its quota", id="a quota"),
        pytest.param(Reason(Predicate.NO_POOLS, "x"), "a pool", id="no pools"),
    ],
)  # fmt: skip
def test_each_reason_has_its_step(reason: Reason, want: str) -> None:
    assert suggest([Refusal("p", (reason,))]) == f"p with {want}"


@pytest.mark.parametrize(
    ("easier", "harder"),
    [
        pytest.param(Predicate.PINNED, Predicate.SPREAD, id="a pin before a rule"),
        pytest.param(Predicate.CORDON, Predicate.CLASS, id="a switch before a class"),
        pytest.param(Predicate.TAINT, Predicate.CAPACITY, id="a toleration before memory"),
        pytest.param(Predicate.SELECTOR, Predicate.ANTI_AFFINITY, id="a label before distance"),
        pytest.param(Predicate.CLASS, Predicate.VOLUME_CAPACITY, id="a class before disks"),
        pytest.param(Predicate.VOLUME, Predicate.CAPACITY, id="reach before memory"),
        pytest.param(Predicate.CAPACITY, Predicate.REJECTED, id="memory before what only the host knows"),
        pytest.param(Predicate.REJECTED, Predicate.READY, id="a rejection before a host that is down"),
    ],
)
def test_the_pool_with_less_effort_is_proposed(easier: Predicate, harder: Predicate) -> None:
    """The harder one is first by name, so the name alone does not decide."""
    refusals = [Refusal("a", (Reason(harder, "x", "cpu", "2", "1"),)), Refusal("b", (Reason(easier, "x", "cpu", "2", "1"),))]  # fmt: skip
    for rows in (refusals, refusals[::-1]):
        assert suggest(rows).startswith("b with ")


@pytest.mark.parametrize(
    ("reasons", "want"),
    [
        pytest.param((SHORT, SHORT), "p with cpu 2500m more", id="the same step twice is written once"),
        pytest.param((SHORT, Reason(Predicate.CORDON, "x")), "p with cpu 2500m more, the pool uncordoned", id="two steps in their order"),
        pytest.param((replace(SHORT, need="4", have="4"),), "p ", id="amounts that read alike are not a step"),
        pytest.param((VOLUME, replace(VOLUME, need="", have="")), "p with a volume pool that takes its volumes", id="an amount that alone would not do is left out"),
        pytest.param((VOLUME, replace(VOLUME, resource="iops", need="9", have="3")), "p with storage 1Gi more for its volumes, iops 6 more for its volumes", id="two amounts for volumes"),
    ],
)  # fmt: skip
def test_steps_of_one_pool_are_joined(reasons: tuple[Reason, ...], want: str) -> None:
    assert suggest([Refusal("p", reasons)]) == want


@pytest.mark.parametrize(
    ("need", "have", "short", "alike"),
    [
        pytest.param("4", "1", True, False, id="short"),
        pytest.param("4", "4", False, True, id="alike"),
        pytest.param("", "", False, False, id="no amounts"),
        pytest.param("4", "", False, False, id="nothing to compare with"),
    ],
)
def test_amounts_are_short_or_read_alike(need: str, have: str, short: bool, alike: bool) -> None:
    reason = replace(SHORT, need=need, have=have)
    assert (is_short(reason), is_rounded_away(reason)) == (short, alike)

"""The smallest change that would make it fit."""

from dataclasses import replace

import pytest

from reconciler.plan.suggestion import suggest
from reconciler.schedule.decision import Predicate, Reason, Refusal

SHORT = Reason(Predicate.CAPACITY, "memory is short", "memory", "64Gi", "12Gi")
TAINTED = Reason(Predicate.TAINT, "a taint", taint="gpu=yes:NoSchedule")
NEARLY = Reason(Predicate.CAPACITY, "memory is short", "memory", "64Gi", "60Gi")
ALIKE = Reason(Predicate.CAPACITY, "the host is short", "share", "1 of the host", "1 of the host")
VOLUME_SHORT = Reason(
    Predicate.VOLUME_CAPACITY, "storage is short", "storage", "2Ti", "1Ti", volume="a/b", volume_pool="c"
)
VOLUME_OFFLINE = Reason(Predicate.VOLUME_CAPACITY, "its poollet left", volume="a/b", volume_pool="d")
OFFLINE = Reason(Predicate.READY, "its poollet left")
QUOTA = Reason(Predicate.QUOTA, "quota small of namespace default", "requests.cpu", "4", "1500m")


@pytest.mark.parametrize(
    ("refusals", "want"),
    [
        pytest.param((), "", id="without a refusal"),
        pytest.param(
            (Refusal("a", (SHORT,)),),
            "a with memory 52Gi more",
            id="the difference, in the notation of the need",
        ),
        pytest.param(
            (Refusal("a", (SHORT,)), Refusal("b", (TAINTED,))),
            "b with a toleration of gpu=yes:NoSchedule",
            id="a field is easier than memory",
        ),
        pytest.param(
            (Refusal("a", (SHORT, TAINTED)), Refusal("b", (SHORT,))),
            "b with memory 52Gi more",
            id="fewer are less",
        ),
        pytest.param(
            (Refusal("a", (SHORT,)), Refusal("b", (NEARLY,))),
            "b with memory 4Gi more",
            id="the smaller shortage",
        ),
        pytest.param(
            (Refusal("a", (VOLUME_SHORT,)),),
            "a with storage 1Ti more for its volumes",
            id="room for its volumes",
        ),
        pytest.param(
            (Refusal("a", (VOLUME_SHORT, VOLUME_OFFLINE)),),
            "a with a volume pool that takes its volumes",
            id="room alone would not do",
        ),
        pytest.param(
            (Refusal("a", (ALIKE, TAINTED)),), "a with a toleration of gpu=yes:NoSchedule", id="alike amounts"
        ),
        pytest.param(
            (Refusal("b", (OFFLINE,)), Refusal("a", (OFFLINE,))), "a with the pool ready", id="ties by name"
        ),
        pytest.param(
            (Refusal("", (QUOTA,)), Refusal("a", (SHORT,))),
            "with requests.cpu 2500m more in its quota, and a with memory 52Gi more",
            id="what concerns the object as such is needed anyhow",
        ),
        pytest.param(
            (
                Refusal("a", (Reason(Predicate.DESTROYED, "gone"),)),
                Refusal("b", (OFFLINE, SHORT, Reason(Predicate.REJECTED, "no"))),
            ),
            "b with the pool ready, memory 52Gi more, the reason for its rejection fixed",
            id="never the pool of a destroyed host",
        ),
        pytest.param((Refusal("", (Reason(Predicate.NO_POOLS, "none"),)),), "with a pool", id="no pools"),
    ],
)
def test_remedy(refusals: tuple[Refusal, ...], want: str) -> None:
    assert suggest(refusals) == want
    assert suggest(tuple(reword(refusal) for refusal in refusals)) == want, "no message is read back"


def reword(refusal: Refusal) -> Refusal:
    return replace(refusal, reasons=tuple(replace(each, message="~") for each in refusal.reasons))


def test_every_predicate_has_a_remedy() -> None:
    for predicate in Predicate:
        assert suggest((Refusal("a", (Reason(predicate, "words", "cpu", "2", "1"),)),))

"""What people changed, and when it takes effect."""

import pytest

from reconciler.plan.source_changes import Effect, SourceChange, compare_sources
from schemas.kinds import Key, Kind

WEB = Key(Kind.MACHINE, "default", "web-1")
DATA = Key(Kind.VOLUME, "default", "data")


@pytest.mark.parametrize(
    ("key", "before", "after", "want"),
    [
        pytest.param(WEB, None, {"spec": {}}, SourceChange(WEB, is_added=True), id="added"),
        pytest.param(WEB, {"spec": {}}, None, SourceChange(WEB, is_gone=True), id="gone"),
        pytest.param(
            WEB,
            {"spec": {"power": "On"}},
            {"spec": {"power": "Off"}},
            SourceChange(WEB, fields=("spec.power",)),
            id="live",
        ),
        pytest.param(
            WEB,
            {"spec": {"machineClassRef": {"name": "small"}, "power": "On"}},
            {"spec": {"machineClassRef": {"name": "large"}, "power": "Off"}},
            SourceChange(WEB, fields=("spec.machineClassRef.name", "spec.power"), effect=Effect.NEXT_BOOT),
            id="the one that takes longest counts",
        ),
        pytest.param(
            WEB,
            {"spec": {"machinePoolSelector": {"zone": "a"}}},
            {"spec": {}},
            SourceChange(WEB, fields=("spec.machinePoolSelector",), effect=Effect.NEXT_PLACEMENT),
            id="where it goes when it is placed next",
        ),
        pytest.param(
            DATA,
            {"spec": {"image": "a"}},
            {"spec": {"image": "b"}},
            SourceChange(DATA, fields=("spec.image",), effect=Effect.RECREATE),
            id="recreated",
        ),
    ],
)
def test_declared(key: Key, before: object, after: object, want: SourceChange) -> None:
    def documents(body: object) -> dict[Key, dict[str, object]]:
        return {key: body} if isinstance(body, dict) else {}

    assert compare_sources(documents(before), documents(after)) == (want,)


def test_the_same_and_what_people_write_into_status_are_no_change() -> None:
    assert compare_sources({WEB: {"spec": {}, "status": {"state": "Running"}}}, {WEB: {"spec": {}}}) == ()

"""Which file of the target branch a document goes to."""

from __future__ import annotations

import pytest

from reconciler.plan.types import Action, Change
from reconciler.world.objects.object_state import Origin
from reconciler.world.record import NOTHING, Record
from reconciler.write.document_paths import DocumentPaths
from schemas.kinds import Key, Kind
from tests.reconciler.write.site import Site

WEB = Key(Kind.MACHINE, "default", "web")
DATA = Key(Kind.VOLUME, "default", "data")
POOL = Key(Kind.MACHINE_POOL, "", "a")
MACHINE = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\nmetadata: {name: web}\nspec:\n  machineClassRef: {name: small}\n"
VOLUME = (
    MACHINE.replace("compute", "storage")
    .replace("Machine", "Volume")
    .replace("web", "data")
    .replace(
        "  machineClassRef: {name: small}\n", "  volumeClassRef: {name: fast}\n  resources: {storage: 1Gi}\n"
    )
)
OTHER = MACHINE.replace("web", "other")
KEPT = Record(uid="u")

# What the source and live have, the change, and where the document goes.
TABLE: dict[str, tuple[dict[str, str], dict[str, str], Key, Change | None, str | None]] = {
    "declared": ({"m.yaml": MACHINE}, {}, WEB, None, "m.yaml"),
    "declared in another file by now": ({"n.yaml": MACHINE}, {"m.yaml": MACHINE}, WEB, None, "n.yaml"),
    "unknown": ({}, {}, WEB, None, None),
    "left the source": ({}, {"m.yaml": MACHINE}, WEB, None, "m.yaml"),
    "left the source, and its file declares another": (
        {"m.yaml": OTHER},
        {"m.yaml": MACHINE},
        WEB,
        None,
        ".gitvirt/deleting/Machine/default/web.yaml",
    ),
    "left the source, and a folder has the name of its file": (
        {"m.yaml/o.yaml": OTHER},
        {"m.yaml": MACHINE},
        WEB,
        None,
        ".gitvirt/deleting/Machine/default/web.yaml",
    ),
    "moved aside before": (
        {"m.yaml": OTHER},
        {".gitvirt/deleting/Machine/default/web.yaml": MACHINE},
        WEB,
        None,
        ".gitvirt/deleting/Machine/default/web.yaml",
    ),
    "its document goes": (
        {},
        {"m.yaml": MACHINE},
        WEB,
        Change(WEB, Action.REMOVE, KEPT, None),
        None,
    ),
    "retained": (
        {},
        {"v.yaml": VOLUME},
        DATA,
        Change(DATA, Action.RETAIN, KEPT, KEPT),
        ".gitvirt/retained/Volume/default/data.yaml",
    ),
    "generated": (
        {},
        {},
        DATA,
        Change(DATA, Action.GENERATE, None, KEPT, body={"kind": "Volume"}),
        ".gitvirt/generated/Volume/default/data.yaml",
    ),
    "announced": (
        {},
        {},
        POOL,
        Change(POOL, Action.ANNOUNCE, None, NOTHING, body={"kind": "MachinePool"}),
        ".gitvirt/pools/a.yaml",
    ),
}


def paths(
    source: dict[str, str], live: dict[str, str], change: Change | None, **more: object
) -> DocumentPaths:
    site = Site(source, live)
    return DocumentPaths(site, {change.key: change} if change else {}, source.keys(), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("source", "live", "key", "change", "want"), TABLE.values(), ids=TABLE)
def test_a_document_has_one_home(
    source: dict[str, str], live: dict[str, str], key: Key, change: Change | None, want: str | None
) -> None:
    found = paths(source, live, change)
    assert found.home(key) == want
    assert want is None or want in set(found.paths(key))


def test_a_frozen_object_whose_file_is_taken_moves_aside() -> None:
    site = Site({"m.yaml": OTHER}, {"m.yaml": MACHINE})
    state = site.objects[WEB]
    site.objects[WEB] = type(state)(WEB, state.object, Origin.FROZEN, state.record, None, state.live)
    assert DocumentPaths(site, {}, ["m.yaml"]).home(WEB) == ".gitvirt/frozen/Machine/default/web.yaml"


def test_what_cannot_be_written_stays_where_it_is() -> None:
    change = Change(WEB, Action.SCHEDULE, NOTHING, KEPT)
    found = paths({"n.yaml": MACHINE}, {"m.yaml": MACHINE}, change, stuck=[WEB])
    assert (found.home(WEB), found.change(WEB)) == ("m.yaml", None)
    record = found.record(WEB)
    assert record is not None
    assert record.uid == "", "as live has it"

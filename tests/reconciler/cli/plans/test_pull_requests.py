"""What five typical pull requests look like: the comments under docs/pictures/ are what is printed, and what they say is what happens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli import main
from tests.reconciler.cli.plans.pull_requests import BEGIN, DB, PULL_REQUESTS, DemoFleet, Files, machine, pool

PICTURES = Path(__file__).parents[4] / "docs" / "pictures"
COMMIT = "8c1d0e2f" * 5
JOB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "example/fleet",
    "GITHUB_SHA": COMMIT,
}
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoFleet]:
    made = DemoFleet(tmp_path_factory.mktemp("demo"))
    yield made
    made.world.close()


@pytest.fixture
def fleet(demo: DemoFleet, monkeypatch: pytest.MonkeyPatch) -> DemoFleet:
    monkeypatch.chdir(demo.checkout)
    return demo


def plan(fleet: DemoFleet, capsys: Capture, files: Files, *options: str) -> str:
    fleet.edit(files)
    main(["plan", *options])
    return capsys.readouterr().out


@pytest.mark.parametrize("name", PULL_REQUESTS)
def test_the_comment_behind_each_picture_is_what_is_printed(
    fleet: DemoFleet,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    name: str,
) -> None:
    for variable, value in JOB.items():
        monkeypatch.setenv(variable, value)
    title, files = PULL_REQUESTS[name]
    printed = plan(fleet, capsys, files, "-o", "markdown")
    want = f"<!-- {title} -->\n" + re.sub(r"\b[0-9a-f]{40}\b", COMMIT, printed)
    golden = PICTURES / f"{name}.md"
    if request.config.getoption("--regen"):
        golden.write_text(want)
    assert golden.read_text() == want
    assert 1000 < golden.with_suffix(".png").stat().st_size < 100_000


@pytest.mark.parametrize(
    ("files", "verdict"),
    [
        pytest.param({}, "no changes", id="nothing"),
        pytest.param(PULL_REQUESTS["add-a-machine"][1], "1 to add", id="added"),
        pytest.param(
            PULL_REQUESTS["delete-two-with-data"][1],
            "2 to DELETE (destroys 4 local disks, 240Gi)",
            id="deleted",
        ),
        pytest.param(
            PULL_REQUESTS["resize-that-does-not-fit"][1], "1 to change that does NOT fit", id="no room to grow"
        ),
        pytest.param(PULL_REQUESTS["drain"][1], "1 to change, 2 to move, 1 held", id="drained"),
        pytest.param(
            {"pools/rack-a1.yaml": pool("rack-a1", is_drained=True).replace("effect", "value: force\n      effect")},
            "1 to change, 3 to move (DESTROYS 2 local disks, 120Gi)",
            id="drained by force",
        ),
        pytest.param(
            PULL_REQUESTS["sixteen-equal-machines"][1], "10 to add, 6 unschedulable", id="too many"
        ),
        pytest.param(
            {"machines/db-1.yaml": machine("db-1", "large", disks={"root": "20Gi"}, zone="a")},
            "1 to change (DESTROYS 1 local disk, 100Gi)",
            id="a disk removed",
        ),
        pytest.param(
            {"machines/web-1.yaml": machine("web-1", zone="b") + "  power: Off\n"},
            "1 to stop or restart",
            id="power",
        ),
        pytest.param(
            {path: None for path in BEGIN if path.startswith("machines/")}, "10 awaiting approval", id="all"
        ),
    ],
)  # fmt: skip
def test_the_first_line_is_a_verdict(fleet: DemoFleet, capsys: Capture, files: Files, verdict: str) -> None:
    text = plan(fleet, capsys, files)
    assert text.splitlines()[0] == verdict
    assert json.loads(plan(fleet, capsys, files, "-o", "json"))["summary"] == verdict


def test_a_forced_drain_lists_where_each_machine_goes_and_what_it_loses(
    fleet: DemoFleet, capsys: Capture
) -> None:
    drained = pool("rack-a1", is_drained=True).replace("effect", "value: force\n      effect")
    text = plan(fleet, capsys, {"pools/rack-a1.yaml": drained})
    assert (
        "  > Machine/default/db-1 rack-a1 -> rack-a2\n      DESTROYS local disk root, 20Gi; local disk data, 100Gi\n"
        in text
    )
    assert "now: STOPS on rack-a1, starts on rack-a2: its pool is being drained" in text
    (db,) = [
        each
        for each in json.loads(plan(fleet, capsys, {"pools/rack-a1.yaml": drained}, "-o", "json"))["entries"]
        if each["object"] == "Machine/default/db-1"
    ]
    assert (db["section"], db["pool"], db["target"]) == ("stop or move", "rack-a1", "rack-a2")
    assert {each["name"]: each["bytes"] >> 30 for each in db["destroys"]} == {"root": 20, "data": 100}


def test_a_machine_that_can_go_nowhere_is_named(fleet: DemoFleet, capsys: Capture) -> None:
    """It stops and starts nowhere; that is not hidden behind the others."""
    pinned: Files = {
        f"pools/{name}.yaml": pool(name, is_drained=True) for name in ("rack-a1", "rack-a2")
    }  # all of zone a
    text = plan(fleet, capsys, pinned)
    assert re.search(
        r"> Machine/default/web-2, web-4 \(2\) rack-a2 -> NOWHERE|web-[24] rack-a[12] -> NOWHERE", text
    )
    assert "can start NOWHERE" in text
    assert "SelectorMismatch" in text


def test_capacity_counts_what_grows_goes_and_comes(fleet: DemoFleet, capsys: Capture) -> None:
    def rows(files: Files) -> dict[tuple[str, str], tuple[str, str]]:
        found = json.loads(plan(fleet, capsys, files, "-o", "json"))["capacity"]
        return {(row["pool"], row["resource"]): (row["before"], row["after"]) for row in found}

    grown = rows({"machines/db-1.yaml": machine("db-1", "huge", disks=DB, zone="a")})
    (where,) = {pool for pool, _ in grown}
    before, after = grown[where, "memory"]
    assert int(after.removesuffix("Gi")) - int(before.removesuffix("Gi")) == 48
    gone = rows({"machines/db-1.yaml": None})
    assert gone[where, "storage"] == ("120Gi", "0")
    assert rows({"machines/web-1.yaml": BEGIN["machines/web-1.yaml"]}) == {}


def test_whether_the_loss_of_one_host_is_survived(fleet: DemoFleet, capsys: Capture) -> None:
    """Half empty hosts can take the machines of another one, and full ones cannot."""

    def last(files: Files) -> str:
        return plan(fleet, capsys, files).rstrip().splitlines()[-1]

    assert last({"notes.txt": ""}) == "no changes"
    found = last(PULL_REQUESTS["add-a-machine"][1])
    assert found.startswith("survives the loss of any one host: yes (but its local disks would be lost, ")
    found = last(PULL_REQUESTS["sixteen-equal-machines"][1])
    assert found.startswith("survives the loss of any one host: no (db-1, ")
    assert "worker-" in found

"""What awaits approval is one list: `approve`, `status`, `plan`, conditions, /healthz and metrics agree, whatever it is that waits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from reconciler.decide.deletion import OVER_LIMIT
from reconciler.loop.health import HealthCause
from reconciler.loop.health_problems import find_health_problems
from reconciler.loop.metrics import Metrics
from reconciler.loop.outcome import Committed, NoChange
from reconciler.world.record import DELETION_HELD, record_of
from schemas.kinds import Kind
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import LIVE, MAIN, SETTINGS, SMALL, Cast, machine
from tests.servers.repository import git

NAMES = [f"web-{number}" for number in range(6)]
GROUPS = "limits: {delete: {count: 100, percent: 100, groups: [app]}}\n"


class Site:
    def __init__(self, folder: Path) -> None:
        self.world = MirrorWorld(folder)
        self.cast = Cast(self.world, ["rack-a", "rack-b"], room=8)
        self.before = ""

    def begin(self, settings: str = "") -> None:
        files: dict[str, str | None] = {"gitvirt.yaml": SETTINGS + settings, "class.yaml": SMALL}
        files |= {f"{name}.yaml": machine(name, "\n  labels: {app: web}") for name in NAMES}
        self.before = self.cast.people.push(files)
        self.cast.settle()

    def remove(self, *names: str) -> None:
        self.cast.people.push({f"{name}.yaml": None for name in names})

    def force_push(self) -> None:
        self.cast.people.push({"web-9.yaml": machine("web-9")})
        self.cast.settle()
        self.world.move(MAIN, self.before)

    def rewind(self) -> None:
        first = git(self.world.repo, "rev-list", "--first-parent", "--reverse", LIVE).split()[0]
        self.world.move(LIVE, first)


CASES: dict[str, tuple[str, Callable[[Site], None], int, bool]] = {
    "nothing": ("", lambda _: None, 0, False),
    "all machines are removed": ("", lambda site: site.remove(*NAMES), 1, False),
    "one group is removed": (GROUPS, lambda site: site.remove(*NAMES), 1, False),
    "a class is removed that machines use": ("", lambda site: site.remove("class"), 0, False),
    "the class and all machines": ("", lambda site: site.remove("class", *NAMES), 2, False),
    "the source is force-pushed": ("", Site.force_push, 1, True),
    "live is lost": ("", lambda site: site.world.delete(LIVE), 0, False),
    "live is rewound": ("", Site.rewind, 0, False),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("GITVIRT_CACHE", str(tmp_path / "cache"))
    made = Site(tmp_path)
    yield made
    made.world.close()


def ask(capsys: pytest.CaptureFixture[str], site: Site, *words: str) -> object:
    code = main([*words, "--repo", str(site.world.repo), "-o", "json"])
    assert code in (Exit.OK, Exit.PROBLEMS)
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_views_name_the_same(case: str, site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    settings, change, count, is_source = CASES[case]
    site.begin(settings)
    change(site)
    outcome = site.cast.reconciler.tick(site.cast.clock)
    approve, status, plan = (ask(capsys, site, verb) for verb in ("approve", "status", "plan"))
    assert isinstance(status, dict)
    assert isinstance(plan, dict)
    assert approve == status["awaitingApproval"]
    awaiting = [each for each in plan["pendingApprovals"] if each["trailer"]]
    assert [each["digest"] for each in status["awaitingApproval"]] == [
        each["trailer"].split()[1] for each in awaiting
    ]
    held = [each["reason"] for each in plan["pendingApprovals"] if not each["trailer"]]
    assert [each["reason"] for each in status["held"]] == held
    if not isinstance(outcome, Committed | NoChange):
        assert case.startswith("live is"), outcome
        return
    assert len(awaiting) == count
    assert (" awaiting approval" in plan["summary"]) is bool(count)
    # What the reconciler wrote and says
    # A class has no status to record it in.
    named = [name for each in awaiting for name in each["objects"]]
    objects = sorted(name for name in named if not name.startswith("MachineClass"))
    assert list_held(site) == objects
    metrics = Metrics()
    metrics.set_plan(outcome.plan, 0)
    assert metrics.registry.get_sample_value("gitvirt_pending_approvals") == count
    assert metrics.registry.get_sample_value("gitvirt_held") == len(held)
    causes = [each.cause for each in find_health_problems(site.cast.reconciler.world, outcome) or ()]
    assert causes == [HealthCause.SOURCE_HELD] * is_source


def list_held(site: Site) -> list[str]:
    """Objects whose condition on `live` says that an approval ends it."""
    found = []
    for kind in Kind:
        for document in site.cast.on_live(kind):
            condition = record_of(kind, document.body).condition(DELETION_HELD)
            if condition is not None and condition.reason == OVER_LIMIT:
                found.append(str(document.key))
    return sorted(found)


def test_an_approval_ends_what_the_list_names(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.begin()
    site.remove(*NAMES)
    found = ask(capsys, site, "approve")
    assert isinstance(found, list)
    site.cast.people.push({}, Gitvirt_Approve=found[0]["digest"])
    site.cast.settle()
    assert ask(capsys, site, "approve") == []
    assert site.cast.on_live(Kind.MACHINE) == []


def test_status_never_calls_a_held_source_up_to_date(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The old head that was pushed by force has no commit that live lacks."""
    site.begin()
    site.force_push()
    assert main(["status", "--repo", str(site.world.repo)]) == Exit.OK
    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("reconciled ")]
    assert "the head of main is not applied: the source head " in line
    assert "up to date" not in line
    assert "does not descend from" in str(ask(capsys, site, "status")["sourceHeld"])  # type: ignore[index]

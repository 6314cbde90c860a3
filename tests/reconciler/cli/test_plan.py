"""`gitvirt plan` and `gitvirt explain` on a checkout: what people change, what would come of it, and what docs/plan.md shows."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import SETTINGS, SMALL, Clock, Host, People, machine, reconciler, settle
from tests.servers.repository import git

DOC = Path(__file__).parents[3] / "docs" / "plan.md"
LARGE = SMALL.replace("small", "large").replace("cpu: 2", "cpu: 8").replace("4Gi", "64Gi")
FAST = """\
apiVersion: storage.ironcore.dev/v1alpha1
kind: VolumeClass
metadata: {name: fast}
capabilities: {tps: 100Mi, iops: 1000}
"""
VOLUME = """\
apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata: {{name: {}-data, namespace: default}}
spec: {{volumeClassRef: {{name: fast}}, resources: {{storage: 1Gi}}}}
"""
FETCH = ("+refs/heads/*:refs/remotes/origin/*", "+refs/poollets/*:refs/poollets/*")


class Site:
    """Two hosts with three machines on them, all converged; and a checkout, the working folder."""

    def __init__(self, folder: Path) -> None:
        self.world = MirrorWorld(folder)
        self.clock = Clock()
        self.people = People(self.world.client(), self.clock)
        self.hosts = [Host(self.world.client(), name, self.clock, room=3) for name in ("rack-a1", "rack-a2")]
        self.reconciler = reconciler(self.world.client())
        self.checkout = folder / "checkout"

    def begin(self) -> None:
        files: dict[str, str | None] = {"gitvirt.yaml": SETTINGS, "classes.yaml": f"{SMALL}---\n{LARGE}"}
        self.people.push(
            files | {f"machines/{name}.yaml": machine(name) for name in ("db-1", "old-1", "web-1")}
        )
        self.settle()
        git(self.world.folder, "clone", "--quiet", str(self.world.repo), str(self.checkout))
        self.fetch()

    def settle(self) -> None:
        settle([self.reconciler], self.hosts, self.clock)

    def fetch(self) -> None:
        git(self.checkout, "fetch", "--quiet", "--prune", str(self.world.repo), *FETCH)

    def edit(self, files: dict[str, str | None]) -> None:
        for path, text in files.items():
            if text is None:
                (self.checkout / path).unlink()
            else:
                (self.checkout / path).write_text(text)

    def commit(self, files: dict[str, str | None], branch: str) -> None:
        git(self.checkout, "switch", "--quiet", "--create", branch)
        self.edit(files)
        git(self.checkout, "add", "--all")
        git(self.checkout, "commit", "--quiet", "--message", branch)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site made once; each test has a copy."""
    made = Site(tmp_path_factory.mktemp("site"))
    made.begin()
    made.world.close()
    return made.world.folder


@pytest.fixture
def site(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("remote.git", "checkout"):
        shutil.copytree(template / name, tmp_path / name, symlinks=True)
    made = Site(tmp_path)
    monkeypatch.chdir(made.checkout)
    yield made
    made.world.close()


class Command:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.notes = ""

    def __call__(self, *arguments: str) -> tuple[int, str]:
        code = main(arguments)
        captured = self.capsys.readouterr()
        self.notes = captured.err
        return code, captured.out

    def json(self, *arguments: str) -> dict[str, list[dict[str, object]]]:
        found: dict[str, list[dict[str, object]]] = json.loads(self(*arguments, "-o", "json")[1])
        return found


@pytest.fixture
def gitvirt(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_at_rest_there_is_nothing_to_do(site: Site, gitvirt: Command) -> None:
    assert gitvirt("plan", "--exit-code") == (Exit.OK, "no changes\n")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({".gitvirtignore": "machines/\n"}, ".gitvirtignore leaves it out"),
        (
            {f"machines/{name}.yaml": "" for name in ("db-1", "old-1")},
            "old-1.yaml still exists, but declares nothing",
        ),
        (
            {
                "machines/db-1.yaml": None,
                "machines/db-1.yaml.gpg": "x",
                "machines/old-1.yaml": None,
                "machines/old-1.txt": "x",
            },
            "old-1.yaml is gone, but machines/old-1.txt may be what became of it",
        ),
    ],
    ids=["ignored", "emptied", "renamed"],
)
def test_a_plan_asks_no_approval_for_what_is_still_there(
    site: Site, gitvirt: Command, files: dict[str, str | None], reason: str
) -> None:
    site.edit(files)
    text = gitvirt("plan")[1]
    assert reason in text
    assert "Gitvirt-Approve" not in text
    assert "to DELETE" not in text
    assert " held" in text.splitlines()[0]
    site.commit({}, "committed")
    assert reason in gitvirt("plan")[1]


def test_what_lies_in_the_checkout_is_planned_on(site: Site, gitvirt: Command) -> None:
    site.edit({"machines/web-2.yaml": machine("web-2")})
    code, text = gitvirt("plan", "--exit-code")
    assert code == Exit.CHANGES
    assert re.search(r"Machine/default/web-2 onto rack-a[12]\n      class small \(cpu 2, memory 4Gi\)", text)
    assert gitvirt("plan")[0] == Exit.OK
    assert git(site.checkout, "status", "--porcelain") == "?? machines/web-2.yaml"


def test_what_may_not_change_is_a_problem_and_live_keeps_what_it_had(site: Site, gitvirt: Command) -> None:
    bigger = SMALL.replace("cpu: 2", "cpu: 4")
    site.edit({"classes.yaml": f"{bigger}---\n{LARGE}", "machines/web-2.yaml": machine("web-2")})
    code, text = gitvirt("plan")
    assert code == Exit.PROBLEMS
    assert re.search(
        r"  classes.yaml:\d+:\d+: error GV402 capabilities cannot change while Machine/default/db-1", text
    )
    assert "~ MachineClass/small" not in text
    assert re.search(r"Machine/default/web-2 onto rack-a[12]", text)
    site.people.push({"classes.yaml": f"{bigger}---\n{LARGE}", "machines/web-2.yaml": machine("web-2")})
    site.settle()
    site.reconciler = reconciler(site.world.client())  # one that remembers nothing
    site.settle()
    live = git(site.world.repo, "show", "live:classes.yaml")
    assert "cpu: 2" in live
    assert "cpu: 4" not in live
    assert "machinePoolRef" in git(site.world.repo, "show", "live:machines/web-2.yaml")


def test_plan_says_what_run_then_does(site: Site, gitvirt: Command) -> None:
    site.edit({f"machines/new-{n}.yaml": machine(f"new-{n}") for n in range(3)})
    planned = {change["object"]: change["pool"] for change in gitvirt.json("plan")["actions"]}
    site.people.push({f"machines/new-{n}.yaml": machine(f"new-{n}") for n in range(3)})
    outcome = site.reconciler.tick(site.clock)
    done = {str(change.key): change.pool for change in outcome.plan.changes}  # type: ignore[union-attr]
    assert planned == done


def test_a_plan_of_a_remote_names_the_hosts_that_a_start_would_wait_for(
    site: Site, gitvirt: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their reports are of the year of the clock in these tests."""
    monkeypatch.setenv("GITVIRT_CACHE", str(site.checkout.parent / "cache"))
    remote = ("plan", "--repo", str(site.world.repo))
    gitvirt(*remote)
    assert "starts now" not in gitvirt.notes
    site.people.push({"machines/new.yaml": machine("new")})
    _, text = gitvirt(*remote)
    assert "Machine/default/new" in text
    waits = "a reconciler that starts now waits for the first report since start of rack-a1, rack-a2, at most 1m15s"
    assert waits in gitvirt.notes.replace("\n", " ")


def test_a_change_reads_the_same_before_and_after_the_merge(
    site: Site, gitvirt: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITVIRT_CACHE", str(site.checkout.parent / "cache"))
    disk = "  volumes:\n  - {name: scratch, localDisk: {sizeLimit: 1Gi}}\n"
    site.people.push({"machines/web-1.yaml": machine("web-1", spec=disk)})
    site.settle()
    git(site.checkout, "pull", "--quiet", str(site.world.repo), "main")
    site.fetch()
    files: dict[str, str | None] = {
        "machines/web-1.yaml": machine("web-1", spec="  power: Off\n"),
        "machines/web-2.yaml": machine("web-2"),
        "machines/old-1.yaml": None,
    }
    site.commit(files, "pull-request")
    text, markdown = (
        gitvirt("plan", "--source", "pull-request", "-o", form)[1] for form in ("text", "markdown")
    )
    plan = gitvirt.json("plan", "--source", "pull-request")
    site.people.push(files)
    remote = ("plan", "--repo", str(site.world.repo))
    assert gitvirt(*remote)[1] == text
    assert gitvirt(*remote, "-o", "markdown")[1] == markdown
    assert gitvirt.json(*remote)["sourceChanges"] == plan["sourceChanges"]
    (changed,) = [each for each in plan["sourceChanges"] if each["change"] == "change"]
    assert changed["destroys"] == [
        {"kind": "local disk", "name": "scratch", "machine": "web-1", "bytes": 1 << 30}
    ]


DISK = "  volumes:\n  - {name: scratch, localDisk: {sizeLimit: 1Gi}}\n"
SPECS = (
    "",
    DISK,
    "  power: Off\n",
    "  machinePoolRef: {name: rack-a2}\n",
    "  priority: 3\n",
    "  volumes: [\n",
)


@pytest.mark.parametrize("seed", range(3))
def test_changes_by_chance_read_the_same_before_and_after_the_merge(
    site: Site, gitvirt: Command, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """By the verb, on a checkout and on the remote. `tests/poollet/test_plan_lines.py` has many more, in memory."""
    monkeypatch.setenv("GITVIRT_CACHE", str(site.checkout.parent / "cache"))
    chance = random.Random(seed)
    files: dict[str, str | None] = {
        f"machines/{name}.yaml": chance.choice([None, machine(name, spec=chance.choice(SPECS))])
        for name in chance.sample(["db-1", "old-1", "web-1"], chance.randint(1, 3))
    }
    files |= {f"machines/new-{each}.yaml": machine(f"new-{each}") for each in range(chance.randint(1, 6))}
    site.commit(files, "pull-request")
    forms = ("text", "markdown", "json")
    before = [gitvirt("plan", "--source", "pull-request", "-o", form) for form in forms]
    git(site.checkout, "push", "--quiet", str(site.world.repo), "pull-request:main")
    assert [gitvirt("plan", "--repo", str(site.world.repo), "-o", form) for form in forms] == before


def test_a_pull_request_that_is_behind_takes_nothing_back(site: Site, gitvirt: Command) -> None:
    site.commit({"machines/web-2.yaml": machine("web-2")}, "add-web-2")
    site.people.push({"machines/web-9.yaml": machine("web-9"), "machines/old-1.yaml": None})
    site.settle()
    site.fetch()
    plan = gitvirt.json("plan", "--source", "add-web-2")
    assert [each["object"] for each in plan["sourceChanges"]] == ["Machine/default/web-2"]
    assert [each["object"] for each in plan["actions"]] == ["Machine/default/web-2"]
    assert plan["pendingApprovals"] == []


def test_both_sides_of_a_conflict_are_noted(site: Site, gitvirt: Command) -> None:
    site.commit({"machines/web-1.yaml": machine("web-1", "   # mine")}, "mine")
    site.people.push({"machines/web-1.yaml": machine("web-1", "   # theirs")})
    site.settle()
    site.fetch()
    gitvirt("plan", "--source", "mine")
    assert "machines/web-1.yaml was changed on both sides" in gitvirt.notes


POOL = """apiVersion: compute.ironcore.dev/v1alpha1
kind: MachinePool
metadata:
  name: rack-a1
  labels: {topology.ironcore.dev/zone: a}
spec: {unschedulable: true}
"""


def test_a_pool_without_its_file_stays_and_loses_its_settings(site: Site, gitvirt: Command) -> None:
    """A renamed file was shown as DELETE of the pool and its capacity; what really ends, the labels, was not."""
    zone = "  machinePoolSelector: {topology.ironcore.dev/zone: a}\n"
    site.people.push({"pools/rack-a1.yaml": POOL.replace("spec: {unschedulable: true}\n", "")})
    site.settle()
    site.people.push({"machines/web-1.yaml": machine("web-1", spec=zone), "pools/rack-a1.yaml": POOL})
    site.settle()
    git(site.checkout, "pull", "--quiet", str(site.world.repo), "main")
    site.fetch()
    (site.checkout / "pools" / "rack-a1.yaml").unlink()
    code, text = gitvirt("plan")
    assert code == Exit.OK
    assert text.startswith("1 to change\n\nchange\n  ~ MachinePool/rack-a1\n")
    assert "DELETE" not in text
    for line in (
        "metadata.labels: {topology.ironcore.dev/zone: a} -> none",
        "spec.unschedulable: true -> false",
        "the pool stays: its host announces it, and only its file is removed",
    ):
        assert line in text
    site.people.push({"pools/rack-a1.yaml": None})
    site.reconciler.tick(site.clock)
    site.fetch()
    assert gitvirt("get", "pools", "-o", "name", "--repo", str(site.world.repo))[1].count("MachinePool/") == 2


def test_unschedulable_objects_and_errors_have_exit_codes(site: Site, gitvirt: Command) -> None:
    site.edit({"machines/big.yaml": machine("big").replace("small", "large")})
    code, text = gitvirt("plan")
    assert code == Exit.UNPLACEABLE
    assert "would fit: rack-a2 with " in text
    site.edit({"machines/bad.yaml": "kind: ["})
    code, text = gitvirt("plan")
    assert code == Exit.PROBLEMS
    assert "machines/bad.yaml" in text


def test_machines_that_differ_in_names_alone_are_explained_together(site: Site, gitvirt: Command) -> None:
    """Each has a volume of its own, which the reasons call by the name that all of them use for it."""
    names = [f"app-{number}" for number in range(1, 13)]
    files: dict[str, str | None] = {
        f"machines/{name}.yaml": f"{machine(name)}  volumes:\n  - {{name: data, volumeRef: {{name: {name}-data}}}}\n---\n{VOLUME.format(name)}"
        for name in names
    }
    site.edit({"fast.yaml": FAST, **files})
    code, text = gitvirt("plan")
    assert code == Exit.UNPLACEABLE, text
    assert "+ Machine/default/app-1 .. app-12 (12) for the same reasons" in text
    assert text.count("VolumeDoesNotFit: volume data: there are no volume pools") == 1


def test_a_held_deletion_names_its_approval(site: Site, gitvirt: Command) -> None:
    site.edit({f"machines/{name}.yaml": None for name in ("db-1", "old-1", "web-1")})
    text = gitvirt("plan")[1]
    line = r'git commit --allow-empty -m "approve" --trailer "Gitvirt-Approve: [0-9a-f]{16}"'
    assert re.search(line, text)


def test_a_remote_is_planned_on_as_it_is_now(
    site: Site, gitvirt: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITVIRT_CACHE", str(site.checkout.parent / "cache"))
    site.people.push({"machines/web-3.yaml": machine("web-3")})
    plan = gitvirt.json("plan", "--repo", str(site.world.repo))
    assert [each["object"] for each in plan["actions"]] == ["Machine/default/web-3"]


@pytest.mark.parametrize(("hours", "age"), [(0.0, ""), (1.5, "1h30m ago"), (60.0, "2d12h ago")])
@pytest.mark.parametrize("words", ["plan", "explain machine web-1"])
def test_a_checkout_says_how_old_its_live_is(
    site: Site, gitvirt: Command, hours: float, age: str, words: str
) -> None:
    # In no hurry: of what was fetched just now no note is printed, although this takes a while.
    then = time.time() + 3600 if hours == 0.0 else time.time() - hours * 3600
    folder = site.checkout / ".git"
    for file in (folder / "FETCH_HEAD", *(folder / "logs").rglob("*")):
        os.utime(file, (then, then))
    assert gitvirt(*words.split())[0] == Exit.OK
    note = f"note: live is as of its last fetch, {age}; run `git fetch` to update it\n"
    assert gitvirt.notes == (note if age else "")


@pytest.mark.parametrize("words", ["plan", "explain machine web-1"])
def test_a_remote_and_a_revision_are_of_now(
    site: Site, gitvirt: Command, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITVIRT_CACHE", str(site.checkout.parent / "cache"))
    for more in (("--repo", str(site.world.repo)), ("--target", "origin/live")):
        assert gitvirt(*words.split(), *more)[0] == Exit.OK
        assert gitvirt.notes == ""


def test_a_revision_that_is_not_there(site: Site, gitvirt: Command) -> None:
    assert gitvirt("plan", "--source", "nowhere")[0] == Exit.FAILED
    assert "names no commit" in gitvirt.notes


def test_a_folder_without_git_is_all_new(
    tmp_path: Path, gitvirt: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gitvirt.yaml").write_text(SETTINGS)
    (tmp_path / "web.yaml").write_text(f"{machine('web')}---\n{SMALL}")
    monkeypatch.chdir(tmp_path)
    code, text = gitvirt("plan")
    assert code == Exit.UNPLACEABLE
    assert "NoPools: there are no machine pools" in text


def test_explain_an_assigned_machine(site: Site, gitvirt: Command) -> None:
    code, text = gitvirt("explain", "machine", "web-1")
    assert code == Exit.OK
    assert re.match(r"Machine/default/web-1 is on rack-a[12]\n\nPOOL +VERDICT +WHY\n", text)
    assert re.search(r"\nrack-a[12] +here +(first choice: )?\d+% of its resources would stay free\n", text)
    assert text.count("first choice: ") == 1


def test_explain_says_why_nothing_is_known_of_a_machine(site: Site, gitvirt: Command) -> None:
    """Its pool is lost: that it would fit there is not the news."""
    _, text = gitvirt("explain", "machine", "web-1")
    assert "not ready there" not in text
    pool = text.splitlines()[0].split()[-1]
    other = next(host for host in site.hosts if host.name != pool)
    for _ in range(12):
        site.clock.go(15)
        other.work()
        site.reconciler.tick(site.clock)
    site.fetch()
    lines = gitvirt("explain", "machine", "web-1")[1].splitlines()
    assert lines[1].startswith(f"not ready there: PoolLost: no heartbeat from pool {pool} within its timeout")


def test_explain_marks_the_pool_of_a_machine_that_fits_nowhere(site: Site, gitvirt: Command) -> None:
    on = gitvirt.json("explain", "machine", "web-1")["pool"]
    (other,) = {"rack-a1", "rack-a2"} - {on}
    (site.checkout / "pools").mkdir()
    pool = (
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {{name: {}}}\n"
        "spec: {{unschedulable: true}}\n"
    )
    site.edit({f"pools/{name}.yaml": pool.format(name) for name in (on, other)})
    code, text = gitvirt("explain", "machine", "web-1")
    assert code == Exit.OK
    rows = [line.split()[:2] for line in text.splitlines()[3:]]
    assert rows == [[on, "here"], [other, "no"]]


def test_a_blocked_machine_does_not_fit(site: Site, gitvirt: Command) -> None:
    """A pool may have room for it; what blocks it is the cause, and no pool is proposed as a cure."""
    lost = "  volumes:\n    - name: data\n      volumeRef:\n        name: lost\n"
    site.edit({"machines/web-3.yaml": machine("web-3", spec=lost)})
    code, text = gitvirt("explain", "machine", "web-3")
    assert code == Exit.PROBLEMS
    assert "blocked: " in text
    assert re.search(r"\nrack-a[12] +room ", text)
    assert "fits" not in text
    assert "would fit" not in text


def test_explain_asks_the_repo_that_the_environment_names(
    site: Site, gitvirt: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.people.push({"machines/web-3.yaml": machine("web-3")})
    site.settle()
    here, other_folder = site.checkout, tmp_path / "other_folder"
    other_folder.mkdir()
    assert gitvirt("explain", "machine", "web-3")[0] == Exit.FAILED  # not fetched yet
    monkeypatch.setenv("GITVIRT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GITVIRT_REPO", str(site.world.repo))
    for folder in (other_folder, here):
        monkeypatch.chdir(folder)
        code, text = gitvirt("explain", "machine", "web-3")
        assert code == Exit.OK
        assert re.match(r"Machine/default/web-3 is on rack-a[12]\n", text)
    monkeypatch.chdir(here)  # a revision is one of the checkout
    assert gitvirt("explain", "machine", "web-3", "--source", "HEAD")[0] == Exit.FAILED


def forget(site: Site, *kinds: str) -> None:
    for ref in git(site.checkout, "for-each-ref", "--format=%(refname)", *kinds).split():
        git(site.checkout, "update-ref", "-d", ref)


@pytest.mark.parametrize("words", ["plan", "explain machine db-1", "explain machine db-1 -o json"])
def test_a_clone_that_lacks_live_says_how_to_get_it(site: Site, gitvirt: Command, words: str) -> None:
    forget(site, "refs/remotes/origin/live", "refs/poollets")
    code, text = gitvirt(*words.split())
    assert "there is no branch live here" in gitvirt.notes
    assert "`git fetch`" in gitvirt.notes
    if "explain" in words:
        assert (code, text) == (Exit.FAILED, "")
    git(site.checkout, "fetch", "--quiet", "origin")
    assert gitvirt("explain", "machine", "db-1")[0] == Exit.OK


def test_without_a_remote_what_is_here_is_all_there_is(site: Site, gitvirt: Command) -> None:
    git(site.checkout, "remote", "remove", "origin")
    forget(site, "refs/poollets")
    code, text = gitvirt("explain", "machine", "db-1")
    assert code == Exit.UNPLACEABLE
    assert "NoPools" in text
    assert "git fetch" not in gitvirt.notes


def test_explain_agrees_with_plan(site: Site, gitvirt: Command) -> None:
    site.edit(
        {
            "machines/big.yaml": machine("big").replace("small", "large"),
            "machines/web-2.yaml": machine("web-2"),
        }
    )
    plan = gitvirt.json("plan")
    (unplaced,) = plan["unschedulable"]
    big = gitvirt.json("explain", "machine", "big")
    assert big["wouldFit"] == unplaced["wouldFit"]
    assert [row["reasons"] for row in big["pools"]] == [row["reasons"] for row in unplaced["refusals"]]  # type: ignore[attr-defined]
    best = gitvirt.json("explain", "machine", "web-2")["pools"][0]
    (scheduled,) = [each for each in plan["actions"] if each["object"] == "Machine/default/web-2"]
    assert best["pool"] == scheduled["pool"]


def test_explain_a_missing_object(site: Site, gitvirt: Command) -> None:
    assert gitvirt("explain", "machine", "web-11")[0] == Exit.FAILED
    assert "did you mean web-1?" in gitvirt.notes


BLOCK = re.compile(
    r"((?P<fence>````?)(?:console|markdown)\n\$ (?P<command>gitvirt [^\n]*)\n).*?^((?P=fence))$",
    re.DOTALL | re.MULTILINE,
)


def test_the_page_shows_what_is_printed(site: Site, gitvirt: Command, request: pytest.FixtureRequest) -> None:
    site.edit(
        {
            "machines/web-2.yaml": machine("web-2"),
            "machines/big-1.yaml": machine("big-1").replace("small", "large"),
            "machines/web-1.yaml": machine("web-1", spec="  power: Off\n"),
            "machines/old-1.yaml": None,
        }
    )

    def print_block(match: re.Match[str]) -> str:
        output = gitvirt(*match["command"].split()[1:])[1]
        return match[1] + output + match[4]

    page = DOC.read_text()
    made = BLOCK.sub(print_block, page)
    if request.config.getoption("--regen"):
        DOC.write_text(made)
    assert len(BLOCK.findall(page)) == 4
    assert made == page


@pytest.mark.parametrize(
    ("settings", "output"),
    [
        (None, "there is no gitvirt.yaml"),
        ("fleet: {id: nope}\n", "id cannot be 'nope'"),
        ("fleet: [\n", "gitvirt.yaml:"),
    ],
)
@pytest.mark.parametrize("verb", [["plan"], ["explain", "machine", "web-1"]])
def test_without_a_fleet_there_is_nothing_to_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], settings: str | None, output: str, verb: list[str]
) -> None:  # fmt: skip
    git(tmp_path, "init", "--quiet", "--initial-branch=main", ".")
    files = {"web-1.yaml": machine("web-1"), **({"gitvirt.yaml": settings} if settings else {})}
    for path, text in files.items():
        (tmp_path / path).write_text(text)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "begin")
    monkeypatch.chdir(tmp_path)
    assert main(verb) == (Exit.PROBLEMS if settings else Exit.FAILED)
    assert output in capsys.readouterr().err


def test_an_unsigned_pull_request_is_planned_as_a_signed_merge_of_it(site: Site, gitvirt: Command) -> None:
    """The forge signs the merge. That the commits themselves are not signed stays a problem."""
    signers = "signatures: {mode: enforce, signers: [0123456789ABCDEF0123456789ABCDEF01234567]}\n"
    site.people.push({"gitvirt.yaml": SETTINGS + signers})
    site.settle()
    site.fetch()
    git(site.checkout, "merge", "--quiet", "--ff-only", "origin/main")
    site.commit({"machines/web-2.yaml": machine("web-2")}, "add-web-2")
    for words in (["plan"], ["plan", "--source", "add-web-2"]):
        code, text = gitvirt(*words)
        assert code == Exit.PROBLEMS
        assert re.search(r"Machine/default/web-2 onto rack-a[12]", text)
        assert "GV814 not used, keeping" in text
        assert "this plan is what a signed merge of it would do" in gitvirt.notes
    # Whoever reads the comment does not see the notes of the job.
    note = "> the source is not signed as it must be; this plan is what a signed merge of it would do"
    assert f"\n{note}\n" in gitvirt("plan", "-o", "markdown")[1]
    remote = gitvirt("plan", "--source", "origin/main")[1]
    assert remote == "no changes\n"

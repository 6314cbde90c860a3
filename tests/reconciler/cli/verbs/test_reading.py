"""The verbs that look: what they print, in every format, and what they say when there is nothing."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from reconciler.cli.top import share_lines
from tests.reconciler.cli.verbs.conftest import RUNNING, gitvirt, machine
from tests.reconciler.gitstore.git import commit, git

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("get machines", ["NAME   STATE    POOL  CLASS  POWER  IPS       REASON         AGE", "web-1  Running", "10.0.0.7", "Unschedulable"]),
        ("get m -A", ["NAMESPACE  NAME", "lab        lab"]),
        ("get machines -A -l app=web -o name", ["Machine/default/web-1\n"]),
        ("get machines -A -l app==web -o name", ["Machine/default/web-1\n"]),
        ("get machines -A -l example.org/tier.x_y=web -o name", []),
        ("get machines -A -l app=web,tier==front -o name", ["Machine/default/web-1\n"]),
        ("get machines -A --field state=Running -o name", ["Machine/default/web-1\n"]),
        ("get machines -A --field power=On -o name", ["Machine/default/web-1\nMachine/default/web-2\nMachine/lab/lab\n"]),
        ("get machine lab/lab -o wide", ["machines/lab.yaml"]),
        ("get pools", ["rack-a  Ready  small    8    32Gi"]),
        ("get Machine/default/web-1 pool/rack-a", ["machine/web-1  Running", "\n\nNAME", "machinepool/rack-a  Ready"]),
        ("get m,pools", ["machine/web-1  Running", "machinepool/rack-a  Ready"]),
        ("get all", ["machine/web-1", "machinepool/rack-a", "machineclass/small", "secret/seed"]),
        ("get machine -n lab lab", ["lab   "]),
        ("get machines --sort-by state", ["web-2  Pending  ", "\nweb-1  Running"]),
        ("get machines --sort-by age -o name", ["Machine/default/web-1\nMachine/default/web-2\n"]),
        ("get machines --sort-by class -o name", ["Machine/default/web-1\nMachine/default/web-2\n"]),
        ("get machine Machine/default/web-1 -o name", ["Machine/default/web-1\n"]),
        ("get machines -l app!=web -o name", ["Machine/default/web-2\n"]),
        ("get machines -l app,!gpu -o name", ["Machine/default/web-1\n"]),
        ("describe web-1 pool/rack-a", ["Machine/default/web-1  Running", "\n\nMachinePool/rack-a  Ready"]),
        ("describe machines -l app", ["Machine/default/web-1  Running"]),
        ("history web-1 web-2", ["Machine/default/web-1\nWHEN", "\n\nMachine/default/web-2\nWHEN"]),
        ("wait web-1 pool/rack-a", ["Machine/default/web-1: Running after", "MachinePool/rack-a: Ready after"]),
        ("wait machines -l app", ["Machine/default/web-1: Running after"]),
        ("wait machines -l none --for deleted", []),
        ("get machine web-1 -o yaml", ["kind: Machine\n", "  state: Running\n"]),
        ("get secrets", ["seed  -     password  no"]),
        ("tree", ["rack-a  Ready\n└─ default/web-1  Running\n   └─ oda  local disk root  Pending\n", "without a pool\n", "default/web-2  Pending  Unschedulable"]),
        ("top", ["rack-a  Ready  1", "12%  1 of 8", "6%  2Gi of 32Gi"]),
        ("events", ["Restarted  the guest stopped by itself (3 times)", "default/web-1 is running"]),
        ("history machine web-1", ["default/web-1 is running", "schedule default/web-1 onto rack-a: most free", "add web-1"]),
        ("describe machine web-1", ["Machine/default/web-1  Running", "Created: 2026-01-01T00:00:00Z, ", "Scheduled  True", "Restarted", "add web-1", "machineClassRef  small", "name=root, localDisk=(sizeLimit=5Gi)", "get Machine/default/web-1 -o yaml"]),
        ("describe machine web-2", ["Unschedulable: rack-a: cpu: need 1, have 0"]),
        ("wait machine web-1 --for state=Running", ["Machine/default/web-1: Running after"]),
        ("wait pool rack-a", ["MachinePool/rack-a: Ready after"]),
        ("wait pool rack-a --for status.availableMachineClasses=small", ["=small after"]),
        ("wait machine absent --for deleted", ["deleted after"]),
    ],
)  # fmt: skip
def test_shows(fleet: Path, capsys: Capture, words: str, want: list[str]) -> None:
    assert gitvirt(*words.split()) == Exit.OK
    printed = capsys.readouterr().out
    for text in want:
        assert text in printed, printed


def test_wait_with_a_selector_waits_for_what_was_just_pushed(fleet: Path, capsys: Capture) -> None:
    commit(fleet, {"machines/new.yaml": machine("new", labels="{app: web}")}, "add new")
    git(fleet, "push", "-q", "origin", "HEAD:main")
    assert gitvirt("wait", "machines", "-l", "app=web", "--timeout", "1s") == Exit.TIMED_OUT
    printed = capsys.readouterr()
    assert "Machine/default/web-1: Running after" in printed.out
    assert "Machine/default/new" in printed.err


SINCE = "2026-05-04T12:00:00Z"
LOST = f"""  conditions:
    - {{type: Ready, status: Unknown, reason: PoolLost, message: no heartbeat from pool rack-a, lastTransitionTime: "{SINCE}"}}
"""
LABELS, PAUSED = b"  labels: {}\n", b'  labels: {}\n  annotations: {gitvirt.dev/paused: "true"}\n'


def write_live(fleet: Path, text: bytes) -> None:
    git(fleet, "checkout", "-q", "live")
    commit(fleet, {"machines/web-1.yaml": text}, "what live says of web-1")
    git(fleet, "push", "-q", "origin", "live")


@pytest.mark.parametrize(
    "words",
    [
        "wait machine web-1 --for state=Unknown -o name",
        "get machines --field state=Unknown -o name",
        "get machines --field status.state=Unknown -o name",
    ],
)
def test_the_state_unknown_is_what_the_table_shows(fleet: Path, capsys: Capture, words: str) -> None:
    write_live(fleet, machine("web-1") + RUNNING.replace(b"  conditions:\n", LOST.encode()))
    assert gitvirt(*words.split()) == Exit.OK
    assert capsys.readouterr().out == "Machine/default/web-1\n"


@pytest.mark.parametrize("words", ["get machines", "tree", "describe machine web-1"])
def test_a_machine_of_a_lost_host_shows_what_it_was_and_since_when(
    fleet: Path, capsys: Capture, words: str
) -> None:
    write_live(fleet, machine("web-1") + RUNNING.replace(b"  conditions:\n", LOST.encode()))
    assert gitvirt(*words.split()) == Exit.OK
    printed = capsys.readouterr().out
    assert "Unknown (was Running)" in printed
    assert f"PoolLost since {SINCE}" in printed
    assert gitvirt("get", "machines", "--field", "state=Running", "-o", "name") == Exit.OK
    assert "web-1" not in capsys.readouterr().out


@pytest.mark.parametrize("words", ["get machines", "tree", "describe machine web-1"])
def test_a_paused_machine_shows_that_it_is_paused(fleet: Path, capsys: Capture, words: str) -> None:
    write_live(fleet, machine("web-1").replace(LABELS, PAUSED) + RUNNING)
    assert gitvirt(*words.split()) == Exit.OK
    assert "Running (Paused)" in capsys.readouterr().out
    for each in ("Running", "Paused"):
        assert gitvirt("wait", "machine", "web-1", "--for", f"state={each}", "--timeout", "0s") == Exit.OK


def test_wait_knows_every_state_that_get_shows(fleet: Path, capsys: Capture) -> None:
    for each in ("Unknown", "Paused", "Deleting", "Deleting (held)"):
        assert (
            gitvirt("wait", "machine", "web-1", "--for", f"state={each}", "--timeout", "0s") == Exit.TIMED_OUT
        )
    assert "is not Deleting (held) after 0s: it is Running" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "get machines -A",
        "get machine web-1",
        "tree",
        "top",
        "events",
        "history machine web-1",
        "describe machine web-1",
    ],
)
def test_json_is_json(fleet: Path, capsys: Capture, words: str) -> None:
    assert gitvirt(*words.split(), "-o", "json") == Exit.OK
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "code", "cause", "cure"),
    [
        ("get machine web-9", Exit.FAILED, "there is no Machine web-9 in namespace default", "did you mean web-"),
        ("get machine lab", Exit.FAILED, "there is no Machine lab", "-n lab"),
        ("get machine zzz", Exit.FAILED, "there is no Machine zzz", "gitvirt get machines -A"),
        ("get machnes", Exit.USAGE, "unknown kind 'machnes'", "did you mean machines?"),
        ("get machines --sort-by nonsense", Exit.USAGE, "nothing to sort has anything at nonsense", "state, power"),
        ("get machines -o custom-columns=A:.b", Exit.USAGE, "invalid choice", "jq -r"),
        ("get machines --outptu json", Exit.USAGE, "unrecognized arguments: --outptu", "did you mean --output?"),
        ("get machines --no-header", Exit.USAGE, "unrecognized arguments: --no-header", "did you mean --no-headers?"),
        ("get web-1", Exit.USAGE, "unknown kind 'web-1'", "there are: "),
        ("get m,v web-1", Exit.USAGE, "names need one kind", "KIND/NAME"),
        ("describe", Exit.USAGE, "required: OBJECT", "gitvirt describe --help"),
        ("describe web-1 -l app", Exit.USAGE, "either names objects or selects them", "leave out"),
        ("wait machines --all --timeout 1s", Exit.TIMED_OUT, "Machine/default/web-2 is not Running", "gitvirt describe Machine/default/web-2"),
        ("wait machines -l none", Exit.FAILED, "no machines are selected", "gitvirt get machines -A"),
        ("describe pool nowhere", Exit.FAILED, "there is no MachinePool nowhere", "gitvirt get machinepools"),
        ("get machines -l a=b,-c", Exit.USAGE, "'-c' is not a label key", ""),
        ("get machines --field nope=1", Exit.USAGE, "no Machine has anything at nope", "state, power"),
        ("get machines --repo nothing.git", Exit.FAILED, "nothing.git", ""),
        ("get machines --field state", Exit.USAGE, "'state' is not NAME=VALUE", ""),
        ("wait snapshot absent --timeout 0s", Exit.TIMED_OUT, "VolumeSnapshot/default/absent is not Ready after", "gitvirt get volumesnapshots -A"),
        ("wait volume absent --timeout 0s", Exit.TIMED_OUT, "Volume/default/absent is not Available after", "gitvirt get volumes -A"),
        ("wait machine web-2 --timeout 1s", Exit.TIMED_OUT, "it is Pending (rack-a: cpu", "gitvirt describe Machine/default/web-2"),
    ],
)  # fmt: skip
def test_says_what_is_wrong_and_what_to_do(
    fleet: Path, capsys: Capture, words: str, code: Exit, cause: str, cure: str
) -> None:
    assert gitvirt(*words.split()) == code
    output = capsys.readouterr().err
    assert cause in output
    assert cure in output
    assert "Traceback" not in output


@pytest.mark.parametrize("words", ["history machine web-1", "history machine web-1 -o json"])
def test_the_history_of_a_deleted_object_ends_with_its_removal(
    fleet: Path, capsys: Capture, words: str
) -> None:
    git(fleet, "checkout", "-q", "live")
    git(fleet, "rm", "-q", "machines/web-1.yaml")
    commit(fleet, {}, "1 removed, 1 updated\n\n- remove default/web-1 from rack-a: confirmed by its host")
    removal = git(fleet, "rev-parse", "--short=10", "HEAD").strip()
    commit(fleet, {"machines/web-2.yaml": machine("web-2") + RUNNING}, "default/web-2 is running")
    git(fleet, "push", "-q", "origin", "live")
    assert gitvirt(*words.split()) == Exit.OK
    printed = capsys.readouterr()
    what = [
        "remove default/web-1 from rack-a: confirmed by its host",
        "default/web-1 is running",
        "add web-1",
    ]
    found = [printed.out.index(each) for each in what]
    assert found == sorted(found)
    assert "web-2" not in printed.out
    assert (
        printed.err
        == f"Machine/default/web-1 was deleted, and removed from live in {removal}; these are the commits of the last one with that name\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        "get secret seed -o yaml",
        "get secrets -o json",
        "describe secret seed",
        "describe secret seed -o json",
    ],
)
def test_secrets_are_shown_only_with_the_option(fleet: Path, capsys: Capture, words: str) -> None:
    gitvirt(*words.split())
    assert "hunter2" not in capsys.readouterr().out
    gitvirt(*words.split(), "--show-secrets")
    assert "hunter2" in capsys.readouterr().out


def test_before_the_first_reconcile_get_shows_the_source(fleet: Path, capsys: Capture) -> None:
    git(fleet, "push", "-q", "origin", "--delete", "live")
    assert gitvirt("get", "machines") == Exit.OK
    printed = capsys.readouterr()
    assert "web-1  Pending" in printed.out
    assert "there is no branch live yet" in printed.err


def test_wait_ends_when_the_state_is_reached(fleet: Path, capsys: Capture) -> None:
    mirrors = Path(os.environ["GITVIRT_CACHE"]) / "mirrors"

    def run_it() -> None:
        while not any(mirrors.glob("*/mirror.json")):  # the verb has begun
            time.sleep(0.01)
        git(fleet, "checkout", "-q", "live")
        commit(fleet, {"machines/web-2.yaml": machine("web-2") + RUNNING}, "default/web-2 is running")
        git(fleet, "push", "-q", "origin", "live")

    reconciler = threading.Thread(target=run_it)
    reconciler.start()
    assert gitvirt("wait", "machine", "web-2", "--timeout", "60s") == Exit.OK
    reconciler.join()
    assert "Machine/default/web-2: Running" in capsys.readouterr().out


def test_without_a_repo_the_error_names_the_repo_option(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "GITVIRT_REPO" not in os.environ
    assert gitvirt("get", "machines") == Exit.USAGE
    assert "--repo" in capsys.readouterr().err


VOLUME_POOL = b"""apiVersion: storage.ironcore.dev/v1alpha1
kind: VolumePool
metadata: {name: rack-a}
status: {state: Available, capacity: {storage: 100Gi}, allocatable: {storage: 100Gi}}
"""


def volume(uid: str, status: str = "") -> bytes:
    return f"""apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata: {{name: data, namespace: default, uid: {uid}}}
spec: {{volumeClassRef: {{name: fast}}, resources: {{storage: 10Gi}}, volumePoolRef: {{name: rack-a}}}}
status:
  state: Available
  assignment: {{pool: rack-a, id: 11111111-1111-4111-8111-111111111111}}
{status}""".encode()


HELD = """  conditions:
    - {type: DeletionHeld, status: "True", reason: InUse, message: still used by Machine/default/web-1}
"""
OLD, NEW = "22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"


def push_to_live(fleet: Path, files: dict[str, bytes]) -> None:
    git(fleet, "checkout", "-q", "live")
    commit(fleet, {"pools/v.yaml": VOLUME_POOL, **files}, "volumes")
    git(fleet, "push", "-q", "origin", "live")


def test_retained_data_is_shown_beside_the_volume_that_has_its_name_now(fleet: Path, capsys: Capture) -> None:
    push_to_live(fleet, {"data.yaml": volume(NEW), ".gitvirt/retained/Volume/default/data.yaml": volume(OLD)})
    for words in ("get volumes -o wide", "get volume data -o wide"):
        gitvirt(*words.split())
        rows = capsys.readouterr().out.splitlines()[1:]
        assert ["Available" in row and NEW in row for row in rows] == [True, False]
        assert ["Retained" in row and OLD in row for row in rows] == [False, True]
    gitvirt("get", "volume", "data", "-o", "json")
    assert json.loads(capsys.readouterr().out)["metadata"]["uid"] == NEW
    gitvirt("top")
    assert "2 (1 retained)" in capsys.readouterr().out
    gitvirt("top", "-o", "json")
    (pool,) = [each for each in json.loads(capsys.readouterr().out) if each["kind"] == "VolumePool"]
    assert (pool["volumes"], pool["retained"], pool["used"]) == (2, 1, {"storage": "20Gi"})
    gitvirt("tree")
    assert "└─ volume default/data  Retained\n" in capsys.readouterr().out
    gitvirt("tree", "-o", "json")
    assert json.loads(capsys.readouterr().out)[0]["retained"] == [
        {"namespace": "default", "name": "data", "uid": OLD}
    ]


def test_retained_data_alone_is_shown_as_what_it_is(fleet: Path, capsys: Capture) -> None:
    push_to_live(fleet, {".gitvirt/retained/Volume/default/data.yaml": volume(OLD)})
    gitvirt("get", "volumes")
    assert "data  Retained  10Gi  rack-a" in capsys.readouterr().out


def test_get_shows_a_held_deletion_with_its_reason(fleet: Path, capsys: Capture) -> None:
    push_to_live(fleet, {"data.yaml": volume(OLD, HELD)})
    gitvirt("get", "volumes", "-o", "wide")
    row = capsys.readouterr().out.splitlines()[1]
    assert "Deleting (held)" in row
    assert "InUse" in row
    assert "still used by Machine/default/web-1" in row
    gitvirt("describe", "volume", "data")
    assert "InUse: still used by Machine/default/web-1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "is_noted"),
    [
        ("-n default", True),
        ("-n production", False),
        ("--for machine/web-1", True),
        ("--for vm/default/web-1", True),
        ("--for machine/web-1 -n production", False),
        ("--for machine/web-2", False),
        ("--for volume/web-1", False),
    ],
)
def test_events_of_some_alone(fleet: Path, capsys: Capture, words: str, is_noted: bool) -> None:
    assert gitvirt("events", *words.split()) == Exit.OK
    output = capsys.readouterr()
    assert ("Restarted" in output.out) is is_noted
    assert ("no host has reported such events" in output.err) is not is_noted
    assert "is running" not in output.out  # a commit is about many


@pytest.mark.parametrize("words", ["--for web-1", "--for nope/web-1"])
def test_events_of_something_other_than_an_object_are_refused(
    fleet: Path, capsys: Capture, words: str
) -> None:
    assert gitvirt("events", *words.split()) == Exit.USAGE
    assert words.removeprefix("--for ").partition("/")[0] in capsys.readouterr().err


@pytest.mark.parametrize("is_paused", [False, True])
def test_get_and_describe_show_what_is_paused(fleet: Path, capsys: Capture, is_paused: bool) -> None:
    text = machine("web-3")
    if is_paused:
        text = text.replace(b"  labels: {}\n", b'  labels: {}\n  annotations: {gitvirt.dev/paused: "true"}\n')
    push_to_live(fleet, {"machines/web-3.yaml": text})
    gitvirt("get", "machine", "web-3", "-o", "wide")
    row = capsys.readouterr().out.splitlines()[1]
    assert ("(Paused)" in row) is is_paused
    gitvirt("describe", "machine", "web-3")
    assert ("(Paused)  " in capsys.readouterr().out.splitlines()[0]) is is_paused


def test_a_report_that_cannot_be_read_hides_no_other(fleet: Path, capsys: Capture) -> None:
    blob = git(fleet, "hash-object", "-w", "--stdin", data=b"hello")
    git(fleet, "push", "-q", "origin", f"{blob}:refs/poollets/evil")
    assert gitvirt("events") == Exit.OK
    output = capsys.readouterr()
    assert "default/web-1 is running" in output.out
    assert "the report of evil cannot be read: " in output.err
    assert "is a blob and not a commit" in output.err
    assert gitvirt("describe", "machine", "web-1") == Exit.OK


def test_names_are_in_natural_order(fleet: Path, capsys: Capture) -> None:
    names = [f"runner-{number}" for number in (10, 2, 1, 11)]
    push_to_live(fleet, {f"machines/{name}.yaml": machine(name, "ci") for name in names})
    assert gitvirt("get", "machines", "-n", "ci", "--no-headers") == Exit.OK
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["runner-1", "runner-2", "runner-10", "runner-11"]


def test_describe_hides_the_data_of_secrets_in_its_spec(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("describe", "secret", "seed") == Exit.OK
    assert "stringData  password=hidden" in capsys.readouterr().out


def test_a_wide_table_has_the_uid_once_and_its_message_last(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("get", "machines", "-o", "wide") == Exit.OK
    header = capsys.readouterr().out.splitlines()[0]
    assert "MACHINE-ID" not in header
    assert header.split()[-4:] == ["UID", "AGE", "FILE", "MESSAGE"]


@pytest.mark.parametrize("words", ["--repo {bare} get machines", "--repo={bare} get machines"])
def test_the_repo_may_come_before_the_verb(
    fleet: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(fleet.parent)
    assert gitvirt(*words.format(bare=fleet.parent / "fleet.git").split()) == Exit.OK
    assert "web-1  Running" in capsys.readouterr().out
    assert gitvirt("--repo", "x") == Exit.USAGE
    assert "a verb is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("machines", "volumes", "lines", "shown"),
    [(3, 2, 24, (3, 2)), (60, 0, 24, (19, 0)), (60, 60, 24, (13, 6)), (3, 60, 24, (3, 16)), (60, 2, None, (60, 2))],
)  # fmt: skip
def test_top_shows_as_many_pools_as_the_screen_has_room_for(
    machines: int, volumes: int, lines: int | None, shown: tuple[int, int]
) -> None:
    assert share_lines(machines, volumes, lines) == shown


@pytest.mark.parametrize(("count", "is_cut"), [(5, False), (9, True)])
def test_describe_says_that_there_are_more_commits(
    fleet: Path, capsys: Capture, count: int, is_cut: bool
) -> None:
    git(fleet, "checkout", "-q", "live")
    for number in range(count):
        text = machine("web-1") + RUNNING + f"# {number}\n".encode()
        commit(fleet, {"machines/web-1.yaml": text}, f"change {number}")
    git(fleet, "push", "-q", "origin", "live")
    assert gitvirt("describe", "machine", "web-1", "--repo", str(fleet.parent / "fleet.git")) == Exit.OK
    output = capsys.readouterr().out
    assert ("there are more commits: `gitvirt history Machine/default/web-1`" in output) is is_cut


def test_the_history_of_a_deleted_object_names_the_person_who_removed_it(
    fleet: Path, capsys: Capture
) -> None:
    git(fleet, "rm", "-q", "machines/web-1.yaml")
    commit(fleet, {}, "web-1 is not needed")
    person = git(fleet, "log", "-1", "--format=%an in %H").strip()[:-30]
    git(fleet, "checkout", "-q", "live")
    git(fleet, "merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "main")
    commit(fleet, {"machines/web-1.yaml": machine("web-1") + b"# ordered\n"}, "DELETE web-1")
    git(fleet, "rm", "-q", "machines/web-1.yaml")
    commit(fleet, {}, "remove web-1")
    git(fleet, "push", "-q", "origin", "main", "live")
    assert gitvirt("history", "machine", "web-1") == Exit.OK
    assert f"was deleted by {person}, and removed from live in " in capsys.readouterr().err


UIDS = ("2f1d6c1e-5a0e-5f0c-9f5c-0c1d2e3f4a5b", "7e6a2f0b-1111-5f0c-8f5c-0c1d2e3f4a5c")


def with_uid(uid: str) -> bytes:
    return machine("web-1").replace(b"  name: web-1\n", f"  name: web-1\n  uid: {uid}\n".encode())


def recreate(fleet: Path) -> dict[str, str]:
    """web-1 lived with the first uid, was deleted through the folder of deletions, and lives with the second one."""
    made = {}

    def merge(files: dict[str, bytes], removed: str, subject: str) -> None:
        git(fleet, "checkout", "-q", "live")
        git(fleet, "merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "main")
        if removed:
            git(fleet, "rm", "-q", removed)
        commit(fleet, files, subject)
        made[subject] = git(fleet, "rev-parse", "--short=10", "HEAD").strip()

    path, going = "machines/web-1.yaml", ".gitvirt/deleting/Machine/default/web-1.yaml"
    merge({path: with_uid(UIDS[0])}, "", "give the first uid")
    git(fleet, "checkout", "-q", "main")
    git(fleet, "rm", "-q", path)
    commit(fleet, {}, "web-1 is not needed")
    made["deletion"] = git(fleet, "rev-parse", "--short=10", "HEAD").strip()
    merge({going: with_uid(UIDS[0])}, path, "DELETE web-1")
    merge({}, going, "remove web-1")
    git(fleet, "checkout", "-q", "main")
    commit(fleet, {path: machine("web-1")}, "web-1 is needed again")
    made["again"] = git(fleet, "rev-parse", "--short=10", "HEAD").strip()
    merge({path: with_uid(UIDS[1])}, "", "give the second uid")
    git(fleet, "push", "-q", "origin", "main", "live")
    return made


def test_history_goes_on_with_the_earlier_object_of_the_name(fleet: Path, capsys: Capture) -> None:
    made = recreate(fleet)
    assert gitvirt("history", "machine", "web-1") == Exit.OK
    printed = capsys.readouterr()
    subjects = ["give the second uid", "web-1 is needed again", "remove web-1", "DELETE web-1"]
    subjects += ["web-1 is not needed", "give the first uid", "default/web-1 is running", "add web-1"]
    found = [printed.out.index(each) for each in subjects]
    assert found == sorted(found)
    by = f"was deleted by Ann in {made['deletion']}, and removed from live in {made['remove web-1']}"
    assert f"Machine/default/web-1 {by}; created again by Ann in {made['again']}" in printed.err


@pytest.mark.parametrize("words", ["history {uid}", "history --uid {uid} -o json"])
@pytest.mark.parametrize(
    ("uid", "shown", "hidden"),
    [
        (UIDS[0], ["remove web-1", "DELETE web-1", "give the first uid", "add web-1"], "second uid"),
        (UIDS[1], ["give the second uid", "web-1 is needed again"], "first uid"),
    ],
)
def test_a_uid_names_one_object_also_after_its_deletion(
    fleet: Path, capsys: Capture, words: str, uid: str, shown: list[str], hidden: str
) -> None:
    recreate(fleet)
    assert gitvirt(*words.format(uid=uid).split()) == Exit.OK
    printed = capsys.readouterr()
    assert all(each in printed.out for each in shown)
    assert hidden not in printed.out
    assert ("was deleted by Ann" in printed.err) is (uid == UIDS[0])


def test_a_uid_that_never_was_is_an_error(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("history", UIDS[0], "--repo", str(fleet)) == Exit.FAILED
    assert f"there never was an object with uid {UIDS[0]} on live" in capsys.readouterr().err


def test_a_machine_that_is_recreated_in_one_commit_has_two_uids(fleet: Path, capsys: Capture) -> None:
    git(fleet, "checkout", "-q", "live")
    for uid in UIDS:
        commit(fleet, {"machines/web-1.yaml": with_uid(uid)}, f"uid {uid}")
    begin = git(fleet, "rev-parse", "--short=10", "HEAD").strip()
    git(fleet, "push", "-q", "origin", "live")
    assert gitvirt("history", "web-1") == Exit.OK
    note = f"Machine/default/web-1 was recreated in {begin}: an earlier object had uid {UIDS[0]}"
    assert note in capsys.readouterr().err
    assert gitvirt("history", UIDS[0]) == Exit.OK
    assert f"uid {UIDS[0]}" in capsys.readouterr().out


def test_a_document_that_was_removed_from_a_file_of_several_has_a_history(
    fleet: Path, capsys: Capture
) -> None:
    git(fleet, "checkout", "-q", "live")
    both = machine("web-8") + b"---\n" + machine("web-9")
    commit(fleet, {"machines/both.yaml": both}, "add web-8 and web-9")
    commit(fleet, {"machines/both.yaml": machine("web-8")}, "remove web-9")
    git(fleet, "push", "-q", "origin", "live")
    assert gitvirt("history", "web-9") == Exit.OK
    output = capsys.readouterr().out
    assert output.index("remove web-9") < output.index("add web-8 and web-9")

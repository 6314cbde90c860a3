"""Verbs about the whole fleet, and about reaching machines: status, diff, inventory, ssh."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from schemas import report
from tests.reconciler.cli.verbs.conftest import POOL, POOL_STATUS, RUNNING, gitvirt, machine
from tests.reconciler.cli.verbs.test_mutate import Capture
from tests.reconciler.gitstore.git import commit, git


def push(fleet: Path, branch: str, files: dict[str, bytes], message: str = "change") -> None:
    git(fleet, "checkout", "-q", branch)
    commit(fleet, files, message)
    git(fleet, "push", "-q", "origin", branch)
    git(fleet, "checkout", "-q", "main")


def test_status_counts_states_and_lists_what_is_not_as_declared(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("status") == Exit.OK
    printed = capsys.readouterr().out
    for text in (
        "machinepools  1 Ready",
        "machines      2 Pending, 1 Running",
        "Not as declared",
        "Machine/default/web-2  Pending  Unschedulable",
    ):
        assert text in printed, printed


def test_status_says_how_far_the_target_branch_is_behind(fleet: Path, capsys: Capture) -> None:
    source = git(fleet, "rev-parse", "main")
    push(
        fleet, "live", {"machines/web-1.yaml": machine("web-1") + RUNNING}, f"sync\n\nSource-Commit: {source}"
    )
    assert gitvirt("status") == Exit.OK
    assert "up to date with main" in capsys.readouterr().out
    push(fleet, "main", {"machines/web-3.yaml": machine("web-3")})
    push(fleet, "main", {"machines/web-4.yaml": machine("web-4")})
    assert gitvirt("status") == Exit.OK
    assert "2 commits of main are not synced, for" in capsys.readouterr().out
    assert gitvirt("status", "-o", "json") == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["unsynced"], found["states"]["machines"]) == (2, {"Running": 1, "Pending": 2})
    assert found["notAsDeclared"] == ["Machine/default/web-2"]


def test_status_lists_orphans_with_the_file_that_deletes_each(fleet: Path, capsys: Capture) -> None:
    """Nothing else shows an object that is on a host and in no file."""
    uid = "00000000-0000-4000-8000-00000000000f"
    poollet = report.PoolletReport(
        fleet="6f1c1f0e-0d0f-4b5e-9b3e-5a1f6f0f7a11", name="rack-a", host_id="1", instance=uid, interval="15s"
    )
    orphans = (
        report.Orphan("Machine", "rack-a", "sim://1", uid, "default", "old", reason="not assigned here"),
        report.Orphan("Volume", "rack-a", "sim://2"),
    )
    git(fleet, "checkout", "-q", "report")
    commit(fleet, report.render(report.Report(poollet=poollet, orphans=orphans)), "report")
    git(fleet, "push", "-q", "origin", "report:refs/poollets/rack-a")
    git(fleet, "checkout", "-q", "main")
    assert gitvirt("status") == Exit.OK
    printed = capsys.readouterr().out
    for text in (
        "Orphans",
        "commit its file with the line `pool: POOL`",
        f"Machine/default/old  pool rack-a  .gitvirt/orphans/{uid}.yaml",
        "no uid: remove it on the host of poollet rack-a",
    ):
        assert text in printed, printed
    assert gitvirt("status", "-o", "json") == Exit.OK
    first, second = json.loads(capsys.readouterr().out)["orphans"]
    assert (first["object"], first["uid"], first["pool"]) == ("Machine/default/old", uid, "rack-a")
    assert (second["object"], second["file"]) == ("sim://2", "")


def test_a_report_that_cannot_be_read_is_in_every_view(fleet: Path, capsys: Capture) -> None:
    """The pool is Ready until its heartbeat expires, and gets nothing new: only `describe` said so."""
    unreadable = b"""  conditions:
    - {type: Ready, status: "True", reason: Reported}
    - {type: ReportUnreadable, status: "True", reason: ReportUnreadable, message: it is a blob and not a commit}
"""
    push(fleet, "live", {"pools/rack-a.yaml": POOL + POOL_STATUS + unreadable})
    assert gitvirt("get", "pools") == Exit.OK
    assert re.search(r"rack-a +Ready .* ReportUnreadable\n", capsys.readouterr().out)
    assert gitvirt("status") == Exit.OK
    row = r"MachinePool/rack-a +Ready +ReportUnreadable +it is a blob and not a commit\n"
    assert re.search(row, capsys.readouterr().out)


def test_status_names_the_hosts_that_a_lost_live_waits_for(fleet: Path, capsys: Capture) -> None:
    for name, age in (("rack-a", timedelta(0)), ("rack-b", timedelta(hours=3))):
        put_report(fleet, name, datetime.now(UTC) - age)
    git(fleet, "push", "-q", "origin", "--delete", "live")
    assert gitvirt("status") == Exit.OK
    printed = capsys.readouterr().out
    part = printed[printed.index("Hosts that live waits for") :].splitlines()
    assert "once each of these has reported" in part[0]
    assert part[1].split("  ")[:2] == ["rack-b", "last report 3h ago"]
    assert "start it" in part[1]
    assert part[2].startswith("rack-a")
    assert "the reconciler counts its next report" in part[2]
    assert gitvirt("status", "-o", "json") == Exit.OK
    found = json.loads(capsys.readouterr().out)["missingHosts"]
    assert [(each["name"], each["reason"]) for each in found] == [
        ("rack-b", "UNPROVEN"),
        ("rack-a", "UNPROVEN"),
    ]
    assert datetime.now(UTC) - datetime.fromisoformat(found[0]["lastReport"]) > timedelta(hours=2)


def test_status_names_a_host_that_waits_with_objects_and_the_command_that_ends_it(
    fleet: Path, capsys: Capture
) -> None:
    """It may never come back, and nothing else removes what it wrote."""
    put_report(fleet, "rack-a", datetime.now(UTC))
    uid = "00000000-0000-4000-8000-0000000000ff"
    held = tuple(report.HeldObject("Machine", f"m{number}", "default") for number in range(5))
    waiting = report.CandidateReport("rack-a", "former", uid, ("rack-a",), objects=held)
    git(fleet, "checkout", "-q", "report-rack-a")
    commit(fleet, report.render(report.Report(candidate=waiting)), "candidate")
    git(fleet, "push", "-q", "origin", "report-rack-a:refs/poollets/rack-a")
    git(fleet, "checkout", "-q", "main")
    assert gitvirt("status") == Exit.OK
    printed = capsys.readouterr().out
    part = printed[printed.index("Hosts that wait without a pool") :].splitlines()
    names = ", ".join(f"Machine/default/m{number}" for number in range(3))
    assert f"host former  poollet rack-a  has {names} and 2 more" in part[1]
    assert part[1].endswith("git push origin --delete refs/poollets/rack-a")
    assert gitvirt("status", "-o", "json") == Exit.OK
    (found,) = json.loads(capsys.readouterr().out)["waitingHosts"]
    assert (found["hostID"], found["pools"], len(found["objects"])) == ("former", ["rack-a"], 5)


def put_report(fleet: Path, name: str, written: datetime) -> None:
    """Of a host with one machine that `live` assigned to it."""
    uid = "00000000-0000-4000-8000-00000000000f"
    poollet = report.PoolletReport(
        fleet="6f1c1f0e-0d0f-4b5e-9b3e-5a1f6f0f7a11", name=name, host_id=name, instance=uid, interval="15s"
    )
    entry = report.MachineReport(uid, uid, "present", name)
    whole = report.Report(poollet=poollet, machines={("default", f"on-{name}"): entry})
    git(fleet, "checkout", "-q", "--orphan", f"report-{name}")
    git(fleet, "rm", "-r", "-q", "--force", ".")
    with pytest.MonkeyPatch.context() as given:
        given.setenv("GIT_COMMITTER_DATE", written.isoformat())
        commit(fleet, report.render(whole), "report")
    git(fleet, "push", "-q", "--force", "origin", f"report-{name}:refs/poollets/{name}")
    git(fleet, "checkout", "-q", "main")


def test_status_before_the_first_reconcile(fleet: Path, capsys: Capture) -> None:
    git(fleet, "push", "-q", "origin", "--delete", "live")
    assert gitvirt("status") == Exit.OK
    assert "never; start `gitvirt run`" in capsys.readouterr().out


def test_diff_is_silent_where_the_target_branch_is_as_declared(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("diff", "machines", "--all", "--exit-code") == Exit.OK
    assert capsys.readouterr().out == ""


def test_diff_shows_what_is_declared_and_not_synced(fleet: Path, capsys: Capture) -> None:
    changed = machine("web-2").replace(b"5Gi", b"9Gi")
    push(fleet, "main", {"machines/web-2.yaml": changed, "machines/web-9.yaml": machine("web-9")})
    assert gitvirt("diff", "web-2", "machine/web-1") == Exit.OK
    printed = capsys.readouterr().out
    assert "-        sizeLimit: 5Gi" in printed
    assert "+        sizeLimit: 9Gi" in printed
    assert "web-1" not in printed
    assert gitvirt("diff", "machines", "--all", "--exit-code") == Exit.CHANGES
    assert "+++ source: Machine/default/web-9" in capsys.readouterr().out
    assert gitvirt("diff", "web-77") == Exit.FAILED
    assert "did you mean" in capsys.readouterr().err


def test_diff_shows_no_secrets(fleet: Path, capsys: Capture) -> None:
    push(
        fleet,
        "main",
        {
            "secret.yaml": b"apiVersion: v1\nkind: Secret\nmetadata: {name: seed}\nstringData: {token: hunter3}\n"
        },
    )
    assert gitvirt("diff", "secret/seed") == Exit.OK
    printed = capsys.readouterr().out
    assert "token" in printed
    assert "hunter" not in printed


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("--hosts", "10.0.0.7\tweb-1\n"),
        ("--ssh-config", "Host web-1\n    HostName 10.0.0.7\n"),
        ("--ssh-config --user debian", "Host web-1\n    HostName 10.0.0.7\n    User debian\n"),
    ],
)
def test_inventory_as_text(fleet: Path, capsys: Capture, words: str, want: str) -> None:
    assert gitvirt("inventory", *words.split()) == Exit.OK
    printed = capsys.readouterr()
    assert printed.out == want
    assert printed.err == "1 machines have no address yet and are left out\n"


def test_inventory_for_ansible_groups_machines(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("inventory", "--ansible", "-A", "--user", "debian") == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["all"]["hosts"] == ["web-1"]
    for group in ("pool_rack_a", "class_small", "namespace_default", "state_Running", "label_app_web"):
        assert found[group] == {"hosts": ["web-1"]}
    variables = found["_meta"]["hostvars"]["web-1"]
    assert (variables["ansible_host"], variables["ansible_user"]) == ("10.0.0.7", "debian")


def test_inventory_for_prometheus(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("inventory", "--prometheus", "-l", "app", "--port", "9200") == Exit.OK
    (target,) = json.loads(capsys.readouterr().out)
    assert target["targets"] == ["10.0.0.7:9200"]
    assert target["labels"]["gitvirt_label_app"] == "web"
    assert target["labels"]["gitvirt_pool"] == "rack-a"


def test_a_machine_without_an_address_cannot_be_reached_by_ssh(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("ssh", "web-2", "--print") == Exit.FAILED
    printed = capsys.readouterr().err
    assert "no host reports an address of Machine/default/web-2" in printed
    assert "gitvirt console Machine/default/web-2" in printed


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("web-1", "ssh -- 10.0.0.7"),
        ("machine/web-1 --user debian", "ssh -l debian -- 10.0.0.7"),
        ("web-1 --jump", "ssh -J rack-a -- 10.0.0.7"),
        ("web-1 -- uptime -p", "ssh -- 10.0.0.7 uptime -p"),
    ],
)
def test_ssh_prints_the_command(fleet: Path, capsys: Capture, words: str, want: str) -> None:
    first, *rest = words.split()
    assert gitvirt("ssh", "--print", first, *rest) == Exit.OK
    assert capsys.readouterr().out.strip() == want


@pytest.mark.parametrize("words", ["status", "approve", "plan --repo ."])
def test_what_was_parsed_is_kept_and_changes_no_answer(
    fleet: Path, tmp_path: Path, capsys: Capture, words: str
) -> None:
    code, first = gitvirt(*words.split()), capsys.readouterr()
    (kept,) = (tmp_path / "cache").rglob("readings.sqlite")
    written = kept.stat().st_mtime_ns
    assert (gitvirt(*words.split()), capsys.readouterr()) == (code, first)
    assert kept.stat().st_mtime_ns == written, "nothing was parsed again"
    kept.write_bytes(b"damaged")
    assert (gitvirt(*words.split()), capsys.readouterr()) == (code, first)

"""The verbs that change something: one commit in the caller's name, of one field, on the source or for review."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from reconciler.cli.mutate.branch_name import parse_branch_name
from tests.reconciler.cli.verbs.conftest import POOL, gitvirt, machine
from tests.reconciler.gitstore.git import commit, git

Capture = pytest.CaptureFixture[str]


def at(fleet: Path, revision: str, path: str) -> str:
    git(fleet, "fetch", "-q", "origin")
    return git(fleet, "show", f"{revision}:{path}")


@pytest.mark.parametrize(
    ("words", "path", "adds", "subject"),
    [
        ("cordon rack-a", "pools/rack-a.yaml", ["spec:", "  unschedulable: true"], "cordon MachinePool/rack-a"),
        ("drain rack-a", "pools/rack-a.yaml", ["    - key: gitvirt.dev/drain", "      effect: NoExecute"], "drain MachinePool/rack-a"),
        ("drain rack-a --force --yes", "pools/rack-a.yaml", ["      value: force"], "drain MachinePool/rack-a: DESTROYS 1 disk"),
        ("pause web-1", "machines/web-1.yaml", ['    gitvirt.dev/paused: "true"'], "pause Machine/default/web-1"),
        ("pause machine lab/lab", "machines/lab.yaml", ['    gitvirt.dev/paused: "true"'], "pause Machine/lab/lab"),
        ("restart web-1 -m 'bounce'", "machines/web-1.yaml", ["    gitvirt.dev/restart: "], "'bounce'"),
    ],
)  # fmt: skip
def test_is_one_commit_of_one_field(
    fleet: Path, capsys: Capture, words: str, path: str, adds: list[str], subject: str
) -> None:
    before = at(fleet, "origin/main", path)
    assert gitvirt(*words.split()) == Exit.OK
    assert "on main" in capsys.readouterr().out
    after = at(fleet, "origin/main", path)
    assert all(line in after for line in adds), after
    assert [line for line in before.splitlines() if line not in after.splitlines()] == []
    assert (
        git(fleet, "log", "-1", "--format=%an <%ae> %s", "origin/main") == f"Ann <ann@example.org> {subject}"
    )
    assert git(fleet, "diff", "--name-only", "origin/main~1", "origin/main") == path
    assert gitvirt("validate", "--rev", "origin/main", "--against", "origin/main~1") == Exit.OK


@pytest.mark.parametrize(
    ("there", "back", "path"),
    [("cordon rack-a", "uncordon rack-a", "pools/rack-a.yaml"), ("drain rack-a", "uncordon rack-a", "pools/rack-a.yaml"), ("pause web-1", "resume web-1", "machines/web-1.yaml")],
)  # fmt: skip
def test_there_and_back_means_the_same(fleet: Path, there: str, back: str, path: str) -> None:
    before = at(fleet, "origin/main", path)
    assert gitvirt(*there.split()) == gitvirt(*back.split()) == Exit.OK
    assert at(fleet, "origin/main", path).replace("spec: {}", "").strip() == before.strip()


def test_uncordon_keeps_other_taints(fleet: Path) -> None:
    taint = b'spec:\n  taints:\n    - {key: gpu, value: "yes", effect: NoSchedule}\n'
    commit(fleet, {"pools/rack-a.yaml": POOL + taint}, "taint it")
    git(fleet, "push", "-q", "origin", "main")
    assert gitvirt("drain", "rack-a") == gitvirt("uncordon", "rack-a") == Exit.OK
    text = at(fleet, "origin/main", "pools/rack-a.yaml")
    assert "key: gpu" in text
    assert "drain" not in text
    assert "unschedulable" not in text


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("", "uncordon rack-a"),
        ("cordon rack-a", "cordon rack-a"),
        ("drain rack-a", "drain rack-a"),
        ("", "resume web-1"),
    ],
)
def test_a_change_without_effect_makes_no_commit(
    fleet: Path, capsys: Capture, first: str, words: str
) -> None:
    assert not first or gitvirt(*first.split()) == Exit.OK
    head = git(fleet, "ls-remote", "origin", "main")
    assert gitvirt(*words.split()) == Exit.OK
    assert "nothing to change" in capsys.readouterr().out
    assert git(fleet, "ls-remote", "origin", "main") == head


def test_drain_says_of_each_machine_whether_it_stays(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("drain", "rack-a") == Exit.OK
    line = "Machine/default/web-1 stays: local disk root of web-1, 5Gi is only on this host, and --force would DESTROY it"
    assert line in capsys.readouterr().err


def test_a_forced_drain_destroys_nothing_without_consent(fleet: Path, capsys: Capture) -> None:
    before = git(fleet, "ls-remote", "origin")
    assert gitvirt("drain", "rack-a", "--force") == Exit.USAGE
    printed = capsys.readouterr().err
    assert (
        "Machine/default/web-1 leaves once its host obeys, and loses local disk root of web-1, 5Gi" in printed
    )
    assert "DESTROYS local disk root of web-1, 5Gi" in printed
    assert "add --yes" in printed
    assert git(fleet, "ls-remote", "origin") == before
    assert gitvirt("drain", "rack-a", "--force", "--yes") == Exit.OK
    git(fleet, "fetch", "-q", "origin")
    assert "- DESTROYS local disk root of web-1, 5Gi" in git(fleet, "log", "-1", "--format=%b", "origin/main")


@pytest.mark.parametrize("force", [(), ("--force", "--yes")])
def test_drain_says_whether_local_disks_are_lost(
    fleet: Path, capsys: Capture, force: tuple[str, ...]
) -> None:
    for _ in range(2):  # done, and done already
        assert gitvirt("drain", "rack-a", *force) == Exit.OK
        assert ("machines with local disks leave too, and lose them" in capsys.readouterr().out) is bool(
            force
        )


def test_restart_prints_the_command_that_waits_for_its_end(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("restart", "web-1") == Exit.OK
    found = re.search(r"\(token (\S+)\).*`gitvirt (wait \S+ --for \S+)` waits", capsys.readouterr().out, re.S)
    assert found is not None
    assert found[2] == f"wait Machine/default/web-1 --for status.restart={found[1]}"
    assert gitvirt(*found[2].split(), "--timeout", "0s") == Exit.TIMED_OUT
    assert f"is not status.restart={found[1]} after" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["restart web-1", "restart web-1 --dry-run"])
def test_a_paused_machine_is_not_restarted(fleet: Path, capsys: Capture, words: str) -> None:
    assert gitvirt("pause", "web-1") == Exit.OK
    before = git(fleet, "ls-remote", "origin")
    assert gitvirt(*words.split()) == Exit.FAILED
    output = capsys.readouterr().err
    assert "Machine/default/web-1 is paused" in output
    assert "`gitvirt resume Machine/default/web-1`" in output
    assert git(fleet, "ls-remote", "origin") == before
    assert gitvirt("resume", "web-1") == gitvirt("restart", "web-1") == Exit.OK


def test_a_dry_run_prints_a_patch_that_applies(fleet: Path, capsys: Capture) -> None:
    head = git(fleet, "ls-remote", "origin")
    assert gitvirt("drain", "rack-a", "--dry-run") == Exit.OK
    patch = capsys.readouterr().out
    git(fleet, "apply", "-", data=patch.encode())
    assert "gitvirt.dev/drain" in (fleet / "pools/rack-a.yaml").read_text()
    assert git(fleet, "ls-remote", "origin") == head


def test_a_branch_is_for_review(fleet: Path, capsys: Capture) -> None:
    main_before = git(fleet, "ls-remote", "origin", "main")
    assert gitvirt("cordon", "rack-a", "--branch", "maintenance") == Exit.OK
    assert "pull request" in capsys.readouterr().out
    assert git(fleet, "ls-remote", "origin", "main") == main_before
    assert "unschedulable" in at(fleet, "origin/maintenance", "pools/rack-a.yaml")
    assert git(fleet, "rev-list", "--count", "origin/main..origin/maintenance") == "1"
    assert gitvirt("drain", "rack-a", "--branch", "maintenance") == Exit.FAILED
    assert "already exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "is_fine"),
    [
        *((name, True) for name in ("topic", "ann/rack-a", "größe", "a.b", "v1-x_y", "a@b", "x#1", "main-2")),
        *((name, False) for name in ("", "HEAD", "-x", "bad branch", "a..b", "a/", "a//b", "/a", ".a", "a/.b")),
        *((name, False) for name in ("a.", "a.lock", "a.lock/b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b")),
        *((name, False) for name in ("a@{1}", "a\x07b", "a\tb", "a\x7f", "bad branch..x")),
    ],
)  # fmt: skip
def test_a_branch_is_named_as_git_would_have_it(fleet: Path, name: str, is_fine: bool) -> None:
    noted = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False)
    assert (noted.returncode == 0) == is_fine, "git says otherwise"
    if is_fine:
        assert parse_branch_name(name) == name
        return
    before = git(fleet, "ls-remote", "origin")
    assert gitvirt("cordon", "rack-a", f"--branch={name}") == Exit.USAGE
    assert git(fleet, "ls-remote", "origin") == before


@pytest.mark.parametrize(
    ("name", "cause", "cure"),
    [
        ("refs/poollets/host-1", "'refs/poollets/host-1' is a ref, not a branch", "leave out refs/"),
        ("refs/heads/topic", "'refs/heads/topic' is a ref, not a branch", "did you mean topic?"),
        ("refs/heads/refs/x", "is a ref, not a branch", "leave out refs/"),
        ("bad branch..x", "'bad branch..x' is not a branch name", "git forbids blanks"),
    ],
)
def test_a_ref_is_not_a_branch(fleet: Path, capsys: Capture, name: str, cause: str, cure: str) -> None:
    before = git(fleet, "ls-remote", "origin")
    assert gitvirt("drain", "rack-a", "--branch", name) == Exit.USAGE
    output = capsys.readouterr().err
    assert cause in output
    assert cure in output
    assert git(fleet, "ls-remote", "origin") == before


def announce(fleet: Path) -> None:
    git(fleet, "checkout", "-q", "live")
    commit(fleet, {".gitvirt/pools/rack-b.yaml": POOL.replace(b"rack-a", b"rack-b")}, "announce rack-b")
    git(fleet, "push", "-q", "origin", "live")


@pytest.mark.parametrize("words", ["cordon rack-b", "drain rack-b", "pause pool rack-b"])
def test_an_announced_pool_gets_a_file(fleet: Path, words: str) -> None:
    announce(fleet)
    assert gitvirt(*words.split()) == Exit.OK
    assert "name: rack-b" in at(fleet, "origin/main", "pools/rack-b.yaml")
    assert gitvirt("validate", "--rev", "origin/main") == Exit.OK


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ("resume pool rack-b", "MachinePool/rack-b is not paused: nothing to change"),
        ("uncordon rack-b", "MachinePool/rack-b is already uncordoned: nothing to change"),
    ],
)
def test_of_an_announced_pool_there_is_nothing_to_take_back(
    fleet: Path, capsys: Capture, words: str, output: str
) -> None:
    announce(fleet)
    before = git(fleet, "ls-remote", "origin")
    assert gitvirt(*words.split()) == Exit.OK
    assert output in capsys.readouterr().out
    assert git(fleet, "ls-remote", "origin") == before


def test_an_undeclared_machine_gets_no_file(fleet: Path, capsys: Capture) -> None:
    git(fleet, "rm", "-q", "machines/web-1.yaml")
    git(fleet, "commit", "-q", "-m", "no more web-1")
    git(fleet, "push", "-q", "origin", "main")
    assert gitvirt("pause", "web-1") == Exit.FAILED
    assert "there is no Machine web-1" in capsys.readouterr().err


def test_several_at_once_all_land(fleet: Path) -> None:
    """Compare-and-swap: no change is lost, whoever pushes in between."""
    command = [sys.executable, "-m", "reconciler", "pause"]
    running = [subprocess.Popen([*command, name]) for name in ("web-1", "web-2", "lab/lab")]
    assert [process.wait(60) for process in running] == [Exit.OK] * 3
    texts = [at(fleet, "origin/main", f"machines/{name}.yaml") for name in ("web-1", "web-2", "lab")]
    assert all("gitvirt.dev/paused" in text for text in texts)


@pytest.mark.parametrize(
    ("words", "code", "cause", "cure"),
    [
        ("cordon rack-x", Exit.FAILED, "there is no MachinePool rack-x", "did you mean rack-a?"),
        ("pause web-9", Exit.FAILED, "there is no Machine web-9", "did you mean web-"),
        ("pause machin web-1", Exit.USAGE, "unknown kind 'machin'", "did you mean machine"),
        ("restart", Exit.USAGE, "MACHINE", "gitvirt restart --help"),
    ],
)
def test_says_what_is_wrong(
    fleet: Path, capsys: Capture, words: str, code: Exit, cause: str, cure: str
) -> None:
    assert gitvirt(*words.split()) == code
    output = capsys.readouterr().err
    assert cause in output
    assert cure in output


def test_where_commits_must_be_signed_the_patch_is_the_way(fleet: Path, capsys: Capture) -> None:
    settings = (
        (fleet / "gitvirt.yaml").read_bytes()
        + b"signatures: {mode: enforce, signers: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJKp8Nl0V9ekfFPPzUIG0DOWWcUVEhh1GM+V6ytCmPeR]}\n"
    )
    commit(fleet, {"gitvirt.yaml": settings}, "sign everything")
    git(fleet, "push", "-q", "origin", "main")
    assert gitvirt("cordon", "rack-a") == Exit.FAILED
    assert "git apply" in capsys.readouterr().err
    assert gitvirt("cordon", "rack-a", "--dry-run") == Exit.OK


def test_a_rejection_by_the_server_is_shown(fleet: Path, capsys: Capture) -> None:
    hook = fleet.parent / "fleet.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho main is protected; exit 1\n")
    hook.chmod(0o755)
    assert gitvirt("cordon", "rack-a") == Exit.FAILED
    output = capsys.readouterr().err
    assert "main is protected" in output
    assert "--branch" in output


def test_without_a_name_a_commit_is_refused(
    fleet: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    git(fleet, "config", "user.name", "")
    assert gitvirt("cordon", "rack-a") == Exit.FAILED
    assert "git config --global user.name" in capsys.readouterr().err


def test_machines_of_a_file_of_several_are_found(fleet: Path) -> None:
    both = machine("a") + b"---\n" + machine("b")
    commit(fleet, {"machines/both.yaml": both}, "two in one")
    git(fleet, "push", "-q", "origin", "main")
    assert gitvirt("pause", "b") == Exit.OK
    first, second = at(fleet, "origin/main", "machines/both.yaml").split("---\n")
    assert first.encode().strip() == machine("a").strip()
    assert "gitvirt.dev/paused" in second


@pytest.mark.parametrize(
    ("begins", "command"),
    [
        (["branch -q --set-upstream-to origin/main main"], "git pull"),
        (["branch -q --unset-upstream"], "git pull origin main"),
        (["checkout -q -b topic"], "git fetch origin main"),
        (["checkout -q --detach"], "git fetch origin main"),
        (["branch -q --unset-upstream", "remote rename origin forge"], "git pull forge main"),
    ],
    ids=["follows it", "follows nothing", "another branch", "no branch", "another name"],
)
def test_the_command_that_brings_the_change_here_works(
    fleet: Path, capsys: Capture, begins: list[str], command: str
) -> None:
    git(fleet, "fetch", "-q", "origin")
    git(fleet, "branch", "-q", "--set-upstream-to", "origin/main", "main")
    for words in begins:
        git(fleet, *words.split())
    assert gitvirt("cordon", "rack-a") == Exit.OK
    assert f"\n`{command}` fetches it\n" in capsys.readouterr().out
    git(fleet, *command.split()[1:], "--quiet")
    seen = "HEAD" if "pull" in command else "FETCH_HEAD"
    assert "unschedulable" in git(fleet, "show", f"{seen}:pools/rack-a.yaml")


def test_a_refusal_of_several_lines_is_one(fleet: Path, capsys: Capture) -> None:
    hook = fleet.parent / "fleet.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho you may not; echo ask the admins; exit 1\n")
    hook.chmod(0o755)
    assert gitvirt("cordon", "rack-a") == Exit.FAILED
    output = capsys.readouterr().err
    assert (
        "error: the server refused the push: you may not; ask the admins; pre-receive hook declined\n"
        in output
    )


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("pause web-1 web-2", {"web-1", "web-2"}),
        ("pause Machine/default/web-1 machine/lab/lab", {"web-1", "lab"}),
        ("pause machine default/web-2 -n lab lab", {"web-2", "lab"}),
        ("pause machines -l app=web", {"web-1"}),
        ("pause -l !app -A", {"web-2", "lab"}),
        ("pause --all", {"web-1", "web-2"}),
        ("pause machines --field state=Running", {"web-1"}),
        ("restart web-1 machine/web-2", {"web-1", "web-2"}),
        ("restart -l app", {"web-1"}),
        ("cordon pool/rack-a", {"rack-a"}),
        ("cordon MachinePool/rack-a", {"rack-a"}),
        ("cordon pools rack-a", {"rack-a"}),
    ],
)  # fmt: skip
def test_several_objects_are_changed_by_one_commit(fleet: Path, words: str, changes: set[str]) -> None:
    assert gitvirt(*words.split()) == Exit.OK
    git(fleet, "fetch", "-q", "origin")
    assert git(fleet, "rev-list", "--count", "main..origin/main") == "1"
    files = git(fleet, "diff", "--name-only", "main", "origin/main").split()
    assert {Path(file).stem for file in files} == changes
    subject = git(fleet, "log", "-1", "--format=%s", "origin/main")
    assert all(f"/{name}" in subject for name in changes)


def test_two_objects_of_one_file_are_changed_by_one_commit(fleet: Path) -> None:
    commit(fleet, {"machines/both.yaml": machine("a") + b"---\n" + machine("b")}, "two in one")
    git(fleet, "push", "-q", "origin", "main")
    assert gitvirt("pause", "a", "b") == Exit.OK
    assert at(fleet, "origin/main", "machines/both.yaml").count("gitvirt.dev/paused") == 2


def test_a_long_list_of_objects_is_in_the_body_of_the_commit(fleet: Path) -> None:
    names = [f"node-{number}" for number in range(12)]
    commit(fleet, {f"machines/{name}.yaml": machine(name) for name in names}, "a dozen")
    git(fleet, "push", "-q", "origin", "main")
    assert gitvirt("pause", *names) == Exit.OK
    git(fleet, "fetch", "-q", "origin")
    subject, _, *body = git(fleet, "log", "-1", "--format=%B", "origin/main").strip().split("\n")
    assert subject == "pause 12 machines"
    assert body == [f"- Machine/default/{name}" for name in names]


def test_one_of_several_that_does_not_exist_stops_the_change(fleet: Path, capsys: Capture) -> None:
    before = git(fleet, "ls-remote", "origin")
    assert gitvirt("pause", "web-1", "web-9") == Exit.FAILED
    assert "there is no Machine web-9" in capsys.readouterr().err
    assert git(fleet, "ls-remote", "origin") == before


@pytest.mark.parametrize(
    ("words", "code", "cause", "cure"),
    [
        ("restart volume/web-1", Exit.USAGE, "gitvirt restart takes machines, not a Volume", "restart --help"),
        ("restart volume a b", Exit.USAGE, "takes machines, not a Volume", "restart --help"),
        ("cordon machine/web-1", Exit.USAGE, "takes machinepools, volumepools, not a Machine", "cordon --help"),
        ("pause web-1 -l app=web", Exit.USAGE, "either names objects or selects them", "leave out the names"),
        ("pause machines -l app=none", Exit.FAILED, "no machines are selected", "gitvirt get machines -A"),
        ("pause machines -l _x", Exit.USAGE, "'_x' is not a label key", "write KEY=VALUE"),
        ("pause machines", Exit.FAILED, "there is no Machine machines", "gitvirt get machines"),
        ("drain --all", Exit.USAGE, "--all", "drain --help"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(
    fleet: Path, capsys: Capture, words: str, code: Exit, cause: str, cure: str
) -> None:
    before = git(fleet, "ls-remote", "origin")
    assert gitvirt(*words.split()) == code
    output = capsys.readouterr().err
    assert cause in output
    assert cure in output
    assert git(fleet, "ls-remote", "origin") == before


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_an_object_has_to_be_named(fleet: Path, capsys: Capture, verb: str) -> None:
    assert gitvirt(verb) == Exit.USAGE
    assert "required: OBJECT" in capsys.readouterr().err


def test_a_repo_with_the_branch_checked_out_is_named_with_its_cure(fleet: Path, capsys: Capture) -> None:
    git(fleet, "remote", "remove", "origin")
    assert gitvirt("cordon", "rack-a", "--repo", str(fleet)) == Exit.FAILED
    cause, cure = capsys.readouterr().err.strip().splitlines()[-2:]
    assert cause.startswith(f"error: {fleet}")
    assert cause.endswith("is not a bare repo and has branch main checked out, so Git refuses pushes to it")
    assert "git clone --bare" in cure
    assert "receive.denyCurrentBranch updateInstead" in cure
    assert "--branch NAME" in cure
    git(fleet, "config", "receive.denyCurrentBranch", "updateInstead")
    assert gitvirt("cordon", "rack-a", "--repo", str(fleet)) == Exit.OK
    assert "unschedulable" in (fleet / "pools/rack-a.yaml").read_text()

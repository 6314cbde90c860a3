"""The source branch is deleted while the fleet runs, also where a process starts meanwhile, and comes back, with its history or without."""

from __future__ import annotations

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.accidents.fleet import Fleet, fleet, machine, pinned
from tests.servers.repository import git

pytestmark = pytest.mark.early
MAIN = "refs/heads/main"
NAMES = ("web-1", "web-2")
FILES = {
    "machines/web-1.yaml": machine("web-1", pinned("a")),
    "machines/web-2.yaml": machine("web-2", pinned("b")),
}


def test_a_source_branch_that_is_deleted_deletes_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with fleet("a", "b") as found:
        monkeypatch.setenv("GITVIRT_CACHE", str(found.folder / "cli"))
        found.commit("two", FILES)
        found.until(lambda: found.is_running(*NAMES), "two machines")
        head = found.head(MAIN)
        git(found.repo, "update-ref", "-d", MAIN)
        wait_until_it_says_so(found)
        assert main(["get", "machines", "--repo", str(found.repo)]) == Exit.OK
        shown = capsys.readouterr()
        assert all(name in shown.out for name in NAMES)
        assert "the source branch main does not exist; showing live, which stays as it is" in shown.err
        assert main(["cordon", "a", "--repo", str(found.repo)]) == Exit.FAILED
        last = git(found.repo, "log", "-1", "--format=%(trailers:key=Source-Commit,valueonly)", "live")
        assert last == head, "docs/trouble.md restores the branch from there"
        restart_all(found)
        wait_until_it_says_so(found)
        git(found.repo, "update-ref", MAIN, head)
        found.run_machine("back")
        lose_its_history(found)


def wait_until_it_says_so(found: Fleet) -> None:
    """And then some ticks and heartbeats more."""
    control = found.reconcilers["control"]
    found.until(
        lambda: (
            "main" in control.log_text[control.log_start :]
            and "blocked" in control.log_text[control.log_start :]
        )
    )
    heads = {name: found.head(f"refs/poollets/{name}") for name in found.hosts}
    found.until(lambda: all(found.head(f"refs/poollets/{name}") != head for name, head in heads.items()))
    assert all(found.host_of(name) for name in NAMES)


def restart_all(found: Fleet) -> None:
    found.reconcilers["control"].kill()
    found.start_reconciler()
    for name, host in found.hosts.items():
        assert host.poollet is not None
        host.poollet.kill()
        found.start_poollet(name)


def lose_its_history(found: Fleet) -> None:
    """It is made again from the files of today, less one, without any history. That waits for a person."""
    tree = git(found.repo, "rev-parse", f"{MAIN}^{{tree}}")
    git(found.repo, "update-ref", "-d", MAIN)
    wait_until_it_says_so(found)
    orphan = git(found.repo, "commit-tree", tree, "-m", "from a checkout")
    git(found.repo, "update-ref", MAIN, orphan)
    found.commit("and web-2 is not in it", {"machines/web-2.yaml": None})
    control = found.reconcilers["control"]
    found.until(lambda: "awaiting approval" in control.log_text[control.log_start :], "the question")
    assert found.is_running(*NAMES)
    trailer = control.log_text.rpartition("trailer=")[2].splitlines()[0].strip('"')
    found.may_end.add(found.uid_of("web-2"))
    found.commit("yes", {}, trailer)
    found.until(lambda: not found.live("machines/web-2.yaml"), "what was approved")
    assert found.is_running("web-1", "back")

"""Schedule, Update, Stop and Destroy over real TLS, onto a repo on disk that a reconciler ticks on: what is committed, and what is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from iri.proto.gitvirt.link.v1alpha1 import controller_pb2 as pb
from reconciler.cli.controller.source import SourceBranch
from reconciler.cli.controller.writer import ControllerWriter
from reconciler.cli.fleet_repo import Location
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.signatures.signing import load_signer
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.link.client import ApiClient, Watch, status_of
from tests.reconciler.link.serving import serving
from tests.reconciler.link.site import ViewedSite
from tests.reconciler.loop.fleet import SMALL, machine
from tests.servers import repository
from tests.servers.repository import git
from tests.servers.sshd import new_key

ALL_RIGHTS = ("read", "schedule", "update", "stop", "destroy")
DISK = "  volumes: [{name: root, localDisk: {sizeLimit: 5Gi}}]\n"


class ChangedSite(ViewedSite):
    """With a repo on disk, and a client `ci` that may do everything in `default` and `staging`."""

    def __init__(self, served: Any, world: MirrorWorld, remote: Path) -> None:
        super().__init__(served, ("host-0", "host-1"), world)
        self.remote = remote
        for host in self.hosts:
            host.storage = "100Gi"
        self.ci = self.permit("ci", ALL_RIGHTS, ("default", "staging"))
        self.settle()

    def log(self, format: str = "%s") -> str:
        return git(self.remote, "log", "-1", f"--format={format}", "main")

    def files(self) -> dict[str, str]:
        paths = git(self.remote, "ls-tree", "-r", "--name-only", "main").splitlines()
        return {path: git(self.remote, "show", f"main:{path}") + "\n" for path in paths}

    def head(self) -> str:
        return git(self.remote, "rev-parse", "main")


@pytest.fixture
def own_key(tmp_path: Path) -> Path:
    """Of the server."""
    return new_key(tmp_path / "signing", "reconciler")


@pytest.fixture
def site(tmp_path: Path, own_key: Path) -> Iterator[ChangedSite]:
    with changed_site(tmp_path, own_key) as found:
        yield found


@contextmanager
def changed_site(tmp_path: Path, own_key: Path | None) -> Iterator[ChangedSite]:
    world = MirrorWorld(tmp_path / "world")
    remote = world.repo
    environment = {"GITVIRT_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    location = Location(parse_address(str(remote), tmp_path))
    sign = load_signer(str(own_key), environment) if own_key is not None else None
    writer = ControllerWriter(SourceBranch(location, environment, sign))
    with serving(tmp_path, writer=writer) as served:
        made = ChangedSite(served, world, remote)
        try:
            yield made
        finally:
            made.ci.close()
            world.close()


def public_half(key: Path) -> str:
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


def refused(client: ApiClient, method: str, request: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as found:
        tuple(client.call(method, request))
    return status_of(found.value)


def schedule(site: ChangedSite, text: str, **more: Any) -> Watch:
    return Watch(site.ci.call("Schedule", pb.ScheduleRequest(manifest=text.encode(), **more), seconds=120))


def run(site: ChangedSite, name: str, spec: str = "") -> None:
    """A machine that runs, declared by a person."""
    site.push({f"machines/{name}.yaml": machine(name, spec=spec)})
    site.settle()


def in_namespace(name: str, namespace: str) -> str:
    return machine(name).replace("metadata:\n", f"metadata:\n  namespace: {namespace}\n")


def test_a_scheduled_machine_is_a_commit_in_the_clients_name_and_is_reported_until_it_runs(
    site: ChangedSite,
) -> None:
    reports = schedule(site, machine("web"))
    accepted = reports.next()
    assert (accepted.state, accepted.commit) == (pb.INSTANCE_STATE_ACCEPTED, site.head())
    assert site.files()["machines/web.yaml"] == machine("web")
    assert site.log("%an <%ae>") == "ci <ci@clients.gitvirt>"
    assert site.log("%s") == "schedule Machine/default/web"
    assert site.log("%(trailers)") == "Gitvirt-Client: ci"
    site.settle()
    placed = reports.next()
    assert (placed.state, placed.poollet) == (pb.INSTANCE_STATE_PLACED, placed.pool)
    assert reports.next().state == pb.INSTANCE_STATE_RUNNING
    assert reports.end() == (grpc.StatusCode.OK, "")


def test_the_next_pool_in_order_is_tried_until_one_accepts_and_each_refusal_is_reported(
    site: ChangedSite,
) -> None:
    """Orka's diagram of scheduling, as it is allowed."""
    for host in site.hosts:
        host.rejects = frozenset({"web"})
    reports = schedule(site, machine("web"))
    reports.next()
    site.commit()
    first = reports.next().pool
    for host in site.hosts:
        host.rejects = frozenset({"web"}) if host.name == first else frozenset()
    site.settle()
    last = reports.until(lambda each: each.state == pb.INSTANCE_STATE_RUNNING)
    assert last.pool != first
    assert [each.pool for each in last.refusals] == [first]
    assert reports.end()[0] is grpc.StatusCode.OK


def test_what_no_pool_takes_is_reported_with_its_reasons_and_waits(site: ChangedSite) -> None:
    """Orka's diagram of scheduling, as it is denied by every host."""
    reports = schedule(site, machine("web", spec="  machinePoolSelector: {zone: nowhere}\n"))
    reports.next()
    site.settle()
    waiting = reports.next()
    assert waiting.state == pb.INSTANCE_STATE_UNSCHEDULABLE
    assert {each.pool for each in waiting.refusals} == {"host-0", "host-1"}
    site.hosts[0].labels = {"zone": "nowhere"}
    site.settle()
    assert reports.until(lambda each: each.state == pb.INSTANCE_STATE_RUNNING).pool == "host-0"
    assert reports.end()[0] is grpc.StatusCode.OK


def test_a_machine_that_crashes_ends_the_reports(site: ChangedSite) -> None:
    for host in site.hosts:
        host.states["web"] = ("Terminated", "Crash")
    reports = schedule(site, machine("web"))
    site.served.wakes.get(timeout=30)
    site.settle()
    assert reports.until(lambda each: each.state == pb.INSTANCE_STATE_CRASHED).reasons[0].reason == "Crash"
    assert reports.end()[0] is grpc.StatusCode.OK


def test_several_documents_are_one_commit_and_all_are_waited_for(site: ChangedSite) -> None:
    text = "---\n".join((machine("a"), in_namespace("b", "staging")))
    reports = schedule(site, text, subject="two machines", path="apps/pair.yaml")
    assert {reports.next().instance.name for _ in range(2)} == {"a", "b"}
    assert site.files()["apps/pair.yaml"] == text
    assert site.log() == "two machines"
    site.settle()
    running = {
        reports.until(lambda each: each.state == pb.INSTANCE_STATE_RUNNING).instance.name for _ in range(2)
    }
    assert running == {"a", "b"}
    assert reports.end()[0] is grpc.StatusCode.OK


def test_a_request_key_makes_one_commit(site: ChangedSite) -> None:
    first = schedule(site, machine("web"), request_key="job-1").next()
    head = site.head()
    site.settle()
    again = schedule(site, machine("web"), request_key="job-1")
    assert again.next().commit == first.commit == head
    assert again.until(lambda each: each.state == pb.INSTANCE_STATE_RUNNING)
    assert site.head() == head
    other = pb.ScheduleRequest(manifest=machine("db").encode(), request_key="job-1")
    status, words = refused(site.ci, "Schedule", other)
    assert status is grpc.StatusCode.FAILED_PRECONDITION
    assert "request_key job-1 was used for another request" in words
    assert site.head() == head


def test_a_dry_run_commits_nothing(site: ChangedSite) -> None:
    head = site.head()
    assert schedule(site, machine("web"), dry_run=True).end() == (grpc.StatusCode.OK, "")
    wrong = pb.ScheduleRequest(manifest=machine("web").replace("small", "smal").encode(), dry_run=True)
    assert refused(site.ci, "Schedule", wrong)[0] is grpc.StatusCode.INVALID_ARGUMENT
    assert site.head() == head


QUOTA = "apiVersion: core.ironcore.dev/v1alpha1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {requests.cpu: 5}}\n"


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        pytest.param({"manifest": b"kind: ["}, "INVALID_ARGUMENT", "error GV", id="malformed"),
        pytest.param({"manifest": b""}, "INVALID_ARGUMENT", "declares nothing", id="empty"),
        pytest.param(
            {"manifest": b"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"},
            "INVALID_ARGUMENT",
            "kind that gitvirt does not have",
            id="another tool's",
        ),
        pytest.param(
            {"manifest": machine("web").replace("small", "smal").encode()},
            "INVALID_ARGUMENT",
            "machines/web.yaml:7:11: error GV310",
            id="a class that does not exist",
        ),
        pytest.param(
            {"manifest": in_namespace("web", "prod").encode()},
            "PERMISSION_DENIED",
            "but not in namespace prod",
            id="another namespace",
        ),
        pytest.param(
            {"manifest": (machine("web") + "---\n" + in_namespace("db", "prod")).encode()},
            "PERMISSION_DENIED",
            "but not in namespace prod",
            id="another namespace in a second document",
        ),
        pytest.param({"manifest": SMALL.encode()}, "PERMISSION_DENIED", "people the rest", id="a class"),
        pytest.param({"manifest": QUOTA.encode()}, "PERMISSION_DENIED", "people the rest", id="a quota"),
        pytest.param({"path": "gitvirt.yaml"}, "INVALID_ARGUMENT", "not the path", id="the settings"),
        pytest.param({"path": "../x.yaml"}, "INVALID_ARGUMENT", "not the path", id="outside"),
        pytest.param(
            {"path": "a/../../x.yaml"}, "INVALID_ARGUMENT", "not the path", id="outside by a detour"
        ),
        pytest.param(
            {"path": ".gitvirt/approvals/x.yaml"}, "INVALID_ARGUMENT", "not the path", id="an approval"
        ),
        pytest.param({"path": "a/.b/x.yaml"}, "INVALID_ARGUMENT", "not the path", id="a hidden folder"),
        pytest.param({"path": "web.txt"}, "INVALID_ARGUMENT", "not the path", id="no manifest"),
        pytest.param(
            {"path": "classes/small.yaml"}, "FAILED_PRECONDITION", "exists already", id="another's file"
        ),
        pytest.param(
            {"subject": "x\n\nGitvirt-Approve: 1234"}, "INVALID_ARGUMENT", "one line", id="a trailer below"
        ),
        pytest.param(
            {"subject": "Gitvirt-Approve: 1234"}, "INVALID_ARGUMENT", "a trailer", id="a trailer as subject"
        ),
        pytest.param({"request_key": "a b"}, "INVALID_ARGUMENT", "request_key", id="a key with a blank"),
    ],
)
def test_what_a_client_may_not_schedule(
    site: ChangedSite, request_: dict[str, Any], status: str, words: str
) -> None:
    head = site.head()
    asked = pb.ScheduleRequest(**{"manifest": machine("web").encode(), **request_})
    found, said = refused(site.ci, "Schedule", asked)
    assert found is grpc.StatusCode[status], said
    assert words in said
    assert site.head() == head


@pytest.mark.parametrize("method", ["Schedule", "Update", "Stop", "Destroy"])
def test_each_change_needs_its_own_right(site: ChangedSite, method: str) -> None:
    run(site, "web")
    head = site.head()
    others = tuple(right for right in ALL_RIGHTS if right != method.lower())
    other = site.permit("other", others, ("default",))
    site.settle()
    head = site.head()
    web, text = pb.InstanceRef(name="web"), machine("new").encode()
    requests = {
        "Schedule": pb.ScheduleRequest(manifest=text),
        "Update": pb.UpdateRequest(manifest=machine("web").encode()),
        "Stop": pb.StopRequest(instance=web),
        "Destroy": pb.DestroyRequest(instance=web),
    }
    status, words = refused(other, method, requests[method])
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert f"client other does not have the right {method.lower()}" in words
    assert site.head() == head
    other.close()


@pytest.mark.parametrize("method", ["Stop", "Destroy"])
def test_a_machine_of_another_namespace_is_not_touched(site: ChangedSite, method: str) -> None:
    request = {"Stop": pb.StopRequest, "Destroy": pb.DestroyRequest}[method]
    instance = pb.InstanceRef(namespace="prod", name="db")
    status, words = refused(site.ci, method, request(instance=instance))
    assert status is grpc.StatusCode.PERMISSION_DENIED, "and not whether it exists"
    assert "not in namespace prod" in words


@pytest.mark.parametrize("method", ["Stop", "Destroy", "Update"])
def test_what_does_not_exist_is_not_found(site: ChangedSite, method: str) -> None:
    ghost = pb.InstanceRef(name="ghost")
    requests = {
        "Stop": pb.StopRequest(instance=ghost),
        "Destroy": pb.DestroyRequest(instance=ghost),
        "Update": pb.UpdateRequest(manifest=machine("ghost").encode()),
    }
    status, words = refused(site.ci, method, requests[method])
    assert status is grpc.StatusCode.NOT_FOUND
    assert "Machine/default/ghost does not exist" in words


def test_what_exists_is_updated_and_not_scheduled(site: ChangedSite) -> None:
    run(site, "web")
    status, words = refused(site.ci, "Schedule", pb.ScheduleRequest(manifest=machine("web").encode()))
    assert status is grpc.StatusCode.FAILED_PRECONDITION
    assert "exists already, in machines/web.yaml; Update changes it" in words
    labeled = machine("web", "\n  labels: {tier: test}")
    found = site.ci.call("Update", pb.UpdateRequest(manifest=labeled.encode(), subject="label web"))
    assert found.commit == site.head()
    assert site.files()["machines/web.yaml"] == labeled
    assert site.log() == "label web"
    again = site.ci.call("Update", pb.UpdateRequest(manifest=labeled.encode()))
    assert again.commit == ""
    assert site.head() == found.commit


def test_an_update_changes_its_document_and_no_other_byte_of_the_file(site: ChangedSite) -> None:
    first, last = f"# people's words\n{machine('a')}", f"---\n# of c\n{machine('c')}"
    site.push({"apps/all.yaml": f"{first}---\n{machine('b')}{last}"})
    site.settle()
    labeled = machine("b", "\n  labels: {tier: test}")
    site.ci.call("Update", pb.UpdateRequest(manifest=labeled.encode()))
    assert site.files()["apps/all.yaml"] == f"{first}---\n{labeled}{last}"


def test_an_update_that_stops_or_destroys_needs_consent_and_the_rights(site: ChangedSite) -> None:
    run(site, "web", DISK)
    head = site.head()
    pinned = f"{DISK}  machinePoolRef: {{name: {other_pool(site)}}}\n  onPoolLost: Replace\n"
    moved = machine("web", spec=pinned).encode()
    status, words = refused(site.ci, "Update", pb.UpdateRequest(manifest=moved))
    assert status is grpc.StatusCode.FAILED_PRECONDITION
    assert "DESTROYS local disk root, 5Gi" in words
    assert "set allow_destruction" in words
    assert site.head() == head
    dry = site.ci.call("Update", pb.UpdateRequest(manifest=moved, dry_run=True))
    assert any("DESTROYS local disk root" in line for line in dry.effects)
    assert (dry.commit, site.head()) == ("", head)
    weak = site.permit("weak", ("update",), ("default",))
    site.settle()
    head = site.head()
    asked = pb.UpdateRequest(manifest=moved, allow_destruction=True)
    status, words = refused(weak, "Update", asked)
    assert status is grpc.StatusCode.PERMISSION_DENIED
    assert "does not have the right destroy" in words
    off = pb.UpdateRequest(
        manifest=machine("web", spec=f"{DISK}  power: Off\n").encode(), allow_destruction=True
    )
    assert "does not have the right stop" in refused(weak, "Update", off)[1]
    assert site.head() == head
    done = site.ci.call("Update", asked)
    assert done.commit == site.head()
    assert "DESTROYS" in site.log("%B")
    weak.close()


def other_pool(site: ChangedSite) -> str:
    live = git(site.remote, "show", "live:machines/web.yaml")
    return "host-1" if "host-0" in live else "host-0"


def test_an_update_of_what_changed_since_is_aborted(site: ChangedSite) -> None:
    run(site, "web")
    base = site.head()
    site.push({"README.md": "other\n"})
    labeled = machine("web", "\n  labels: {tier: test}").encode()
    assert site.ci.call("Update", pb.UpdateRequest(manifest=labeled, base=base, dry_run=True)).commit == ""
    site.push({"machines/web.yaml": machine("web", "\n  labels: {tier: prod}")})
    status, words = refused(site.ci, "Update", pb.UpdateRequest(manifest=labeled, base=base))
    assert status is grpc.StatusCode.ABORTED
    assert f"Machine/default/web changed on the source branch since {base[:12]}" in words
    status, words = refused(site.ci, "Update", pb.UpdateRequest(manifest=labeled, base="0" * 40))
    assert status is grpc.StatusCode.INVALID_ARGUMENT


def test_an_update_that_no_host_could_apply_is_refused_as_validation_says(site: ChangedSite) -> None:
    run(site, "web", DISK)
    smaller = machine("web", spec=DISK.replace("5Gi", "4Gi")).encode()
    status, words = refused(site.ci, "Update", pb.UpdateRequest(manifest=smaller, allow_destruction=True))
    assert status is grpc.StatusCode.INVALID_ARGUMENT
    assert "GV417" in words


def test_a_stopped_machine_is_off_by_a_commit_and_a_second_call_makes_none(site: ChangedSite) -> None:
    run(site, "web")
    web = pb.InstanceRef(name="web")
    found = site.ci.call("Stop", pb.StopRequest(instance=web))
    assert found.commit == site.head()
    assert site.log() == "stop Machine/default/web"
    assert 'power: "Off"' in site.files()["machines/web.yaml"]
    assert site.ci.call("Stop", pb.StopRequest(instance=web)).commit == ""
    assert site.head() == found.commit


def test_a_destroyed_machine_is_removed_and_its_losses_are_named(site: ChangedSite) -> None:
    for name in ("a", "b", "web"):
        run(site, name, DISK)
    web = pb.InstanceRef(name="web")
    wrong = pb.DestroyRequest(instance=web, uid="00000000-0000-4000-8000-000000000000")
    status, words = refused(site.ci, "Destroy", wrong)
    assert status is grpc.StatusCode.NOT_FOUND
    assert "is another one of that name" in words
    uid = next(
        line.split()[1]
        for line in git(site.remote, "show", "live:machines/web.yaml").splitlines()
        if "uid:" in line
    ).strip('"')
    found = site.ci.call("Destroy", pb.DestroyRequest(instance=web, uid=uid))
    assert found.commit == site.head()
    assert (
        found.effects[0]
        == f"DELETE Machine/default/web on {('host-0', 'host-1')[other_pool(site) == 'host-0']}"
    )
    assert any("DESTROYS local disk root, 5Gi" in line for line in found.effects)
    assert site.log() == "DELETE Machine/default/web: DESTROYS 1 disk"
    assert "machines/web.yaml" not in site.files()
    status, words = refused(site.ci, "Destroy", pb.DestroyRequest(instance=web))
    assert status is grpc.StatusCode.NOT_FOUND


def test_a_deletion_that_is_held_says_what_approves_it(site: ChangedSite) -> None:
    run(site, "web")
    found = site.ci.call("Destroy", pb.DestroyRequest(instance=pb.InstanceRef(name="web")))
    assert any("awaits approval" in line for line in found.effects), found.effects


def test_a_protected_branch_is_named_with_its_cure(site: ChangedSite) -> None:
    repository.hook(site.remote, "pre-receive", "#!/bin/sh\necho 'main is protected' >&2\nexit 1\n")
    status, words = refused(site.ci, "Schedule", pb.ScheduleRequest(manifest=machine("web").encode()))
    assert status is grpc.StatusCode.FAILED_PRECONDITION
    assert "main is protected" in words
    assert "let the reconciler's key push to it, or commit the change by pull request" in words


def test_a_git_server_that_is_away_is_unavailable(site: ChangedSite) -> None:
    site.remote.rename(site.remote.with_name("away"))
    status, _ = refused(site.ci, "Schedule", pb.ScheduleRequest(manifest=machine("web").encode()))
    assert status is grpc.StatusCode.UNAVAILABLE


def enforce_signatures(site: ChangedSite, *signers: str) -> None:
    listed = "".join(f"\n  - {each}" for each in signers)
    site.push(
        {"gitvirt.yaml": f"{site.files()['gitvirt.yaml']}signatures:\n  mode: enforce\n  signers:{listed}\n"}
    )
    site.settle()


def test_where_only_signed_commits_count_those_of_clients_are_signed(
    site: ChangedSite, own_key: Path
) -> None:
    enforce_signatures(site, public_half(own_key))
    reports = schedule(site, machine("web"))
    assert reports.next().commit == site.head()
    assert "BEGIN SSH SIGNATURE" in git(site.remote, "cat-file", "commit", "main")
    site.settle()
    reports.until(lambda each: each.state == pb.INSTANCE_STATE_RUNNING)
    stopped = site.ci.call("Stop", pb.StopRequest(instance=pb.InstanceRef(name="web")))
    assert stopped.commit == site.head()


def test_a_key_that_is_not_a_signer_commits_nothing(site: ChangedSite, tmp_path: Path) -> None:
    enforce_signatures(site, public_half(new_key(tmp_path / "another", "another")))
    head = site.head()
    status, words = refused(site.ci, "Schedule", pb.ScheduleRequest(manifest=machine("web").encode()))
    assert status is grpc.StatusCode.FAILED_PRECONDITION
    assert (
        "this fleet accepts only signed commits, and those of this server do not count: signed by the ssh key "
        in words
    )
    assert "list the public half of its key under signatures.signers of gitvirt.yaml" in words
    assert site.head() == head


def test_nothing_is_built_on_a_commit_that_does_not_count(site: ChangedSite, own_key: Path) -> None:
    enforce_signatures(site, public_half(own_key))
    unsigned = site.push({"machines/db.yaml": machine("db")})
    site.settle()
    status, words = refused(site.ci, "Schedule", pb.ScheduleRequest(manifest=machine("web").encode()))
    assert status is grpc.StatusCode.FAILED_PRECONDITION
    assert unsigned[:12] in words
    assert "signed merge" in words
    unsigned = site.push({"gitvirt.yaml": site.files()["gitvirt.yaml"].replace("enforce", "off")})
    again, _ = refused(site.ci, "Schedule", pb.ScheduleRequest(manifest=machine("web").encode()))
    assert again is status, "a commit that does not count does not change what counts"
    assert site.head() == unsigned


def test_without_a_key_a_server_says_how_to_give_it_one(tmp_path: Path) -> None:
    with changed_site(tmp_path, None) as site:
        enforce_signatures(site, public_half(new_key(tmp_path / "another", "another")))
        status, words = refused(site.ci, "Schedule", pb.ScheduleRequest(manifest=machine("web").encode()))
        assert status is grpc.StatusCode.FAILED_PRECONDITION
        assert "start `gitvirt run` with --signing-key KEY" in words


def test_clients_that_commit_at_once_all_succeed_beside_a_person(site: ChangedSite) -> None:
    answers: dict[str, object] = {}

    def work(name: str) -> None:
        request = pb.ScheduleRequest(manifest=machine(name).encode())
        answers[name] = next(iter(site.ci.call("Schedule", request, seconds=120))).commit

    names = [f"m{number}" for number in range(6)]
    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for number in range(4):
        site.push({f"notes/{number}.md": "x"})
    for thread in threads:
        thread.join(60)
    assert len(set(answers.values())) == len(names)
    assert {f"machines/{name}.yaml" for name in names} <= site.files().keys()


def test_a_manifest_may_be_json(site: ChangedSite) -> None:
    body = {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "Machine",
        "metadata": {"name": "web"},
        "spec": {"machineClassRef": {"name": "small"}},
    }
    assert schedule(site, json.dumps(body)).next().state == pb.INSTANCE_STATE_ACCEPTED

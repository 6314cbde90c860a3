"""Signatures are verdicts in the record: verify needs no key, and with `--signatures` the keys that are here now judge once more."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.audit.inputs_files import decode_inputs
from reconciler.audit.replay import replay
from reconciler.audit.signature_check import SignatureCheck
from reconciler.audit.steps import list_steps
from reconciler.audit.verify import AuditedCommit, Auditor, Result
from reconciler.gitstore.memory import MemoryObjects, MemoryTransport
from reconciler.gitstore.objects.commit import INPUTS_TRAILER, parse_trailers
from reconciler.gitstore.repo import Snapshot
from reconciler.gitstore.signatures.signing import SshSigner
from reconciler.gitstore.store import Store
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.world.replay_world import ReplayWorld
from reconciler.write.tick_commit import CommitIdentity
from schemas.settings.fleet import DEFAULT_INPUTS
from tests.reconciler.audit.fleet import AUDITED, AuditedFleet
from tests.reconciler.lifecycle.hosts import Host
from tests.reconciler.world.scene import LIVE, SMALL, machine
from tests.servers.sshd import new_key

HERE = dict(os.environ)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_key(tmp_path_factory.mktemp("keys") / "host", "host@example.org")


class SigningFleet(AuditedFleet):
    """All who write sign with one key, until `is_signing` is turned off."""

    key: Path

    def sign(self, key: Path | None) -> None:
        objects = MemoryObjects(self.server)
        self.store = Store(
            objects, MemoryTransport(objects), self.refs, sign=SshSigner(key, HERE) if key else None
        )
        self.snapshot()

    def another(self, heartbeats_seen: object = None) -> Reconciler:
        del heartbeats_seen
        around = ProcessInputs(ambient=HERE, start_wait=None)
        return Reconciler(self.store, self.refs, CommitIdentity("one"), around=around)

    def check(self, ambient: dict[str, str] | None = None) -> list[AuditedCommit]:
        found = self.snapshot()
        assert isinstance(found, Snapshot)
        assert found.target is not None
        check = SignatureCheck(HERE if ambient is None else ambient)
        return list(
            Auditor(self.store, tuple(found.inputs.values()), check).audit(
                list_steps(self.store, found.target)
            )
        )


@pytest.fixture
def fleet(key: Path) -> SigningFleet:
    public = key.with_suffix(".pub").read_text().strip()
    settings = (
        f"{AUDITED}signatures:\n  mode: enforce\n  signers: ['{public}']\n"
        f"poollets:\n  a:\n    signers: ['{public}']\n"
    )
    made = SigningFleet({"gitvirt.yaml": "fleet: [", "classes.yaml": SMALL})
    made.sign(key)
    made.hosts["a"] = Host("a")
    made.reconciler = made.another()
    made.source({"gitvirt.yaml": settings, "m1.yaml": machine("m1")})
    for _ in range(4):
        made.hosts_report()
        made.tick()
    assert made.pool_of("m1") == "a"
    return made


def test_signed_facts_are_proven_without_a_key(fleet: SigningFleet) -> None:
    found = fleet.audit()
    assert {each.result for each in found} == {Result.EXPLAINED}, found
    assert [each.reports for each in found] == [each.signed for each in found]
    assert sum(each.reports for each in found) > 0


def test_the_keys_of_now_agree(fleet: SigningFleet) -> None:
    assert {each.result for each in fleet.check()} == {Result.EXPLAINED}


def test_a_report_that_was_forged_into_the_record_is_found_by_its_signature(fleet: SigningFleet) -> None:
    head = fleet.remote_refs[LIVE]
    commit = fleet.commit_of(head)
    (named,) = (value for name, value in parse_trailers(commit.message) if name == INPUTS_TRAILER)
    path, blob = next(
        (file.path, file.id) for file in fleet.store.files(named) if file.path.endswith("/a.json")
    )
    text = fleet.store.read(blob).decode()
    report = text.split('"commit": "')[1][:40]
    forged = fleet.put(replace(fleet.commit_of(report), signature=""))
    inputs = fleet.commit_of(named)
    tree = fleet.tree_with(inputs.tree, {path: text.replace(report, forged).encode()})
    record = fleet.put(replace(inputs, tree=tree, parents=(named, forged), signature=""))
    (line,) = (ref for ref in fleet.remote_refs if ref.startswith(DEFAULT_INPUTS))
    fleet.remote_refs[line] = record
    fleet.force_live(fleet.put(replace(commit, message=commit.message.replace(named, record), signature="")))
    assert fleet.audit()[-1].result is Result.EXPLAINED
    newest = fleet.check()[-1]
    assert newest.result is Result.SIGNATURE_DIFFERS
    assert newest.why.startswith(f"report {forged[:12]} of a: signature good when it was recorded -> ")


def test_a_report_that_was_checked_is_checked_again_with_another_verdict(fleet: SigningFleet) -> None:
    """Else a record could claim for a report what an earlier record did not."""
    step = list_steps(fleet.store, fleet.remote_refs[LIVE])[-1]
    (named,) = step.trailers(INPUTS_TRAILER)
    inputs = decode_inputs({file.path: fleet.store.read(file.id) for file in fleet.store.files(named)})
    world, check = ReplayWorld(), SignatureCheck(HERE)
    replay(fleet.store, world, inputs, CommitIdentity("one", step.newest.author), {})
    assert check.find_difference(fleet.store, world, inputs) == ""
    hosts = {
        name: replace(each, unsigned="no signature", is_refused=True)
        for name, each in inputs.verdicts.hosts.items()
    }
    forged = replace(inputs, verdicts=replace(inputs.verdicts, hosts=hosts))
    found = check.find_difference(fleet.store, world, forged)
    assert "of a: signature no signature when it was recorded -> good" in found


def test_a_source_that_was_held_is_held_again(fleet: SigningFleet, key: Path) -> None:
    """An unsigned commit is not used, and what else is written meanwhile is explained."""
    fleet.sign(None)
    fleet.source({"m2.yaml": machine("m2")})
    fleet.sign(key)
    fleet.reconciler = fleet.another()
    fleet.hosts["b"] = Host("b")
    for _ in range(4):
        fleet.hosts_report()
        fleet.tick()
    assert "m2" not in fleet.where()
    assert {each.result for each in fleet.audit()} == {Result.EXPLAINED}
    assert {each.result for each in fleet.check()} == {Result.EXPLAINED}

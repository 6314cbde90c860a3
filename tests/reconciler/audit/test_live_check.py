"""A commit in the reconciler's own form that another wrote: what a reconciler that signs, or that records its inputs, makes of it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.gitstore.memory import MemoryObjects, MemoryTransport
from reconciler.gitstore.objects.commit import encode_commit
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.signatures.own_key import find_own_signers
from reconciler.gitstore.signatures.signing import SshSigner
from reconciler.gitstore.store import Store
from reconciler.loop.outcome import Committed, NoChange, TickBlocked
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.write.tick_commit import CommitIdentity
from tests.reconciler.audit.fleet import AUDITED, AuditedFleet
from tests.reconciler.lifecycle.hosts import Host
from tests.reconciler.world.scene import LIVE, NOW, SETTINGS, SMALL, machine
from tests.servers.sshd import new_key

HERE = dict(os.environ)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of the reconciler, and of another."""
    folder = tmp_path_factory.mktemp("keys")
    return new_key(folder / "reconciler", "reconciler@example.org"), new_key(
        folder / "other", "other@example.org"
    )


class CheckedFleet(AuditedFleet):
    """Its reconciler signs with a key of its own, where it has one."""

    key: Path | None = None

    def another(self, heartbeats_seen: object = None) -> Reconciler:
        del heartbeats_seen
        sign, signers = None, None
        if self.key is not None:
            sign = SshSigner(self.key, HERE)
            signers = find_own_signers(str(self.key), sign, HERE, NOW)
            assert signers is not None
        objects = MemoryObjects(self.server)
        store = Store(objects, MemoryTransport(objects), self.refs, sign=sign)
        around = ProcessInputs(ambient=HERE, start_wait=None, signers=signers)
        return Reconciler(store, self.refs, CommitIdentity("one"), around=around)

    def forge(self, key: Path | None = None, **fields: object) -> str:
        """On top of live: another file, and the message of the newest commit."""
        head = self.remote_refs[LIVE]
        commit = self.commit_of(head)
        tree = self.tree_with(commit.tree, {"m9.yaml": machine("m9").encode()})
        forged = replace(commit, tree=tree, parents=(head,), signature="", **fields)  # type: ignore[arg-type]
        made = hash_object(
            ObjectType.COMMIT, encode_commit(forged, SshSigner(key, HERE) if key is not None else None)
        )
        self.server.objects[made.id] = (made.type, made.data)
        self.force_live(made.id)
        return made.id


def begin(key: Path | None, settings: str, later: str = "", people: Path | None = None) -> CheckedFleet:
    """At rest. `later` are the settings that people, who sign with `people`, commit then."""
    fleet = CheckedFleet(
        {"gitvirt.yaml": settings, "classes.yaml": SMALL, "m1.yaml": machine("m1")}, Host("a")
    )
    fleet.key = key
    objects = MemoryObjects(fleet.server)
    sign = SshSigner(people, HERE) if people is not None else None
    fleet.store = Store(objects, MemoryTransport(objects), fleet.refs, sign=sign)
    fleet.snapshot()
    fleet.reconciler = fleet.another()
    fleet.source({"m2.yaml": machine("m2")})
    fleet.settle()
    if later:
        fleet.source({"gitvirt.yaml": later})
        fleet.settle()
    return fleet


def signed(mode: str, *signers: Path) -> str:
    lines = "".join(f"  - '{key.with_suffix('.pub').read_text().strip()}'\n" for key in signers)
    return f"{SETTINGS}signatures:\n  mode: {mode}\n  signers:\n{lines}"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        text for each in caplog.records if (text := each.getMessage()).startswith("unproven commit on live")
    ]


def test_an_unsigned_forgery_holds_a_fleet_that_enforces_signatures(
    keys: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    own, people = keys
    fleet = begin(own, signed("warn", people), signed("enforce", people), people)
    caplog.clear()
    good = fleet.remote_refs[LIVE]
    forged = fleet.forge()
    for _ in range(2):
        outcome = fleet.tick()
        assert isinstance(outcome, TickBlocked), outcome
        assert f"commit {forged[:12]} on live" in outcome.reason
        assert "it is not signed" in outcome.reason
    assert len(warnings(caplog)) == 1, "it is told once"
    fleet.reconciler = fleet.another()
    assert isinstance(fleet.tick(), TickBlocked), "one that starts now holds too"
    assert fleet.remote_refs[LIVE] == forged, "nothing was written on top of it"
    fleet.force_live(good)
    fleet.reconciler = fleet.another()
    fleet.source({"m3.yaml": machine("m3")})
    assert isinstance(fleet.tick(), Committed)


def test_a_forgery_that_another_key_signed_holds_until_people_list_that_key(
    keys: tuple[Path, Path], tmp_path: Path
) -> None:
    own, people = keys
    third = new_key(tmp_path / "third", "third@example.org")
    fleet = begin(own, signed("warn", people), signed("enforce", people), people)
    fleet.forge(third)
    outcome = fleet.tick()
    assert isinstance(outcome, TickBlocked), outcome
    assert "which is not a signer" in outcome.reason
    fleet.source({"gitvirt.yaml": signed("enforce", people, third)})
    assert isinstance(fleet.tick(), Committed)


def test_where_signatures_only_warn_a_forgery_is_named_and_not_in_the_way(
    keys: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    own, people = keys
    fleet = begin(own, signed("warn", people), people=people)
    caplog.clear()
    forged = fleet.forge()
    fleet.source({"m3.yaml": machine("m3")})
    assert isinstance(fleet.tick(), Committed)
    fleet.settle()
    (text,) = warnings(caplog)
    assert forged[:12] in text


def test_a_reconciler_proves_its_own_commits_also_to_one_that_starts_later(
    keys: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    own, people = keys
    fleet = begin(own, signed("warn", people), signed("enforce", people), people)
    caplog.clear()
    for name in ("m3", "m4"):
        fleet.source({f"{name}.yaml": machine(name)})
        fleet.settle()
        fleet.reconciler = fleet.another()
        assert isinstance(fleet.tick(), NoChange)
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    ("is_named", "why"),
    [(False, "names no Inputs-Commit"), (True, "were read at live")],
    ids=["none", "of another"],
)
def test_a_forgery_without_inputs_of_its_own_is_named_where_inputs_are_recorded(
    is_named: bool, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    fleet = begin(None, AUDITED)
    message = fleet.commit_of(fleet.remote_refs[LIVE]).message
    lines = [line for line in message.splitlines() if is_named or not line.startswith("Inputs-Commit")]
    caplog.clear()
    forged = fleet.forge(message="\n".join(lines))
    fleet.source({"m3.yaml": machine("m3")})
    assert isinstance(fleet.tick(), Committed), "a server may refuse inputs, so this holds nothing"
    (text,) = warnings(caplog)
    assert forged[:12] in text
    assert why in text


def test_two_reconcilers_that_record_their_inputs_prove_their_commits_to_each_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fleet = begin(None, AUDITED)
    one, other = fleet.reconciler, fleet.another()
    caplog.clear()
    for number in range(3, 7):
        fleet.source({f"m{number}.yaml": machine(f"m{number}")})
        fleet.reconciler = one if number % 2 else other
        fleet.settle()
    assert warnings(caplog) == []

"""What audit verify says of each commit: one test for each result, and lives of which every commit is explained."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.audit import verify
from reconciler.audit.rules_version import RulesVersion
from reconciler.audit.steps import list_steps
from reconciler.audit.verify import AuditedCommit, PathDifference, Result
from reconciler.gitstore.objects.commit import INPUTS_TRAILER, parse_trailers
from schemas.settings.fleet import DEFAULT_INPUTS
from tests.reconciler.audit.fleet import AUDITED, AuditedFleet, live_life, open_fleet
from tests.reconciler.lifecycle.test_laws import ACTS, QUIET
from tests.reconciler.world.scene import LIVE, SETTINGS, machine


def begin() -> AuditedFleet:
    """A fleet at rest, with a few commits on live."""
    fleet = open_fleet()
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    fleet.source({"m1.yaml": None, "m2.yaml": machine("m2")})
    fleet.settle()
    return fleet


def results(found: list[AuditedCommit]) -> set[Result]:
    return {each.result for each in found}


def inputs_named(fleet: AuditedFleet, commit: str) -> str:
    (found,) = (
        value for name, value in parse_trailers(fleet.commit_of(commit).message) if name == INPUTS_TRAILER
    )
    return found


def test_every_commit_of_a_fleet_is_explained() -> None:
    fleet = begin()
    found = fleet.audit()
    assert len(found) >= 4
    assert results(found) == {Result.EXPLAINED}, found


def test_what_is_computed_again_is_stored_nowhere() -> None:
    fleet = begin()
    refs, objects = dict(fleet.remote_refs), set(fleet.server.objects)
    fleet.audit()
    assert fleet.remote_refs == refs
    assert set(fleet.server.objects) == objects


def test_one_byte_of_one_old_commit_is_found_and_named() -> None:
    fleet = begin()
    steps = list_steps(fleet.store, fleet.remote_refs[LIVE])
    place = len(steps) // 2
    old = steps[place].newest
    path = "classes.yaml"
    text = next(
        fleet.store.read(file.id)
        for file in fleet.store.files(steps[place].commits[-1][0])
        if file.path == path
    )
    other = text.replace(b"cpu: 2", b"cpu: 3", 1)
    forged = fleet.put(replace(old, tree=fleet.tree_with(old.tree, {path: other})))
    # What came after it, once more on top of it: the same files as before.
    head = forged
    for step in steps[place + 1 :]:
        for _, each in step.commits:
            head = fleet.put(replace(each, parents=(head, *each.parents[1:])))
    fleet.force_live(head)
    found = {each.commit: each for each in fleet.audit()}
    assert found[forged].result is Result.DIFFERS
    assert found[forged].differences == (PathDifference(path, text, other),)
    # Those above were made on another parent than their inputs say; those below are as they were.
    others = [each.result for commit, each in found.items() if commit != forged]
    assert others == [Result.EXPLAINED] * place + [Result.DO_NOT_FIT] * (len(steps) - place - 1)


def test_another_message_date_or_parent_differs_too() -> None:
    fleet = begin()
    head = fleet.remote_refs[LIVE]
    good = fleet.commit_of(head)
    for forged, why in (
        (replace(good, message=good.message.replace("m1", "m9", 1)), "the rules give it another message"),
        (replace(good, time=good.time.replace(year=2031)), "the rules date it 2026"),
    ):
        fleet.force_live(fleet.put(forged))
        newest = fleet.audit()[-1]
        assert newest.result is Result.DIFFERS
        assert newest.why.startswith(why)


def test_a_commit_without_the_form_of_a_reconcilers_is_foreign() -> None:
    fleet = begin()
    fleet._commit(LIVE, {"m2.yaml": b"mine"}, {})
    newest = fleet.audit()[-1]
    assert (newest.result, newest.why) == (Result.FOREIGN, "it names no Source-Commit")


def test_a_foreign_commit_that_was_put_back_is_foreign_still() -> None:
    fleet = begin()
    before = len(fleet.audit())
    foreign = [fleet._commit(LIVE, {"m2.yaml": text}, {}) for text in (b"mine", b"mine still")]
    fleet.settle()
    found = fleet.audit()
    assert [each.commit for each in found if each.result is Result.FOREIGN] == foreign
    assert results(found) == {Result.EXPLAINED, Result.FOREIGN}, found
    one, other, put_back = found[before : before + 3]
    assert one.put_back_by == other.put_back_by == put_back.commit
    assert one.author == fleet.commit_of(foreign[0]).author.name


def test_inputs_of_another_commit_do_not_fit() -> None:
    fleet = begin()
    first, *_, last = fleet.audit()
    stolen = fleet.commit_of(last.commit)
    message = stolen.message.replace(inputs_named(fleet, last.commit), inputs_named(fleet, first.commit))
    fleet.force_live(fleet.put(replace(stolen, message=message)))
    assert fleet.audit()[-1].result is Result.DO_NOT_FIT


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("tick.json", b"[]", "they cannot be read"),
        ("tick.json", b"{", "they cannot be read"),
        ("waits.json", None, "they cannot be read"),
        ("evaluated.json", b'{"keys": [3], "paths": []}', "where a text must be"),
        ("hosts/0/x.json", b'{"commit": "x", "host": "", "heartbeats": {}}', "where a commit must be"),
        (
            "hosts/0/x.json",
            b'{"commit": null, "host": "", "heartbeats": {"h": "fine"}}',
            "they cannot be read",
        ),
        ("tick.json", b"[" * 100_000, "they cannot be read"),
    ],
)
def test_inputs_that_cannot_be_read_do_not_fit(path: str, text: bytes | None, why: str) -> None:
    fleet = begin()
    newest = forge_inputs(fleet, {path: text})
    assert newest.result is Result.DO_NOT_FIT
    assert why in newest.why


def forge_inputs(fleet: AuditedFleet, edits: dict[str, bytes | None]) -> AuditedCommit:
    """The newest commit with other inputs, which are on the line like all others."""
    head = fleet.remote_refs[LIVE]
    named = inputs_named(fleet, head)
    inputs = fleet.commit_of(named)
    forged = fleet.put(replace(inputs, tree=fleet.tree_with(inputs.tree, edits), parents=(named,)))
    (line,) = (ref for ref in fleet.remote_refs if ref.startswith(DEFAULT_INPUTS))
    fleet.remote_refs[line] = forged
    commit = fleet.commit_of(head)
    fleet.force_live(fleet.put(replace(commit, message=commit.message.replace(named, forged))))
    return fleet.audit()[-1]


def test_inputs_on_no_line_do_not_fit() -> None:
    fleet = begin()
    head = fleet.remote_refs[LIVE]
    commit, named = fleet.commit_of(head), inputs_named(fleet, head)
    loose = fleet.put(replace(fleet.commit_of(named), message="loose"))
    fleet.force_live(fleet.put(replace(commit, message=commit.message.replace(named, loose))))
    newest = fleet.audit()[-1]
    assert newest.result is Result.DO_NOT_FIT
    assert newest.why == f"inputs {loose[:12]} are on no line of inputs"


def test_a_report_that_is_not_here_does_not_fit() -> None:
    fleet = begin()
    host = b'{"commit": "%s", "host": "", "heartbeats": {}}' % (b"0" * 40)
    assert "which is not here" in forge_inputs(fleet, {"hosts/0/x.json": host}).why


def test_forged_inputs_that_make_a_rule_fail_end_no_audit() -> None:
    """Evaluated keys that do not exist, and no verdict at all on a host that announces a pool."""
    fleet = begin()
    waits = json.loads(fleet.store.read(read_file(fleet, "waits.json")))
    waits["awaited"] = [["x", "y"]]
    newest = forge_inputs(fleet, {"waits.json": json.dumps(waits).encode()})
    assert newest.result in (Result.EXPLAINED, Result.DIFFERS)
    evaluated = b'{"keys": ["Machine/default/none"], "paths": ["../x", "no/file.yaml"]}'
    assert forge_inputs(fleet, {"evaluated.json": evaluated}).result is Result.DIFFERS


def read_file(fleet: AuditedFleet, path: str) -> str:
    found = fleet.store.file(inputs_named(fleet, fleet.remote_refs[LIVE]), path)
    assert found is not None
    return found.id


def test_commits_of_before_the_record_have_no_inputs() -> None:
    fleet = open_fleet(SETTINGS)
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    before = fleet.audit()
    assert results(before) == {Result.NO_INPUTS}
    fleet.source({"gitvirt.yaml": AUDITED})
    fleet.source({"m2.yaml": machine("m2")})
    fleet.settle()
    after = fleet.audit()
    assert {each.result for each in after[: len(before)]} == {Result.NO_INPUTS}
    assert {each.result for each in after[len(before) :]} == {Result.EXPLAINED}


def test_commits_that_are_older_than_all_lines_have_no_inputs() -> None:
    fleet = begin()
    count = len(fleet.audit())
    (line,) = (ref for ref in fleet.remote_refs if ref.startswith(DEFAULT_INPUTS))
    fleet.now_later(40 * 86400)
    fleet.source({"m3.yaml": machine("m3")})
    fleet.settle()
    del fleet.remote_refs[line]
    found = fleet.audit()
    assert {each.result for each in found[:count]} == {Result.NO_INPUTS}
    assert {each.result for each in found[count:]} == {Result.EXPLAINED}
    assert found[0].why.endswith("are older than audit.keep")


def test_what_another_version_makes_otherwise_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this version makes alike is explained, whoever made it."""
    fleet = begin()
    monkeypatch.setattr(verify, "installed_rules", lambda: RulesVersion("9.9", "0123456789abcdef"))
    assert results(fleet.audit()) == {Result.EXPLAINED}
    newest = forge_inputs(fleet, {"evaluated.json": b'{"keys": [], "paths": []}'})
    assert newest.result is Result.OTHER_VERSION
    assert newest.version
    tick = json.loads(fleet.store.read(read_file(fleet, "tick.json")))
    newer = forge_inputs(fleet, {"tick.json": json.dumps(tick | {"format": 2}).encode()})
    assert (newer.result, newer.why) == (Result.OTHER_VERSION, "their format is 2, and this version reads 1")


def test_a_range_begins_after_its_first_commit() -> None:
    fleet = begin()
    whole = fleet.audit()
    assert fleet.audit(since=whole[1].commit) == whole[2:]


@given(st.lists(ACTS, min_size=5, max_size=30))
@settings(max_examples=10, deadline=None, suppress_health_check=QUIET)
def test_every_commit_of_a_random_life_is_explained(acts: list[tuple[object, ...]]) -> None:
    fleet = open_fleet()
    live_life(fleet, acts)
    fleet.hosts_report()
    fleet.tick()
    if LIVE in fleet.remote_refs:
        # What the last act put on live is not part of it: the reconciler has not passed over it yet.
        found = [each for each in fleet.audit() if each.result is not Result.FOREIGN]
        assert results(found) <= {Result.EXPLAINED}, [each for each in found if each.why]

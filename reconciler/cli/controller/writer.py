"""Schedule, Update, Stop and Destroy: each is one commit on the source branch, with the steps of the verbs that people use.

    call       the change                                   refused, beside what every commit is
    Schedule   a new file with the manifest                 an object exists already
    Update     its documents in place of those of today     it changed since `base`; it destroys or stops without consent
    Stop       spec.power: Off                              the machine is paused
    Destroy    its document is removed                      another machine has that name by now

A call that destroys data needs the right `destroy`, and one that switches a machine off the right `stop`, whatever its name is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import grpc

from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import (
    DestroyRequest,
    DestroyResponse,
    InstanceRef,
    ScheduleRequest,
    StopRequest,
    StopResponse,
    UpdateRequest,
    UpdateResponse,
)
from reconciler.cli.controller.effects import CommitEffects, find_effects, list_concerned
from reconciler.cli.controller.manifest import (
    ClientManifest,
    check_path,
    check_request_key,
    check_subject,
    choose_path,
    read_manifest,
    refuse,
    refuse_problems,
)
from reconciler.cli.controller.rewrite import rewrite_files
from reconciler.cli.controller.source import (
    FAILED,
    RequestKey,
    SourceBranch,
    SourceCommit,
    find_request,
    push_commit,
)
from reconciler.cli.delete import list_losses, list_notes
from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.kept_machine import refuse_held, refuse_kept
from reconciler.cli.mutate.change import Mutation, compute_change
from reconciler.cli.mutate.forecast import find_held
from reconciler.cli.mutate.output import FileEdit, MutationResult, ObjectChange, write_message
from reconciler.cli.mutate.paused import refuse_paused
from reconciler.link.client_calls import CallRefusedError
from reconciler.link.fleet_writer import CallingClient, ScheduledManifest
from reconciler.query.check import CheckRequest, ComparedRevision, check
from reconciler.query.ignored_paths import read_ignored_paths
from reconciler.query.inventory import FleetInventory, read_inventory
from reconciler.query.scope import Scope
from reconciler.query.source import CommitFiles, ManifestSource, OverlaySource, RevisionSource
from schemas.edit import Changes, Field
from schemas.kinds import DEFAULT_NAMESPACE, Key, Kind
from schemas.model import Machine, Object, decode


class ControllerWriter:
    """A FleetWriter of reconciler.link."""

    def __init__(self, source: SourceBranch) -> None:
        self._source = source

    def schedule(self, client: CallingClient, request: ScheduleRequest) -> ScheduledManifest:
        sent = read_manifest(request.manifest)
        check_subject(request.subject)
        check_request_key(request.request_key)
        if request.path:
            check_path(request.path)
        client.permit(sent.namespaces, None)
        content = b"\0".join((request.manifest, request.path.encode(), request.subject.encode()))
        key = RequestKey.of(client.name, request.request_key, content) if request.request_key else None

        def attempt(fleet: FleetRepo) -> ScheduledManifest | None:
            if earlier := find_request(fleet, key):
                return ScheduledManifest(earlier, sent.machines)
            edit = self._add_file(fleet, sent, request.path)
            if request.dry_run:
                return ScheduledManifest("", sent.machines)
            message = write_message(describe("schedule", sent.keys, (edit,)), request.subject)
            commit = push_commit(fleet, SourceCommit(client.name, message, (edit,), key))
            return None if commit is None else ScheduledManifest(commit, sent.machines)

        return self._source.change(attempt)

    def _add_file(self, fleet: FleetRepo, sent: ClientManifest, path: str) -> FileEdit:
        source = read_inventory(fleet.repo, fleet.snapshot.source)
        for key in sent.keys:
            if key in source.items:
                words = f"{key} exists already, in {source.items[key].path}; Update changes it"
                raise CallRefusedError(FAILED, words)
        files = {each.path for each in fleet.repo.files(fleet.snapshot.source or "")}
        if path in files:
            raise CallRefusedError(FAILED, f"{path} exists already; choose another path, or none")
        edit = FileEdit(path or choose_path(sent, files), None, sent.data)
        check_edits(fleet, (edit,))
        return edit

    def update(self, client: CallingClient, request: UpdateRequest) -> UpdateResponse:
        sent = read_manifest(request.manifest)
        check_subject(request.subject)
        client.permit(sent.namespaces, None)

        def attempt(fleet: FleetRepo) -> UpdateResponse | None:
            source = read_inventory(fleet.repo, fleet.snapshot.source)
            for key in sent.keys:
                refuse_missing(fleet, source, key)
            refuse_changed(fleet, source, sent.keys, request.base)
            edits = rewrite_files(fleet, sent, source.items)
            if not edits:
                return UpdateResponse()
            check_edits(fleet, edits)
            concerned = {
                key
                for each in sent.documents
                for key in list_concerned(source.items[each.key].object, decode(each.kind, each.body))
            }
            effects = find_effects(fleet, edits, concerned)
            self._ask_consent(client, request, sent, effects, source)
            if request.dry_run:
                return UpdateResponse(effects=effects.lines)
            result = replace(describe("update", sent.keys, edits), losses=tuple(list_destroyed(effects)))
            commit = push_commit(
                fleet, SourceCommit(client.name, write_message(result, request.subject), edits)
            )
            return None if commit is None else UpdateResponse(commit=commit, effects=effects.lines)

        return self._source.change(attempt, with_reports=True)

    def _ask_consent(
        self,
        client: CallingClient,
        request: UpdateRequest,
        sent: ClientManifest,
        effects: CommitEffects,
        source: FleetInventory,
    ) -> None:
        """Rights first: consent does not replace one."""
        if effects.destroys:
            client.permit(sent.namespaces, "destroy")
        if any(
            is_switched_off(source.items[each.key].object, decode(each.kind, each.body))
            for each in sent.documents
        ):
            client.permit(sent.namespaces, "stop")
        if (effects.destroys or effects.stops) and not (request.allow_destruction or request.dry_run):
            verb = "may DESTROY data" if effects.destroys else "STOPS guests"
            words = f"the change {verb}: {effects.words}; set allow_destruction if that is meant"
            raise CallRefusedError(FAILED, words)

    def stop(self, client: CallingClient, request: StopRequest) -> StopResponse:
        key = key_of(request.instance)
        check_subject(request.subject)
        client.permit({key.namespace}, None)

        def changes(found: Object | None) -> Changes:
            assert isinstance(found, Machine)
            refuse_paused(found, "stop")
            return {} if found.spec.power == "Off" else {Field.POWER: "Off"}

        def attempt(fleet: FleetRepo) -> StopResponse | None:
            refuse_missing(fleet, read_inventory(fleet.repo, fleet.snapshot.source), key)
            result = compute_change(fleet, (key,), Mutation("stop", changes, "stops", "already off"))
            if not result.edits:
                return StopResponse()
            message = write_message(result, request.subject)
            commit = push_commit(fleet, SourceCommit(client.name, message, result.edits))
            return None if commit is None else StopResponse(commit=commit)

        return self._source.change(attempt)

    def destroy(self, client: CallingClient, request: DestroyRequest) -> DestroyResponse:
        key = key_of(request.instance)
        check_subject(request.subject)
        client.permit({key.namespace}, None)

        def attempt(fleet: FleetRepo) -> DestroyResponse | None:
            source = read_inventory(fleet.repo, fleet.snapshot.source)
            refuse_missing(fleet, source, key)
            refuse_namesake(fleet, key, request.uid)
            intent = Mutation("delete", lambda _: {}, "", "", removes=True, losses=list_losses)
            result = compute_change(fleet, (key,), intent)
            effects = find_effects(fleet, result.edits, list_concerned(source.items[key].object))
            held = find_held(fleet, result.edits, (key,)).values()
            lines = (*effects.lines, *list_notes(fleet, (key,)), *held)
            message = write_message(result, request.subject)
            commit = push_commit(fleet, SourceCommit(client.name, message, result.edits))
            return None if commit is None else DestroyResponse(commit=commit, effects=lines)

        return self._source.change(attempt, with_reports=True)


def key_of(instance: InstanceRef) -> Key:
    if not instance.name:
        raise refuse("the request names no instance")
    return Key(Kind.MACHINE, instance.namespace or DEFAULT_NAMESPACE, instance.name)


def refuse_missing(fleet: FleetRepo, source: FleetInventory, key: Key) -> None:
    """NOT_FOUND, or what is known of an object that left the source and is still there."""
    if key in source.items:
        return
    refuse_kept(fleet, key)
    refuse_held(fleet, key)
    raise CallRefusedError(
        grpc.StatusCode.NOT_FOUND, f"{key} does not exist on the source branch; look at its name"
    )


def refuse_namesake(fleet: FleetRepo, key: Key, uid: str) -> None:
    item = read_inventory(fleet.repo, fleet.snapshot.target, key.kind).items.get(key) if uid else None
    known = item.object.metadata.uid if item is not None else ""
    if uid and known != uid:
        words = f"{key} has the uid {known or '(none yet)'}, and not {uid}: it is another one of that name"
        raise CallRefusedError(grpc.StatusCode.NOT_FOUND, f"{words}; watch it again before you destroy it")


def refuse_changed(fleet: FleetRepo, source: FleetInventory, keys: Iterable[Key], base: str) -> None:
    """ABORTED where an object is another than at `base`, which the client read."""
    head = fleet.snapshot.source
    if not base or base == head:
        return
    if head is None or not fleet.repo.is_descendant(head, base):
        raise refuse(f"base {base[:64]!r} is not a commit of the source branch; read it again")
    then = read_inventory(fleet.repo, base)
    for key in keys:
        before = then.items.get(key)
        if before is None or before.body != source.items[key].body:
            words = f"{key} changed on the source branch since {base[:12]}; read it again, and call again"
            raise CallRefusedError(grpc.StatusCode.ABORTED, words)


def check_edits(fleet: FleetRepo, edits: tuple[FileEdit, ...]) -> None:
    """INVALID_ARGUMENT with what `gitvirt validate --against` finds in these files, were they on the source branch."""
    assert fleet.snapshot.source is not None, "settings were read from it"
    now = RevisionSource(CommitFiles(fleet.repo, fleet.snapshot.source))
    source: ManifestSource = now
    for each in edits:
        assert each.after is not None, "no file is removed"
        source = OverlaySource(source, each.path, each.after)
    is_ignored, _ = read_ignored_paths(source)
    paths = tuple(each.path for each in edits)
    for path in paths:
        if is_ignored(path, False):
            raise refuse(
                f"{path} is ignored by .gitvirtignore, so nothing would read it; choose another path"
            )
    earlier = ComparedRevision("the source branch", now)
    request = CheckRequest(Scope(Path(), "", paths), source, earlier=earlier, may_fork=False)
    refuse_problems(check(request, lambda _done, _all: None).problems)


def is_switched_off(before: Object, after: Object) -> bool:
    powers = [each.spec.power for each in (before, after) if isinstance(each, Machine)]
    return powers == ["On", "Off"]


def list_destroyed(effects: CommitEffects) -> Iterable[str]:
    """What follows DESTROYS in the lines of a plan."""
    if effects.destroys:
        lines = (line.strip() for line in effects.lines)
        yield from (line.removeprefix("DESTROYS ") for line in lines if line.startswith("DESTROYS "))


def describe(verb: str, keys: Iterable[Key], edits: tuple[FileEdit, ...]) -> MutationResult:
    path = edits[0].path
    return MutationResult(verb, tuple(ObjectChange(key, "", path) for key in keys), edits)

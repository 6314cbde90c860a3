"""What a pool needs: the status that its poollet reports, and a document of its own when no file declares it. Pure.

In this order: the status as reported, what became of people's requests about its host, the grant, the mismatch of hosts, the document.
The order matters: requests name the grant that `live` has, and a new grant is written over what they leave.
`reconciler.world.pools.grants` has the rules of grants; here they are only written.

Limits: it touches no object on the pool. Assignments follow the grant by `under_grant`, each in its own record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from msgspec.structs import replace

from reconciler.decide.claims import cure_of_candidate
from reconciler.decide.need import Keep, Need
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.outcome import keep
from reconciler.decide.pool_requests import DIGITS, NO_REQUESTS, PoolRequests, command_of
from reconciler.decide.waiting_hosts import may_hold
from reconciler.plan.types import Action
from reconciler.world.changes import Confirm
from reconciler.world.objects.object_state import Origin
from reconciler.world.pools.grants import POOL_STATUS
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.pools.pool_status import update_pool_status
from reconciler.world.record import (
    DESTROYED,
    HOST_MISMATCH,
    HOST_MOVED,
    ON_ANOTHER,
    OPEN_REQUEST,
    ORDERS_CONFIRMED,
    REPORT_UNREADABLE,
    moment,
    stamp,
)
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.start_wait import FIRST_READY, FIRST_REPORTS
from reconciler.world.view import View
from schemas.edit.fields import Value
from schemas.kinds import Key, api_version
from schemas.model import GrantedHost

RECHECK = timedelta(seconds=5)  # how soon a host that asks is looked at again
ANSWERED = timedelta(days=1)  # for so long a pool has the condition of a request that has no effect


def decide_pool(view: View, edit: ObjectEdit, requests: PoolRequests = NO_REQUESTS) -> Need:
    """The need of a pool of either kind, declared or announced.

    The document is written for a pool that no file declares: when it is new, when its labels change, and when its declaration left the
    source, which is certain here. A pool that no longer reports keeps its document, and with it the grant and the epoch.
    """
    known = edit.known
    state = view.find_pool(known.key)
    if state is None:
        return keep(with_requests(edit, requests))
    edit = as_reported(view, edit, requests, state)
    if known.origin not in (Origin.ANNOUNCED, Origin.LEAVING) or state.announced is None:
        return keep(edit)
    body = announcement(known.key, state.announced.labels)
    is_same = dict(known.object.metadata.labels) == dict(state.announced.labels)
    if known.origin is Origin.ANNOUNCED and known.live is not None and is_same:
        return keep(edit)
    by = f"reported by poollet {state.poollet}" if state.poollet else "its host announces it"
    edit = edit.log_change(Action.ANNOUNCE, by)
    return Keep(**edit.need_fields(), body=body)


def as_reported(view: View, edit: ObjectEdit, requests: PoolRequests, state: PoolState) -> ObjectEdit:
    """With all that its status says, whoever declares it."""
    status = update_pool_status(state, edit.record, edit.now)
    if status != edit.record.status:
        edit = edit.with_record(status=status).log_change(Action.STATUS, getattr(status, "state", "").lower())
    edit = with_mismatch(with_answer(view, with_grant(with_requests(edit, requests), state), state), state)
    for time in (FIRST_REPORTS, FIRST_READY) if edit.change_reasons else ():
        if left := view.time_to_gather(time):
            edit = edit.recheck_by(edit.now + left)  # until then it may wait for those of other pools
    return with_report_fault(edit, state.report_fault)


def with_grant(edit: ObjectEdit, state: PoolState) -> ObjectEdit:
    """After the requests: those name the grant that `live` has. A new grant ends what was said of the destruction of the same host: it
    lives. Once the host with the grant reports, the pool is served again, and a request that gave it to that host is over."""
    grant, status = state.grant, edit.record.status
    if grant.is_new and isinstance(status, POOL_STATUS):
        if status.destroyed is not None and status.destroyed.host == grant.host:
            edit = edit.with_status(destroyed=None).clear_condition(DESTROYED)
        edit = edit.with_status(host=GrantedHost(id=grant.host), epoch=grant.epoch)
        edit = edit.log_change(Action.STATUS, f"granted to host {grant.host} under epoch {grant.epoch}")
    if grant.host and state.heartbeat is Heartbeat.ALIVE:
        found = {type: edit.condition(type) for type in (DESTROYED, HOST_MOVED)}
        edit = edit.clear_condition(*(type for type, each in found.items() if each and each.status == "True"))
    return edit


def with_answer(view: View, edit: ObjectEdit, state: PoolState) -> ObjectEdit:
    """A host that lost its local state asks whether it may act by this `live`: one out of a backup would order what runs elsewhere by now. It
    may by the commit that grants it its first pool. Else it may once this process awaits no host any more, and has run for one timeout of
    the fleet: a host that reports would show an older `live`. One that such a `live` does not know only waits, and names what it has: while
    that is assigned to this host, there is no answer. While `live` is lost, a tick writes only when all have reported."""
    status = edit.record.status
    host = status.host if isinstance(status, POOL_STATUS) else None
    if host is None or host.id != state.grant.host or state.asks in ("", host.answered):
        return edit.clear_condition(ORDERS_CONFIRMED)
    is_held = not view.rewind.is_proven and state.poollet in view.rewind.reports
    is_early = bool(view.awaited_hosts) or view.time_to_gather(view.usual_timeout) > timedelta(0)
    if is_held or (is_early and not is_first_grant(view, state)):
        return edit.recheck_by(edit.now + RECHECK)
    if found := next(list_held_by_others(view, state), ""):
        message = f"host {host.id} lost its local state, and waits before it acts: {found}"
        edit = edit.set_condition(ORDERS_CONFIRMED, "False", ON_ANOTHER, message)
        return edit.recheck_by(edit.now + RECHECK)
    edit = edit.with_status(host=replace(host, answered=state.asks)).clear_condition(ORDERS_CONFIRMED)
    return edit.log_change(Action.STATUS, f"host {host.id} lost its local state, and may act again")


def list_held_by_others(view: View, state: PoolState) -> Iterator[str]:
    """Objects that `live` assigns to the pools of this host, and that another host has which waits without the grant of its own. The
    answer for one pool is for all pools of the poollet."""
    own = view.reports.by_poollet.get(state.poollet)
    pools = own.announced_keys if own is not None else {state.key}
    for key in sorted(key for pool in pools for key in view.relations.on_pool.get(pool)):
        uid = view.objects[key].record.uid
        for name in view.reports.candidate_index.speakers(key):
            report = view.reports.by_poollet[name]
            waiting = report.candidate
            if waiting is None or waiting.host_id == state.grant.host or not may_hold(view, waiting, report):
                continue
            if any(
                (one.kind, one.namespace, one.name) == key and one.uid in (uid, None)
                for one in waiting.objects
            ):
                where = f"host {waiting.host_id} waits for the pools of poollet {name}, and has {key}, which live assigns to host {state.grant.host}"
                yield f"{where}; live may be older than that. {cure_of_candidate(view, name, waiting)}"


def is_first_grant(view: View, state: PoolState) -> bool:
    """Whether this tick grants the pool to a host that `live` grants no other pool: it has no orders there, old or new. The answer is for
    all pools of the poollet."""
    report = view.reports.by_poollet.get(state.poollet)
    others = (view.grant(key) for key in report.announced_keys) if report is not None else ()
    return state.grant.is_new and all(each.is_new or each.host != state.grant.host for each in others)


def with_leaving_host(view: View, edit: ObjectEdit, requests: PoolRequests) -> ObjectEdit:
    """Of a pool that goes: what people say of its host, and the answer without which that host removes nothing. One that may still be
    declared may stay for long: its status is kept up."""
    key = edit.known.key
    state = view.find_pool(key)
    if state is not None and key in view.relations.absent and view.why_unverified(key):
        return as_reported(view, edit, requests, state)
    edit = with_requests(edit, requests)
    return with_answer(view, edit, state) if state is not None else edit


def with_requests(edit: ObjectEdit, requests: PoolRequests) -> ObjectEdit:
    """With what this tick makes of the requests about its host: fields for programs, conditions for people."""
    edit = end_answers(edit)
    after, was = requests.status.get(edit.known.key), edit.record.status
    if after is not None and isinstance(was, POOL_STATUS):
        edit = edit.with_status(
            host=after.host, epoch=after.epoch, destroyed=after.destroyed, move=after.move
        )
        replaced = {
            DESTROYED: was.destroyed is not None and after.destroyed is None,
            HOST_MOVED: was.move is not None and after.move is None,
        }
        edit = edit.clear_condition(*(type for type, is_replaced in replaced.items() if is_replaced))
    for each in requests.notices.get(edit.known.key, ()):
        shown = edit.condition(each.type)
        if shown is None or (shown.status, shown.reason, shown.message) != each[1:]:
            update_time = stamp(edit.now) if each.status == "False" else ""  # only answers end by their age
            edit = edit.set_condition(*each, update_time=update_time).log_change(Action.STATUS, each.message)
    return edit


def end_answers(edit: ObjectEdit) -> ObjectEdit:
    """Without the conditions of requests that were refused or void for so long that people have read why.

    A second refusal has the status of the first, and so its transition time: each answer is as old as its own text.
    """
    for type in (DESTROYED, HOST_MOVED):
        found = edit.condition(type)
        if found is not None and found.status == "False":
            ends = (moment(found.last_update_time or found.last_transition_time) or edit.now) + ANSWERED
            edit = edit.clear_condition(type) if ends <= edit.now else edit.recheck_by(ends)
    return edit


def with_mismatch(edit: ObjectEdit, state: PoolState) -> ObjectEdit:
    """Names the other host, and the commands that say what became of the one with the grant, for as long as the other is there. Once
    one of them waits, another would only take its place: then the message names that one instead."""
    status, other = edit.record.status, state.other_host
    host = status.host.id if isinstance(status, POOL_STATUS) and status.host is not None else ""
    if not host or other in ("", host):
        return edit.clear_condition(HOST_MISMATCH)
    name = edit.known.key.name
    destroyed = command_of(Confirm.POOL_DESTROYED, name, host)
    moved = command_of(Confirm.POOL_HOST, name, other)
    cure = (
        f"If host {host} is destroyed with all that it had, run `{destroyed}` and `git push`. If host {other} is the same machine or has "
        f"its disks, run `{moved}` and `git push`. Otherwise give the poollet on host {other} another name"
    )
    requests = (status.destroyed, status.move) if isinstance(status, POOL_STATUS) else ()
    if waiting := [each.commit for each in requests if each is not None and each.state in OPEN_REQUEST]:
        cure = f"Commit {waiting[0][:DIGITS]} takes effect once the heartbeat of host {host} has expired"
    message = (
        f"pool {name} is granted to host {host}, and host {other} reports under the same poollet name. Host {other} powers off those of "
        f"its machines that `live` assigns to another host, so that none runs twice, and keeps their data. {cure}"
    )
    return edit.set_condition(HOST_MISMATCH, "True", "ReportedByAnotherHost", message)


def with_report_fault(edit: ObjectEdit, fault: str) -> ObjectEdit:
    """Says at once that the report of the pool's poollet cannot be read: its last status is shown until the heartbeat expires."""
    if not fault:
        return edit.clear_condition(REPORT_UNREADABLE)
    message = f"{fault}. gitvirt ignores this report and places nothing new on the pool; the poollet replaces its report while it runs"
    return edit.set_condition(REPORT_UNREADABLE, "True", REPORT_UNREADABLE, message)


def announcement(key: Key, labels: Mapping[str, str]) -> Mapping[str, Value]:
    """The document of a pool that no file declares: its name and the labels that its poollet reports."""
    metadata: dict[str, Value] = {"name": key.name}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    return {"apiVersion": api_version(key.kind), "kind": key.kind.value, "metadata": metadata}

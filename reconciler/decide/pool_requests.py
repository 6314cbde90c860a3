"""What people commit about the host of a pool: that it is destroyed, or that another host takes its place. Pure.

Theory of operation
-------------------
A trailer of a source commit names a pool and a hostID. What became of it is kept in fields of the pool's status on `live`
(`status.destroyed`, `status.move`); conditions only display it, and nothing is read back from a message. A name may be that of a machine
pool and of a volume pool: each kind is judged by its own grant, and the trailer is a request for each of the two that it can mean.

    Pool-Destroyed: NAME=A   the host A, which has the grant of NAME, is gone with all that it had
    Pool-Host: NAME=B        the host B has what A had (the same machine with a new id, or its disks)

    state     event                                     next       effect
    -         A has the grant, and B is known           Waiting    commit, host and A's newest report are recorded
    -         A has no grant; no host is named; no      -          answered with a reason, and the commit to make instead
              report and no candidate of a poollet of
              the pool has B's hostID
    Waiting   A reported after the commit               Void       none: it lives
    Waiting   the grant is not A's any more             Void       none
    Waiting   A's heartbeat is alive or unconfirmed     Waiting    none
    Waiting   the answer of the Git server took long    Waiting    none; A may have reported since
    Waiting   the process has just started, and has     Waiting    none
              not seen a report of every known host
    Waiting   A's heartbeat expired, or A left          Fenced     no host has the grant, epoch + 1; assignments stay as they are
    Fenced    A reported after the commit               Void       A has the grant again, under that epoch
    Fenced    the grant is another host's               Void       none
    Fenced    what keeps a request waiting              Fenced     none
    Fenced    A's heartbeat expired, or A left          Followed   Pool-Destroyed: the assignments under A's grant are released
                                                                   Pool-Host: B has the grant, and the assignments under A's
                                                                   grant name B and the present epoch; ids stay
    Followed, Void                                      the same   a later commit may begin again

A pool changes hands in two commits, because a push may land long after it was made (decide/handover.py). Fenced is the first one: A acts on
nothing of the pool from it on. The second is decided on a snapshot of that commit, in which A has still not reported. A first commit that lands
late hits a host that reports, and gives it the grant back; a second one finds a host that `live` allows nothing.

`Pool-Host` does not name A: it takes the grant from the host that has it. That B must be known keeps a slip in the hostID from stopping all
machines of the pool, and a commit that is replayed years later from moving it to a host that is long gone.

The answer to a trailer outlives the tick that synced its commit: a request that waits is answered in every plan, and one that is refused or
void for as long as its condition is there (decide/pool.py ends it after a day). The condition of a request that was followed ends when the
host with the grant is alive.

A newer request about a pool takes the place of one that still waits, of either kind. Any report by A shows that A lives, also one of a
pool that another poollet owns by now; of a host without any report the heartbeat timeout begins when it is first asked for.

Must never happen: a request hits a host that was not named; one is followed while its host may still report; an object is
released or moved because of a pool's state alone, without such a request; a grant ends and an assignment under it is given away in one
commit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from reconciler.gitstore.approval import commit_command
from reconciler.world.changes import Confirm, Confirmation
from reconciler.world.pools.grants import POOL_STATUS
from reconciler.world.record import DESTROYED, HOST_MOVED, OPEN_REQUEST
from reconciler.world.reports.heartbeat import NOT_EXPIRED
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import (
    DestroyRequest,
    GrantedHost,
    MachinePoolStatus,
    MoveRequest,
    VolumePoolStatus,
)
from schemas.model.part import RequestState
from schemas.spelling import nearest

PoolStatus: TypeAlias = MachinePoolStatus | VolumePoolStatus
Request: TypeAlias = DestroyRequest | MoveRequest
Statuses: TypeAlias = MutableMapping[Key, PoolStatus]
DIGITS = 12
TYPES = {
    Confirm.POOL_DESTROYED: DESTROYED,
    Confirm.POOL_HOST: HOST_MOVED,
}  # of the condition that displays it


class PoolNotice(NamedTuple):
    """A condition that displays a request, or why a trailer is none."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PoolRequests:
    """What this tick makes of all requests. `status` is the new one of the pools they are about, `answers` are for people: what each
    request that is not followed waits for, or why it never will be.

    `ended` are the pools of which the grant changes in this tick, or the assignments under it.
    """

    status: Mapping[Key, PoolStatus] = field(default_factory=dict)
    notices: Mapping[Key, tuple[PoolNotice, ...]] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    ended: Collection[Key] = frozenset()

    @property
    def cleared_pools(self) -> Collection[Key]:
        """Those of them whose host is destroyed: all that was on them is gone."""
        return frozenset(
            key
            for key in self.ended
            if (destroyed := self.status[key].destroyed) is not None and destroyed.state == "Followed"
        )


NO_REQUESTS = PoolRequests()


def judge_requests(view: View) -> PoolRequests:
    """Judges the requests on `live` that wait, and those of new source commits, the oldest first, and collects the answers to people.

    Called at the start of every tick, by `deletion`, which needs the pools whose host is destroyed, and by `compose` for the answers. It gives
    the same result each time.
    """
    confirmations = [each for each in view.head.confirmations if each.about in TYPES]
    if not confirmations and not view.relations.pool_requests:
        return NO_REQUESTS
    statuses = {
        key: found for key in view.relations.pool_requests if (found := status_of(view, key)) is not None
    }
    notices: dict[Key, dict[str, PoolNotice]] = {}
    answers = [answer for each in confirmations for answer in record_request(view, each, statuses, notices)]
    after = {key: judge_pool(view, key, statuses[key]) for key in sorted(statuses)}
    for key, status in after.items():
        for request in requests_to_tell(status_of(view, key), status):
            notice = describe_request(key, status, request)
            notices.setdefault(key, {})[notice.type] = notice
    for key in sorted(after.keys() | notices.keys()):
        answers += answers_about(view, key, notices.get(key, {}))
    ended = frozenset(key for key, status in after.items() if changes_grant(status_of(view, key), status))
    by_pool = {key: tuple(found.values()) for key, found in notices.items()}
    return PoolRequests(after, by_pool, tuple(dict.fromkeys(answers)), ended)


# A trailer becomes a request


def record_request(
    view: View, request: Confirmation, statuses: Statuses, notices: dict[Key, dict[str, PoolNotice]]
) -> Iterator[str]:
    """Adds it to the status of each pool of that name where it can be meant; what is not a request is answered."""
    name, _, host = request.value.partition("=")
    line = f"{request.about}: {request.value} (commit {request.commit[:DIGITS]})"
    pools = {key: found for key in pools_named(name) if (found := statuses.get(key) or status_of(view, key))}
    type = TYPES[request.about]
    if not pools:
        near = nearest(name, sorted({*view.pools, *view.volume_pools}))
        yield f"{line}: unknown pool {name}" + (f"; did you mean {near}?" if near else "")
        return
    meant = {
        key: status
        for key, status in pools.items()
        if host and may_be_meant(view, key, request, status, host)
    }
    for key, status in meant.items():
        statuses[key] = with_request(view, key, status, request, host)
        notices.get(key, {}).pop(type, None)
    if not meant:
        reason, message = refusal_of(view, name, request.about, host, pools)
        full = f"commit {request.commit[:DIGITS]}: {message}"
        for key in pools:
            notices.setdefault(key, {})[type] = PoolNotice(type, "False", reason, full)


def may_be_meant(view: View, key: Key, request: Confirmation, status: PoolStatus, host: str) -> bool:
    """One names the host that has the grant, the other one that has not, and is there."""
    if status.host is None or request.about is Confirm.POOL_DESTROYED:
        return status.host is not None and status.host.id == host
    return status.host.id != host and view.is_known_host(key, host)


def refusal_of(
    view: View, name: str, about: Confirm, host: str, pools: Mapping[Key, PoolStatus]
) -> tuple[str, str]:
    """Why it is not a request, with the commit that would be one, where the reconciler can name it."""
    granted = sorted({status.host.id for status in pools.values() if status.host is not None})
    if not granted:
        return "NotGranted", f"no host has the grant of pool {name}; the next host that reports it gets it"
    if about is Confirm.POOL_DESTROYED:
        cures = [
            f"if host {each} is destroyed, run `{command_of(about, name, each)}` and `git push`"
            for each in granted
        ]
        why = f"host {host} does not have the grant of pool {name}" if host else "the trailer names no host"
        return "NotGranted" if host else "HostRequired", "; ".join((why, *cures))
    if host in granted:
        return "AlreadyGranted", f"host {host} already has the grant of pool {name}"
    states = [view.pools.get(name), view.volume_pools.get(name)]
    other = next((state.other_host for state in states if state is not None and state.other_host), "")
    cure = (
        "start the poollet of the new host first; the condition HostMismatch of the pool then has the commit"
    )
    if other:
        cure = f"to move the pool to host {other}, run `{command_of(about, name, other)}` and `git push`"
    why = f"host {host} neither reports pool {name} nor waits for it" if host else "the trailer names no host"
    return "UnknownHost" if host else "HostRequired", f"{why}; {cure}"


def with_request(view: View, key: Key, status: PoolStatus, request: Confirmation, host: str) -> PoolStatus:
    """A host that wrote its newest report after the commit lives, though nothing reconciled in between."""
    assert status.host is not None, "by may_be_meant"
    former = status.host.id
    seen = view.host_seen(key, former)
    is_void = seen.time is not None and seen.time > request.time
    state: RequestState = "Void" if is_void else "Waiting"
    if request.about is Confirm.POOL_DESTROYED:
        destroyed = DestroyRequest(commit=request.commit, host=host, state=state, report_commit=seen.commit)
        is_older = status.move is not None and status.move.state in OPEN_REQUEST
        return replace(status, destroyed=destroyed, move=None if is_older else status.move)
    move = MoveRequest(
        commit=request.commit, host=host, state=state, from_host=former, report_commit=seen.commit
    )
    is_older = status.destroyed is not None and status.destroyed.state in OPEN_REQUEST
    return replace(status, move=move, destroyed=None if is_older else status.destroyed)


# What becomes of a request


def judge_pool(view: View, key: Key, status: PoolStatus) -> PoolStatus:
    """With what happens to its requests in this tick."""
    destroyed, move = status.destroyed, status.move
    if destroyed is not None and destroyed.state in OPEN_REQUEST:
        state = next_state(view, key, status, destroyed.host, destroyed)
        status = apply_state(replace(status, destroyed=replace(destroyed, state=state)), destroyed, state)
    if move is not None and move.state in OPEN_REQUEST:
        state = next_state(view, key, status, move.from_host, move)
        status = apply_state(replace(status, move=replace(move, state=state)), move, state)
    return status


def apply_state(status: PoolStatus, before: Request, after: RequestState) -> PoolStatus:
    """The status with what a change of state does to the grant, by the table above."""
    match before.state, after:
        case "Waiting", "Fenced":
            return replace(status, host=None, epoch=status.epoch + 1)
        case "Fenced", "Void" if status.host is None:
            former = before.host if isinstance(before, DestroyRequest) else before.from_host
            return replace(status, host=GrantedHost(id=former))
        case "Fenced", "Followed" if isinstance(before, MoveRequest):
            return replace(status, host=GrantedHost(id=before.host))
        case _:
            return status


def next_state(view: View, key: Key, status: PoolStatus, former: str, request: Request) -> RequestState:
    """The state after this tick, by the table above. `former` is the host that the request takes the grant from.

    A report that is newer than the one recorded with the request shows that the host lives; then the request is over for good, even if the host
    falls silent later. Its notice has the command that repeats it.
    """
    granted = status.host.id if status.host is not None else ""
    if granted != ("" if request.state == "Fenced" else former):
        return "Void"
    seen = view.host_seen(key, former)
    if seen.commit not in ("", request.report_commit):
        return "Void"
    if seen.heartbeat in NOT_EXPIRED or view.reports.is_late or view.awaited_hosts:
        return request.state
    return "Followed" if request.state == "Fenced" else "Fenced"


def changes_grant(before: PoolStatus | None, after: PoolStatus) -> bool:
    """Whether assignments on the pool have to be looked at: another grant, or a request that takes effect on them."""
    if before is None:
        return False
    if (before.host, before.epoch) != (after.host, after.epoch):
        return True
    return any(
        new is not None and new.state == "Followed" and (old is None or old.state != "Followed")
        for old, new in ((before.destroyed, after.destroyed), (before.move, after.move))
    )


# What people see of it


def requests_to_tell(before: PoolStatus | None, after: PoolStatus) -> Iterator[Request]:
    """Those that wait, and those that changed in this tick."""
    old = () if before is None else (before.destroyed, before.move)
    for request in (after.destroyed, after.move):
        if request is not None and (request.state in OPEN_REQUEST or request not in old):
            yield request


def answers_about(view: View, key: Key, new: Mapping[str, PoolNotice]) -> Iterator[str]:
    """What the pool's conditions say of requests that are not followed: those of this tick, else those of an earlier one that are
    refused or void. A request that waits has a condition in each tick."""
    known = view.objects[key].record
    for about, type in TYPES.items():
        found = known.condition(type)
        shown = new.get(type) or (found if found is not None and found.status == "False" else None)
        if shown is not None and shown.status != "True":
            yield f"{about}: {key.name}: {shown.message}"


def describe_request(key: Key, status: PoolStatus, request: Request) -> PoolNotice:
    """The condition that displays a request, with the command to repeat it where its host turned out to live."""
    commit, host = request.commit[:DIGITS], request.host
    if isinstance(request, DestroyRequest):
        type, former, stated = DESTROYED, host, f"commit {commit} states that host {host} is destroyed"
        done = f"{stated}; its assignments are released"
    else:
        type, former = HOST_MOVED, request.from_host
        stated = f"commit {commit} moves pool {key.name} from host {former} to host {host}"
        done = f"{stated}; its assignments went along"
    match request.state:
        case "Followed":
            return PoolNotice(type, "True", "Confirmed", done)
        case "Waiting":
            waiting = f"{stated}; waiting until the heartbeat of host {former} expires"
            return PoolNotice(type, "Unknown", "WaitingForHeartbeatTimeout", waiting)
        case "Fenced":
            fenced = (
                f"{stated}; host {former} has lost the grant, and its assignments change with the next commit"
            )
            return PoolNotice(type, "Unknown", "HostFenced", fenced)
        case "Void" if status.host is not None and status.host.id == former:
            command = command_of(about_of(request), key.name, host)
            cure = f"if host {former} is gone for good, run `{command}` and `git push`"
            message = f"{stated}, but host {former} reported since; {cure}"
            return PoolNotice(type, "False", "HostStillReporting", message)
        case "Void":
            message = f"{stated}, but host {former} had lost the grant before"
            return PoolNotice(type, "False", "GrantChanged", message)


def about_of(request: Request) -> Confirm:
    return Confirm.POOL_DESTROYED if isinstance(request, DestroyRequest) else Confirm.POOL_HOST


def command_of(about: Confirm, name: str, host: str) -> str:
    """What a person types for that request."""
    what = "is destroyed" if about is Confirm.POOL_DESTROYED else "has the pool now"
    return commit_command(f"{name}: host {host} {what}", f"{about}: {name}={host}")


def pools_named(name: str) -> tuple[Key, Key]:
    """A trailer has a name only; a host may have the pools of both kinds by that name."""
    return Key(Kind.MACHINE_POOL, "", name), Key(Kind.VOLUME_POOL, "", name)


def status_of(view: View, key: Key) -> PoolStatus | None:
    """As `live` has it; in a rewound `live`, with the grant that its hosts report. So a trailer that a restore replays hits no host that
    lost the grant since."""
    known = view.objects.get(key)
    status = known.record.status if known is not None else None
    if not isinstance(status, POOL_STATUS):
        return None
    grant = view.grant(key)
    if grant.is_new and status.host is not None:
        return replace(status, host=GrantedHost(id=grant.host), epoch=grant.epoch)
    return status

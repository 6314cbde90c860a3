"""What a pool needs: the status that its poollet reports, and a document of its own when nobody declares it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.decide.need import Keep, Need
from reconciler.decide.object_edit import Turn
from reconciler.decide.pool_requests import NO_REQUESTS, PoolRequests
from reconciler.decide.view import View
from reconciler.plan.types import Action
from reconciler.world.grants import POOL_STATUS
from reconciler.world.known import Standing
from reconciler.world.pool import PoolState
from reconciler.world.pool_status import folded_pool
from reconciler.world.record.condition import DESTROYED, HOST_MISMATCH, HOST_MOVED
from schemas.edit.fields import Value
from schemas.kinds import Key, Kind, api_version
from schemas.model import GrantedHost


def pool(view: View, turn: Turn, requests: PoolRequests = NO_REQUESTS) -> Need:
    known = turn.known
    states = view.pools if known.key.kind is Kind.MACHINE_POOL else view.volume_pools
    state = states.get(known.key.name)
    if state is None:
        return Keep(**with_requests(turn, requests).course())
    status = folded_pool(state, turn.record, turn.now)
    if status != turn.record.status:
        turn = turn.with_record(status=status).does(Action.STATUS, getattr(status, "state", "").lower())
    turn = with_mismatch(with_requests(with_grant(turn, state), requests), state)
    if known.standing not in (Standing.ANNOUNCED, Standing.LEAVING) or state.announced is None:
        return Keep(**turn.course())
    body = announcement(known.key, state.announced.labels)
    is_same = dict(known.object.metadata.labels) == dict(state.announced.labels)
    if known.standing is Standing.ANNOUNCED and known.live is not None and is_same:
        return Keep(**turn.course())
    turn = turn.does(Action.ANNOUNCE, f"announced by {state.poollet}")
    return Keep(**turn.course(), body=body)


def with_grant(turn: Turn, state: PoolState) -> Turn:
    """A new grant ends what was said of the destruction of the same host: it lives."""
    grant, status = state.grant, turn.record.status
    if not grant.is_new or not isinstance(status, POOL_STATUS):
        return turn
    if status.destroyed is not None and status.destroyed.host == grant.host:
        turn = turn.with_status(destroyed=None).unsays(DESTROYED)
    turn = turn.with_status(host=GrantedHost(id=grant.host), epoch=grant.epoch)
    return turn.does(Action.STATUS, f"granted to host {grant.host} under epoch {grant.epoch}")


def with_requests(turn: Turn, requests: PoolRequests) -> Turn:
    after = requests.status.get(turn.known.key)
    if after is not None:
        turn = turn.with_status(
            host=after.host, epoch=after.epoch, destroyed=after.destroyed, move=after.move
        )
        gone = {DESTROYED: after.destroyed, HOST_MOVED: after.move}
        turn = turn.unsays(*(type for type, request in gone.items() if request is None))
    before = turn
    for each in requests.notices.get(turn.known.key, ()):
        turn = turn.says(each.type, each.status, each.reason, each.message)
        if turn.said(each.type) != before.said(each.type):
            turn = turn.does(Action.STATUS, each.message)
    return turn


def with_mismatch(turn: Turn, state: PoolState) -> Turn:
    """Names the other host, and the two ways out, for as long as it is there."""
    status, other = turn.record.status, state.other_host
    host = status.host.id if isinstance(status, POOL_STATUS) and status.host is not None else ""
    if not host or other in ("", host):
        return turn.unsays(HOST_MISMATCH)
    name = turn.known.key.name
    told = (
        f"pool {name} is granted to host {host}, and host {other} wants to serve it. If {host} is destroyed with all "
        f"that it had, commit `Pool-Destroyed: {name}={host}`. If {other} is the same machine or has its disks, commit "
        f"`Pool-Host: {name}={other}`. Otherwise rename the poollet on {other}"
    )
    return turn.says(HOST_MISMATCH, "True", "OtherHost", told)


def announcement(key: Key, labels: Mapping[str, str]) -> Mapping[str, Value]:
    metadata: dict[str, Value] = {"name": key.name}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    return {"apiVersion": api_version(key.kind), "kind": key.kind.value, "metadata": metadata}

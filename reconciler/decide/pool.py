"""What a pool needs: the status that its poollet reports, and a document of its own when nobody declares it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.decide.destroyed import Order, told
from reconciler.decide.need import Keep, Need
from reconciler.decide.turn import Turn
from reconciler.decide.view import View
from reconciler.plan.types import Action
from reconciler.world.known import Standing
from reconciler.world.pool_status import folded_pool
from schemas.edit.fields import Value
from schemas.kinds import Key, Kind, api_version


def pool(view: View, turn: Turn, order: Order | None) -> Need:
    known = turn.known
    states = view.pools if known.key.kind is Kind.MACHINE_POOL else view.volume_pools
    state = states.get(known.key.name)
    if state is None:
        return Keep(**told(turn, order).course())
    status = folded_pool(state, turn.record, turn.now)
    if status != turn.record.status:
        turn = turn.with_record(status=status).does(Action.STATUS, getattr(status, "state", "").lower())
    turn = told(turn, order)
    if known.standing not in (Standing.ANNOUNCED, Standing.LEAVING) or state.announced is None:
        return Keep(**turn.course())
    body = announcement(known.key, state.announced.labels)
    is_same = dict(known.object.metadata.labels) == dict(state.announced.labels)
    if known.standing is Standing.ANNOUNCED and known.live is not None and is_same:
        return Keep(**turn.course())
    turn = turn.does(Action.ANNOUNCE, f"announced by {state.poollet}")
    return Keep(**turn.course(), body=body)


def announcement(key: Key, labels: Mapping[str, str]) -> Mapping[str, Value]:
    metadata: dict[str, Value] = {"name": key.name}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    return {"apiVersion": api_version(key.kind), "kind": key.kind.value, "metadata": metadata}

"""Whether a placed machine can go where people pin it now: it does not leave its pool for one that cannot take it. Pure."""

from __future__ import annotations

from reconciler.decide.view import View
from schemas.kinds import Key
from schemas.model import Machine
from schemas.validate.labels import untolerated_taint


def hindrance(view: View, key: Key, machine: Machine, pin: str) -> str:
    """In words that stay while the reasons do, or nothing. Volumes that it would leave behind are for consent to decide."""
    pool = view.pools.get(pin)
    if pool is None:
        return f"there is no pool {pin}"
    if pool.why_not_ready:
        return f"pool {pin} is not ready: {pool.why_not_ready}"
    if pool.is_cordoned:
        return f"pool {pin} is cordoned"
    if taint := untolerated_taint(pool.taints, machine.spec.tolerations):
        return f"pool {pin} has the taint {taint}"
    name = machine.spec.machine_class_ref.name
    if name not in pool.classes:
        return f"pool {pin} does not offer class {name}"
    return f"pool {pin} has no room for it" if view.shortfalls(key, pin) else ""

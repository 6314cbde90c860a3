"""Pools and requests of the tests of placement."""

from __future__ import annotations

from reconciler.schedule.decision import Placed
from reconciler.schedule.request import PoolView, Request, VolumePoolView, VolumeRequest
from schemas.kinds import Key, Kind
from schemas.model.part import Selector

GIB = 1 << 30
ZONE = "topology.ironcore.dev/zone"
WEB = Selector((("app", "web"),))


def pool(name: str, **changes: object) -> PoolView:
    given_fields: dict[str, object] = {
        "allocatable": {"cpu": 8000, "memory": 32 * GIB},
        "classes": frozenset({"small", "big"}),
        "labels": {ZONE: "a"},
    }
    return PoolView(name=name, **(given_fields | changes))  # type: ignore[arg-type]


def volume_pool(name: str, **changes: object) -> VolumePoolView:
    given_fields: dict[str, object] = {"allocatable": {"storage": 100 * GIB}, "classes": frozenset({"fast"})}
    return VolumePoolView(name=name, **(given_fields | changes))  # type: ignore[arg-type]


def machine(name: str, **changes: object) -> Request:
    given_fields: dict[str, object] = {
        "machine_class": "small",
        "charge": {"cpu": 1000, "memory": 4 * GIB},
        "labels": (("app", "web"),),
    }
    return Request(key=Key(Kind.MACHINE, "default", name), **(given_fields | changes))  # type: ignore[arg-type]


def volume(name: str, **changes: object) -> VolumeRequest:
    given_fields: dict[str, object] = {"volume_class": "fast", "charge": {"storage": 10 * GIB}}
    return VolumeRequest(key=Key(Kind.VOLUME, "default", name), **(given_fields | changes))  # type: ignore[arg-type]


def where(decisions: tuple[object, ...]) -> dict[str, str]:
    return {decision.key.name: decision.pool for decision in decisions if isinstance(decision, Placed)}

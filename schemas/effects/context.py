"""What the effect of a change depends on besides the values: whether something exists, where it runs, who uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.effects.effect import Loss


class VolumeClassPolicy(NamedTuple):
    """Whether volumes of a class may grow, and the file that says so."""

    resize_policy: str
    path: str


@dataclass(frozen=True, slots=True)
class EffectContext:
    """The defaults are what validation assumes, which knows no hosts: the object exists and runs somewhere.

    `pool` and `assignment` are empty where that is unknown. `losses` are local disks and generated volumes of a machine as it is: what its removal
    destroys; `local_disks` the part of it that a move destroys. `leaves_data`: volumes of it stay on the host that it would
    leave. `pin_obstacle` is why the pool that it is pinned to cannot take it now,
    and `class_obstacle` why its own pool cannot give it its class. `is_used`: placed objects use this class, network
    or interface, and `users` names them. `volume_class` is that of a volume, and `volume_classes` are those that are known.
    `actual_class` is the class that a machine has on its host, while that is not the declared one.
    `actual_bytes` is the size that its host reported last: less than the declared one while the volume could not grow.
    """

    name: str = ""
    pool: str = ""
    assignment: str = ""
    is_created: bool = True
    is_running: bool = True
    is_paused: bool = False
    losses: tuple[Loss, ...] = ()
    local_disks: tuple[Loss, ...] = ()
    leaves_data: bool = False
    accepts_data_loss: bool = False
    pin_obstacle: str = ""
    class_obstacle: str = ""
    is_used: bool = True
    users: str = ""
    volume_class: str = ""
    volume_classes: Mapping[str, VolumeClassPolicy] = field(default_factory=dict)
    actual_bytes: int | None = None
    actual_class: str = ""


VALIDATION = EffectContext()

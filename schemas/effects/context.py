"""What the effect of a change depends on besides the values: whether something exists, where it runs, who uses it."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.effects.effect import Loss


@dataclass(frozen=True, slots=True)
class EffectContext:
    """The defaults are what validation assumes, which knows no hosts: the object exists and runs somewhere.

    `pool` is empty where that is unknown. `losses` are local disks and generated volumes of a machine as it is: what its removal
    destroys; `local_disks` the part of it that a move destroys. `is_used`: placed objects use this class, network
    or interface, and `users` names them. `resize_policy` is that of a volume's class, whose file is `class_path`; None where the class is unknown.
    """

    name: str = ""
    pool: str = ""
    is_created: bool = True
    is_running: bool = True
    is_paused: bool = False
    losses: tuple[Loss, ...] = ()
    local_disks: tuple[Loss, ...] = ()
    accepts_data_loss: bool = False
    is_used: bool = True
    users: str = ""
    resize_policy: str | None = None
    class_path: str = ""


VALIDATION = EffectContext()

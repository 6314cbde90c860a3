"""Stands in for the reconciler over a site without Git: people's wishes become documents, answers of the report are taken up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from poollet.decide.decision import Decision
from poollet.sync.live_view import LiveDocument
from schemas.kinds import Kind
from tests.poollet.documents import machine, referring, uid_of, volume
from tests.poollet.site import Site


@dataclass(frozen=True)
class Wish:
    """What people want of one machine or volume. `turn` counts its uids, `round` its assignments."""

    turn: int = 0
    round: int = 0
    is_going: bool = False
    is_evicted: bool = False
    is_paused: bool = False
    power: str = "On"
    class_name: str = "small"
    restart: str = ""
    disks: tuple[str, ...] = ()
    size: int = 1


@dataclass
class Steward:
    site: Site
    machines: dict[str, Wish] = field(default_factory=dict)
    volumes: dict[str, Wish] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)

    def publish(self) -> None:
        """Claims are given to who refers to a free volume."""
        for name, wish in sorted(self.machines.items()):
            for disk in () if wish.is_going or wish.is_evicted else wish.disks:
                if disk in self.volumes and not self.volumes[disk].is_going:
                    self.claims.setdefault(disk, name)
        self.site.documents = [self._machine(name, wish) for name, wish in self.machines.items()]
        self.site.documents += [self._volume(name, wish) for name, wish in self.volumes.items()]

    def _machine(self, name: str, wish: Wish) -> LiveDocument:
        annotations = {"gitvirt.dev/paused": "true"} if wish.is_paused else {}
        if wish.restart:
            annotations["gitvirt.dev/restart"] = wish.restart
        spec = {"power": wish.power, "volumes": referring(*wish.disks)}
        return machine(
            name,
            class_name=wish.class_name,
            spec=spec,
            annotations=annotations,
            turn=wish.turn,
            round=wish.round,
            going=wish.is_going,
            evicted=wish.is_evicted,
        )

    def _volume(self, name: str, wish: Wish) -> LiveDocument:
        claim = self.claims.get(name, "")
        turn = self.machines[claim].turn if claim in self.machines else 0
        return volume(
            name, size=f"{wish.size}Gi", claim=claim, claim_turn=turn, turn=wish.turn, going=wish.is_going
        )

    def take_up(self, decision: Decision) -> None:
        """What is gone leaves or is assigned anew; claims end when the report shows the volume with nobody."""
        for name, wish in list(self.machines.items()):
            entry = decision.machines.get(("default", name))
            if entry is None or entry.phase != "gone" or entry.uid != uid_of(Kind.MACHINE, name, wish.turn):
                continue
            if wish.is_going:
                del self.machines[name]
            elif wish.is_evicted:
                self.machines[name] = replace(wish, is_evicted=False, round=wish.round + 1)
        for name, holder in list(self.claims.items()):
            self._end_claim(name, holder, decision)
        for name, wish in list(self.volumes.items()):
            answer = decision.volumes.get(("default", name))
            if answer is not None and answer.phase == "gone" and wish.is_going:
                del self.volumes[name]

    def _end_claim(self, name: str, holder: str, decision: Decision) -> None:
        wish = self.machines.get(holder)
        entry = decision.volumes.get(("default", name))
        is_held = entry is None or entry.phase == "unknown" or bool(entry.attached_to)
        if (wish is None or name not in wish.disks) and not is_held:
            del self.claims[name]

"""In the place of the reconciler, over a site without Git: declarations become documents, answers of the report are followed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from poollet.decide.decision import Decision
from poollet.sync.live_view import LiveDocument
from schemas.kinds import Kind
from tests.poollet.documents import machine, referring, uid_of, volume
from tests.poollet.site import Site


@dataclass(frozen=True)
class Declared:
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
class LiveWriter:
    site: Site
    machines: dict[str, Declared] = field(default_factory=dict)
    volumes: dict[str, Declared] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)

    def publish(self) -> None:
        """Claims are given to who refers to a free volume."""
        for name, declared in sorted(self.machines.items()):
            for disk in () if declared.is_going or declared.is_evicted else declared.disks:
                if disk in self.volumes and not self.volumes[disk].is_going:
                    self.claims.setdefault(disk, name)
        self.site.documents = [self._machine(name, declared) for name, declared in self.machines.items()]
        self.site.documents += [self._volume(name, declared) for name, declared in self.volumes.items()]

    def _machine(self, name: str, declared: Declared) -> LiveDocument:
        annotations = {"gitvirt.dev/paused": "true"} if declared.is_paused else {}
        if declared.restart:
            annotations["gitvirt.dev/restart"] = declared.restart
        spec = {"power": declared.power, "volumes": referring(*declared.disks)}
        return machine(
            name,
            class_name=declared.class_name,
            spec=spec,
            annotations=annotations,
            turn=declared.turn,
            round=declared.round,
            going=declared.is_going,
            evicted=declared.is_evicted,
        )

    def _volume(self, name: str, declared: Declared) -> LiveDocument:
        claim = self.claims.get(name, "")
        turn = self.machines[claim].turn if claim in self.machines else 0
        return volume(
            name,
            size=f"{declared.size}Gi",
            claim=claim,
            claim_turn=turn,
            claim_round=self.machines[claim].round if claim in self.machines else 0,
            turn=declared.turn,
            going=declared.is_going,
        )

    def take_up(self, decision: Decision) -> None:
        """A gone object leaves or is assigned again; a claim ends when the report shows the volume detached."""
        for name, declared in list(self.machines.items()):
            entry = decision.machines.get(("default", name))
            if (
                entry is None
                or entry.phase != "gone"
                or entry.uid != uid_of(Kind.MACHINE, name, declared.turn)
            ):
                continue
            if declared.is_going:
                del self.machines[name]
            elif declared.is_evicted:
                self.machines[name] = replace(declared, is_evicted=False, round=declared.round + 1)
        for name, holder in list(self.claims.items()):
            self._end_claim(name, holder, decision)
        for name, declared in list(self.volumes.items()):
            answer = decision.volumes.get(("default", name))
            if answer is not None and answer.phase == "gone" and declared.is_going:
                del self.volumes[name]

    def _end_claim(self, name: str, holder: str, decision: Decision) -> None:
        declared = self.machines.get(holder)
        entry = decision.volumes.get(("default", name))
        is_held = entry is None or entry.phase == "unknown" or bool(entry.attached_to)
        if (declared is None or name not in declared.disks) and not is_held:
            del self.claims[name]

"""One life: steps by chance, the laws after each, and rest at the end, once or more often. The same seed is the same life.

Owns what happens next and the trace of it.
"""

from __future__ import annotations

import random
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from reconciler.gitstore.remote.transport import RefsPushed
from reconciler.loop.outcome import Committed, NoChange, TickBlocked
from tests.soak import backups, disk_images, hostile_reports, troubles, undecided
from tests.soak.commit_audit import CommitAudit
from tests.soak.disk_images import DiskImage
from tests.soak.laws import Laws, check_fulfilled
from tests.soak.people import TAINTS, People
from tests.soak.stage import HOST, HOSTS, PARTIES, RECONCILERS, REFS, Stage

STEPS = 60
TRACE = 40
PAUSES_MS = (100, 500, 2_500, 2_500, 5_000, 16_000, 61_000, 400_000)
REST_MS = 10_000
EXPIRED_MS = 130_000  # longer than the heartbeat timeout of a host
QUIET_ROUNDS = 3
MOST_ROUNDS = 400
MOST_CONSENTS = 16
PATIENCE = 4  # times that people look at what waits, before they remove a report
WAITS = re.compile(r"message: .?no pool fits: .*")
VOIDS = "void a push that had no answer"
OUTCOMES = (  # counted beside the acts
    *("landed late", "landed out of order", "late and refused", "void"),
    *("took effect late", "late and void"),
    *(f"restored: {way}" for way in backups.WAYS),
    *(f"hostile: {kind}" for kind in hostile_reports.KINDS),
)


class BrokenError(AssertionError):
    """A law does not hold. Says which, what led there, and how to see it again."""


@dataclass
class Life:
    seed: int
    steps: int = STEPS
    behavior: str = "gitvirt"  # of the runtimes
    rests: int = 1  # it begins again with as many steps after each
    is_audited: bool = False  # whether each commit of a reconciler is computed again
    acts: Mapping[str, tuple[int, Act]] = field(default_factory=lambda: ACTS)
    stage: Stage = field(init=False)
    people: People = field(init=False)
    laws: Laws = field(init=False)
    trace: deque[str] = field(default_factory=lambda: deque(maxlen=TRACE))
    reached: Counter[str] = field(default_factory=Counter)  # how often each kind of event happened
    backups: list[dict[str, str]] = field(default_factory=list)  # the refs of the server at some moments
    images: dict[str, list[DiskImage]] = field(default_factory=dict)  # of the disks of hosts
    number: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.stage = Stage(HOSTS, {}, profile=replace(HOST, behavior=self.behavior))
        if self.is_audited:
            self.stage.audit = CommitAudit(self.stage.fleet.client(REFS))
        self.people = People(self.stage.fleet, self.chance, self.stage.time.clock.now)
        self.laws = Laws(self.stage, self.people)
        self.people.commit()

    def live(self) -> None:
        try:
            for _ in range(self.rests):
                for _ in range(self.steps):
                    self.step()
                self.rest()
        except Exception as error:
            raise BrokenError(self.describe(error)) from error

    def describe(self, error: Exception) -> str:
        lines = "\n".join(self.trace)
        return (
            f"{type(error).__name__}: {error}\nthe last steps:\n{lines}\n"
            f"again: python -m tests.soak --seed {self.seed} --steps {self.steps} --rests {self.rests} --lives 1"
            f" --behavior {self.behavior}"
        )

    def step(self) -> None:
        self.number += 1
        self.stage.rounds += 1
        names, weights = zip(*((name, weight) for name, (weight, _) in self.acts.items()), strict=True)
        name = self.chance.choices(names, weights)[0]
        done = self.acts[name][1](self)
        self.reached[name] += name == "nothing" or bool(done)
        self.note(name, done)
        parties = [who for who in PARTIES if self.chance.random() < 0.8]
        self.chance.shuffle(parties)
        for who in parties:
            self.turn(who)
        for name in sorted(self.stage.clones):
            self.stage.turn_clone(name)
            self.laws.check()
        self.stage.time.ms += self.chance.choice(PAUSES_MS)

    def turn(self, who: str) -> None:
        if who in RECONCILERS:
            self.stage.hidden.hide_silent(self.stage)
        self.stage.turn(who)
        outcome = self.stage.outcomes.get(who)
        if isinstance(outcome, Committed):
            self.note(who, outcome.subject)
            self.reached["void"] += outcome.subject == VOIDS
        elif outcome is not None and not isinstance(outcome, NoChange):
            reason = outcome.reason if isinstance(outcome, TickBlocked) else ""
            self.note(who, f"{type(outcome).__name__} {reason:.200}")
        self.laws.check()

    def note(self, who: str, what: str) -> None:
        self.trace.append(f"{self.number:4} {self.stage.time.ms // 1000 % 1_000_000:6}s {who:12} {what}")

    # At the end

    def rest(self) -> None:
        """Everything works again and all approvals are given: what is declared comes true, and then no party writes."""
        for weather in self.stage.weathers.values():
            weather.clear_up()
        for machine in self.stage.machines.values():
            machine.faults.clear()
        self.stage.empty = {}
        self.stage.clones.clear()
        self.end_slow_calls()
        troubles.banish(self)
        self.people.heal()
        self.note("rest", "")
        self.mourn()
        self.land_all()
        self.mourn()
        for _ in range(MOST_CONSENTS):
            self.settle()
            decided = undecided.decide(self)
            if decided:
                self.note("decided", decided)
            if not self.confirm() and not decided:
                break
        else:
            raise AssertionError("it asks for consent again and again")
        assert self.laws.reports is None, "a host does not apply the live that was restored"
        check_fulfilled(self.stage, self.people)
        self._stay()

    def end_slow_calls(self) -> None:
        """What still waits in runtimes, while everybody goes on."""
        for runtime in self.stage.slow.values():
            runtime.slow = 0
        while act := troubles.late_effect(self):
            self.note("late effect", act)
            if self.chance.random() < 0.5:
                self.play_round()

    def mourn(self) -> None:
        """What people said of hosts that are gone may never have been read: they say it again, until every pool is granted."""
        trailers: list[tuple[str, str]] = []
        for waited in range(1, MOST_CONSENTS + 1):
            for _ in range(QUIET_ROUNDS):
                self.play_round()
            trailers = [found for name in HOSTS if (found := self.stage.mismatch(name)) is not None]
            if not trailers and not self._is_blocked() and not troubles.has_foreign_report(self):
                return
            if waited % PATIENCE == 0:
                self.note("removed", troubles.clear_reports(self))
            self.stage.time.ms += 300_000
            self.confirm()  # a source that was rewritten is not read before
            self.people.commit(trailers)
        raise AssertionError(f"pools stay granted to hosts that are gone: {trailers}")

    def _is_blocked(self) -> bool:
        return any(isinstance(self.stage.outcomes.get(who), TickBlocked) for who in RECONCILERS)

    def settle(self) -> None:
        quiet = 0
        for _ in range(MOST_ROUNDS):
            before = self.stage.state()
            self.play_round()
            is_quiet = self.stage.state() == before and self.stage.is_at_ease()
            quiet = quiet + 1 if is_quiet else 0
            if quiet == QUIET_ROUNDS:
                return
        raise AssertionError(f"it does not come to rest: {self.restless()}")

    def restless(self) -> str:
        waiting = {
            name: run.recheck_at_ms for name, run in self.stage.runs.items() if run.recheck_at_ms is not None
        }
        outcomes = {who: type(each).__name__ for who, each in self.stage.outcomes.items()}
        return f"outcomes {outcomes}, again {waiting}, at {self.stage.time.ms}"

    def confirm(self) -> str:
        """By commit, what waits for people's word."""
        held = self.stage.plan.pending_approvals if self.stage.plan is not None else ()
        trailers = sorted({each.trailer for each in held if each.trailer})
        pairs = [(about, value) for about, _, value in (each.partition(": ") for each in trailers)]
        if pairs:
            self.people.commit(pairs)
        return ", ".join(trailers)

    def play_round(self) -> None:
        self.stage.rounds += 1
        self.number += 1
        for who in PARTIES:
            self.turn(who)
        self.stage.time.ms += REST_MS

    def _stay(self) -> None:
        """Nor does any process that starts again, unless something is tried again for ever; a host that has lost its disk as well is answered.
        Who waits is not looked at again when pools only get fuller: the reasons that it tells may then be those of before."""
        is_trying = self.stage.is_trying()
        for who in PARTIES:
            self.stage.end(who)
        before = self._texts_of_live()
        for _ in range(3):
            self.play_round()
        is_still = self._texts_of_live() == before or is_trying
        assert is_still, "live was written at rest by those who remember nothing"

    def _texts_of_live(self) -> dict[str, str]:
        """All files of live, but for the reasons of waiting."""
        return {path: WAITS.sub("", text) for path, text in self.stage.texts().items()}

    # What happens

    def host(self) -> str:
        return self.chance.choice(HOSTS)

    def party(self) -> str:
        return self.chance.choice(PARTIES)

    def kill(self) -> str:
        who, calls = self.party(), self.chance.randint(1, 12)
        when = self.chance.choice(("before", "after"))
        self.stage.weathers[who].doom(who, calls, when)  # type: ignore[arg-type]
        return f"{who} {when} its call in {calls}"

    def forget(self) -> str:
        who = self.party()
        self.stage.forget(who)
        if who in RECONCILERS and self.laws.reports is not None:
            self.stage.hidden.begin(self.stage)
        return who

    def away(self) -> str:
        who = self.party()
        weather = self.stage.weathers[who]
        weather.is_away = not weather.is_away
        return f"{who} {'cannot reach the remote' if weather.is_away else 'reaches it again'}"

    def lose(self) -> str:
        who = self.party()
        self.stage.weathers[who].lost += 1
        return who

    def race(self) -> str:
        """A slow remote: others take their turns in the middle of a call."""
        who = self.party()
        others = self.chance.sample([each for each in PARTIES if each != who], 2)
        is_slow = self.chance.random() < 0.3

        def meanwhile() -> None:
            self.stage.time.ms += 20_000 if is_slow else 0
            for other in others:
                self.turn(other)

        self.stage.weathers[who].meanwhile = meanwhile
        return f"{who} is overtaken by {' and '.join(others)}"

    def delay(self) -> str:
        """The server carries out the next pushes of a party long after that gave up, or never."""
        who, number = self.party(), self.chance.choice((1, 1, 2, 4))
        self.stage.weathers[who].late += number
        return f"{number} pushes of {who}"

    def outdate(self) -> str:
        """A reconciler writes that hosts are lost, in a push that the server keeps. They report again before its next look: nothing is left to
        write, and only an empty commit makes that push fail."""
        who = self.chance.choice(RECONCILERS)
        self.turn(who)
        self.stage.time.ms += EXPIRED_MS
        self.stage.weathers[who].late += 1
        self.turn(who)
        for name in HOSTS:
            self.turn(name)
        self.turn(who)
        return f"a push of {who}"

    def land(self) -> str:
        """A push that waits in the server is carried out: mostly the oldest one, at times one that came after others."""
        late = self.stage.fleet.remote.late
        if not late:
            return ""
        number = self.chance.choice((0, 0, self.chance.randrange(len(late))))
        refs = ", ".join(update.ref for update in late[number])
        outcome = self.stage.fleet.remote.land(number)
        has_landed = isinstance(outcome, RefsPushed)
        self.reached["landed late" if has_landed else "late and refused"] += 1
        self.reached["landed out of order"] += has_landed and number > 0
        self.laws.check()
        return f"number {number} of {len(late) + 1}, {refs}: {type(outcome).__name__}"

    def land_all(self) -> None:
        """Whatever still waits in the server, in any order, while everybody goes on."""
        while self.stage.fleet.remote.late:
            self.note("land", self.land())
            if self.chance.random() < 0.5:
                self.play_round()

    def slow(self) -> str:
        """A slow answer: what it says was true when it was asked, and is old when it arrives."""
        who, call = self.party(), self.chance.choice(("list_refs", "list_refs", "fetch"))
        others = self.chance.sample([each for each in PARTIES if each != who], 3)
        seconds = self.chance.choice((1, 20, 54, 130))

        def meanwhile() -> None:
            for other in others:
                self.stage.time.ms += 1000 * seconds // len(others)
                self.turn(other)

        self.stage.weathers[who].late_answer = call, meanwhile
        return f"{call} of {who} by {seconds} s"

    def shut(self) -> str:
        how = self.chance.choice(sorted(TAINTS))
        return self.people.pool(self.host(), how)


Act = Callable[[Life], str]
ACTS: Mapping[str, tuple[int, Act]] = {
    "declare": (22, lambda life: life.people.declare()),
    "change": (6, lambda life: life.people.change()),
    "volume": (6, lambda life: life.people.volume()),
    "delete": (7, lambda life: life.people.delete()),
    "move": (3, lambda life: life.people.move()),
    "rename": (3, lambda life: life.people.rename()),
    "garble": (2, lambda life: life.people.garble()),
    "mend": (3, lambda life: life.people.repair()),
    "revert": (2, lambda life: life.people.revert()),
    "force-push": (1, lambda life: life.people.force()),
    "confirm": (4, Life.confirm),
    "pool": (4, Life.shut),
    "nothing": (10, lambda _: ""),
    "kill": (6, Life.kill),
    "forget": (3, Life.forget),
    "away": (4, Life.away),
    "lost-push": (3, Life.lose),
    "race": (5, Life.race),
    "late-push": (7, Life.delay),
    "outdate": (1, Life.outdate),
    "land": (7, Life.land),
    "slow-answer": (4, Life.slow),
    "fault": (5, troubles.fault),
    "slow-call": (4, troubles.slow_call),
    "late-effect": (4, troubles.late_effect),
    "lie": (2, troubles.lie),
    "reboot": (2, troubles.reboot),
    "guest": (2, troubles.upset),
    "burn": (1, troubles.burn),
    "new-id": (1, troubles.rename),
    "image": (2, disk_images.image),
    "old-image": (2, disk_images.restore_host),
    "clone": (2, disk_images.clone),
    "backup": (3, backups.back_up),
    "restore": (2, backups.restore),
    "hostile": (4, troubles.hostile),
    "banish": (2, troubles.banish),
}
assert set(RECONCILERS) < set(PARTIES)

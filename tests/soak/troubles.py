"""What befalls the hosts and their runtimes, and what strangers push: acts of a life. Each returns what it did, for the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iri.simulated.faults.fault_rules import FaultEffect, FaultRule
from iri.simulated.machine_calls import GuestAction
from tests.poollet.fleet import REPORTS
from tests.soak import hostile_reports
from tests.soak.stage import HOSTS, PARTIES

if TYPE_CHECKING:
    from tests.soak.walk import Life

CODES = ("UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED")
FAULTY_CALLS = ("", "CreateMachine", "CreateVolume", "DeleteMachine", "AttachVolume")


def fault(life: Life) -> str:
    name, code = life.host(), life.chance.choice(CODES)
    effect = life.chance.choice((FaultEffect.BEFORE, FaultEffect.AFTER))
    call = life.chance.choice(FAULTY_CALLS)
    times = life.chance.randint(1, 6)
    life.stage.machines[name].faults.add(FaultRule(call=call, effect=effect, code=code, times=times))
    return f"{name} {call or 'any call'} {code} {effect.name} {times} times"


def slow_call(life: Life) -> str:
    """The next calls to a runtime are given up by their caller, and take effect later."""
    name, number = life.host(), life.chance.choice((1, 1, 2, 3))
    life.stage.slow[name].slow += number
    return f"{number} calls to {name}"


def late_effect(life: Life) -> str:
    """A call that its caller gave up is carried out, mostly the oldest one of that host."""
    waiting = [name for name in life.stage.hosts if life.stage.slow[name].late]
    if not waiting:
        return ""
    name = life.chance.choice(waiting)
    runtime = life.stage.slow[name]
    number = life.chance.choice((0, 0, life.chance.randrange(len(runtime.late))))
    call, has_effect = runtime.land(number)
    life.reached["took effect late" if has_effect else "late and void"] += 1
    life.laws.check()
    return f"{name} {call}: {'it takes effect' if has_effect else 'refused'}"


def lie(life: Life) -> str:
    """Never twice in a row: a host that says again and again that it has nothing cannot be told from one that lost all."""
    name = life.host()
    lied = life.stage.empty.get(name)
    if lied is not None and life.stage.true_in.get(name, -1) < lied.stop:
        return f"{name} was not asked since it lied"
    life.stage.empty = {**life.stage.empty, name: range(life.stage.rounds, life.stage.rounds + 1)}
    return f"{name} lists nothing"


def reboot(life: Life) -> str:
    name, seconds = life.host(), life.chance.choice((1, 30, 120))
    life.stage.reboot(name, seconds, is_crash=life.chance.random() < 0.5)
    return f"{name} for {seconds} s"


def upset(life: Life) -> str:
    name = life.host()
    action = life.chance.choice((GuestAction.CRASH, GuestAction.REBOOT, GuestAction.POWEROFF))
    return f"{name} {action.name} {life.stage.upset(name, life.chance.randrange(9), action)}"


def burn(life: Life) -> str:
    """A host is gone for good, an empty one comes in its place, and people say so, sooner or later."""
    name = life.host()
    life.stage.burn(name)
    return f"{name}: {say_of(life, name)}"


def rename(life: Life) -> str:
    """A host gets a new hostID, and people say so, sooner or later."""
    name = life.host()
    life.stage.rename(name)
    return f"{name}: {say_of(life, name)}"


def say_of(life: Life, name: str) -> str:
    found = life.stage.mismatch(name)
    if found is None or life.chance.random() < 0.2:
        return ""
    if life.chance.random() < 0.5:
        for who in life.chance.sample(PARTIES, 3):
            life.turn(who)
        life.stage.time.ms += 300_000
    life.people.commit((found,))
    return ": ".join(found)


def hostile(life: Life) -> str:
    """Whoever has the key of a host pushes a report. One that forges its own host's words is that host, as far as others can know."""
    kind = life.chance.choice(sorted(hostile_reports.KINDS))
    name = life.chance.choice((*hostile_reports.EVIL, *HOSTS))
    if kind == "forged rewind" and name in HOSTS:
        name = HOSTS[-1]  # two hosts that say so are believed
    hostile_reports.KINDS[kind](life.stage.fleet, name, life.chance)
    if name in HOSTS and (life.laws.reports is not None or kind == "claim"):  # a claim may lack its orphans
        life.stage.hidden.hide(life.stage, name)
    life.reached[f"hostile: {kind}"] += 1
    return f"{kind} as {name}"


def banish(life: Life) -> str:
    """People remove the reports of no host, and those that cannot be read. While `live` is recovered they leave the latter to the hosts, which
    replace them: a host without a report is not waited for, and what it has is not taken over."""
    stage = life.stage
    refs = stage.fleet.remote.refs
    hosts = stage.hosts if life.laws.reports is None else ()
    names = [
        *hostile_reports.EVIL,
        *(name for name in hosts if hostile_reports.writer_of(stage.fleet, name) == ""),
    ]
    return ", ".join(name for name in names if refs.pop(REPORTS + name, None))


def clear_reports(life: Life) -> str:
    """While a lost `live` waits for a hostID that is no more: people remove the report of a host that is gone for good, and give a
    host that goes on its old hostID back. One whose report a stranger has overwritten writes it again before a reconciler looks."""
    stage, done = life.stage, []
    for name in life.stage.hosts:
        writer = hostile_reports.writer_of(stage.fleet, name)
        ids = [f"{name}-id-{number}" for number in stage.ids[name]]
        if writer in ids[:-1]:
            stage.end(name)
            number = stage.ids[name].pop(ids.index(writer))
            stage.ids[name].append(number)  # `live` may still have granted the pool under a later one
            done.append(f"{name} is {writer} again")
        elif writer is not None and writer != ids[-1]:
            del stage.fleet.remote.refs[REPORTS + name]
            done.append(f"report of {writer or name}")
            life.turn(name)
            life.turn(name)
    return ", ".join(done)


def has_foreign_report(life: Life) -> bool:
    """Whether a host waits for the report of another one of its name, which may run what the lost `live` had ordered."""
    stage = life.stage
    return any(
        hostile_reports.writer_of(stage.fleet, name) not in (None, stage.host_id(name))
        for name in stage.hosts
    )

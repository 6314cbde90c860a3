"""A machine that may be made anew elsewhere is not started by a host that nobody hears: it may run elsewhere by now."""

from __future__ import annotations

import random

import pytest

from iri.change import SetPower
from iri.machine import Machine, Power
from iri.simulated import machines
from iri.simulated.guest import IS_ON, Guest
from iri.simulated.machines import GuestAction
from poollet import once
from poollet.clock import Clock
from poollet.decide.decide import decide
from poollet.decide.decision import Decision
from poollet.decide.step import Alter
from poollet.running import Member, Running
from poollet.sync.view import Document
from reconciler.gitstore.transport import Trouble, Unavailable
from reconciler.gitstore.wake import Waker
from tests.poollet.documents import machine as document_of
from tests.poollet.fleet import LIVE, Fleet, machine, machine_class, uid
from tests.poollet.site import site
from tests.poollet.stage import Run, SimulatedMachine, Time

REPLACE = "  onPoolLost: Replace\n"
AWAY = Unavailable(Trouble.NETWORK, "no route", "wait")
WEB = ("default", "web")


class Scene:
    def __init__(self, spec: str) -> None:
        self.time, self.is_away, self.instance = Time(), False, 0
        self.host = SimulatedMachine(self.time)
        self.fleet = Fleet({"classes/small.yaml": machine_class()})
        self.wish(spec)
        self.run = self.begun()
        self.turns(20)

    def begun(self) -> Run:
        self.instance += 1
        return Run(
            self.fleet,
            self.time,
            self.host,
            decide=decide,
            instance=self.instance,
            fault=lambda _call, _when: AWAY if self.is_away else None,
        )

    def wish(self, spec: str) -> None:
        self.fleet.commit({"web.yaml": machine("web", "host-1", uid(1), uid(9), spec=spec)})

    def turns(self, count: int) -> None:
        for _ in range(count):
            self.run.turn()
            self.time.ms += 5_000

    def upset(self, action: GuestAction) -> None:
        with self.host.host.entered(even_when_down=True) as now_ns:
            (guest,) = self.host.host.state.all(Guest).values()
            machines.act(self.host.host, guest, action, now_ns)

    def rewrite_live(self) -> str:
        """What stands there is no descendant of what was, and so not to be obeyed; returns what was."""
        good = self.fleet.remote.refs[LIVE]
        self.fleet.remote.refs[LIVE] = self.fleet.commit({"README": "another"}, "refs/heads/another")
        return good

    @property
    def there(self) -> Machine:
        (found,) = self.host.runtime.objects(Machine).values()
        return found

    @property
    def is_on(self) -> bool:
        return any(one.phase in IS_ON for one in self.host.host.state.all(Guest).values())

    @property
    def promise(self) -> str:
        return self.run.report().machines[WEB].promise

    @property
    def state(self) -> str | None:
        status = self.run.report().machines[WEB].status
        return status.state if status is not None else None


@pytest.mark.parametrize("spec", ["", REPLACE])
def test_what_people_switch_on_again_is_on_again(spec: str) -> None:
    scene = Scene(f"  power: Off\n{spec}")
    assert (scene.is_on, scene.state) == (False, "Shutdown")
    scene.wish(f"  power: On\n{spec}")
    scene.turns(12)
    assert (scene.is_on, scene.state) == (True, "Running")


@pytest.mark.parametrize(("spec", "is_started"), [("", True), (REPLACE, False)])
def test_a_host_that_nobody_hears_starts_only_what_is_its_own_for_sure(spec: str, is_started: bool) -> None:
    """It has read that it is to be on, and what stands on its ref says that it is off."""
    scene = Scene(f"  power: Off\n{spec}")
    scene.wish(f"  power: On\n{spec}")
    scene.run.remote.look()
    scene.is_away = True
    scene.turns(40)
    assert scene.is_on is is_started
    scene.is_away = False
    scene.turns(40)
    assert (scene.is_on, scene.state) == (True, "Running")


def test_only_what_is_to_be_off_is_promised_to_stay_so() -> None:
    scene = Scene(f"  power: On\n{REPLACE}")
    scene.upset(GuestAction.POWEROFF)
    for _ in range(20):
        scene.turns(1)
        assert scene.promise == ""
    scene.wish(f"  power: Off\n{REPLACE}")
    scene.turns(12)
    assert scene.promise == "StaysOff"
    scene.wish("  power: Off\n")
    scene.turns(12)
    assert (scene.is_on, scene.promise) == (False, "TakenBack")
    scene.wish("  power: On\n")
    scene.turns(12)
    assert (scene.is_on, scene.promise) == (True, "")


def test_a_promise_holds_whatever_people_say_meanwhile() -> None:
    """They take it back to themselves and switch it on, and nobody hears the host: others go by its word still."""
    scene = Scene(f"  power: Off\n{REPLACE}")
    scene.wish("  power: On\n")
    scene.run.remote.look()
    scene.is_away = True
    scene.turns(40)
    assert not scene.is_on
    scene.is_away = False
    scene.turns(40)
    assert (scene.is_on, scene.promise) == (True, "")


def test_a_guest_that_fails_while_nobody_hears_is_started_again() -> None:
    """What stands on the ref is that it runs, so nobody makes it anew."""
    scene = Scene(f"  power: On\n{REPLACE}")
    scene.is_away = True
    scene.turns(2)
    scene.upset(GuestAction.POWEROFF)
    scene.turns(2)
    assert scene.is_on


def test_a_restarted_poollet_goes_by_what_stands_on_its_ref() -> None:
    scene = Scene(f"  power: Off\n{REPLACE}")
    scene.wish(f"  power: On\n{REPLACE}")
    scene.run = scene.begun()
    scene.run.remote.look()
    scene.run.post.claimant.has_landed = True  # as if its first words were on their way
    scene.is_away = True
    scene.turns(10)
    assert not scene.is_on


def test_a_promise_is_no_longer_said_of_what_was_switched_on_while_nothing_is_obeyed() -> None:
    scene = Scene(f"  power: Off\n{REPLACE}")
    assert scene.promise == "StaysOff"
    good = scene.rewrite_live()
    scene.turns(3)
    assert (scene.promise, scene.state) == ("StaysOff", "Shutdown")
    scene.host.runtime.change(scene.there.id, SetPower(Power.ON))
    scene.turns(10)
    assert (scene.promise, scene.state) == ("TakenBack", "Running")
    scene.fleet.remote.refs[LIVE] = good
    scene.turns(12)
    assert (scene.promise, scene.state) == ("StaysOff", "Shutdown")


def wish(power: str) -> Document:
    return document_of(spec={"power": power, "onPoolLost": "Replace"})


def promise_of(decision: Decision) -> str:
    return decision.machines["default", "web"].promise


def powers(decision: Decision) -> list[Power]:
    calls = [call for step in decision.steps for call in step.calls]
    return [one.change.power for one in calls if isinstance(one, Alter) and isinstance(one.change, SetPower)]


def test_nothing_is_promised_of_a_guest_that_failed_before_its_runtime_is_told_to_leave_it_off() -> None:
    """Until then the runtime may start it again, with this poollet or without."""
    here = site(wish("On"))
    here.settle()
    with here.sim.host.entered() as now_ns:
        (guest,) = here.sim.host.state.all(Guest).values()
        machines.act(here.sim.host, guest, GuestAction.POWEROFF, now_ns)
    here.now_ms += 5_000
    here.put(wish("Off"))
    decision = here.decide()
    status = decision.machines["default", "web"].status
    assert status is not None
    assert (status.state, powers(decision), promise_of(decision)) == ("Terminated", [Power.OFF], "")
    assert promise_of(here.settle()) == "StaysOff"


def test_nothing_is_promised_anew_while_a_start_is_under_way() -> None:
    here = site(wish("Off"))
    assert promise_of(here.settle()) == "StaysOff"
    here.put(wish("On"))
    assert promise_of(here.round()) == "TakenBack"
    started = here.decide()
    here.memory = started.memory
    assert powers(started) == [Power.ON]
    (ref,) = (step.ref for step in started.steps)
    here.ended_ms[ref] = here.now_ms + 10_000  # no list shows what became of it
    here.put(wish("Off"))
    assert promise_of(here.round()) == "TakenBack"
    here.now_ms += 10_000
    assert promise_of(here.settle()) == "StaysOff"


@pytest.mark.parametrize("is_restarted", [True, False])
@pytest.mark.parametrize("is_given_away", [True, False])
def test_after_a_silence_it_waits_for_those_who_go_by_its_earlier_words(
    is_given_away: bool, is_restarted: bool
) -> None:
    """Its place is given away just when it takes its promise back. A new process may be there after any silence."""
    scene = Scene(f"  power: Off\n{REPLACE}")
    scene.is_away = True
    scene.turns(20)
    scene.wish(f"  power: On\n{REPLACE}")
    scene.is_away = False
    if is_restarted:
        scene.run = scene.begun()
    scene.turns(6)
    assert (scene.promise, scene.is_on) == ("TakenBack", False)
    if is_given_away:
        scene.fleet.commit({"web.yaml": machine("web", "host-2", uid(1), uid(8), spec=REPLACE)})
    for _ in range(30):
        scene.turns(1)
        assert not (is_given_away and scene.is_on)
    assert scene.is_on is not is_given_away


def test_a_restart_while_it_waits_begins_the_wait_anew() -> None:
    scene = Scene(f"  power: Off\n{REPLACE}")
    scene.is_away = True
    scene.turns(20)
    scene.wish(f"  power: On\n{REPLACE}")
    scene.is_away = False
    for _ in range(4):
        scene.run = scene.begun()
        scene.turns(6)
        assert (scene.promise, scene.is_on) == ("TakenBack", False)
    scene.turns(12)
    assert (scene.promise, scene.is_on) == ("", True)


def once_of(scene: Scene) -> str:
    """A run of its own that ends by itself; the time passes with each look at the clock."""

    def moment_ms() -> int:
        scene.time.ms += 5_000
        return scene.time.ms

    run = scene.begun()
    run.remote.look()
    member = Member(run.poollet, (), Waker())
    return once.run(Running(run.remote, [member], 60.0, Clock(moment_ms=moment_ms), random.Random(1)))


def test_a_run_that_is_to_end_by_itself_waits_too_and_starts_it() -> None:
    scene = Scene(f"  power: Off\n{REPLACE}")
    assert once_of(scene) == ""
    assert not scene.is_on, "and nothing is waited for where nothing is to be started"
    scene.wish(f"  power: On\n{REPLACE}")
    assert once_of(scene) == ""
    assert scene.is_on


def test_a_run_that_is_to_end_by_itself_says_what_it_has_waited_for_in_vain() -> None:
    scene = Scene(f"  power: Off\n{REPLACE}")
    scene.wish(f"  power: On\n{REPLACE}")
    words = scene.run.report()
    scene.fleet.remote.hook = lambda updates: "" if scene.run.report() == words else "not now"
    found = once_of(scene)
    assert "not everything was done" in found
    assert "default/web" in found
    assert (scene.promise, scene.is_on) == ("StaysOff", False)

"""Promises about classes, events, notices and consoles."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from iri.change import AttachVolume, ExpandVolume, SetPower
from iri.errors import FailedPrecondition, InvalidArgument, NotFound
from iri.exec.exec_server import ExecServer
from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.identity import ASSIGNMENT_LABEL
from iri.machine import MachineState, Power, RuntimeMachine, RuntimeMachineSpec
from iri.runtime import ChangeNotice, ChangeType, Console, Subscription
from iri.volume import Resources, RuntimeSnapshot, RuntimeVolume
from tests.iri.contract.subject import OFF, Subject, eventually, is_attached
from tests.iri.exec.console_users import USERS, user_at

OFFERED = RuntimeClasses(
    machines=(
        RuntimeMachineClass(name="tiny", resources={"cpu": 1, "memory": 64 << 20}),
        RuntimeMachineClass(name="other", resources={"cpu": 2, "memory": 128 << 20}),
    ),
    volumes=(RuntimeVolumeClass(name="plain", tps=1 << 20, iops=100),),
)


class HostPromises:
    def test_about_names_the_runtime_and_its_host(self, subject: Subject) -> None:
        about = subject.runtime.about()
        assert about.name
        assert about.version.split(".")[0].isdigit()
        assert about.host.id
        assert about.host.id == subject.runtime.about().host.id
        assert about.host.capacity["cpu"] > 0
        assert about.host.capacity["memory"] > 0
        assert about.host.node_info.architecture

    def test_6_offers_answer_in_time_with_totals(self, subject: Subject) -> None:
        start = time.monotonic()
        before = subject.runtime.offers()
        assert time.monotonic() - start < max(5.0, subject.seconds)
        assert {offer.machine_class.name for offer in before.machines} >= {subject.machine_class}
        assert {offer.volume_class.name for offer in before.volumes} >= {subject.volume_class}
        assert all(offer.quantity > 0 for offer in before.machines)
        assert all(offer.quantity > 0 for offer in before.volumes)
        subject.running()
        assert subject.runtime.offers() == before, "totals, not what is left"

    def test_6_classes_on_offer_are_those_that_were_set_with_all_their_keys(self, subject: Subject) -> None:
        subject.runtime.set_classes(OFFERED)
        offers = subject.runtime.offers()
        assert tuple(offer.machine_class for offer in offers.machines) == OFFERED.machines
        assert tuple(offer.volume_class for offer in offers.volumes) == OFFERED.volumes
        subject.running(spec=RuntimeMachineSpec(class_name="tiny"))

    def test_machine_keeps_its_class_when_that_is_no_longer_offered(self, subject: Subject) -> None:
        machine = subject.running()
        subject.runtime.set_classes(OFFERED)
        found = subject.machine(machine.id)
        assert (found.spec, found.status.state) == (machine.spec, MachineState.RUNNING)

    def test_7_events_name_object_reason_and_action(self, subject: Subject) -> None:
        machine = subject.running(labels={"machinepoollet.ironcore.dev/machine-name": "web-1"})
        events = eventually(
            lambda: [event for event in subject.runtime.events() if event.id == machine.id],
            bool,
            subject.seconds,
            "have an event",
        )
        for event in events:
            assert event.kind is RuntimeMachine
            assert event.labels == machine.labels
            assert event.reason
            assert event.action
            assert event.message
            assert abs(event.time - time.time()) < 60
        assert sorted(events, key=lambda event: event.time) == events

    def test_watch_begins_with_a_resync_and_reports_every_change(self, subject: Subject) -> None:
        watch = subject.runtime.watch()
        try:
            assert watch.next(subject.seconds)[0] == ChangeNotice(None, "", ChangeType.RESYNC)
            machine = subject.runtime.create(subject.new_machine())
            read_until(watch, machine.id, ChangeType.CREATED, subject.seconds)
            subject.reaches(machine.id, MachineState.RUNNING)
            while notices := watch.next(0.5):
                assert all(notice.what is not ChangeType.DELETED for notice in notices)
            subject.runtime.change(machine.id, AttachVolume(subject.disk("data", "odb")))
            eventually(
                lambda: read_until(watch, machine.id, ChangeType.CHANGED, subject.seconds),
                lambda _: is_attached(subject.machine(machine.id), "data"),
                subject.seconds,
                "report the attachment",
            )
            subject.runtime.remove(RuntimeMachine, machine.id)
            read_until(watch, machine.id, ChangeType.DELETED, subject.seconds)
            assert machine.id not in subject.runtime.objects(RuntimeMachine)
        finally:
            watch.close()

    def test_watch_reports_within_a_second_that_a_guest_has_ended(self, subject: Subject) -> None:
        assert subject.guest_powers_itself_off is not None
        machine = subject.running()
        watch = subject.runtime.watch()
        try:
            while watch.next(0.2):
                pass
            start = time.monotonic()
            subject.guest_powers_itself_off(machine.id)
            eventually(
                lambda: read_until(watch, machine.id, ChangeType.CHANGED, subject.seconds),
                lambda _: subject.machine(machine.id).status.state in OFF,
                subject.seconds,
                "report the change",
            )
            assert time.monotonic() - start < subject.notice_seconds
        finally:
            watch.close()

    def test_closing_a_watch_wakes_its_reader(self, subject: Subject) -> None:
        watch = subject.runtime.watch()
        watch.next(subject.seconds)
        waiting = threading.Thread(target=watch.next, args=(3600,))
        waiting.start()
        watch.close()
        waiting.join(60)
        assert not waiting.is_alive()

    def test_9_console_carries_bytes_both_ways(self, subject: Subject) -> None:
        machine = subject.running()
        console = subject.runtime.console(machine.id)
        try:
            console.resize(120, 40)
            console.write(subject.console_input)
            output = b""
            deadline = time.monotonic() + subject.seconds
            while subject.console_output not in output and time.monotonic() < deadline:
                output += console.read(4096)
            assert subject.console_output in output
        finally:
            console.close()

    @pytest.mark.parametrize("protocol", USERS)
    def test_9_console_is_served_in_each_protocol(self, subject: Subject, protocol: str) -> None:
        machine = subject.running()
        server = ExecServer()
        server.start()
        try:
            url = server.offer(machine.id, lambda: subject.runtime.console(machine.id))
            with user_at(url, protocol) as user:
                user.resize(120, 40)
                user.type(subject.console_input)
                user.until(subject.console_output)
        finally:
            server.stop()

    def test_9_console_ends_with_the_guest(self, subject: Subject) -> None:
        machine = subject.running()
        console: Console = subject.runtime.console(machine.id)
        ended = threading.Event()

        def drain() -> None:
            while console.read(4096):
                pass
            ended.set()

        reader = threading.Thread(target=drain, daemon=True)
        reader.start()
        subject.runtime.change(machine.id, SetPower(Power.OFF))
        assert ended.wait(subject.seconds)
        console.close()
        reader.join(60)

    def test_nothing_is_created_under_an_ended_assignment(self, subject: Subject) -> None:
        ended, other = ({ASSIGNMENT_LABEL: str(uuid.uuid4())} for _ in range(2))
        off = RuntimeMachineSpec(class_name=subject.machine_class, power=Power.OFF)
        first = subject.new_machine(labels=ended, spec=off)
        made = subject.runtime.create(first)
        subject.runtime.end_assignments(tuple(ended.values()))
        assert subject.runtime.create(first).id == made.id, "one that exists is returned"
        late = replace(subject.volume(), labels={**subject.volume().labels, **ended})
        for desired in (subject.new_machine(labels=ended, spec=off), late):
            with pytest.raises(InvalidArgument, match="was ended"):
                subject.runtime.create(desired)
        subject.runtime.create(subject.new_machine(labels=other, spec=off))
        subject.remove_fully(RuntimeMachine, made.id)
        with pytest.raises(InvalidArgument, match="was ended"):
            subject.runtime.create(first)

    def test_nothing_is_attached_under_an_ended_assignment(self, subject: Subject) -> None:
        """The claim of a volume counts for one assignment. An attach that is carried out after its end could be that of a second writer."""
        off = RuntimeMachineSpec(class_name=subject.machine_class, power=Power.OFF)
        ended, other = ({ASSIGNMENT_LABEL: str(uuid.uuid4())} for _ in range(2))
        left, stays = (
            subject.runtime.create(subject.new_machine(labels=one, spec=off)) for one in (ended, other)
        )
        subject.runtime.end_assignments(tuple(ended.values()))
        late = AttachVolume(subject.disk("late", "odb"))
        with pytest.raises(InvalidArgument, match="was ended"):
            subject.runtime.change(left.id, late)
        assert not subject.machine(left.id).spec.volumes
        subject.runtime.change(stays.id, late)
        assert [disk.name for disk in subject.machine(stays.id).spec.volumes] == ["late"]

    def test_a_call_about_an_earlier_assignment_does_nothing_to_the_object_that_has_its_id_now(
        self, subject: Subject
    ) -> None:
        """It was given up when the object was removed, and is carried out when the object is there again."""
        earlier, now = str(uuid.uuid4()), str(uuid.uuid4())
        labels = {ASSIGNMENT_LABEL: now}
        off = RuntimeMachineSpec(class_name=subject.machine_class, power=Power.OFF)
        machine = subject.runtime.create(subject.new_machine(labels=labels, spec=off))
        volume = subject.available(replace(subject.volume(), labels={**subject.volume().labels, **labels}))
        snapshot = subject.runtime.create(
            replace(subject.snapshot(volume.id), labels={**subject.snapshot(volume.id).labels, **labels})
        )
        expand = ExpandVolume(Resources(storage_bytes=2 * subject.volume_bytes))
        late: tuple[Callable[[str], None], ...] = (
            lambda named: subject.runtime.change(machine.id, SetPower(Power.ON), assignment=named),
            lambda named: subject.runtime.change(volume.id, expand, assignment=named),
            lambda named: subject.runtime.remove(RuntimeMachine, machine.id, assignment=named),
            lambda named: subject.runtime.remove(RuntimeSnapshot, snapshot.id, assignment=named),
            lambda named: subject.runtime.remove(RuntimeVolume, volume.id, assignment=named),
        )
        for call in late:
            with pytest.raises(NotFound, match="another object has that id"):
                call(earlier)
        found = subject.machine(machine.id)
        assert (found.spec.power, found.deleted_at) == (Power.OFF, 0)
        assert subject.get(volume.id, RuntimeVolume).spec.resources == volume.spec.resources
        assert subject.get(volume.id, RuntimeVolume).deleted_at == 0
        assert subject.get(snapshot.id, RuntimeSnapshot).deleted_at == 0
        for call in late:
            call(now)
        subject.remove_fully(RuntimeMachine, machine.id)

    def test_holding_starts_changes_no_machine_before_the_host_boots(self, subject: Subject) -> None:
        machine = subject.running()
        for release in (False, True):
            subject.runtime.hold_starts(release=release)
            subject.running()
            found = subject.machine(machine.id)
            assert (found.status.state, found.spec) == (MachineState.RUNNING, machine.spec)
            assert found.detail.boots == machine.detail.boots

    def test_9_machine_that_is_off_has_no_console(self, subject: Subject) -> None:
        spec = RuntimeMachineSpec(class_name=subject.machine_class, power=Power.OFF)
        machine = subject.runtime.create(subject.new_machine(spec=spec))
        subject.reaches(machine.id, *OFF)
        with pytest.raises(FailedPrecondition):
            subject.runtime.console(machine.id)


def read_until(watch: Subscription, id: str, what: ChangeType, seconds: float) -> tuple[ChangeNotice, ...]:
    """Reads until this notice comes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        notices = watch.next(0.2)
        if any((notice.id, notice.what) == (id, what) for notice in notices):
            return notices
    raise AssertionError(f"no notice that {id} was {what}")

"""Whatever a runtime says of an object, the report that tells of it can be read, and never tells a secret."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from iri.machine import AttachmentState, AttachmentStatus, InterfaceDetail, RuntimeCondition, RuntimeMachine
from iri.volume import Access, RuntimeSnapshot, RuntimeVolume
from schemas import report
from tests.poollet.documents import interfaces, machine, referring, snapshot, volume
from tests.poollet.site import Site, site

TEXT = st.one_of(
    st.sampled_from(("", "True", "x" * 5000, "52:54:00:AB:cd:01", "10.0.0.1", "Ready", "a\n\x00b")), st.text()
)
ATTACHMENTS = st.lists(
    st.builds(
        AttachmentStatus,
        name=st.text(min_size=1, max_size=80),
        handle=TEXT,
        state=st.sampled_from(AttachmentState),
    ),
    max_size=3,
).map(tuple)


@cache
def lively() -> Site:
    spec = {"volumes": referring("data"), "networkInterfaces": interfaces("lan")}
    here = site(machine(spec=spec), volume(claim="web"))
    here.settle()
    here.put(snapshot())
    here.settle()
    return here


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_a_runtime_says_can_be_told(data: st.DataObject) -> None:
    draw = data.draw
    conditions = draw(
        st.lists(
            st.builds(RuntimeCondition, type=TEXT, status=TEXT, reason=TEXT, message=TEXT), max_size=4
        ).map(tuple)
    )
    details = draw(
        st.lists(
            st.builds(
                InterfaceDetail, name=st.just("lan"), mac=TEXT, ips=st.lists(TEXT, max_size=3).map(tuple)
            ),
            max_size=2,
        ).map(tuple)
    )
    access = Access(
        driver=draw(TEXT),
        handle=draw(TEXT),
        attributes=draw(st.dictionaries(TEXT, TEXT, max_size=3)),
        secret_data={"key": b"hush-hush"},
    )
    volumes, nics, token = draw(ATTACHMENTS), draw(ATTACHMENTS), draw(TEXT)

    def odd(_place: object, objects: dict[str, object]) -> dict[str, object]:
        return {id: strange(one) for id, one in objects.items()}

    def strange(one: object) -> object:
        if isinstance(one, RuntimeMachine):
            status = replace(one.status, conditions=conditions, volumes=volumes, network_interfaces=nics)
            notes = {**one.annotations, "gitvirt.dev/restart": token}
            return replace(
                one, status=status, annotations=notes, detail=replace(one.detail, network_interfaces=details)
            )
        if isinstance(one, RuntimeVolume):
            return replace(one, status=replace(one.status, access=access))
        assert isinstance(one, RuntimeSnapshot)
        return one

    here = lively()
    here.tamper = odd
    decision = here.decide()
    whole = report.Report(
        machines=decision.machines,
        volumes=decision.volumes,
        snapshots=decision.snapshots,
        orphans=decision.orphans,
    )
    tree = report.render(whole)
    unread = [problem.message[:200] for one in report.read(tree).unreadable for problem in one.problems]
    assert unread == []
    assert b"hush-hush" not in b"".join(tree.values())

"""Connects the poollets of a process to the link, those with key and certificate in poollet.yaml. Owns what is wired to what.

    the link says          then
    steady, or no more     the agent's next pass names another interval in its report, and the Git thread looks at another pace
    LiveMoved              the Git thread fetches at once, unless it has that commit
    a report landed        the servers are told
    usage is wanted        the runtimes are asked, in a thread of their own
    Offer                  admission answers it, by what the last pass left
    a pipe is to open      the runtime that has the machine opens a console or a log, likewise

A poollet without these files uses Git alone, whatever gitvirt.yaml says of a link.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import Usage
from poollet.link.link_thread import LinkThread
from poollet.link.poollet_link import LinkEvents, LinkIdentity, PoolletLink
from poollet.offer_replies import OfferReplies
from poollet.runtimes.pipe_ends import open_end
from poollet.runtimes.usage_message import to_message
from poollet.sync.report_publisher import OnLanded
from poollet.threads import AgentThreads, AgentWorker
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.waker import WakeReason
from schemas.settings.host import PoolletSettings

MEASURE_SECONDS = 10.0


def attach_links(running: AgentThreads, hosts: Sequence[PoolletSettings]) -> None:
    """Before the threads start."""
    with_files = [
        (one, member) for one, member in zip(hosts, running.members, strict=True) if one.link is not None
    ]
    if not with_files:
        return
    running.link_thread = LinkThread()
    for one, member in with_files:
        running.links.append(_attach(running, running.link_thread, one, member))


def _attach(
    running: AgentThreads, thread: LinkThread, one: PoolletSettings, member: AgentWorker
) -> PoolletLink:
    assert one.link is not None, "the caller has looked"
    agent, publisher = member.agent, member.agent.publisher
    setup = agent.setup
    who = LinkIdentity(
        one.name,
        setup.host_id,
        setup.instance,
        {"gitvirt": setup.version},
        Path(one.link.key),
        Path(one.link.certificate),
    )
    link = PoolletLink(who, thread, running.clock, running.chance)

    def on_changed() -> None:
        member.waker.wake(WakeReason.CALLED)
        running.refs.wake(WakeReason.CALLED)

    def on_live_moved(commit: str) -> None:
        if not commit or commit != running.remote.head:
            running.refs.wake(WakeReason.REFS)

    def measure() -> Usage | None:
        measured = member.usage.read(MEASURE_SECONDS)
        return to_message(measured) if measured is not None else None

    link.events = LinkEvents(
        on_changed,
        on_live_moved,
        lambda most_ms: publisher.find_heartbeat_commit(most_ms) or "",
        measure,
        lambda wanted: open_end(agent.connections, wanted),
        OfferReplies(lambda: agent.room, running.clock).answer,
    )
    agent.name_interval = link.name_interval
    publisher.lease.answers_by = link.answers_by
    publisher.on_landed = _after(publisher.on_landed, link)
    return link


def _after(landed: OnLanded, link: PoolletLink) -> OnLanded:
    """What was done after a report has landed, and then the servers are told."""

    def on_landed(commit: ObjectId, asks: str) -> None:
        landed(commit, asks)
        link.report_moved(commit)

    return on_landed

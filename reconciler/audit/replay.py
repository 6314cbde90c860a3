"""The commits that the rules make of recorded inputs, computed again. They are bytes here, and nowhere else.

Limits: reads the repo, and writes nothing. Whether the result is what is on `live` is for `verify`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reconciler.audit.tick_inputs import TickInputs
from reconciler.decide.placement.offers import RecordedOffers
from reconciler.gitstore.objects.commit import Commit, decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Draft, Repo
from reconciler.world.replay_world import ReplayWorld
from reconciler.write.tick_commit import CommitIdentity, CommitInputs, draft_commit, plan_commit


@dataclass(frozen=True, slots=True)
class Replay:
    """`commits` are those of the draft, unsigned: one, or two where a merge comes before removals. None of either where the rules write
    nothing."""

    draft: Draft | None
    commits: tuple[Commit, ...]


def replay(
    repo: Repo, world: ReplayWorld, inputs: TickInputs, who: CommitIdentity, named: Mapping[str, ObjectId]
) -> Replay:
    """`named` are trailers of the commit that the rules do not decide: that of its inputs."""
    changes = world.replay(repo, (inputs.source, inputs.live), inputs.now, inputs.verdicts)
    keys = frozenset(world.objects) if inputs.keys is None else inputs.keys
    plan = plan_commit(repo, world, replace(changes, dirty=keys), inputs.now, RecordedOffers(inputs.offers))
    of = CommitInputs(who, "", inputs.now, inputs.paths, inputs.is_unanswered)
    made = draft_commit(repo, world, plan, of).draft
    if made is None:
        return Replay(None, ())
    made = replace(made, trailers=(*made.trailers, *named.items()))
    return Replay(made, tuple(replace(decode_commit(each), signature="") for each in repo.build(made)))

"""The inputs of a tick beside its commit on `live`: whether they are recorded, the push of both, and the end of old lines.

Theory of operation
-------------------
Where the settings name `audit.ref`, the draft of `live` and that of its inputs (`reconciler.audit`) are one push. A server may refuse the ref of the
inputs, by its rights or because it knows no atomic push. Then `live` alone is pushed at once, and inputs are not tried again for REFUSED_FOR: a
fleet does not stop for its audit trail. Where both are refused, that is the outcome.

Must never happen: a commit on `live` names inputs that are not there; a fleet stops because its server refuses the inputs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from reconciler.audit.inputs_line import InputsLine, find_old_lines, line_of
from reconciler.audit.tick_inputs import TickInputs
from reconciler.gitstore.objects.commit import INPUTS_TRAILER
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.remote.transport import PushRefused
from reconciler.gitstore.repo import Draft, Outcome, Pushed, Repo, Snapshot
from reconciler.world.world import World

log = logging.getLogger(__name__)

REFUSED_FOR = timedelta(hours=1)


@dataclass
class InputsRecorder:
    """Of one process. `folder` is where the inputs are read and written; None: nowhere. What it remembers is a cache."""

    repo: Repo
    folder: str | None
    _line: InputsLine = field(init=False)
    _none_before: datetime | None = None  # while the server refuses them
    _may_have_old_lines: bool = True

    def __post_init__(self) -> None:
        self._line = InputsLine(self.repo)

    def is_on(self, world: World, now: datetime) -> bool:
        """Whether the inputs of a tick are to be recorded now."""
        is_refused = self._none_before is not None and now < self._none_before
        return bool(world.rules.settings.audit.ref) and self.folder is not None and not is_refused

    def add_inputs(
        self, made: Draft, world: World, snapshot: Snapshot, collect: Callable[[], TickInputs]
    ) -> tuple[Draft, ...]:
        """The draft, with that of what it was made from, which `collect` gives; alone where nothing is recorded."""
        if self.folder is None or not self.is_on(world, made.time):
            return (made,)
        inputs = collect()
        name = line_of(inputs)
        if name in snapshot.unfetched_inputs:
            cause = snapshot.unfetched_inputs[name].cause
            log.warning("inputs are not recorded ref=%s cause=%s", self.folder + name, cause)
            return (made,)
        recorded = self._line.draft(inputs, snapshot.inputs, self.folder, made)
        return (replace(made, names=((INPUTS_TRAILER, recorded.ref),)), recorded)

    def push(self, drafts: Sequence[Draft], now: datetime) -> Outcome:
        """All of them; where the server refuses that, the first alone."""
        outcome = self.repo.write(drafts)
        if isinstance(outcome, PushRefused) and len(drafts) > 1:
            alone = self.repo.write([replace(drafts[0], names=())])
            if isinstance(alone, Pushed):
                self._none_before = now + REFUSED_FOR
                cure = "give the reconciler the right to create and push it, or set audit.ref of gitvirt.yaml"
                words = outcome.words.replace("\n", "; ")
                text = "the server refuses inputs, so that audit verify cannot check these commits ref=%s cause=%s cure=%s"
                log.warning(text, drafts[1].ref, words, cure)
            return alone
        if isinstance(outcome, Pushed) and len(drafts) > 1:
            self._line.note_landed(outcome.commits[drafts[1].ref])
            self._may_have_old_lines |= drafts[1].expected is None
        return outcome

    def remove_old_lines(self, world: World, lines: Mapping[str, ObjectId]) -> None:
        """After a start and where a line began. Kept longer, they do no harm: so this is not tried again before the next line begins."""
        old = find_old_lines(lines, world.rules.settings.audit.keep_days)
        if not self._may_have_old_lines or not old:
            return
        self._may_have_old_lines = False
        outcome = self.repo.remove({f"{self.folder}{name}": commit for name, commit in old.items()})
        if isinstance(outcome, Pushed):
            log.info("removed inputs that are older than audit.keep refs=%s", ",".join(old))
        else:
            cause = (
                getattr(outcome, "words", "") or getattr(outcome, "cause", "") or "another writer moved them"
            )
            log.warning(
                "old inputs cannot be removed refs=%s cause=%s", ",".join(old), cause.replace("\n", "; ")
            )

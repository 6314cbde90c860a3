"""Nothing that takes something away is shown without DELETE, DESTROY or RECREATE: in the plan, in the comment, in the commit's subject."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.cli.plans import as_markdown, as_text
from reconciler.cli.plans.entries import group_entries, section_of
from reconciler.cli.plans.field_lines import field_line
from reconciler.cli.plans.outline import Entry, Outline, PlanSection
from reconciler.cli.terminal import Terminal
from reconciler.plan.destruction import LONGEST_SUBJECT, add_destruction
from reconciler.plan.source_changes import FieldEffect, SourceChange
from reconciler.plan.types import Action, Change, Plan
from reconciler.world.record import Record
from reconciler.write.message import CommitContents, subject
from schemas.effects.effect import (
    AppliedNow,
    Creates,
    Deletes,
    Effect,
    Loss,
    LossKind,
    Recreates,
    Renames,
    destructive_word,
    list_losses,
)
from schemas.effects.field_change import FieldChange
from schemas.effects.words import describe_effect
from schemas.kinds import Key, Kind
from schemas.model import MachineStatus
from tests.schemas.effects.test_every_field import EFFECTS

GRAVE = re.compile("DELETE|DESTROY|RECREATE")
WEB = Key(Kind.MACHINE, "default", "db-1")
DISK = Loss(LossKind.LOCAL_DISK, "root", "db-1", 1 << 30)
PLACED = Record(uid="u", pool="rack-a1", status=MachineStatus(state="Running"))
ORDERS = (Action.EVICT, Action.MARK_DELETED, Action.WITHDRAW, Action.STOP)


def entry_of(effect: Effect) -> Entry:
    """As `entries.Builder` makes it for an object with this one effect."""
    match effect:
        case Deletes():
            return Entry(PlanSection.DELETE, WEB, pool="rack-a1", losses=effect.losses)
        case Renames():
            facts = (describe_effect(effect),)
            return Entry(PlanSection.RECREATE, WEB, facts=facts, losses=effect.losses, is_new=True)
        case Creates():
            return Entry(PlanSection.ADD, WEB, is_new=True)
        case _:
            change = FieldChange(Kind.MACHINE, ("spec", "machineClassRef", "name"), "a", "b")
            line = field_line(FieldEffect(change, effect))
            return Entry(
                section_of([effect]), WEB, pool="rack-a1", fields=(line,), losses=list_losses(effect)
            )


@pytest.mark.parametrize("effect", EFFECTS, ids=repr)
def test_plan_and_comment_have_the_word_of_each_effect(effect: Effect) -> None:
    outline = Outline(Plan("source", "target"), group_entries([entry_of(effect)]))
    stream = io.StringIO()
    as_text.write(outline, Terminal(stream, {}))
    text, markdown = stream.getvalue(), as_markdown.render(outline)
    word = destructive_word(effect)
    visible = re.sub(r"<details>.*?</details>", "", markdown, flags=re.DOTALL)
    for shown in (text, visible):
        assert word in shown
        assert bool(word) or not GRAVE.search(shown)
        for loss in list_losses(effect):
            assert f"{loss.kind.value} {loss.name}" in shown


@pytest.mark.parametrize("effect", [each for each in EFFECTS if list_losses(each)], ids=repr)
def test_the_commit_that_carries_an_effect_out_has_the_word_in_its_subject(effect: Effect) -> None:
    """By the order that it becomes, or by the disk that the commit takes out of its machine."""
    losses = {WEB: list_losses(effect)}
    if isinstance(effect, AppliedNow):
        changed = SourceChange(WEB, fields=(FieldEffect(FieldChange(Kind.MACHINE, ("spec",), 1, 2), effect),))
        found = add_destruction("sync main: db-1.yaml", [changed]).partition("\n")[0]
    else:
        action = (
            Action.EVICT if not isinstance(effect, Deletes | Renames | Recreates) else Action.MARK_DELETED
        )
        found = subject(CommitContents([Change(WEB, action, PLACED, PLACED)], losses=losses))
    assert GRAVE.search(found)


@example([(Action.EVICT, "x" * 63)], {"x" * 63})
@example([(Action.EVICT, "a"), (Action.MARK_DELETED, "b" * 60)], {"b" * 60})
@given(
    st.lists(
        st.tuples(st.sampled_from(tuple(Action)), st.text("ab-", min_size=1, max_size=63)),
        min_size=1,
        max_size=12,
        unique_by=lambda each: each[1],
    ),
    st.sets(st.text("ab-", min_size=1, max_size=63)),
)
def test_a_subject_names_a_loss_however_much_else_the_commit_does(
    changes: list[tuple[Action, str]], lost: set[str]
) -> None:
    made = [Change(WEB._replace(name=name), action, PLACED, PLACED) for action, name in changes]
    names = {name for action, name in changes if action in ORDERS and name in lost}
    names |= {name for action, name in changes if action is Action.MARK_DELETED}
    losses = {WEB._replace(name=name): (DISK,) for name in names}
    found = subject(CommitContents(made, losses=losses))
    assert len(found) <= LONGEST_SUBJECT
    assert not names or GRAVE.search(found), found

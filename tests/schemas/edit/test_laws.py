"""Laws of an edit, over manifests in many styles: nothing outside the fields moves, the rest means what it meant,
editing twice is editing once, undone is as before."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from schemas.edit import Annotation, Changes, Edited, Field, Means, Target, Value, edit, edit_all
from schemas.edit.verification import is_same_value
from schemas.reader import read
from tests.schemas.edit.emitter import Body, emit
from tests.schemas.edit.laws import field, rest, with_field

TRICKY = (
    "spec:", "status: x", "# no", "machinePoolRef", "---", "...", "a\nb", "spec:\n  machinePoolRef: {name: a}\n", "on", "",
    "1", "é ☃ 😀", "a: b", "{", "it's", 'say "x"', "- a", " lead", "x # y", "x\u0085y", "a\u2028b", "line\n\nother", "a b c",
)  # fmt: skip
names = st.sampled_from(("a", "b", "name", "spec", "status", "metadata", "machinePoolRef", "uid", "x-y"))
scalars = st.one_of(
    st.sampled_from(TRICKY),
    st.booleans(),
    st.integers(-5, 10**20),
    st.none(),
    st.text("ab :#'\"{}", max_size=6),
)
values: st.SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=8,
)
maps: st.SearchStrategy[Body] = st.dictionaries(names, values, max_size=4)
keys = st.sampled_from(("zone", "gitvirt.dev/paused", "b"))
refs: st.SearchStrategy[Value] = st.builds(
    lambda name: {"name": name}, st.sampled_from(("host-1", "on", "10", "host 2"))
)
given_values: dict[Target, st.SearchStrategy[Value]] = {
    Field.MACHINE_POOL_REF: refs,
    Field.CLAIM_REF: refs,
    Field.UNSCHEDULABLE: st.booleans(),
    Field.TAINTS: st.lists(st.fixed_dictionaries({"key": st.sampled_from(TRICKY), "effect": st.just("NoSchedule")}), max_size=2),
    Field.STATUS: st.dictionaries(names, values, max_size=4),
    Field.UID: st.sampled_from(("u-1", "5", "true")),
    Field.DELETION_TIMESTAMP: st.just("2030-01-01T00:00:00Z"),
    Annotation("gitvirt.dev/paused"): st.just("true"),
    Annotation("zone"): st.sampled_from(("a", "1")),
}  # fmt: skip
targets = st.sampled_from(list(given_values))


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    metadata: Body = {"name": draw(names)}
    for key in ("labels", "annotations"):
        if draw(st.booleans()):
            metadata[key] = draw(st.dictionaries(keys, values, max_size=2))
    body: Body = {"apiVersion": "v1", "kind": "Machine", "metadata": metadata}
    if draw(st.integers(0, 5)):
        body["spec"] = draw(maps)
    for target in draw(st.lists(targets, max_size=3, unique=True)):
        body = with_field(body, target.path, draw(given_values[target]))
    order = draw(st.permutations(list(body)))
    return {key: body[key] for key in order}


@st.composite
def edits(draw: st.DrawFn) -> Changes:
    wanted = draw(st.lists(targets, min_size=1, max_size=4, unique=True))
    return {target: draw(st.one_of(given_values[target], st.none())) for target in wanted}


dice = st.builds(Random, st.integers(0, 1 << 32))


def value_of(data: bytes) -> Value:
    documents = read(data.decode())
    assert isinstance(documents, tuple), (data.decode(), documents)
    (body,) = documents
    return body  # type: ignore[return-value]


def edit_once(data: bytes, changes: Changes) -> Edited:
    outcome = edit(data, 0, changes)
    assert isinstance(outcome, Edited), (data.decode(), changes, outcome)
    return outcome


def is_within(small: bytes, large: bytes, commas: int = 1) -> bool:
    """Whether the one is the other with one stretch cut out; between braces a comma before it too."""
    head = 0
    while head < len(small) and small[head] == large[head]:
        head += 1
    if large.endswith(small[head:]):
        return True
    return (
        bool(commas)
        and large[head : head + 1] == b","
        and is_within(small, large[:head] + large[head + 1 :], 0)
    )


@given(bodies(), edits(), dice)
def test_only_the_given_fields_change(body: Body, changes: Changes, dice: Random) -> None:
    text = emit(dice, body).encode()
    outcome = edit_once(text, changes)
    event(outcome.means.name)
    after = value_of(outcome.data)
    for target, value in changes.items():
        assert is_same_value(field(after, target.path), value), text
    assert is_same_value(rest(after, changes), rest(body, changes)), (text, outcome.data)


@given(bodies(), edits(), dice)
def test_a_second_equal_edit_changes_nothing(body: Body, changes: Changes, dice: Random) -> None:
    once = edit_once(emit(dice, body).encode(), changes)
    twice = edit_once(once.data, changes)
    assert twice.data is once.data
    assert twice.means is Means.UNTOUCHED


@given(bodies(), targets, st.data(), dice)
def test_a_new_field_inserts_one_run_of_bytes(
    body: Body, target: Target, data: st.DataObject, dice: Random
) -> None:
    value = data.draw(given_values[target])
    assume(field(body, target.path[:-1]) and field(body, target.path) is None)
    assume(isinstance(above := field(body, target.path[:-1]), dict) and target.path[-1] not in above)
    text = emit(dice, body).encode()
    outcome = edit_once(text, {target: value})
    assume(outcome.means is not Means.ROUND_TRIP)
    assert is_within(text, outcome.data), (text, outcome.data)
    undone = edit_once(outcome.data, {target: None})
    assert undone.data == text, (text, outcome.data, undone.data)


@given(bodies(), targets, st.data(), dice)
def test_an_edit_and_its_reverse_restore_the_bytes(
    body: Body, target: Target, data: st.DataObject, dice: Random
) -> None:
    value, other = data.draw(given_values[target]), data.draw(given_values[target])
    bare = edit_once(emit(dice, body).encode(), {target: None}).data
    text = edit_once(bare, {target: value}).data
    away = edit_once(text, {target: other})
    back = edit_once(away.data, {target: value})
    assert is_same_value(value_of(back.data), value_of(text))
    assert back.data == text, (text, away.data, back.data)


@given(st.lists(bodies(), min_size=2, max_size=3), edits(), edits(), dice)
def test_other_documents_keep_their_bytes(
    many: list[Body], first: Changes, last: Changes, dice: Random
) -> None:
    texts = [emit(dice, body) for body in many]
    texts = [text if text.endswith("\n") else text + "\n" for text in texts]
    marks = [dice.choice(("---\n", "---\r\n", "--- # x\n", "...\n---\n")) for _ in texts]
    stream = "".join(mark + text for mark, text in zip(marks, texts, strict=True)).encode()
    outcome = edit_all(stream, {0: first, len(many) - 1: last})
    assert isinstance(outcome, Edited)
    documents = read(outcome.data.decode())
    assert isinstance(documents, tuple)
    assert len(documents) == len(many)
    alone = edit(edit(stream, 0, first).data, len(many) - 1, last)  # type: ignore[union-attr]
    assert isinstance(alone, Edited)
    assert alone.data == outcome.data, (stream, outcome.data, alone.data)
    if len(many) == 3:
        assert f"{marks[1]}{texts[1]}{marks[2]}".encode() in outcome.data


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "law",
    [
        test_only_the_given_fields_change,
        test_a_second_equal_edit_changes_nothing,
        test_a_new_field_inserts_one_run_of_bytes,
        test_an_edit_and_its_reverse_restore_the_bytes,
        test_other_documents_keep_their_bytes,
    ],
)
def test_the_laws_hold_for_many_examples(law: Callable[[], None]) -> None:
    settings(max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))(law)()
